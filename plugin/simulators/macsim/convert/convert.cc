#include "simulators/macsim/convert/convert.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "native/replay/footprint.h"
#include "native/trace/interruption.h"
#include "simulators/macsim/trace/record.h"

namespace kernelpoint::macsim {

namespace {

Space space_of(MemorySpace space) {
    switch (space) {
        case MemorySpace::global:
            return global;
        case MemorySpace::local:
            return local;
        case MemorySpace::shared:
            return shared;
        case MemorySpace::constant:
            return constant;
        case MemorySpace::generic:
            return generic;
        case MemorySpace::texture:
            return texture;
        default:
            return none;
    }
}

uint8_t control_flow_of(const std::string& base) {
    return base == "BRA" ? branch : base == "JMP" ? jump : base == "RET" ? ret : not_control_flow;
}

// The sectors that the first bytes of each lane lie in, ascending, each once; returns how many.
size_t find_sectors(const uint64_t* addresses, size_t count, uint64_t* sectors) {
    for (size_t i = 0; i < count; ++i) sectors[i] = addresses[i] / sector_size * sector_size;
    if (!std::is_sorted(sectors, sectors + count)) std::sort(sectors, sectors + count);
    return static_cast<size_t>(std::unique(sectors, sectors + count) - sectors);
}

// Turns warps into records, one CTA at a time.
//
// Model, following what MacSim's tracer writes:
//  - instructions without an active lane are left out; a warp that has no others is one EXIT, as is an empty CTA;
//  - the address register of a memory access, its first source, is left out; of the other registers the first four
//    sources and destinations stay. All files of registers share their numbers;
//  - loads and stores have one record for each 128-byte sector touched, in ascending order, all but the first marked as
//    children; atomics and the rest are no memory accesses to MacSim and have neither address nor children;
//  - the access size is the lane's, times the sectors on the first record of several, 255 at most;
//  - the target of a branch is where the warp went next (the tracer knows the static target, traces do not); the mask
//    of lanes that took it is 0.
class Recorder {
public:
    Recorder(const LaunchHeader& header, uint64_t code_base) : header_(header), code_base_(code_base) {}

    // The records of one warp; they stay until the next call.
    const std::vector<Record>& warp(const Cta& cta, const Warp& warp, const std::vector<Opcode>& opcodes) {
        learn(opcodes);
        records_.clear();
        const Instruction* first = cta.instructions.data() + warp.first_instruction;
        for (const Instruction* i = first; i != first + warp.instruction_count; ++i) {
            ++facts_[i->opcode].count;
            if (i->active_mask == 0)
                ++without_lanes_;
            else
                add(*i, cta.addresses.data() + i->first_address);
        }
        return records_.empty() ? nothing() : records_;
    }

    // of a warp that executes nothing: one EXIT
    const std::vector<Record>& nothing() {
        bool exact;
        Record end;
        end.opcode = opcode_number("EXIT", exact);
        end.pc = code_base_;
        end.target = code_base_ + end.size;
        end.access_size = 4;
        records_.assign(1, end);
        return records_;
    }

    // Of a warp in the launch.
    uint32_t id(const Cta& cta, const Warp& warp) const {
        return static_cast<uint32_t>(cta_number(cta.index)) * warps_per_cta_id + warp.id;
    }

    struct OpcodeFacts {
        Record record;  // opcode, flags, space
        bool exact = true, is_access = false;
        uint64_t count = 0;  // of instructions
        std::string base;
    };
    const std::vector<OpcodeFacts>& facts() const { return facts_; }
    uint64_t without_lanes() const { return without_lanes_; }

private:
    uint64_t cta_number(const Dim3& index) const {
        return index.x + uint64_t{header_.grid.x} * (index.y + uint64_t{header_.grid.y} * index.z);
    }

    void learn(const std::vector<Opcode>& opcodes) {
        while (facts_.size() < opcodes.size()) {
            const Opcode& opcode = opcodes[facts_.size()];
            OpcodeFacts facts;
            facts.base = opcode.base;
            Record& record = facts.record;
            record.opcode = opcode_number(opcode.base, facts.exact);
            // Model: MacSim's format has no bulk copies (TMA): one becomes a MOV, reported as approximated, and its
            // traffic is lost.
            if (opcode.is_bulk_copy) {
                record.opcode = opcode_number("MOV", facts.exact);
                facts.exact = false;
            }
            const std::string_view known = opcode_name(record.opcode);
            const bool is_load =
                known == "LD" || known == "LDC" || known == "LDG" || known == "LDL" || known == "LDS" || known == "LDSM";
            const bool is_store = known == "ST" || known == "STG" || known == "STL" || known == "STS";
            facts.is_access = is_load || is_store;
            record.is_fp = is_floating_point(record.opcode);
            record.is_load = is_load;
            record.control_flow = control_flow_of(opcode.base);
            record.space = opcode.is_bulk_copy ? none : space_of(opcode.space);
            if (known == "BAR")
                record.barrier_threads = static_cast<uint16_t>(std::min<uint64_t>(header_.block.count(), UINT16_MAX));
            facts_.push_back(facts);
        }
    }

