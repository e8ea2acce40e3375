// Reads Accel-Sim 2.0's compressed traces (.tracez): header text and a NUL, a zstd dictionary, zstd frames of
// instruction lines (a warp's are its sub-chunks), an index of all CTAs and warps, and the index's offset. Numbers are
// little-endian.
//
// Nothing in the file is believed before it is checked: offsets and sizes against the file's size, counts against the
// grid, the block and the bytes that are left, a frame's content against its index. Warps' data must lie in the order
// of the index without overlap, as the only known writer leaves them, so that a small file cannot stand for endless
// text.
#include <algorithm>
#include <cstring>

#include "native/trace/interruption.h"
#include "native/trace/library.h"
#include "native/trace/lines.h"
#include "native/trace/paths.h"
#include "simulators/accelsim/trace/instruction.h"

namespace kernelpoint {

namespace {

constexpr uint64_t longest_header = 1 << 20, largest_dictionary = 16 << 20;
constexpr size_t index_block = 64 << 10;
constexpr uint64_t longest_line = 1 << 20;
constexpr uint64_t warp_head = 8;       // instructions and sub-chunks, before a warp's data
constexpr uint64_t smallest_chunk = 5;  // its size, and something
constexpr int window_log = 27;          // 128 MiB, what zstd allows by default

uint32_t u32_at(const unsigned char* p) {
    return uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24;
}
uint64_t u64_at(const unsigned char* p) {
    return u32_at(p) | uint64_t{u32_at(p + 4)} << 32;
}

class HeaderText : public ByteSource {
public:
    explicit HeaderText(const std::string& text) : text_(text) {}
    size_t read(char* to, size_t size) override {
        const size_t got = std::min(size, text_.size() - at_);
        std::memcpy(to, text_.data() + at_, got);
        at_ += got;
        return got;
    }

private:
    const std::string& text_;
    size_t at_ = 0;
};

std::string name_of(const Dim3& index) {
    return std::to_string(index.x) + "," + std::to_string(index.y) + "," + std::to_string(index.z);
}

// Header, dictionary and where things lie. Reads at any place, from several threads.
class TracezFile {
public:
    explicit TracezFile(const std::string& path_) : path(path_), file_(path_) { open(); }
    TracezFile(const TracezFile&) = delete;
    TracezFile& operator=(const TracezFile&) = delete;

    void read(uint64_t offset, void* to, size_t size) const {
        if (file_.read_at(offset, to, size) < size) fail("expected more bytes: the file has become shorter while it was read");
    }
    [[noreturn]] void fail(const std::string& what_is_wrong) const { throw TraceError(path, 0, what_is_wrong); }

    const std::string path;
    TraceHeader header;
    std::string dictionary;
    uint64_t data_begin = 0, index_begin = 0, index_end = 0;

private:
    void open() {
        const uint64_t size = file_.size();
        if (size == 0) fail("expected a trace, found an empty file");
        std::string text(std::min(size, longest_header), '\0');
        read(0, text.data(), text.size());
        const size_t end = text.find('\0');
        if (end == std::string::npos) fail("expected a header of at most 1 MiB that ends with a NUL byte");
        text.resize(end);
        unsigned char numbers[8];
        const uint64_t behind = end + 1 + sizeof numbers;
        if (size < behind + 12) fail("expected a dictionary's size and an index behind the header, found the end of the file");
        read(end + 1, numbers, sizeof numbers);
        const uint64_t dictionary_size =
            u32_at(numbers);  // the second number, of a usual sub-chunk's instructions, says nothing
        read(size - 8, numbers, sizeof numbers);
        index_begin = u64_at(numbers);
        index_end = size - 8;
        data_begin = behind + dictionary_size;
        if (dictionary_size > largest_dictionary || data_begin > index_end - 4)
            fail("expected a dictionary that fits the file (at most 16 MiB), found one of " + std::to_string(dictionary_size) +
                 " bytes");
        if (index_begin < data_begin || index_begin > index_end - 4)
            fail("expected the last 8 bytes to be the offset of an index between " + std::to_string(data_begin) + " and " +
                 std::to_string(index_end - 4) + ", found " + std::to_string(index_begin));
        HeaderText source(text);
        Lines lines(path, source);
        header = read_header_lines(lines);
        dictionary.resize(dictionary_size);
        read(behind, dictionary.data(), dictionary.size());
    }

