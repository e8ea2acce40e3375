// Meaning of a SASS opcode text: the unit that executes it, and its effect on memory and control.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kernelpoint {

// Units differ in latency and issue interval; the embedded host's configuration names them.
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

struct Opcode {
    std::string text;  // as traced: "LDG.E.64.SYS"
    std::string base;  // up to the first '.': "LDG"
    Unit unit = Unit::other;
    MemorySpace space = MemorySpace::none;
    bool is_load = false, is_store = false, is_atomic = false;
    bool is_branch = false, is_barrier = false, is_exit = false;
    bool is_bulk_copy = false;  // TMA: one instruction moves a block of memory and lists any number of addresses
};

// Never fails: an opcode that is not in the table gets Unit::other.
Opcode classify_opcode(std::string_view text);

}  // namespace kernelpoint
