#include "fast_model/list/sources.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <unordered_map>

#include "native/trace/input.h"
#include "native/trace/threads.h"

namespace kernelpoint::fast_model {
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

bool starts_with(std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
}

// Header lines that no simulation depends on.
bool says_nothing(std::string_view line) {
    return starts_with(line, "-kernel name") || starts_with(line, "-kernel id") || starts_with(line, "-cuda stream id");
}

Content content_of(const std::string& path) {
    TextHasher hasher;
    Input input(path);
    bool in_header = true;
    uint64_t line = 0;
    const char *begin = nullptr, *end = nullptr;
    while (input.next_block(begin, end, line)) {
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

bool is_text(const std::string& path) {
    const size_t at = path.rfind(".traceg");
    if (at == std::string::npos) return false;
    const std::string ending = path.substr(at);
    return ending == ".traceg" || ending == ".traceg.xz" || ending == ".traceg.zst";
}

struct Files {
    std::vector<std::string> paths;
    std::vector<uint32_t> of_launch;
};

Files files_of(const TraceList& list) {
    Files files;
    std::unordered_map<std::string_view, uint32_t> known;
    for (const TraceList::Command& command : list.commands) {
        if (command.kind != TraceList::Kind::launch) continue;
        if (command.path.empty()) {
            files.of_launch.push_back(kNoSource);
            continue;
        }
        const auto [file, added] = known.emplace(command.path.get(), static_cast<uint32_t>(files.paths.size()));
        if (added) files.paths.push_back(command.path);
        files.of_launch.push_back(file->second);
    }
    return files;
}

}  // namespace

std::optional<Content> read_content(const std::string& path) {
    if (!is_text(path)) return std::nullopt;
    try {
        return content_of(path);
    } catch (const TraceError&) {  // whoever simulates it will say so
        return std::nullopt;
    }
}

bool find_sources(const TraceList& list, unsigned threads, const std::function<bool()>& goes_on,
                  std::vector<std::optional<Content>> contents, Sources& result) {
    const Files files = files_of(list);
    if (contents.size() != files.paths.size()) {
        contents.assign(files.paths.size(), std::nullopt);
        const auto read = [&](uint64_t file) { contents[file] = read_content(files.paths[file]); };
        if (!in_parallel(files.paths.size(), threads, read, [&](uint64_t) { return goes_on(); })) return false;
    }

    std::map<std::pair<uint64_t, uint64_t>, uint32_t> known;
    std::vector<uint32_t> of_file;
    for (size_t file = 0; file < files.paths.size(); ++file) {
        const auto number = static_cast<uint32_t>(result.paths.size());
        const std::optional<Content>& content = contents[file];
        if (content) {
            const auto [source, added] = known.emplace(std::make_pair(content->hash.high, content->hash.low), number);
            of_file.push_back(source->second);
            if (!added) continue;
        } else {
            of_file.push_back(number);
        }
        result.paths.push_back(files.paths[file]);
        result.bytes.push_back(content ? content->bytes : 0);
    }
    for (const uint32_t file : files.of_launch)
        result.of_launch.push_back(file == kNoSource ? kNoSource : of_file[file]);
    return true;
}

}  // namespace kernelpoint::fast_model
