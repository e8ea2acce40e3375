// The system's zlib (1.2 and later), for gzip files.
#pragma once

#include <cstddef>
#include <cstdint>

#include "native/trace/library.h"

namespace kernelpoint {

struct ZlibStream {  // z_stream
    const uint8_t* next_in = nullptr;
    unsigned avail_in = 0;
    unsigned long total_in = 0;
    uint8_t* next_out = nullptr;
    unsigned avail_out = 0;
    unsigned long total_out = 0;
    const char* message = nullptr;
    void* state = nullptr;
    void* (*allocate)(void*, unsigned, unsigned) = nullptr;
    void (*release)(void*, void*) = nullptr;
    void* opaque = nullptr;
    int data_type = 0;
    unsigned long adler = 0, reserved = 0;
};

struct Zlib {
    enum { ok = 0, stream_end = 1, buffer_error = -5, no_flush = 0, gzip = 16, window = 15 };
    static constexpr const char* version = "1.2.0";  // zlib checks the first digit only

    const Library library{"libz.so.1", "zlib1g (zlib on Red Hat systems)"};
    int (*const inflate_init)(ZlibStream*, int window_bits, const char* version, int size) = library["inflateInit2_"];
    int (*const inflate)(ZlibStream*, int flush) = library["inflate"];
    int (*const inflate_reset)(ZlibStream*) = library["inflateReset"];
    int (*const inflate_end)(ZlibStream*) = library["inflateEnd"];
};

}  // namespace kernelpoint
