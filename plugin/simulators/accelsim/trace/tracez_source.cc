#include "simulators/accelsim/trace/tracez_source.h"

#include <cstring>

#include "simulators/accelsim/trace/instruction.h"
#include "simulators/accelsim/trace/tracez.h"

namespace kernelpoint {

namespace {

std::string name_of(const Dim3& index) {
    return std::to_string(index.x) + "," + std::to_string(index.y) + "," + std::to_string(index.z);
}

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

uint64_t TracezWarpReader::read(const TracezCta& entry, uint32_t number, Cta& cta) {
    const TracezWarp& from = entry.warps[number];
    Warp warp;
    warp.id = number;
    warp.first_instruction = static_cast<uint32_t>(cta.instructions.size());
    warp.instruction_count = from.instructions;
    uint64_t end = 0;
    try {
        if (cta.instructions.size() + from.instructions > most_instructions)
            file_.fail("this CTA holds more than 2147483648 instructions");
        lines_.restart(0);
        end = read_lines(from, warp, cta);
    } catch (const TraceError& error) {
        const std::string line = error.line == 0 ? "" : ", line " + std::to_string(error.line);
        file_.fail("warp " + std::to_string(number) + " of CTA " + name_of(entry.index) + line + ": " +
                   error.what_is_wrong);
    }
    cta.warps.push_back(warp);
    return end;
}

uint64_t TracezWarpReader::read_lines(const TracezWarp& from, const Warp& warp, Cta& cta) {
    uint32_t head[2];
    std::memcpy(head, frames_.view(from.offset, sizeof head), sizeof head);
    if (head[0] != from.instructions || head[1] != from.sub_chunks.size())
        file_.fail("expected its data to begin with its " + std::to_string(from.instructions) + " instructions and " +
                   std::to_string(from.sub_chunks.size()) + " sub-chunks, found " + std::to_string(head[0]) + " and " +
                   std::to_string(head[1]));
    uint64_t offset = from.offset + sizeof head;
    for (const uint32_t count : from.sub_chunks) {
        offset = frames_.open(offset, count);
        lines_.restart(lines_.number());
        for (uint32_t i = 0; i < count; ++i) {
            const char* p = lines_.peek();
            if (p == nullptr || *p == '\n')
                lines_.fail_expected("instruction " + std::to_string(i + 1) + " of " + std::to_string(count) +
                                     " of a sub-chunk");
            parser_.parse(p, warp, cta);
        }
        if (lines_.peek() != nullptr)
            lines_.fail_expected("the end of a sub-chunk behind its " + std::to_string(count) + " instructions");
    }
    return offset;
}

class TracezSource : public TraceSource {
public:
    TracezSource(const std::string& path, bool keep_values) : file_(path), index_(file_), reader_(file_, keep_values) {}

    const LaunchHeader& header() const override { return file_.header.launch; }
    const std::vector<Opcode>& opcodes() const override { return reader_.parser().opcodes(); }
    uint64_t store_data_left_out() const override { return reader_.parser().store_data_left_out(); }

    bool next(Cta& cta) override {
        cta.clear();
        if (!index_.next(entry_)) {
            if (instructions_ == 0) file_.fail("expected at least one instruction");
            return false;
        }
        cta.index = entry_.index;
        cta.cluster = entry_.cluster;
        for (uint32_t warp = 0; warp < entry_.warps.size(); ++warp) {
            if (entry_.warps[warp].offset < data_end_)
                file_.fail("warp " + std::to_string(warp) + " of CTA " + name_of(entry_.index) +
                           ": expected its data behind the previous warp's, found them overlap");
            data_end_ = reader_.read(entry_, warp, cta);
        }
        instructions_ += cta.instructions.size();
        return true;
    }

private:
    const TracezFile file_;
    TracezIndex index_;
    TracezWarpReader reader_;
    TracezCta entry_;
    uint64_t instructions_ = 0, data_end_ = 0;
};

}  // namespace

std::unique_ptr<TraceSource> open_tracez(const std::string& path, bool keep_values) {
    return std::make_unique<TracezSource>(path, keep_values);
}

}  // namespace kernelpoint