    const RegularFile file_;
};

struct TracezWarp {
    uint32_t instructions = 0;
    uint64_t offset = 0;               // of its data
    std::vector<uint32_t> sub_chunks;  // instructions of each
};

struct TracezCta {
    Dim3 index{0, 0, 0};
    Cluster cluster;
    std::vector<TracezWarp> warps;  // a warp's place is its number
};

// The index, CTA by CTA: memory is bounded by one CTA. Model: a launch has exactly the CTAs of its grid, as in text.
class TracezIndex {
public:
    explicit TracezIndex(const TracezFile& file)
        : file_(file), at_(file.index_begin), buffered_from_(file.index_begin), data_free_from_(file.data_begin) {
        count_ = read_u32();
        const uint64_t wanted = file.header.launch.grid.count();
        if (count_ != wanted)
            file_.fail("expected " + std::to_string(wanted) + " CTAs as the grid says (the index has " +
                       std::to_string(count_) + ")");
    }

    // Reads the next CTA; false after the last one. Throws TraceError.
    bool next(TracezCta& cta) {
        if (next_ == count_) {
            if (at_ != file_.index_end) file_.fail("expected the index to end behind its last CTA");
            return false;
        }
        warp_ = 0;
        const LaunchHeader& launch = file_.header.launch;
        cta.index = read_dim3();
        cta.cluster = {read_dim3(), read_dim3(), read_u32()};
        if (cta.index.x >= launch.grid.x || cta.index.y >= launch.grid.y || cta.index.z >= launch.grid.z)
            fail("expected an index within the grid");
        const uint32_t warps = read_u32();
        if (warps > launch.warps_per_cta())
            fail("expected at most " + std::to_string(launch.warps_per_cta()) + " warps, found " + std::to_string(warps));
        cta.warps.resize(warps);
        for (; warp_ < warps; ++warp_) read_warp(cta.warps[warp_]);
        ++next_;
        return true;
    }

private:
    [[noreturn]] void fail(const std::string& what_is_wrong) const {
        file_.fail("the index, CTA " + std::to_string(next_) + ", warp " + std::to_string(warp_) + ": " + what_is_wrong);
    }

    uint32_t read_u32() {
        if (file_.index_end - at_ < 4) fail("expected more entries, found the end of the index");
        if (at_ < buffered_from_ || at_ + 4 > buffered_from_ + buffer_.size()) {
            buffer_.resize(static_cast<size_t>(std::min<uint64_t>(index_block, file_.index_end - at_)));
            file_.read(at_, buffer_.data(), buffer_.size());
            buffered_from_ = at_;
        }
        const uint32_t number = u32_at(buffer_.data() + (at_ - buffered_from_));
        at_ += 4;
        return number;
    }

    uint64_t read_u64() {
        const uint64_t low = read_u32();
        return low | uint64_t{read_u32()} << 32;
    }

    Dim3 read_dim3() {
        Dim3 result;
        result.x = read_u32();
        result.y = read_u32();
        result.z = read_u32();
        return result;
    }

    void read_warp(TracezWarp& warp) {
        warp.instructions = read_u32();
        const uint64_t count = read_u32();
        warp.offset = read_u64();
        if (warp.instructions > uint32_t{1} << 31) fail("expected at most 2147483648 instructions");
        if (count > (file_.index_end - at_) / 4) fail("expected no more sub-chunks than the index has bytes for");
        if (warp.offset < data_free_from_ || warp.offset > file_.index_begin ||
            file_.index_begin - warp.offset < warp_head + smallest_chunk * count)
            fail("expected data behind the previous warp's and before the index, found the offset " +
                 std::to_string(warp.offset));
        uint64_t sum = 0;
        warp.sub_chunks.resize(count);
        for (uint32_t& instructions : warp.sub_chunks) {
            instructions = read_u32();
            if (instructions == 0) fail("expected no empty sub-chunk");
            sum += instructions;
        }
        if (sum != warp.instructions)
            fail("expected sub-chunks of " + std::to_string(warp.instructions) + " instructions in all, found " +
                 std::to_string(sum));
        data_free_from_ = warp.offset + warp_head + smallest_chunk * count;
    }

