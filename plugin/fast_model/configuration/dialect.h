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

// The line up to a `#` that stands in no quotes.
std::string without_comment(const std::string& line);

// The options of a simulator as its configuration files, or its own print-out of them, state them.
// Keys with their last value: a later file, or a command line after it, overrides.
class Options {
public:
    // `where`: file and line, for messages.
    void set(const std::string& key, const std::string& value, const std::string& where);
    void update(const Options& later);
    // Throws ConfigError, which begins with `where`, if none of the keys that were given was asked for.
    void require_known(const std::string& where) const;
    // The value of a key; asking makes it one that has a counterpart in the model.
    std::optional<std::string> text(const std::string& key);
    // Its numbers, between any of `,:` and blanks. Throws ConfigError: one of the first `least` is missing or none.
    std::optional<std::vector<double>> numbers(const std::string& key, size_t least = 1);
    double number(const std::string& key, double otherwise);
    // Throws ConfigError that names the key, its value and what is allowed.
    [[noreturn]] void refuse(const std::string& key, const std::string& allowed) const;
    // Keys that were given, never asked for, and that `known` does not accept, in alphabetical order.
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
    // True if a configuration whose first line, without comments and blanks before it, is this is in this dialect.
    virtual bool matches(const std::string& line) const = 0;
    virtual Options read(const std::string& text, const std::string& where) const = 0;
    virtual Derived derive(Options& options, const GpuConfig& base) const = 0;
};

template <typename Implementation>
using RegisteredDialect = Registered<Dialect, Implementation>;

constexpr double kMost = 10000;  // cycles of a latency

bool begins_with_any(const std::string& key, const std::vector<std::string>& beginnings);

// `value` to the nearest integer from `least` to `most`.
uint32_t whole(double value, double least, double most);
// The size of a cache that holds `sets` * `ways` lines of `line` bytes, in lines of the model's; the ways it can have.
void set_cache(uint32_t& size, uint32_t& ways, double sets, double associativity, double line);

}  // namespace kernelpoint::fast_model
