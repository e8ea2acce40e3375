// What a launch does to caches and branch predictors, read from its NVBit trace.
#ifndef KERNELPOINT_MACSIM_STEPS_H
#define KERNELPOINT_MACSIM_STEPS_H

#include <stdint.h>
#include <zlib.h>

#include <fstream>
#include <string>
#include <vector>

namespace kernelpoint {

// A warp instruction, or one further sector of the access before it, as MacSim's NVBit tracer writes it.
struct Record {
    uint8_t opcode, is_floating_point, is_load, control_flow, others[20];
    uint32_t active_mask, taken_mask;
    uint64_t pc, target, address;
    uint8_t rest[8];
};
static_assert(sizeof(Record) == 64, "records are read as they lie in the file");
enum ControlFlow { kJump = 1, kConditionalBranch = 2 };  // 0: none; the rest, calls and returns, is not predicted
enum Opcode { kLdc = 72, kLds = 75, kLdsm = 76, kSt = 77, kStg = 78, kStl = 79, kSts = 80 };

struct Step {
    enum Kind {
        kNone,
        kFetch,
        kLoad,
        kStore,
        kBranch,    // the fetch behind it follows where it is predicted
        kRoundEnd,  // each warp has come to a branch, or to its end
    };
    uint64_t address;
    uint32_t cta;
    uint8_t kind, taken, conditional;
};
typedef std::vector<Step> Steps;

// One warp's steps. MacSim fetches from where a warp begins, and from where a branch has led it.
class WarpSteps {
public:
    explicit WarpSteps(uint32_t cta) : m_cta(cta), m_jumped(true), m_line(0), m_line_kind(Step::kNone) {}

    void add(const Record& record) {
        if (m_jumped) push(Step::kFetch, record.pc);
        m_jumped = record.control_flow != 0;
        if (m_jumped) {
            m_line = 0;
            if (record.control_flow == kJump || record.control_flow == kConditionalBranch) add_branch(record);
        } else if (record.address != 0) {
            add_access(record);
        }
    }

    Steps steps;

private:
    void add_branch(const Record& record) {
        push(Step::kBranch, record.pc);
        steps.back().taken = record.taken_mask != 0;
        steps.back().conditional = record.control_flow == kConditionalBranch;
    }

    // An access to the line of the access before it changes nothing.
    void add_access(const Record& record) {
        const Step::Kind kind = kind_of(record);
        const uint64_t line = record.address / kSmallestLine;
        if (kind == Step::kNone || (kind == m_line_kind && line == m_line)) return;
        push(kind, record.address);
        m_line = line;
        m_line_kind = kind;
    }

    // Loads and stores of global, local and generic memory; kNone for all else.
    static Step::Kind kind_of(const Record& record) {
        switch (record.opcode) {
            case kSt:
            case kStg:
            case kStl:
                return Step::kStore;
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
        const Step step = {address, m_cta, uint8_t(kind), 0, 0};
        steps.push_back(step);
    }

    static const uint64_t kSmallestLine = 32;
    const uint32_t m_cta;
    bool m_jumped;
    uint64_t m_line;  // of the last access, or 0
    Step::Kind m_line_kind;
};

// A warp's next turn goes to its next branch, and to the fetch behind that.
inline size_t take_turn(const Steps& own, size_t next, Steps& all) {
    while (next < own.size()) {
        all.push_back(own[next++]);
        if (all.back().kind == Step::kBranch) break;
    }
    if (next < own.size()) all.push_back(own[next++]);
    return next;
}

// Model: all warps go on side by side, each from branch to branch; within a round they take turns in their order.
inline Steps side_by_side(const std::vector<Steps>& warps) {
    const Step end = {0, 0, Step::kRoundEnd, 0, 0};
    Steps all;
    std::vector<size_t> next(warps.size(), 0);
    for (bool more = true; more;) {
        more = false;
        for (size_t w = 0; w < warps.size(); ++w) {
            next[w] = take_turn(warps[w], next[w], all);
            more = more || next[w] < warps[w].size();
        }
        all.push_back(end);
    }
    return all;
}

// A launch that is skipped may lack its trace; what cannot be read has no steps.
inline Steps read_steps(const std::string& trace) {
    std::ifstream file(trace.c_str());
    std::string type;
    long version = 0, resident = 0, warps = 0;
    file >> type >> version >> resident >> warps;
    const std::string base = trace.substr(0, trace.find_last_of('.'));
    std::vector<Steps> all;
    uint64_t warp = 0, start = 0;
    while (warps-- > 0 && file >> warp >> start) {
        gzFile records = gzopen((base + "_" + std::to_string(warp) + ".raw").c_str(), "rb");
        if (records == NULL) continue;
        WarpSteps own(static_cast<uint32_t>(warp >> 16));  // a warp's number begins with that of its CTA
        Record buffer[256];
        for (int got; (got = gzread(records, buffer, sizeof(buffer))) > 0;)
            for (size_t i = 0; i < size_t(got) / sizeof(buffer[0]); ++i) own.add(buffer[i]);
        gzclose(records);
        all.push_back(own.steps);
    }
    return side_by_side(all);
}

}  // namespace kernelpoint
#endif
