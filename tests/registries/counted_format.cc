// A trace format outside the tree: a launch is a file `<name>.counted` with its number of CTAs, a list begins with the
// line `counted launches`. Each CTA has one warp that exits at once.
#include <fstream>

#include "native/trace/format.h"
#include "native/trace/numbers.h"
#include "native/trace/paths.h"

namespace {

using namespace kernelpoint;

class CountedSource : public TraceReader {
public:
    explicit CountedSource(const std::string& path) : opcodes_{classify_opcode("EXIT")} {
        header_.kernel_name = file_name(path);
        header_.block.x = 32;
        if (!(std::ifstream(path) >> header_.grid.x)) throw TraceError(path, 1, "expected a number of CTAs");
    }
    const LaunchHeader& header() const override { return header_; }
    const std::vector<Opcode>& opcodes() const override { return opcodes_; }
    bool next(Cta& cta) override {
        if (next_ == header_.grid.x) return false;
        cta.clear();
        cta.index.x = next_++;
        cta.warps.push_back({0, 0, 1});
        cta.instructions.emplace_back();
        cta.instructions.back().active_mask = ~0u;
        return true;
    }

private:
    LaunchHeader header_;
    std::vector<Opcode> opcodes_;
    uint32_t next_ = 0;
};

class CountedFormat : public TraceFormat {
public:
    const char* name() const override { return "counted"; }
    const char* folder_content() const override { return "files *.counted"; }

    Match match_launch(const std::string& path) const override { return match(ends_with(path, ".counted")); }
    std::unique_ptr<TraceReader> open(const std::string& path, bool, std::shared_ptr<RegularFile>) const override {
        return std::make_unique<CountedSource>(path);
    }

    bool is_list_name(const std::string& path) const override { return ends_with(path, ".counts"); }
    Match match_list(std::string_view first_line) const override { return match(first_line == "counted launches"); }
    Launches read_list(Lines& lines) const override {
        const std::string folder = folder_of(lines.path());
        Launches list;
        for (lines.consume_text(); lines.peek() != nullptr; lines.consume_text()) add(list, folder + std::string(lines.text()));
        return list;
    }

    Match match_folder(const FolderEntries& entries) const override {
        for (const std::string& name : entries)
            if (ends_with(name, ".counted")) return Match::certain;
        return Match::none;
    }
    Launches read_folder(const std::string& folder, const FolderEntries& entries) const override {
        Launches list;
        for (const std::string& name : entries)
            if (ends_with(name, ".counted")) add(list, folder + "/" + name);
        return list;
    }

private:
    static Match match(bool is_ours) { return is_ours ? Match::certain : Match::none; }
    static void add(Launches& list, std::string path) { list.contents.push_back(list.add_path(std::move(path))); }
};

const RegisteredTraceFormat<CountedFormat> registered;

}  // namespace
