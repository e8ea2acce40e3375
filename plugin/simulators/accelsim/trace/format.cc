// Accel-Sim's traces, as text (.traceg) or compressed (.tracez): what no other format takes is read as its text.
#include "native/trace/format.h"

#include "native/trace/paths.h"
#include "simulators/accelsim/trace/list.h"
#include "simulators/accelsim/trace/text_source.h"
#include "simulators/accelsim/trace/tracez.h"
#include "simulators/accelsim/trace/tracez_source.h"

namespace kernelpoint {

namespace {

class AccelsimFormat : public TraceFormat {
public:
    const char* name() const override { return "accelsim"; }
    const char* folder_content() const override {
        return "a kernelslist.g, files kernel-N.traceg[.xz|.zst], kernel-N.tracez";
    }

    Match match_launch(const std::string&) const override { return Match::possible; }
    std::unique_ptr<TraceSource> open(const std::string& path, bool keep_values) const override {
        return is_tracez(path) ? open_tracez(path, keep_values) : open_text(path, keep_values);
    }

    bool is_list_name(const std::string& path) const override { return ends_with(path, ".g"); }
    Match match_list(std::string_view) const override { return Match::possible; }
    TraceList read_list(Lines& lines) const override { return read_kernelslist(lines); }

    Match match_folder(const FolderEntries& entries) const override { return match_traces(entries); }
    TraceList read_folder(const std::string& folder, const FolderEntries& entries) const override {
        return list_traces(folder, entries);
    }
};

const RegisteredTraceFormat<AccelsimFormat> registered;

}  // namespace

}  // namespace kernelpoint
