// Promises of a reader to those who use what it gives without checks of their own.
#pragma once

#include <cstdlib>
#include <string>

#include "native/trace/scan.h"
#include "native/trace/trace.h"

namespace fuzz {

inline void require(bool holds) {
    if (!holds) std::abort();
}

inline void check_instructions(const kernelpoint::TraceReader& reader, const kernelpoint::Cta& cta) {
    size_t instructions = 0, addresses = 0;
    for (const kernelpoint::Warp& warp : cta.warps) {
        require(warp.first_instruction == instructions && warp.id < reader.header().warps_per_cta());
        instructions += warp.instruction_count;
    }
    for (const kernelpoint::Instruction& i : cta.instructions) {
        const auto lanes = static_cast<uint32_t>(__builtin_popcount(i.active_mask));
        require(i.opcode < reader.opcodes().size() && i.destination_count <= 2 && i.source_count <= 6);
        const bool is_bulk_copy = reader.opcodes()[i.opcode].is_bulk_copy;
        const uint32_t most = is_bulk_copy ? kernelpoint::most_transfers : lanes;
        require(i.first_address == addresses && i.address_count <= (i.width == 0 ? 0 : most));
        const bool may_lack_addresses = reader.header().tracer_version == 0;  // MacSim's records of atomics
        if (!is_bulk_copy && i.width != 0) require(i.address_count == lanes || (may_lack_addresses && i.address_count == 0));
        addresses += i.address_count;
    }
    require(instructions == cta.instructions.size() && addresses == cta.addresses.size());
}

inline void check(const kernelpoint::TraceReader& reader, const kernelpoint::Cta& cta) {
    check_instructions(reader, cta);
    size_t values = 0;
    for (const kernelpoint::OperandValues& entry : cta.operand_values) {
        require(entry.instruction < cta.instructions.size() && entry.first == values);
        const kernelpoint::Instruction& i = cta.instructions[entry.instruction];
        for (int operand = 0; operand < i.destination_count + i.source_count; ++operand)
            values += (entry.per_lane >> operand & 1) != 0 ? 32 : 1;
    }
    require(values == cta.values.size());
    for (const kernelpoint::BulkCopy& copy : cta.bulk_copies) require(copy.instruction < cta.instructions.size());
}

// Reads a launch to its end; false if it is refused, which an error does that names its file.
inline bool read_launch(const std::string& path, const std::string& folder) {
    try {
        const auto reader = kernelpoint::open_trace(path, true);
        kernelpoint::Cta cta;
        uint64_t ctas = 0, instructions = 0;
        for (; reader->next(cta); ++ctas) {
            check(*reader, cta);
            instructions += cta.instructions.size();
        }
        const kernelpoint::Scan scan = kernelpoint::scan_trace(path);
        require(scan.work.ctas == ctas && scan.work.instructions == instructions && ctas == scan.header.grid.count());
        return true;
    } catch (const kernelpoint::TraceError& error) {
        require(error.file.compare(0, folder.size(), folder) == 0 && std::string(error.what()).find(error.file) == 0);
        return false;
    }
}

}  // namespace fuzz
