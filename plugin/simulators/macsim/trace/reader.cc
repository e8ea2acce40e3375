// Launches in MacSim's layout as the same CTAs, warps and instructions that Accel-Sim traces give, as far as the
// records know them.
//
// Model: records lack some fields of an instruction. They get these values, so that all else reads both formats alike:
//  - opcodes have no modifiers ("LDG", never "LDG.E.64"), and guard predicates are absent;
//  - all register files share their numbers, so every register is one of R; only the first register of a wide operand
//    is known. The address register of a memory access is absent: RZ stands for it, as its first source;
//  - PCs are offsets from the launch's first record, which is the kernel's entry unless the tracer was told to leave
//    instructions out;
//  - of an access only the sectors of 128 bytes are known: its lanes are spread evenly over them in lane order, side by
//    side within a sector. That gives contiguous accesses exactly and the others with the same sectors; what cannot be
//    told apart are accesses that touch the same sectors (a broadcast and a contiguous one);
//  - atomics, and constant loads without an address, have no addresses; instructions without an active lane are absent.
#include <algorithm>
#include <array>

#include "simulators/macsim/trace/launch.h"
#include "simulators/macsim/trace/record.h"

namespace kernelpoint::macsim {

namespace {

constexpr Register zero_register = 255;

// MacSim's reader takes a warp's end for that of its buffer (1,000 records, after one that is read before), and then
// does not run the last record. It runs as many instructions as there are where the buffer ends exactly with the warp,
// and where a further sector comes just before the last record: it runs that sector again instead.
bool runs_last_record(uint64_t records, bool after_further_sector) {
    constexpr uint64_t buffer = 1000;
    return (records - 1) % buffer == 0 || after_further_sector;
}

struct OpcodeFacts {
    uint32_t index = 0;  // into opcodes(), plus one; 0 while not met
    bool is_memory = false, is_constant = false, has_sectors = false;
};

class MacsimReader : public TraceReader {
public:
    explicit MacsimReader(const std::string& path) : files_(read_launch(path)) {
        if (files_.header.kernel_name.empty()) name_by_code();
    }
    const LaunchHeader& header() const override { return files_.header; }
    const std::vector<Opcode>& opcodes() const override { return opcodes_; }

    bool next(Cta& cta) override {
        cta.clear();
        const Dim3& grid = files_.header.grid;
        if (next_warp_ == files_.warps.size()) {
            // Model: as with Accel-Sim traces, a launch has exactly the CTAs of its grid.
            if (ctas_ != grid.count())
                throw TraceError(files_.folder + "/trace.txt", 0,
                                 "expected warps of " + std::to_string(grid.count()) + " CTAs as the grid says, found " +
                                     std::to_string(ctas_));
            if (instructions_ == 0) throw TraceError(files_.folder + "/trace.txt", 0, "expected at least one instruction");
            return false;
        }
        const uint32_t number = files_.warps[next_warp_].id / warps_per_cta_id;
        cta.index = {number % grid.x, number / grid.x % grid.y, number / grid.x / grid.y};
        for (; next_warp_ < files_.warps.size() && files_.warps[next_warp_].id / warps_per_cta_id == number; ++next_warp_)
            read_warp(files_.warps[next_warp_], cta);
        ++ctas_;
        instructions_ += cta.instructions.size();
        return true;
    }

private:
    void name_by_code() {
        RecordFile file(path_of(files_.warps.front()));
        Record record;
        char name[40] = "kernel";
        if (file.next(record)) snprintf(name, sizeof name, "kernel_at_0x%llx", static_cast<unsigned long long>(record.pc));
        files_.header.kernel_name = name;
    }

    void read_warp(const WarpEntry& entry, Cta& cta) {
        Warp warp;
        warp.id = entry.id % warps_per_cta_id;
        warp.first_instruction = static_cast<uint32_t>(cta.instructions.size());
        RecordFile file(path_of(entry));
        sectors_.clear();
        Record record;
        bool ends_access = false, is_further = false;  // of the record before the last one; of the last one
        while (file.next(record)) {
            add(file, record, cta);
            ends_access = is_further;
            is_further = sectors_.size() > 1;
        }
        end_access(file, cta);
        if (file.count() != entry.records)
            throw TraceError(path_of(entry), 0,
                             "expected " + std::to_string(entry.records) + " records as trace_info.txt says, found " +
                                 std::to_string(file.count()));
        warp.instruction_count = static_cast<uint32_t>(cta.instructions.size() - warp.first_instruction);
        warp.unread = runs_last_record(file.count(), ends_access && !is_further) ? 0 : 1;
        cta.warps.push_back(warp);
    }

