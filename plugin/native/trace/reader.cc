// A TraceReader reads from the source that its launch's format opens.
#include "native/trace/format.h"

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
    : source_(format_of_launch(path).open(path, keep_values)) {}
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
