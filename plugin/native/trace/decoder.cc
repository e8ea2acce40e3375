// Decompression through the system's zlib, liblzma and libzstd, which are loaded when the first compressed trace is
// met.
#include <cstring>
#include <stdexcept>

#include "native/trace/library.h"
#include "native/trace/lines.h"

namespace kernelpoint {

namespace {

constexpr size_t memory_limit = size_t{1} << 30;  // of one decoder: xz -9 takes 65 MiB, zstd --long=30 1 GiB

struct LzmaStream {  // lzma_stream
    const uint8_t* next_in;
    size_t avail_in;
    uint64_t total_in;
    uint8_t* next_out;
    size_t avail_out;
    uint64_t total_out;
    const void* allocator;
    void* internal;
    void* reserved_pointers[4];
    uint64_t reserved_numbers[2];
    size_t reserved_sizes[2];
    int reserved_enums[2];
};

struct Lzma {
    enum { ok = 0, stream_end = 1, buffer_error = 10, concatenated = 0x08, run = 0, finish = 3 };

    const Library library{"liblzma.so.5", "liblzma5 (xz-libs on Red Hat systems)"};
    int (*const stream_decoder)(LzmaStream*, uint64_t memory_limit, uint32_t flags) = library["lzma_stream_decoder"];
    int (*const code)(LzmaStream*, int action) = library["lzma_code"];
    void (*const end)(LzmaStream*) = library["lzma_end"];
};

class XzDecoder : public Decoder {
public:
    XzDecoder() : lzma_(loaded<Lzma>()) {
        if (lzma_.stream_decoder(&stream_, memory_limit, Lzma::concatenated) != Lzma::ok)
            throw std::runtime_error("liblzma could not be started (out of memory)");
    }
    ~XzDecoder() override { lzma_.end(&stream_); }

    size_t decode(const char* in, size_t in_size, size_t& used, char* out, size_t out_size, bool last) override {
        used = 0;
        if (done_) return 0;
        stream_.next_in = reinterpret_cast<const uint8_t*>(in);
        stream_.avail_in = in_size;
        stream_.next_out = reinterpret_cast<uint8_t*>(out);
        stream_.avail_out = out_size;
        const int status = lzma_.code(&stream_, last ? Lzma::finish : Lzma::run);
        used = in_size - stream_.avail_in;
        const size_t written = out_size - stream_.avail_out;
        done_ = status == Lzma::stream_end;
        const bool truncated = status == Lzma::buffer_error || (last && !done_ && used == 0 && written == 0);
        if (truncated) throw std::runtime_error("the xz stream is truncated");
        if (status != Lzma::ok && !done_)
            throw std::runtime_error("the xz stream is damaged (liblzma error " + std::to_string(status) + ")");
        return written;
    }

private:
    const Lzma& lzma_;
    LzmaStream stream_{};
    bool done_ = false;
};

class GzipDecoder : public Decoder {
public:
    GzipDecoder() : zlib_(loaded<Zlib>()) {
        if (zlib_.inflate_init(&stream_, Zlib::window + Zlib::gzip, Zlib::version, sizeof stream_) != Zlib::ok)
            throw std::runtime_error("zlib could not be started (out of memory)");
    }
    ~GzipDecoder() override { zlib_.inflate_end(&stream_); }

    size_t decode(const char* in, size_t in_size, size_t& used, char* out, size_t out_size, bool last) override {
        used = 0;
        if (member_complete_) {  // members may follow each other, as `cat` leaves them
            if (in_size == 0) return 0;
            zlib_.inflate_reset(&stream_);
            member_complete_ = false;
        }
        stream_.next_in = reinterpret_cast<const uint8_t*>(in);
        stream_.avail_in = static_cast<unsigned>(in_size);
        stream_.next_out = reinterpret_cast<uint8_t*>(out);
        stream_.avail_out = static_cast<unsigned>(out_size);
        const int status = zlib_.inflate(&stream_, Zlib::no_flush);
        used = in_size - stream_.avail_in;
        const size_t written = out_size - stream_.avail_out;
        member_complete_ = status == Zlib::stream_end;
        if (status != Zlib::ok && status != Zlib::buffer_error && !member_complete_)
            throw std::runtime_error(
                "the gzip stream is damaged (" +
                (stream_.message != nullptr ? std::string(stream_.message) : "zlib error " + std::to_string(status)) + ")");
        if (last && !member_complete_ && used == 0 && written == 0) throw std::runtime_error("the gzip stream is truncated");
        return written;
    }

private:
    const Zlib& zlib_;
    ZlibStream stream_{};
    bool member_complete_ = false;
};

class ZstdDecoder : public Decoder {
public:
    ZstdDecoder() : zstd_(loaded<Zstd>()), context_(zstd_.create()) {
        if (context_ == nullptr) throw std::runtime_error("libzstd could not be started (out of memory)");
        zstd_.set_parameter(context_, Zstd::window_log_max, 30);  // memory_limit
    }
    ~ZstdDecoder() override { zstd_.destroy(context_); }

    size_t decode(const char* in, size_t in_size, size_t& used, char* out, size_t out_size, bool last) override {
        ZstdIn input{in, in_size, 0};
        ZstdOut output{out, out_size, 0};
        const size_t status = zstd_.decompress(context_, &output, &input);
        used = input.position;
        if (zstd_.is_error(status) != 0)
            throw std::runtime_error(std::string("the zstd stream is damaged (") + zstd_.error_name(status) + ")");
        if (used > 0 || output.position > 0) frame_complete_ = status == 0;
        if (last && in_size == used && output.position == 0 && !frame_complete_)
            throw std::runtime_error("the zstd stream is truncated");
        return output.position;
    }

private:
    const Zstd& zstd_;
    void* context_;
    bool frame_complete_ = false;
};

}  // namespace

Compression recognise_compression(const char* bytes, size_t size) {
    if (size >= 6 && std::memcmp(bytes, "\xFD\x37zXZ\0", 6) == 0) return Compression::xz;
    if (size >= 2 && std::memcmp(bytes, "\x1f\x8b", 2) == 0) return Compression::gzip;
    if (size >= 4 && std::memcmp(bytes, "\x28\xB5\x2F\xFD", 4) == 0) return Compression::zstd;
    return Compression::none;
}

std::unique_ptr<Decoder> make_decoder(Compression compression) {
    if (compression == Compression::gzip) return std::make_unique<GzipDecoder>();
    if (compression == Compression::xz) return std::make_unique<XzDecoder>();
    return std::make_unique<ZstdDecoder>();
}

}  // namespace kernelpoint