    const TracezFile& file_;
    std::vector<unsigned char> buffer_;
    uint64_t at_ = 0, buffered_from_ = 0;
    uint64_t count_ = 0, next_ = 0;  // CTAs
    uint64_t data_free_from_ = 0;    // the next warp's data lies here or behind
    size_t warp_ = 0;                // being read, for messages
};

// Decompresses one sub-chunk at a time.
class TracezFrames : public ByteSource {
public:
    explicit TracezFrames(const TracezFile& file) : file_(file), window_(longest_view) {
        try {
            zstd_ = &loaded<Zstd>();
        } catch (const std::runtime_error& error) {
            file_.fail(error.what());
        }
        context_ = zstd_->create();
        if (context_ == nullptr) file_.fail("libzstd could not be started (out of memory)");
        zstd_->set_parameter(context_, Zstd::window_log_max, window_log);
        if (file.dictionary.empty()) return;
        dictionary_ = zstd_->create_dictionary(file.dictionary.data(), file.dictionary.size());
        if (dictionary_ == nullptr || zstd_->is_error(zstd_->use_dictionary(context_, dictionary_)) != 0) {
            if (dictionary_ != nullptr) zstd_->destroy_dictionary(dictionary_);
            zstd_->destroy(context_);
            file_.fail("expected a zstd dictionary behind the header, found " + std::to_string(file.dictionary.size()) +
                       " bytes that are none");
        }
    }
    ~TracezFrames() override {
        zstd_->destroy(context_);
        if (dictionary_ != nullptr) zstd_->destroy_dictionary(dictionary_);
    }
    TracezFrames(const TracezFrames&) = delete;
    TracezFrames& operator=(const TracezFrames&) = delete;

    // The bytes at `offset`, at most `longest_view`, which must lie before the index; they stay until the next call of
    // this or another method. Reads ahead, as warps lie one behind the other.
    const char* view(uint64_t offset, size_t size) {
        if (offset < window_from_ || offset + size > window_from_ + window_size_) {
            window_size_ = static_cast<size_t>(std::min<uint64_t>(longest_view, file_.index_begin - offset));
            file_.read(offset, window_.data(), window_size_);
            window_from_ = offset;
        }
        return window_.data() + (offset - window_from_);
    }

    // The sub-chunk of `lines` lines whose size stands at `offset`; returns where the next one stands.
    uint64_t open(uint64_t offset, uint32_t lines) {
        constexpr size_t size_of_number = 4;
        if (offset > file_.index_begin || file_.index_begin - offset < size_of_number)
            file_.fail("expected the size of a sub-chunk, found the index");
        const uint64_t size = u32_at(reinterpret_cast<const unsigned char*>(view(offset, size_of_number)));
        file_at_ = offset + size_of_number;
        if (size > file_.index_begin - file_at_)
            file_.fail("expected a sub-chunk that ends before the index, found one of " + std::to_string(size) + " bytes");
        file_end_ = file_at_ + size;
        packed_begin_ = 0;
        packed_end_ = static_cast<size_t>(std::min<uint64_t>(size, longest_view));
        packed_ = view(file_at_, packed_end_);
        file_at_ += packed_end_;
        zstd_->reset(context_, Zstd::reset_session);
        const unsigned long long content = zstd_->content_size(packed_, packed_end_);
        if (content == Zstd::not_a_frame || content == Zstd::unknown_size)
            file_.fail("expected a zstd frame that says how much it holds");
        if (content < lines || content / longest_line > lines)
            file_.fail("expected a zstd frame of " + std::to_string(lines) + " lines of at most 1 MiB, found one of " +
                       std::to_string(content) + " bytes");
        content_left_ = content;
        complete_ = false;
        return file_end_;
    }

    size_t read(char* to, size_t size) override {
        size_t total = 0;
        while (total < size && !complete_) {
            interruption_point();
            if (packed_begin_ == packed_end_ && file_at_ < file_end_) {
                packed_begin_ = 0;
                packed_end_ = static_cast<size_t>(std::min<uint64_t>(file_end_ - file_at_, longest_view));
                packed_ = view(file_at_, packed_end_);
                file_at_ += packed_end_;
            }
            ZstdIn input{packed_, packed_end_, packed_begin_};
            ZstdOut output{to + total, size - total, 0};
            const size_t status = zstd_->decompress(context_, &output, &input);
            if (zstd_->is_error(status) != 0)
                throw std::runtime_error(std::string("the zstd frame is damaged (") + zstd_->error_name(status) + ")");
            if (output.position > content_left_) throw std::runtime_error("the zstd frame holds more than it says");
            if (input.position == packed_begin_ && output.position == 0)
                throw std::runtime_error("the zstd frame is truncated");
            packed_begin_ = input.position;
            content_left_ -= output.position;
            total += output.position;
            complete_ = status == 0;
        }
        if (complete_ && (content_left_ != 0 || packed_begin_ != packed_end_ || file_at_ != file_end_))
            throw std::runtime_error("the zstd frame is not as long as its header and the sub-chunk say");
        return total;
    }

private:
    static constexpr size_t longest_view = 128 << 10;
    const TracezFile& file_;
    const Zstd* zstd_ = nullptr;
    void *context_ = nullptr, *dictionary_ = nullptr;
    std::vector<char> window_;
    uint64_t window_from_ = 0;
    size_t window_size_ = 0;
    const char* packed_ = nullptr;
    size_t packed_begin_ = 0, packed_end_ = 0;
    uint64_t file_at_ = 0, file_end_ = 0;  // of the frame's bytes not yet read
    uint64_t content_left_ = 0;
    bool complete_ = true;
};

class TracezReader : public TraceReader {
public:
    TracezReader(const std::string& path, bool keep_values)
        : file_(path), index_(file_), frames_(file_), lines_(path, frames_), parser_(lines_, file_.header, keep_values) {}

