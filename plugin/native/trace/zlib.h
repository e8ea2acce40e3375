// The system's zlib, loaded when the first gzip file is met: neither its headers nor the library are needed to build.
// The declarations follow zlib's published, stable C interface (zlib 1.2 and later).
#pragma once

#include <cstddef>
#include <cstdint>

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
    enum { ok = 0, stream_end = 1, buffer_error = -5, no_flush = 0, finish = 4, deflated = 8, gzip = 16, window = 15 };
    int (*inflate_init)(ZlibStream*, int window_bits, const char* version, int stream_size);
    int (*inflate)(ZlibStream*, int flush);
    int (*inflate_reset)(ZlibStream*);
    int (*inflate_end)(ZlibStream*);
    int (*deflate_init)(ZlibStream*, int level, int method, int window_bits, int memory_level, int strategy,
                        const char* version, int stream_size);
    int (*deflate)(ZlibStream*, int flush);
    int (*deflate_reset)(ZlibStream*);
    int (*deflate_end)(ZlibStream*);

    static const Zlib& get();  // throws std::runtime_error that names the package where zlib is missing
    static constexpr const char* version = "1.2.0";  // zlib checks the first digit only

private:
    Zlib();
};

}  // namespace kernelpoint
