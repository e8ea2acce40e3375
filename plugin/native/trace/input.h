// The bytes of a trace file as runs of whole lines: plain, .gz, .xz or .zst, recognised by content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "native/trace/regular_file.h"

namespace kernelpoint {

// Decompresses a stream piece by piece.
class Decoder {
public:
    virtual ~Decoder() = default;
    // Decompresses a part of the input: reads [in, in + in_size), writes [out, out + out_size). Returns the bytes
    // written and sets `used` to the bytes read. `last`: no input follows. Throws std::runtime_error on damaged or
    // truncated input.
    virtual size_t decode(const char* in, size_t in_size, size_t& used, char* out, size_t out_size, bool last) = 0;
};

enum class Compression { none, gzip, xz, zstd };
Compression recognise_compression(const char* bytes, size_t size);
// Makes a decoder; loads zlib, liblzma or libzstd at the first use. Throws std::runtime_error with the package's name
// if it is missing.
std::unique_ptr<Decoder> make_decoder(Compression compression);

// Source of bytes other than a file.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    // Reads `size` bytes, or fewer at the end. Throws std::runtime_error.
    virtual size_t read(char* to, size_t size) = 0;
};

// Reader of a file in blocks. Files are not memory mapped: a mapped file that another process truncates would kill the
// simulator (SIGBUS), and reading is as fast.
class Input {
public:
    explicit Input(const std::string& path) : Input(path, std::make_shared<RegularFile>(path)) {}
    Input(const std::string& path, std::shared_ptr<RegularFile> file);  // from its beginning
    Input(const std::string& path, ByteSource& source);                 // `path` is for messages
    Input(const Input&) = delete;
    Input& operator=(const Input&) = delete;

    // The next run of whole lines, always ended by a line feed and followed by `padding` readable bytes; false at the
    // end. The run before it becomes invalid. `line` is the last line handed out, for messages only.
    bool next_block(const char*& begin, const char*& end, uint64_t line);

    // Restarts with the bytes that the source gives from now on.
    void restart();

    static constexpr size_t padding = 128;

private:
    size_t read_file(char* to, size_t size);
    size_t read_decoded(char* to, size_t size);
    void make_room(uint64_t line);

    const std::string path_;
    ByteSource* const source_ = nullptr;
    std::shared_ptr<RegularFile> file_;
    std::unique_ptr<Decoder> decoder_;
    std::unique_ptr<char[]> packed_;  // compressed bytes not yet decoded: [packed_begin_, packed_end_)
    size_t packed_begin_ = 0, packed_end_ = 0;
    std::unique_ptr<char[]> buffer_;
    size_t capacity_ = 0, filled_ = 0, handed_out_ = 0;
    bool file_ended_ = false, ended_ = false;
};

}  // namespace kernelpoint
