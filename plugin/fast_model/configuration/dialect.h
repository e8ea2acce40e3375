// The names and units in which one simulator states its simulated GPU. A constant of RegisteredDialect in the
// simulator's folder adds it.
#pragma once

#include "fast_model/configuration/derive.h"
#include "fast_model/configuration/options.h"
#include "native/registered.h"

namespace kernelpoint::fast_model {

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
