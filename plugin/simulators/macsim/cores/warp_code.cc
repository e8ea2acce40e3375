#include "simulators/macsim/cores/warp_code.h"

#include <algorithm>
#include <array>
#include <utility>

#include "native/trace/trace.h"
#include "simulators/macsim/trace/launch.h"
#include "simulators/macsim/trace/record.h"

namespace kernelpoint::replay::macsim {
namespace {

using kernelpoint::macsim::Record;
using kernelpoint::macsim::RecordFile;

// Action of each opcode number where a record is no branch; loads of unknown opcodes are told by the record.
class Actions {
public:
    Actions() {
        for (unsigned number = 0; number < actions_.size(); ++number) {
            const std::string_view name = kernelpoint::macsim::opcode_name(static_cast<uint8_t>(number));
            if (name == "STG") actions_[number] = Action::store;
            if (name == "ST" || name == "STL") actions_[number] = Action::store_around;
            if (name == "BAR") actions_[number] = Action::barrier;
            if (name == "LDC") actions_[number] = Action::constant;
            if (name == "LDS" || name == "LDSM" || name == "STS") actions_[number] = Action::shared;
        }
    }

    Action of(const Record& record) const {
        if (record.control_flow == kernelpoint::macsim::branch) return Action::branch;
        if (record.control_flow == kernelpoint::macsim::jump) return Action::jump;
        if (record.control_flow != kernelpoint::macsim::not_control_flow) return Action::other_jump;
        const Action action = actions_[record.opcode];
        if (action == Action::barrier || action == Action::shared || action == Action::constant) return action;
        if (record.address == 0) return Action::compute;
        return action == Action::compute && record.is_load != 0 ? Action::load : action;
    }

private:
    std::array<Action, 256> actions_{};
};

class Reader {
public:
    explicit Reader(LaunchCode& code) : code_(code) {}

    void read(const std::string& path, uint32_t cta) {
        const auto first = static_cast<uint32_t>(code_.instructions.size());
        RecordFile file(path);
        Record record;
        while (file.next(record)) add(record, first);
        if (code_.instructions.size() > first) drop_last();
        if (code_.ctas.empty() || code_.ctas.back().number != cta)
            code_.ctas.push_back({cta, static_cast<uint32_t>(code_.warps.size()), 0});
        ++code_.ctas.back().count;
        code_.warps.push_back({first, static_cast<uint32_t>(code_.instructions.size()) - first});
    }

private:
    void add(const Record& record, uint32_t first) {
        const bool further = record.is_fp != 0 && code_.instructions.size() > first && record.opcode == opcode_ &&
                             record.pc == code_.instructions.back().pc && record.address != 0;
        if (further) return add_sector(record);
        opcode_ = record.opcode;
        WarpInstruction& made = code_.instructions.emplace_back();
        made.pc = record.pc;
        made.action = actions_.of(record);
        made.taken = record.taken_mask != 0;
        made.bank = static_cast<uint8_t>(record.address / 4 % kSharedBanks);
        made.first_line = static_cast<uint32_t>(code_.lines.size());
        set_registers(record, made);
        first_of_several_ = true;
        if (is_access(made.action)) push(record.address, made);
    }

    void add_sector(const Record& record) {
        WarpInstruction& access = code_.instructions.back();
        if (!is_access(access.action)) return;
        if (first_of_several_) {
            code_.lines.resize(access.first_line);
            access.line_count = 0;
        }
        first_of_several_ = false;
        push(record.address, access);
    }

    void drop_last() {
        code_.lines.resize(code_.instructions.back().first_line);
        code_.instructions.pop_back();
    }

    void push(uint64_t address, WarpInstruction& access) {
        code_.lines.push_back(address);
        ++access.line_count;
    }

    static bool is_access(Action action) {
        return action == Action::load || action == Action::store || action == Action::store_around;
    }

    // Of an instruction that writes none, computes and does not jump, MacSim reads none.
    static void set_registers(const Record& record, WarpInstruction& made) {
        constexpr uint8_t none = kernelpoint::macsim::no_registers;
        const bool writes = record.destination_count != 0 && record.destination_count != none;
        if (writes) made.destination = static_cast<uint8_t>(record.destinations[0]);
        if (record.source_count == none || !(writes || is_access(made.action) || record.is_load != 0 ||
                                             made.action == Action::shared || leads_elsewhere(made.action)))
            return;
        made.source_count = std::min<uint8_t>(record.source_count, 4);
        for (int i = 0; i < made.source_count; ++i) made.sources[i] = static_cast<uint8_t>(record.sources[i]);
    }

    LaunchCode& code_;
    const Actions actions_;
    uint8_t opcode_ = 0;
    bool first_of_several_ = true;
};

}  // namespace

LaunchCode read_code(const std::string& trace_path) {
    const kernelpoint::macsim::LaunchFiles files = kernelpoint::macsim::read_launch(trace_path);
    LaunchCode code;
    Reader reader(code);
    for (const auto& warp : files.warps)
        reader.read(files.folder + "/trace_" + std::to_string(warp.id) + ".raw",
                    warp.id / kernelpoint::macsim::warps_per_cta_id);
    return code;
}

const LaunchCode* CodeCache::find(uint32_t trace, const std::string& path, const Refuse& refuse) {
    const auto known = codes_.find(trace);
    if (known != codes_.end()) return &known->second;
    try {
        LaunchCode code = read_code(path);
        if (bytes_ + code.bytes() > most_bytes_) {
            codes_.clear();
            bytes_ = 0;
        }
        bytes_ += code.bytes();
        return &(codes_[trace] = std::move(code));
    } catch (const TraceError& error) {
        refuse(error.what());
        return nullptr;
    }
}

}  // namespace kernelpoint::replay::macsim
