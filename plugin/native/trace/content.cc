#include "native/trace/content.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "native/trace/input.h"
#include "native/trace/interruption.h"
#include "native/trace/numbers.h"
#include "native/trace/paths.h"

namespace kernelpoint {

namespace {

// Hashes text that comes in pieces of any length.
class TextHasher {
public:
    void add(std::string_view text) {
        bytes_ += text.size();
        if (filled_ > 0) {
            const size_t taken = std::min(text.size(), sizeof unit_ - filled_);
            std::memcpy(unit_ + filled_, text.data(), taken);
            filled_ += taken;
            text.remove_prefix(taken);
            if (filled_ < sizeof unit_) return;
            add_unit(unit_);
            filled_ = 0;
        }
        for (; text.size() >= sizeof unit_; text.remove_prefix(sizeof unit_)) add_unit(text.data());
        std::memcpy(unit_, text.data(), text.size());
        filled_ = text.size();
    }
    Content finish() {
        std::memset(unit_ + filled_, 0, sizeof unit_ - filled_);
        add_unit(unit_);
        hasher_.add(bytes_, 0);
        return {hasher_.finish(), bytes_};
    }

private:
    void add_unit(const char* unit) {
        uint64_t words[2];
        std::memcpy(words, unit, sizeof words);
        hasher_.add(words[0], words[1]);
    }

    StreamHasher hasher_;
    char unit_[16];
    size_t filled_ = 0;
    uint64_t bytes_ = 0;
};

// Header lines that no reading depends on. One that lacks its number is part of the content, so that it is refused.
bool says_nothing(std::string_view line) {
    const bool is_id = starts_with(line, "-kernel id");
    const size_t equals = line.find('=');
    if ((!is_id && !starts_with(line, "-cuda stream id")) || equals == line.npos || line.back() != '\n') return false;
    const char* p = line.data() + equals + 1;
    uint64_t id = 0;
    int64_t stream = 0;
    if (!(is_id ? parse_decimal(p, id) : parse_signed(p, stream))) return false;
    skip_blanks(p);
    return *p == '\n';
}

}  // namespace

bool has_content(const std::string& path) {
    const size_t at = path.rfind(".traceg");
    if (at == std::string::npos) return false;
    const std::string ending = path.substr(at);
    return ending == ".traceg" || ending == ".traceg.xz" || ending == ".traceg.zst";
}

Content content_of(const std::string& path, std::shared_ptr<RegularFile> file) {
    TextHasher hasher;
    Input input(path, std::move(file));
    bool in_header = true;
    uint64_t line = 0;
    const char *begin = nullptr, *end = nullptr;
    while (input.next_block(begin, end, line)) {
        interruption_point();
        std::string_view block(begin, static_cast<size_t>(end - begin));
        while (in_header && !block.empty()) {
            const std::string_view text = block.substr(0, block.find('\n') + 1);
            in_header = text[0] != '#';
            if (!says_nothing(text)) hasher.add(text);
            block.remove_prefix(text.size());
        }
        hasher.add(block);
    }
    return hasher.finish();
}

}  // namespace kernelpoint
