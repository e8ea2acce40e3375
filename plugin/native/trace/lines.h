// The bytes of a trace file as runs of whole lines (plain, .gz, .xz or .zst, recognised by content), and its lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace kernelpoint {

// A file open for reading, which is refused where it is no regular file: opening a FIFO would wait for a writer, and a
// device may act on it or give bytes without end.
class RegularFile {
public:
    explicit RegularFile(const std::string& path);  // throws TraceError
    ~RegularFile();
    RegularFile(const RegularFile&) = delete;
    RegularFile& operator=(const RegularFile&) = delete;

    uint64_t size() const { return size_; }
    // Reads the next `size` bytes of the file, fewer at its end.
    size_t read(void* to, size_t size);
    void rewind() { at_ = 0; }
    // Reads `size` bytes from `offset` on, fewer at the end; may be called from any thread.
    size_t read_at(uint64_t offset, void* to, size_t size) const;

private:
    const std::string path_;
    int descriptor_ = -1;
    uint64_t size_ = 0, at_ = 0;
};

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

// Walks an Input line by line and knows the line number for messages.
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
