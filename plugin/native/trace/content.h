// Content of a trace, as hash and size, so that of equal traces only one is parsed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "native/trace/regular_file.h"
#include "native/trace/stream_hash.h"

namespace kernelpoint {

constexpr uint32_t content_version = 1;  // raised whenever equal traces would hash differently than before

// Text of a trace without the launch's number and CUDA stream, which no reader uses.
struct Content {
    StreamHash hash;
    uint64_t bytes = 0;
};

// Tells by its name whether a trace is text that has a content.
bool has_content(const std::string& path);
// Reads the content of a trace; throws TraceError.
Content content_of(const std::string& path, std::shared_ptr<RegularFile> file);

}  // namespace kernelpoint
