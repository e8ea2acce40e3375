// Looks values up in the summary's JSON, which the plugin wrote: well-formed, without escapes in its keys.
#ifndef KERNELPOINT_MACSIM_JSON_H
#define KERNELPOINT_MACSIM_JSON_H

#include <math.h>
#include <stdlib.h>

#include <string>
#include <vector>

namespace kernelpoint {

// The position behind the value that begins at `at`.
inline size_t json_end(const std::string& text, size_t at) {
    int depth = 0;
    bool quoted = false;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (quoted && c == '\\') ++at;
        if (c == '"') quoted = !quoted;
        if (quoted) continue;
        if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at;
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
    }
    return at;
}

inline size_t json_skip(const std::string& text, size_t at) {
    const size_t found = text.find_first_not_of(" \t\r\n", at);
    return found == std::string::npos ? text.size() : found;
}

// The values of an array, or of an object with their keys before them ("key", value, ...), as text.
inline std::vector<std::string> json_items(const std::string& text) {
    std::vector<std::string> items;
    size_t at = json_skip(text, 0);
    if (at == text.size() || (text[at] != '{' && text[at] != '[')) return items;
    const bool object = text[at] == '{';
    for (at = json_skip(text, at + 1); at < text.size() && text[at] != '}' && text[at] != ']';) {
        if (object) {
            const size_t close = text.find('"', at + 1);
            items.push_back(text.substr(at + 1, close - at - 1));
            at = json_skip(text, text.find(':', close) + 1);
        }
        const size_t end = json_end(text, at);
        items.push_back(text.substr(at, end - at));
        at = end < text.size() && text[end] == ',' ? json_skip(text, end + 1) : end;
    }
    return items;
}

// The member of an object, or an empty text.
inline std::string json_member(const std::string& object, const std::string& key) {
    const std::vector<std::string> items = json_items(object);
    for (size_t i = 0; i + 1 < items.size(); i += 2)
        if (items[i] == key) return items[i + 1];
    return std::string();
}

// A number; NaN where there is none (null).
inline double json_number(const std::string& text) {
    char* end = NULL;
    const double value = strtod(text.c_str(), &end);
    return end == text.c_str() ? NAN : value;
}

}  // namespace kernelpoint
#endif
