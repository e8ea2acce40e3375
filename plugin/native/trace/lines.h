// Walks an Input line by line and knows the line number for messages.
#pragma once

#include <string>
#include <string_view>

#include "native/trace/input.h"

namespace kernelpoint {

class Lines {
public:
    explicit Lines(const std::string& path) : path_(path), input_(path) {}
    Lines(const std::string& path, std::shared_ptr<RegularFile> file) : path_(path), input_(path, std::move(file)) {}
    Lines(const std::string& path, ByteSource& source) : path_(path), input_(path, source) {}

    // Continues with the bytes that the source gives from now on; the next line has the number `consumed` + 1.
    void restart(uint64_t consumed) {
        input_.restart();
        next_ = end_ = nullptr;
        number_ = consumed;
    }

    // Start of the next line, which ends with a line feed; null at the end of the file. `consume` moves on.
    const char* peek() {
        if (next_ == end_ && !input_.next_block(next_, end_, number_)) return nullptr;
        return next_;
    }
    // Moves to the next line. `behind` is the position after the line feed of the present one.
    void consume(const char* behind) {
        next_ = behind;
        ++number_;
    }
    // Text of the present line without its line feed and outer blanks.
    std::string_view text();
    void consume_text();

    // Throws TraceError: the present line is `what_is_wrong`.
    [[noreturn]] void fail(const std::string& what_is_wrong) const;
    // Throws TraceError if a name in the present line has characters that are not allowed (file_names.hpp).
    void require_name(const std::string& name) const;
    // Throws TraceError: "expected X, found <the present line>", or "found the end of the file".
    [[noreturn]] void fail_expected(const std::string& expected);

    const std::string& path() const { return path_; }
    uint64_t number() const { return number_; }  // of the last line consumed

private:
    const std::string path_;
    Input input_;
    const char *next_ = nullptr, *end_ = nullptr;
    uint64_t number_ = 0;
};

}  // namespace kernelpoint
