// The names and units in which one simulator states its simulated GPU. A constant of RegisteredDialect in the
// simulator's folder adds it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fast_model/configuration/derive.h"
#include "native/registered.h"

namespace kernelpoint::fast_model {

// Part of a line before its comment, which begins with a `#` outside quotes.
std::string without_comment(const std::string& line);

// Options of a simulator, read from its configuration files or from its own output. A later value of a key overrides
// an earlier one.
class Options {
public:
    // Sets an option. `where`: file and line, for messages.
    void set(const std::string& key, const std::string& value, const std::string& where);
    void update(const Options& later);
    // Throws ConfigError, beginning with `where`, if the model has a counterpart for none of the given keys.
    void require_known(const std::string& where) const;
    // Value of a key. Asking for it marks the key as one that has a counterpart in the model.
    std::optional<std::string> text(const std::string& key);
    // Numbers in the value of a key, separated by `,`, `:` or blanks. Throws ConfigError if one of the first `least`
    // is missing or is no number.
    std::optional<std::vector<double>> numbers(const std::string& key, size_t least = 1);
    double number(const std::string& key, double otherwise);
    // Throws ConfigError with the key, its value and what is allowed.
    [[noreturn]] void refuse(const std::string& key, const std::string& allowed) const;
    // Lists, alphabetically, given keys that were never asked for and that `known` does not accept.
    template <typename Known>
    std::vector<std::string> unknown(Known known) const {
        std::vector<std::string> keys;
        for (const auto& entry : values_)
            if (!asked_.count(entry.first) && !known(entry.first)) keys.push_back(entry.first);
        return keys;
    }

private:
    struct Value {
        std::string text, where;
    };
    std::map<std::string, Value> values_;
    std::set<std::string> asked_;
};

class Dialect {
public:
    virtual ~Dialect() = default;
    virtual const char* name() const = 0;     // of the simulator, in lower case
    virtual const char* example() const = 0;  // of a line, for messages: "Mine's `-key value`"
    // True if this is the first line (without comments and leading blanks) of a configuration in this dialect.
    virtual bool matches(const std::string& line) const = 0;
    virtual Options read(const std::string& text, const std::string& where) const = 0;
    virtual Derived derive(Options& options, const GpuConfig& base) const = 0;
};

template <typename Implementation>
using RegisteredDialect = Registered<Dialect, Implementation>;

constexpr double kMost = 10000;  // cycles of a latency

bool begins_with_any(const std::string& key, const std::vector<std::string>& beginnings);

// Rounds `value` to the nearest integer from `least` to `most`.
uint32_t whole(double value, double least, double most);
// Sets size and ways of a cache with `sets` * `ways` lines of `line` bytes, in lines of the model's size.
void set_cache(uint32_t& size, uint32_t& ways, double sets, double associativity, double line);

}  // namespace kernelpoint::fast_model
