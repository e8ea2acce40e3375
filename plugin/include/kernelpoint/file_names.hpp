// The gate for file names that a stranger's text gives: of traces in a list, of files in a folder that is read as a
// list. A simulator may hand such a name to a shell, as in `xz -dc NAME`, so few characters are allowed. The same rule
// as name_problem() in python/kernelpoint/file_names.py. C++11.
#pragma once

#include <stdio.h>

#include <string>

#include "printable.hpp"

namespace kernelpoint {

inline std::string quoted_character(unsigned char c) {
    char text[16];
    if (c == ' ') return "a space";
    snprintf(text, sizeof text, c > ' ' && c < 0x7f ? "'%c'" : "the byte 0x%02x", c);
    return text;
}

// Reason why a name is refused; empty where it is allowed: letters of ASCII, digits and . _ / + -, no part "..", no
// leading "-".
inline std::string name_problem(const std::string& name) {
    const size_t other = name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/+-");
    std::string problem;
    if (name.empty())
        problem = "it is empty";
    else if (other != std::string::npos)
        problem = "it contains " + quoted_character(static_cast<unsigned char>(name[other])) +
                  "; letters, digits and . _ / + - are allowed, since a simulator may hand it to a shell";
    else if (name[0] == '-')
        problem = "it begins with '-', as an option of a command does";
    else if (("/" + name + "/").find("/../") != std::string::npos)
        problem = "its part '..' leads outside the folder of its list";
    else
        return problem;
    return "the name '" + printable(name.substr(0, 200)) + "' is refused: " + problem;
}

}  // namespace kernelpoint
