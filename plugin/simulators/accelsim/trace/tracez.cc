#include "simulators/accelsim/trace/tracez.h"

#include <algorithm>
#include <cstring>

#include "native/trace/interruption.h"
#include "native/trace/lines.h"
#include "native/trace/paths.h"

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

}  // namespace

bool is_tracez(const std::string& path) {
    return ends_with(path, ".tracez");
}

TracezFile::TracezFile(const std::string& path_) : path(path_), file_(path_) {
    open();
}

void TracezFile::read(uint64_t offset, void* to, size_t size) const {
    if (file_.read_at(offset, to, size) < size)
        fail("expected more bytes: the file has become shorter while it was read");
}

void TracezFile::open() {
    const uint64_t size = file_.size();
    if (size == 0) fail("expected a trace, found an empty file");
    std::string text(std::min(size, longest_header), '\0');
    read(0, text.data(), text.size());
    const size_t end = text.find('\0');
    if (end == std::string::npos) fail("expected a header of at most 1 MiB that ends with a NUL byte");
    text.resize(end);
    unsigned char numbers[8];
    const uint64_t behind = end + 1 + sizeof numbers;
    if (size < behind + 12)
        fail("expected a dictionary's size and an index behind the header, found the end of the file");
    read(end + 1, numbers, sizeof numbers);
    const uint64_t dictionary_size =
        u32_at(numbers);  // the second number, of a usual sub-chunk's instructions, says nothing
    read(size - 8, numbers, sizeof numbers);
    index_begin = u64_at(numbers);
    index_end = size - 8;
    data_begin = behind + dictionary_size;
    if (dictionary_size > largest_dictionary || data_begin > index_end - 4)
        fail("expected a dictionary that fits the file (at most 16 MiB), found one of " +
             std::to_string(dictionary_size) + " bytes");
    if (index_begin < data_begin || index_begin > index_end - 4)
        fail("expected the last 8 bytes to be the offset of an index between " + std::to_string(data_begin) + " and " +
             std::to_string(index_end - 4) + ", found " + std::to_string(index_begin));
    HeaderText source(text);
    Lines lines(path, source);
    header = read_header_lines(lines);
    dictionary.resize(dictionary_size);
    read(behind, dictionary.data(), dictionary.size());
}

// Model: a launch has exactly the CTAs of its grid, as in text.
TracezIndex::TracezIndex(const TracezFile& file)
    : file_(file), at_(file.index_begin), buffered_from_(file.index_begin), data_free_from_(file.data_begin) {
    count_ = read_u32();
    const uint64_t wanted = file.header.launch.grid.count();
    if (count_ != wanted)
        file_.fail("expected " + std::to_string(wanted) + " CTAs as the grid says (the index has " +
                   std::to_string(count_) + ")");
}

void TracezIndex::fail(const std::string& what_is_wrong) const {
    file_.fail("the index, CTA " + std::to_string(next_) + ", warp " + std::to_string(warp_) + ": " + what_is_wrong);
}

uint32_t TracezIndex::read_u32() {
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

uint64_t TracezIndex::read_u64() {
    const uint64_t low = read_u32();
    return low | uint64_t{read_u32()} << 32;
}

Dim3 TracezIndex::read_dim3() {
    Dim3 result;
    result.x = read_u32();
    result.y = read_u32();
    result.z = read_u32();
    return result;
}

bool TracezIndex::next(TracezCta& cta) {
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

void TracezIndex::read_warp(TracezWarp& warp) {
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

TracezFrames::TracezFrames(const TracezFile& file) : file_(file), window_(longest_view) {
    try {
        zstd_ = &Zstd::get();
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

TracezFrames::~TracezFrames() {
    zstd_->destroy(context_);
    if (dictionary_ != nullptr) zstd_->destroy_dictionary(dictionary_);
}

const char* TracezFrames::view(uint64_t offset, size_t size) {
    if (offset < window_from_ || offset + size > window_from_ + window_size_) {
        window_size_ = static_cast<size_t>(std::min<uint64_t>(longest_view, file_.index_begin - offset));
        file_.read(offset, window_.data(), window_size_);
        window_from_ = offset;
    }
    return window_.data() + (offset - window_from_);
}

uint64_t TracezFrames::open(uint64_t offset, uint32_t lines) {
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

size_t TracezFrames::read(char* to, size_t size) {
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

}  // namespace kernelpoint