    void add(const Instruction& instruction, const uint64_t* addresses) {
        const OpcodeFacts& facts = facts_[instruction.opcode];
        Record record = facts.record;
        record.active_mask = instruction.active_mask;
        record.pc = code_base_ + instruction.pc;
        record.target = record.pc + record.size;
        if (!records_.empty() && records_.back().control_flow == branch)  // branches have no children
            records_.back().target = record.pc;
        const int skipped = instruction.width > 0 && instruction.source_count > 0 ? 1 : 0;
        record.source_count = static_cast<uint8_t>(std::min(instruction.source_count - skipped, 4));
        record.destination_count = instruction.destination_count;
        for (int i = 0; i < record.source_count; ++i) record.sources[i] = instruction.sources[i + skipped] & 0xff;
        for (int i = 0; i < record.destination_count; ++i) record.destinations[i] = instruction.destinations[i] & 0xff;
        record.access_size = static_cast<uint8_t>(std::min<int>(instruction.width > 0 ? instruction.width : 4, 255));
        uint64_t sectors[32];
        const size_t count = facts.is_access ? find_sectors(addresses, instruction.address_count, sectors) : 0;
        if (count > 0) record.address = sectors[0];
        Record child = record;
        if (count > 1) record.access_size = static_cast<uint8_t>(std::min<size_t>(record.access_size * count, 255));
        records_.push_back(record);
        child.is_fp = 1;
        for (size_t i = 1; i < count; ++i) {
            child.address = sectors[i];
            records_.push_back(child);
        }
    }

    const LaunchHeader& header_;
    const uint64_t code_base_;
    std::vector<OpcodeFacts> facts_;
    std::vector<Record> records_;
    uint64_t without_lanes_ = 0;
};

void check_header(const std::string& trace, const LaunchHeader& header) {
    if (header.grid.count() > most_ctas)
        throw TraceError(trace, 0,
                         "expected a grid of at most 32768 CTAs (MacSim numbers a launch's warps in 31 bits), found " +
                             std::to_string(header.grid.count()));
}

void check_code(const std::string& trace, const Cta& cta) {
    for (const Instruction& instruction : cta.instructions)
        if (instruction.pc >= code_size)
            throw TraceError(
                trace, 0,
                "expected a kernel of at most 16 MiB of code, found an instruction at PC " + std::to_string(instruction.pc));
}

void read_warps(TraceReader& reader, const std::string& trace, Recorder& recorder, const TakeWarp& take) {
    check_header(trace, reader.header());
    std::set<uint32_t> seen;
    Cta cta;
    while (reader.next(cta)) {
        interruption_point();
        if (!seen.insert(recorder.id(cta, {})).second)
            throw TraceError(trace, 0, "expected every CTA once, found one twice: MacSim knows warps by number");
        check_code(trace, cta);
        if (cta.warps.empty()) take(recorder.id(cta, {}), recorder.nothing());
        for (const Warp& warp : cta.warps) take(recorder.id(cta, warp), recorder.warp(cta, warp, reader.opcodes()));
    }
}

void hash_launch(StreamHasher& hasher, const LaunchHeader& header) {
    hasher.add(header.grid.x, uint64_t{header.grid.y} << 32 | header.grid.z);
    hasher.add(header.block.x, uint64_t{header.block.y} << 32 | header.block.z);
    hasher.add(header.registers, header.shared_memory);
}

void hash_record(StreamHasher& hasher, const Record& record) {
    uint64_t words[8];
    std::memcpy(words, &record, sizeof words);
    for (int i = 0; i < 8; i += 2) hasher.add(words[i], words[i + 1]);
}

class CodeTable {
public:
    void add(const Record& record) {
        const size_t slot = record.pc >> 3;
        if (slot < seen_.size() && seen_[slot]) return;
        if (slot >= seen_.size()) seen_.resize(std::max(slot + 1, 2 * seen_.size()));
        seen_[slot] = true;
        Record decoded = record;  // what MacSim keeps of the first record it meets at a PC
        decoded.active_mask = 0;
        decoded.target = decoded.address = 0;
        decoded.access_size = 0;
        decoded.barrier_threads = 0;  // the block's, which may differ between launches
        StreamHasher hasher;
        hash_record(hasher, decoded);
        instructions_.push_back({record.pc, hasher.finish().low});
    }
    std::vector<StaticInstruction> finish() {
        std::sort(instructions_.begin(), instructions_.end(),
                  [](const StaticInstruction& a, const StaticInstruction& b) { return a.pc < b.pc; });
        return std::move(instructions_);
    }

private:
    std::vector<bool> seen_;
    std::vector<StaticInstruction> instructions_;
};

// Model: CTAs that fit an SM of Volta by threads (2,048), CTAs (32), registers (65,536) and shared memory (96 KiB).
// The tracer asks the GPU it runs on; MacSim reads the number and does not use it.
uint64_t ctas_per_core(const LaunchHeader& header) {
    constexpr replay::Residency volta{1, 32, 64, 65536, 98304};
    return volta.ctas_of_sm(header.warps_per_cta(), header.warps_per_cta() * 32 * header.registers, header.shared_memory);
}

}  // namespace

Digest digest(const std::string& trace) {
    const auto reader = open_trace(trace);
    Recorder recorder(reader->header(), 0);
    Digest result;
    StreamHasher hasher;
    CodeTable code;
    hash_launch(hasher, reader->header());
    read_warps(*reader, trace, recorder, [&](uint32_t id, const std::vector<Record>& records) {
        ++result.warps;
        result.records += records.size();
        hasher.add(id, records.size());
        for (const Record& record : records) {
            hash_record(hasher, record);
            code.add(record);
        }
    });
    result.header = reader->header();
    result.ctas_per_core = ctas_per_core(result.header);
    result.content = hasher.finish();
    result.without_lanes = recorder.without_lanes();
    for (const Recorder::OpcodeFacts& facts : recorder.facts())
        if (!facts.exact) result.approximated[facts.base] += facts.count;
    result.instructions = code.finish();
    return result;
}

void each_warp(const std::string& trace, uint64_t code_base, const TakeWarp& take) {
    const auto reader = open_trace(trace);
    Recorder recorder(reader->header(), code_base);
    read_warps(*reader, trace, recorder, take);
}

}  // namespace kernelpoint::macsim
