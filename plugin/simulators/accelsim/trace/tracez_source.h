// Reads the warps of a .tracez file: in order for a TraceReader, or any one by itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "native/trace/source.h"
#include "simulators/accelsim/trace/instruction.h"
#include "simulators/accelsim/trace/tracez.h"

namespace kernelpoint {

// Reads warps into a Cta.
class TracezWarpReader {
public:
    TracezWarpReader(const TracezFile& file, bool keep_values)
        : file_(file), frames_(file), lines_(file.path, frames_), parser_(lines_, file.header, keep_values) {}

    // Appends warp `number` of the CTA `entry` and returns where its data ends in the file. Throws TraceError: a warp
    // is either whole or refused.
    uint64_t read(const TracezCta& entry, uint32_t number, Cta& cta);
    const InstructionParser& parser() const { return parser_; }

private:
    uint64_t read_lines(const TracezWarp& entry, const Warp& warp, Cta& cta);

    const TracezFile& file_;
    TracezFrames frames_;
    Lines lines_;
    InstructionParser parser_;
};

// Any warp by itself: the index is read once, for where its CTAs' entries lie (8 bytes for each).
class TracezWarps {
public:
    explicit TracezWarps(const std::string& path, bool keep_values = false);

    const TracezFile& file() const { return file_; }
    uint64_t cta_count() const { return index_.cta_count(); }
    TracezCta entry(uint64_t cta);
    // The warp `warp` of the CTA at place `cta` of the index; throws std::out_of_range where there is none.
    void read(uint64_t cta, uint32_t warp, Cta& into);
    const std::vector<Opcode>& opcodes() const { return reader_.parser().opcodes(); }

private:
    const TracezFile file_;
    TracezIndex index_;
    TracezWarpReader reader_;
    std::vector<uint64_t> positions_;  // of the CTAs' entries in the index
};

std::unique_ptr<TraceSource> open_tracez(const std::string& path, bool keep_values);  // throws TraceError

}  // namespace kernelpoint
