#include "native/trace/lines.h"

#include <cstring>

#include "kernelpoint/file_names.hpp"
#include "native/trace/numbers.h"
#include "native/trace/trace.h"

namespace kernelpoint {

TraceError::TraceError(std::string file_, uint64_t line_, std::string what_is_wrong_)
    : std::runtime_error(file_ + (line_ == 0 ? std::string() : ":" + std::to_string(line_)) + ": " + what_is_wrong_),
      file(std::move(file_)),
      line(line_),
      what_is_wrong(std::move(what_is_wrong_)) {}

std::string_view Lines::text() {
    const char* begin = peek();
    if (begin == nullptr) return {};
    const char* end = static_cast<const char*>(std::memchr(begin, '\n', static_cast<size_t>(end_ - begin)));
    while (begin < end && is_blank(*begin)) ++begin;
    while (end > begin && is_blank(end[-1])) --end;
    return {begin, static_cast<size_t>(end - begin)};
}

void Lines::consume_text() {
    const char* begin = peek();
    consume(static_cast<const char*>(std::memchr(begin, '\n', static_cast<size_t>(end_ - begin))) + 1);
}

void Lines::fail(const std::string& what_is_wrong) const {
    throw TraceError(path_, number_ + 1, what_is_wrong);
}

void Lines::require_name(const std::string& name) const {
    const std::string problem = name_problem(name);
    if (!problem.empty()) fail(problem);
}

void Lines::fail_expected(const std::string& expected) {
    if (peek() == nullptr) throw TraceError(path_, number_, "expected " + expected + ", found the end of the file");
    std::string shown;
    for (const char c : text().substr(0, 80)) shown += c >= ' ' && c < 127 ? c : '?';
    if (text().size() > 80) shown += "...";
    fail("expected " + expected + ", found '" + shown + "'");
}

}  // namespace kernelpoint
