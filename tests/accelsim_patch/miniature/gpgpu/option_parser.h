// Options by name, for the miniature simulator.
#pragma once
#include <stdio.h>
#include <string.h>

#include <string>
#include <vector>

enum option_dtype { OPT_BOOL, OPT_CSTR };

class OptionParser {
public:
    struct Option {
        std::string name, help;
        option_dtype type;
        void* variable;
    };
    std::vector<Option> options;
};
typedef OptionParser* option_parser_t;

inline void option_parser_register(option_parser_t opp, const char* name, option_dtype type, void* variable, const char* help,
                                   const char* standard) {
    opp->options.push_back({name, help, type, variable});
    if (type == OPT_CSTR) *static_cast<char**>(variable) = standard == NULL ? NULL : strdup(standard);
    if (type == OPT_BOOL) *static_cast<bool*>(variable) = standard != NULL && strcmp(standard, "1") == 0;
}

inline void option_parser_cmdline(option_parser_t opp, int argc, const char* argv[]) {
    for (int i = 1; i + 1 < argc; i += 2)
        for (const auto& option : opp->options) {
            if (option.name != argv[i]) continue;
            if (option.type == OPT_CSTR) *static_cast<char**>(option.variable) = strdup(argv[i + 1]);
            if (option.type == OPT_BOOL) *static_cast<bool*>(option.variable) = strcmp(argv[i + 1], "1") == 0;
        }
}

inline void option_parser_print(option_parser_t opp, FILE* out) {
    for (const auto& option : opp->options) {
        const char* text = option.type == OPT_BOOL ? (*static_cast<bool*>(option.variable) ? "1" : "0")
                                                   : *static_cast<char**>(option.variable);
        fprintf(out, "%-20s %s # %s\n", option.name.c_str(), text == NULL ? "NULL" : text, option.help.c_str());
    }
}
