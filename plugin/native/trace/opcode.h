// Meaning of a SASS opcode text: the unit that executes it, and its effect on memory and control.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace kernelpoint {

// Functional units. They differ in latency and issue interval, which the fast model's configuration sets.
enum class Unit : uint8_t {
    integer,
    single_precision,
    double_precision,
    special_function,
    tensor,
    move,     // register moves, conversions, predicates
    control,  // branches, exit, calls
    barrier,  // synchronisation and fences
    memory,   // loads, stores, atomics: see MemorySpace
    other,
};

enum class MemorySpace : uint8_t { none, global, local, shared, constant, generic, texture };

// Names in the order of Unit, for configurations, features and messages.
constexpr const char* unit_names[] = {"integer", "single_precision", "double_precision", "special_function", "tensor",
                                      "move",    "control",          "barrier",          "memory",           "other"};
constexpr size_t unit_count = std::size(unit_names);

// Calls `take` with each word of a text in which single blanks separate words.
template <typename Take>
void each_word(std::string_view text, const Take& take) {
    while (!text.empty()) {
        const size_t end = std::min(text.find(' '), text.size());
        take(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

struct Opcode {
    std::string text;  // as traced: "LDG.E.64.SYS"
    std::string base;  // up to the first '.': "LDG"
    Unit unit = Unit::other;
    MemorySpace space = MemorySpace::none;
    bool is_load = false, is_store = false, is_atomic = false;
    bool is_branch = false, is_barrier = false, is_exit = false;
    bool is_bulk_copy = false;  // TMA: one instruction moves a block of memory and lists any number of addresses
};

// Looks up an opcode. One that is in no table gets Unit::other.
Opcode classify_opcode(std::string_view text);

}  // namespace kernelpoint
