// Text on its way to a terminal: names and messages of others' files move no cursor and change no colour or title.
// C++11; kernelpoint.terminal.plain is the same in Python.
#pragma once

#include <stddef.h>

#include <string>

namespace kernelpoint {

// A UTF-8 text whose control characters, but tabs and newlines, are shown instead of obeyed: those below 0x20 and 0x7f
// as their pictures (U+2400 and on), U+0080 to U+009f and the characters that change the order of writing as U+FFFD. Of
// a text of more than 16,000 bytes the middle is left out.
inline std::string printable(const std::string& whole) {
    const size_t most = 16000, half = most / 2;
    const std::string text = whole.size() <= most ? whole
                                                  : whole.substr(0, half) + " ... (" + std::to_string(whole.size() - 2 * half) +
                                                        " bytes left out) ... " + whole.substr(whole.size() - half);
    std::string shown;
    shown.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
        const auto at = [&](size_t next) { return next < text.size() ? static_cast<unsigned char>(text[next]) : 0u; };
        const unsigned first = at(i), second = at(i + 1), third = at(i + 2);
        const bool is_order = first == 0xe2 && ((second == 0x80 && third >= 0xa8 && third <= 0xae) ||
                                                (second == 0x81 && third >= 0xa6 && third <= 0xa9));
        if ((first < 0x20 && first != '\t' && first != '\n') || first == 0x7f) {
            shown += "\xe2\x90";
            shown += static_cast<char>(first == 0x7f ? 0xa1 : 0x80 + first);
        } else if (is_order || (first == 0xc2 && second >= 0x80 && second < 0xa0)) {
            shown += "\xef\xbf\xbd";
            i += is_order ? 2 : 1;
        } else {
            shown += text[i];
        }
    }
    return shown;
}

}  // namespace kernelpoint
