// What a warp does to caches and branch predictors, from its NVBit trace.
#ifndef KERNELPOINT_MACSIM_STEPS_H
#define KERNELPOINT_MACSIM_STEPS_H

#include <stdint.h>

#include <vector>

#include "macsim_record.h"

namespace kernelpoint {

typedef macsim::Record Record;
enum Opcode { kLdc = 72, kLds = 75, kLdsm = 76, kSt = 77, kStg = 78, kStl = 79, kSts = 80 };

struct Step {
    enum Kind {
        kNone,
        kFetch,
        kLoad,
        kStore,
        kGenericStore,
        kLocalStore,
        kBranch,
        kRoundEnd,  // each warp has come to a branch, or to its end
    };
    uint64_t address;
    uint32_t cta;
    uint8_t kind;
    uint8_t taken, conditional, followed;  // of a branch; the last: the next step is the fetch that it leads to
};
typedef std::vector<Step> Steps;

// One warp's steps. MacSim fetches from where a warp begins, and from where a branch has led it. Of an access to
// several sectors it takes the further ones, the records marked as floating point that follow it, and not the first.
class WarpSteps {
public:
    explicit WarpSteps(uint32_t cta)
        : m_cta(cta), m_opcode(0), m_jumped(true), m_first(false), m_line(0), m_line_kind(Step::kNone) {}

    void add(const Record& record) {
        if (m_jumped) add_fetch(record);
        m_jumped = record.control_flow != 0;
        const bool further = record.is_fp != 0 && record.opcode == m_opcode;
        if (further && m_first) take_back();
        m_opcode = record.opcode;
        m_first = false;
        if (record.control_flow == macsim::jump || record.control_flow == macsim::branch)
            add_branch(record);
        else if (!m_jumped && record.address != 0)
            m_first = add_access(record) && !further;
    }

    Steps steps;

private:
    void add_fetch(const Record& record) {
        if (!steps.empty() && steps.back().kind == Step::kBranch) steps.back().followed = 1;
        push(Step::kFetch, record.pc);
    }

    void add_branch(const Record& record) {
        push(Step::kBranch, record.pc);
        m_line_kind = Step::kNone;
        steps.back().taken = record.taken_mask != 0;
        steps.back().conditional = record.control_flow == macsim::branch;
    }

    // Whether it is a step: an access to the line of the access before it changes nothing.
    bool add_access(const Record& record) {
        const Step::Kind kind = kind_of(record);
        const uint64_t line = record.address / kSmallestLine;
        if (kind == Step::kNone || (kind == m_line_kind && line == m_line)) return false;
        push(kind, record.address);
        m_line = line;
        m_line_kind = kind;
        return true;
    }

    void take_back() {
        steps.pop_back();
        m_line_kind = Step::kNone;
    }

    // Loads and stores of global, local and generic memory; kNone for all else.
    static Step::Kind kind_of(const Record& record) {
        switch (record.opcode) {
            case kSt:
                return Step::kGenericStore;
            case kStg:
                return Step::kStore;
            case kStl:
                return Step::kLocalStore;
            case kLdc:
            case kLds:
            case kLdsm:
            case kSts:
                return Step::kNone;
            default:
                return record.is_load ? Step::kLoad : Step::kNone;
        }
    }

    void push(Step::Kind kind, uint64_t address) {
        const Step step = {address, m_cta, uint8_t(kind), 0, 0, 0};
        steps.push_back(step);
    }

    static const uint64_t kSmallestLine = 32;
    const uint32_t m_cta;
    uint8_t m_opcode;  // of the record before
    bool m_jumped;
    bool m_first;            // the last step is an access that may turn out to be the first of several
    uint64_t m_line;         // of the last access
    Step::Kind m_line_kind;  // what it was; kNone: none that counts
};

}  // namespace kernelpoint
#endif
