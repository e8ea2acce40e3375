// Libraries of the system that are loaded at run time, so that neither they nor their headers need be there to build.
// The declarations follow their published, stable C interfaces.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace kernelpoint {

class Library {
public:
    // Address of a function in a library, which can be assigned to a function pointer.
    struct Symbol {
        void* address;
        template <typename Function>
        operator Function*() const {  // NOLINT
            return reinterpret_cast<Function*>(address);
        }
    };

    // Loads a library. Throws std::runtime_error with the package's name if it is missing.
    Library(const char* name, const char* package) : library_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
        if (library_ == nullptr)
            throw std::runtime_error(std::string("needs ") + name + ", which is not installed; install the package " + package);
    }
    // Throws std::runtime_error where the library has no such function.
    Symbol operator[](const char* name) const {
        void* const found = dlsym(library_, name);
        if (found == nullptr) throw std::runtime_error(std::string("needs ") + name + ", which the library lacks");
        return {found};
    }

private:
    void* const library_;
};

// Functions of a library, looked up when they are first needed.
template <typename Functions>
const Functions& loaded() {
    static const Functions functions;
    return functions;
}

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

// The system's zlib (1.2 and later), for gzip files.
struct Zlib {
    enum { ok = 0, stream_end = 1, buffer_error = -5, no_flush = 0, gzip = 16, window = 15 };
    static constexpr const char* version = "1.2.0";  // zlib checks the first digit only

    const Library library{"libz.so.1", "zlib1g (zlib on Red Hat systems)"};
    int (*const inflate_init)(ZlibStream*, int window_bits, const char* version, int size) = library["inflateInit2_"];
    int (*const inflate)(ZlibStream*, int flush) = library["inflate"];
    int (*const inflate_reset)(ZlibStream*) = library["inflateReset"];
    int (*const inflate_end)(ZlibStream*) = library["inflateEnd"];
};

struct ZstdIn {  // ZSTD_inBuffer
    const void* source;
    size_t size, position;
};
struct ZstdOut {  // ZSTD_outBuffer
    void* destination;
    size_t size, position;
};

// The system's libzstd (1.4 and later).
struct Zstd {
    enum { window_log_max = 100, reset_session = 1 };
    static constexpr unsigned long long unknown_size = 0ULL - 1, not_a_frame = 0ULL - 2;

    const Library library{"libzstd.so.1", "libzstd1 (libzstd on Red Hat systems)"};
    void* (*const create)() = library["ZSTD_createDCtx"];
    size_t (*const destroy)(void*) = library["ZSTD_freeDCtx"];
    size_t (*const set_parameter)(void*, int parameter, int value) = library["ZSTD_DCtx_setParameter"];
    size_t (*const reset)(void*, int what) = library["ZSTD_DCtx_reset"];
    size_t (*const use_dictionary)(void*, const void* dictionary) = library["ZSTD_DCtx_refDDict"];
    void* (*const create_dictionary)(const void* bytes, size_t size) = library["ZSTD_createDDict"];
    size_t (*const destroy_dictionary)(void*) = library["ZSTD_freeDDict"];
    size_t (*const decompress)(void*, ZstdOut*, ZstdIn*) = library["ZSTD_decompressStream"];
    unsigned long long (*const content_size)(const void* bytes, size_t size) = library["ZSTD_getFrameContentSize"];
    unsigned (*const is_error)(size_t) = library["ZSTD_isError"];
    const char* (*const error_name)(size_t) = library["ZSTD_getErrorName"];
};

}  // namespace kernelpoint
