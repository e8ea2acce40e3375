// A TraceReader reads from the source that its file's format has.
#include "native/trace/accelsim/tracez.h"
#include "native/trace/macsim/format.h"
#include "native/trace/source.h"

namespace kernelpoint {

void Cta::clear() {
    index = {0, 0, 0};
    cluster = {};
    warps.clear();
    instructions.clear();
    addresses.clear();
    bulk_copies.clear();
    operand_values.clear();
    values.clear();
}

TraceReader::TraceReader(const std::string& path, bool keep_values)
    : source_(macsim::is_launch(path) ? open_macsim(path)
              : is_tracez(path)       ? open_tracez(path, keep_values)
                                      : open_accelsim(path, keep_values)) {}
TraceReader::~TraceReader() = default;
const LaunchHeader& TraceReader::header() const {
    return source_->header();
}
const std::vector<Opcode>& TraceReader::opcodes() const {
    return source_->opcodes();
}
uint64_t TraceReader::store_data_left_out() const {
    return source_->store_data_left_out();
}
bool TraceReader::next(Cta& cta) {
    return source_->next(cta);
}

}  // namespace kernelpoint
