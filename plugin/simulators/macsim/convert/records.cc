#include "simulators/macsim/convert/records.h"

#include <algorithm>

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

}  // namespace

void Recorder::learn(const std::vector<Opcode>& opcodes) {
    while (facts_.size() < opcodes.size()) {
        const Opcode& opcode = opcodes[facts_.size()];
        OpcodeFacts facts;
        facts.base = opcode.base;
        Record& record = facts.record;
        record.opcode = opcode_number(opcode.base, facts.exact);
        // Model: MacSim's format has no bulk copies (TMA): one becomes a MOV, reported as approximated, and its traffic
        // is lost.
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

const std::vector<Record>& Recorder::warp(const Cta& cta, const Warp& warp, const std::vector<Opcode>& opcodes) {
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

const std::vector<Record>& Recorder::nothing() {
    bool exact;
    Record end;
    end.opcode = opcode_number("EXIT", exact);
    end.pc = code_base_;
    end.target = code_base_ + end.size;
    end.access_size = 4;
    records_.assign(1, end);
    return records_;
}

void Recorder::add(const Instruction& instruction, const uint64_t* addresses) {
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

}  // namespace kernelpoint::macsim