    void add(RecordFile& file, const Record& record, Cta& cta) {
        const OpcodeFacts& facts = learn(file, record.opcode);
        if (facts.has_sectors && record.is_fp != 0) {
            if (sectors_.empty() || access_.opcode != record.opcode || access_.pc != record.pc)
                file.fail("expected the access that this further sector belongs to before it");
            if (sectors_.size() >= static_cast<size_t>(__builtin_popcount(access_.active_mask)))
                file.fail("expected at most one sector for each active lane");
            access_.access_size = record.access_size;  // of a lane; the first record's is multiplied by the sectors
            sectors_.push_back(record.address);
            return;
        }
        end_access(file, cta);
        if (!first_pc_known_) first_pc_ = record.pc, first_pc_known_ = true;
        const auto offset = static_cast<int64_t>(record.pc - first_pc_);
        if (offset != static_cast<int32_t>(offset)) file.fail("expected a PC within 2 GiB of the launch's first one");
        if (cta.instructions.size() >= most_instructions) file.fail("this CTA holds more than 2147483648 instructions");
        Instruction& instruction = cta.instructions.emplace_back();
        instruction.pc = static_cast<uint32_t>(offset);
        instruction.active_mask = record.active_mask;
        instruction.opcode = facts.index - 1;
        instruction.first_address = static_cast<uint32_t>(cta.addresses.size());
        const int sources = record.source_count == no_registers ? 0 : std::min<int>(record.source_count, 4);
        const int destinations = record.destination_count == no_registers ? 0 : std::min<int>(record.destination_count, 2);
        for (int i = 0; i < sources; ++i) instruction.sources[instruction.source_count++] = record.sources[i] & 0xff;
        for (int i = 0; i < destinations; ++i)
            instruction.destinations[instruction.destination_count++] = record.destinations[i] & 0xff;
        if (facts.has_sectors && record.active_mask != 0) {
            access_ = record;
            sectors_.push_back(record.address);
        } else if (facts.is_memory && !facts.is_constant) {
            make_access(instruction, record.access_size);
        }
    }

    static void make_access(Instruction& instruction, uint8_t size) {
        instruction.width = std::max<uint16_t>(size, 1);
        std::copy_backward(instruction.sources, instruction.sources + instruction.source_count,
                           instruction.sources + instruction.source_count + 1);
        instruction.sources[0] = zero_register;
        ++instruction.source_count;
    }

    // Gives the access its addresses, once all its sectors are known.
    void end_access(RecordFile& file, Cta& cta) {
        if (sectors_.empty()) return;
        const bool has_address = !facts_[access_.opcode].is_constant || sectors_.size() > 1 || sectors_[0] != 0;
        if (has_address) {
            Instruction& instruction = cta.instructions.back();
            make_access(instruction, access_.access_size);
            if (cta.addresses.size() > UINT32_MAX - 32)
                file.fail("this CTA holds more addresses than can be counted in 32 bits");
            const auto lanes = static_cast<size_t>(__builtin_popcount(access_.active_mask));
            instruction.address_count = static_cast<uint32_t>(lanes);
            size_t first_lane = 0, sector = 0;
            for (size_t lane = 0; lane < lanes; ++lane) {
                const size_t its_sector = lane * sectors_.size() / lanes;
                if (its_sector != sector) first_lane = lane, sector = its_sector;
                cta.addresses.push_back(sectors_[sector] + (lane - first_lane) * instruction.width % sector_size);
            }
        }
        sectors_.clear();
    }

    OpcodeFacts& learn(RecordFile& file, uint8_t number) {
        OpcodeFacts& facts = facts_[number];
        if (facts.index != 0) return facts;
        std::string text(opcode_name(number));
        if (text.empty() && number != unknown_opcode)
            file.fail("opcode " + std::to_string(number) + " is not known; known are 0 to 205, and 255 for others");
        if (text.empty()) text = "UNKNOWN";
        if (text == "UIADD3_64") text = "UIADD3.64";
        opcodes_.push_back(classify_opcode(text));
        const Opcode& opcode = opcodes_.back();
        facts.index = static_cast<uint32_t>(opcodes_.size());
        facts.is_memory = opcode.unit == Unit::memory && (opcode.is_load || opcode.is_store);
        facts.is_constant = opcode.space == MemorySpace::constant;
        facts.has_sectors = facts.is_memory && !opcode.is_atomic;
        return facts;
    }

    std::string path_of(const WarpEntry& entry) const { return files_.folder + "/trace_" + std::to_string(entry.id) + ".raw"; }

    LaunchFiles files_;
    size_t next_warp_ = 0;
    uint64_t ctas_ = 0, first_pc_ = 0, instructions_ = 0;
    bool first_pc_known_ = false;
    std::vector<Opcode> opcodes_;
    std::array<OpcodeFacts, 256> facts_;
    Record access_;                  // whose sectors are being collected
    std::vector<uint64_t> sectors_;  // empty while there is none
};

}  // namespace

std::unique_ptr<TraceReader> open_launch(const std::string& path) {
    return std::make_unique<MacsimReader>(path);
}

}  // namespace kernelpoint::macsim
