// A TraceReader reads from the source that its file's format has.
#include "native/trace/macsim/format.h"
#include "native/trace/source.h"

namespace kernelpoint {

TraceReader::TraceReader(const std::string& path)
    : source_(macsim::is_launch(path) ? open_macsim(path) : open_accelsim(path)) {}
TraceReader::~TraceReader() = default;
const LaunchHeader& TraceReader::header() const {
    return source_->header();
}
const std::vector<Opcode>& TraceReader::opcodes() const {
    return source_->opcodes();
}
bool TraceReader::next(Cta& cta) {
    return source_->next(cta);
}

}  // namespace kernelpoint