    const LaunchHeader& header() const override { return file_.header.launch; }
    const std::vector<Opcode>& opcodes() const override { return parser_.opcodes(); }
    uint64_t store_data_left_out() const override { return parser_.store_data_left_out(); }

    bool next(Cta& cta) override {
        cta.clear();
        if (!index_.next(entry_)) {
            if (instructions_ == 0) file_.fail("expected at least one instruction");
            return false;
        }
        cta.index = entry_.index;
        cta.cluster = entry_.cluster;
        for (uint32_t warp = 0; warp < entry_.warps.size(); ++warp) {
            if (entry_.warps[warp].offset < data_end_)
                file_.fail("warp " + std::to_string(warp) + " of CTA " + name_of(entry_.index) +
                           ": expected its data behind the previous warp's, found them overlap");
            read_warp(warp, cta);
        }
        instructions_ += cta.instructions.size();
        return true;
    }

private:
    // Appends a warp of the CTA. Throws TraceError: it is either whole or refused.
    void read_warp(uint32_t number, Cta& cta) {
        const TracezWarp& from = entry_.warps[number];
        Warp warp;
        warp.id = number;
        warp.first_instruction = static_cast<uint32_t>(cta.instructions.size());
        warp.instruction_count = from.instructions;
        try {
            if (cta.instructions.size() + from.instructions > most_instructions)
                file_.fail("this CTA holds more than 2147483648 instructions");
            lines_.restart(0);
            data_end_ = read_lines(from, warp, cta);
        } catch (const TraceError& error) {
            const std::string line = error.line == 0 ? "" : ", line " + std::to_string(error.line);
            file_.fail("warp " + std::to_string(number) + " of CTA " + name_of(entry_.index) + line + ": " +
                       error.what_is_wrong);
        }
        cta.warps.push_back(warp);
    }

    // Returns where the warp's data ends in the file.
    uint64_t read_lines(const TracezWarp& from, const Warp& warp, Cta& cta) {
        uint32_t head[2];
        std::memcpy(head, frames_.view(from.offset, sizeof head), sizeof head);
        if (head[0] != from.instructions || head[1] != from.sub_chunks.size())
            file_.fail("expected its data to begin with its " + std::to_string(from.instructions) + " instructions and " +
                       std::to_string(from.sub_chunks.size()) + " sub-chunks, found " + std::to_string(head[0]) + " and " +
                       std::to_string(head[1]));
        uint64_t offset = from.offset + sizeof head;
        for (const uint32_t count : from.sub_chunks) {
            offset = frames_.open(offset, count);
            lines_.restart(lines_.number());
            for (uint32_t i = 0; i < count; ++i) {
                const char* p = lines_.peek();
                if (p == nullptr || *p == '\n')
                    lines_.fail_expected("instruction " + std::to_string(i + 1) + " of " + std::to_string(count) +
                                         " of a sub-chunk");
                parser_.parse(p, warp, cta);
            }
            if (lines_.peek() != nullptr)
                lines_.fail_expected("the end of a sub-chunk behind its " + std::to_string(count) + " instructions");
        }
        return offset;
    }

    const TracezFile file_;
    TracezIndex index_;
    TracezFrames frames_;
    Lines lines_;
    InstructionParser parser_;
    TracezCta entry_;
    uint64_t instructions_ = 0, data_end_ = 0;  // the end of the data of the warp read last
};

}  // namespace

bool is_tracez(const std::string& path) {
    return ends_with(path, ".tracez");
}

std::unique_ptr<TraceReader> open_tracez(const std::string& path, bool keep_values) {
    return std::make_unique<TracezReader>(path, keep_values);
}

}  // namespace kernelpoint
