#include "native/trace/opcode.h"

#include <algorithm>
#include <array>

namespace kernelpoint {

namespace {

enum Flag : uint8_t { load = 1, store = 2, atomic = 4, branch = 8, barrier_flag = 16, exit_flag = 32 };

struct Entry {
    std::string_view base;
    Unit unit;
    MemorySpace space = MemorySpace::none;
    uint8_t flags = 0;
};

constexpr auto I = Unit::integer, S = Unit::single_precision, D = Unit::double_precision, F = Unit::special_function,
               T = Unit::tensor, V = Unit::move, C = Unit::control, B = Unit::barrier, M = Unit::memory;
constexpr auto no = MemorySpace::none, global = MemorySpace::global, local = MemorySpace::local,
               shared = MemorySpace::shared, constant = MemorySpace::constant, generic = MemorySpace::generic,
               texture = MemorySpace::texture;

// SASS opcodes of Volta, Turing, Ampere, Ada and Hopper, from NVIDIA's instruction set tables (CUDA Binary Utilities).
// Sorted by base.
// Model: half precision goes with single precision; uniform datapath instructions go with their 32-lane counterparts;
// S2R, VOTE and the like are moves; LDGSTS reads global memory (its store into shared memory is not a second access);
// warp-wide reductions and shuffles (REDUX, SHFL) are moves although they pass through the memory pipe.
constexpr Entry table[] = {
    {"ACQBULK", B, no, barrier_flag},
    {"ACQSHMINIT", B, no, barrier_flag},
    {"AL2P", V},
    {"ARRIVES", B, no, barrier_flag},
    {"ATOM", M, generic, load | store | atomic},
    {"ATOMG", M, global, load | store | atomic},
    {"ATOMS", M, shared, load | store | atomic},
    {"B2R", V},
    {"BAR", B, no, barrier_flag},
    {"BGMMA", T},
    {"BMMA", T},
    {"BMOV", V},
    {"BMSK", I},
    {"BPT", C},
    {"BRA", C, no, branch},
    {"BREAK", C},
    {"BREV", I},
    {"BRX", C, no, branch},
    {"BRXU", C, no, branch},
    {"BSSY", C},
    {"BSYNC", C},
    {"CALL", C, no, branch},
    {"CCTL", M, generic},
    {"CCTLL", M, local},
    {"CCTLT", M, texture},
    {"CS2R", V},
    {"DADD", D},
    {"DEPBAR", B, no, barrier_flag},
    {"DFMA", D},
    {"DMMA", T},
    {"DMNMX", D},
    {"DMUL", D},
    {"DSETP", D},
    {"ELECT", V},
    {"ENDCOLLECTIVE", C},
    {"ERRBAR", B, no, barrier_flag},
    {"EXIT", C, no, exit_flag},
    {"F2F", V},
    {"F2FP", V},
    {"F2I", V},
    {"F2IP", V},
    {"FADD", S},
    {"FADD32I", S},
    {"FCHK", S},
    {"FENCE", B, no, barrier_flag},
    {"FFMA", S},
    {"FFMA32I", S},
    {"FLO", I},
    {"FMNMX", S},
    {"FMUL", S},
    {"FMUL32I", S},
    {"FRND", V},
    {"FSEL", S},
    {"FSET", S},
    {"FSETP", S},
    {"FSWZADD", S},
    {"GETLMEMBASE", V},
    {"HADD2", S},
    {"HADD2_32I", S},
    {"HFMA2", S},
    {"HFMA2_32I", S},
    {"HGMMA", T},
    {"HMMA", T},
    {"HMNMX2", S},
    {"HMUL2", S},
    {"HMUL2_32I", S},
    {"HSET2", S},
    {"HSETP2", S},
    {"I2F", V},
    {"I2FP", V},
    {"I2I", V},
    {"I2IP", V},
    {"IABS", I},
    {"IADD", I},
    {"IADD3", I},
    {"IADD32I", I},
    {"IDP", I},
    {"IDP4A", I},
    {"IGMMA", T},
    {"IMAD", I},
    {"IMMA", T},
    {"IMMU", I},
    {"IMNMX", I},
    {"IMUL", I},
    {"IMUL32I", I},
    {"ISBERD", M, local, load},
    {"ISCADD", I},
    {"ISCADD32I", I},
    {"ISETP", I},
    {"JMP", C, no, branch},
    {"JMX", C, no, branch},
    {"JMXU", C, no, branch},
    {"KILL", C, no, exit_flag},
    {"LD", M, generic, load},
    {"LDC", M, constant, load},
    {"LDG", M, global, load},
    {"LDGDEPBAR", B, no, barrier_flag},
    {"LDGMC", M, global, load},
    {"LDGSTS", M, global, load},
    {"LDL", M, local, load},
    {"LDS", M, shared, load},
    {"LDSM", M, shared, load},
    {"LDTM", M, local, load},
    {"LEA", I},
    {"LEPC", V},
    {"LOP", I},
    {"LOP3", I},
    {"LOP32I", I},
    {"MATCH", V},
    {"MEMBAR", B, no, barrier_flag},
    {"MOV", V},
    {"MOV32I", V},
    {"MOVM", V},
    {"MUFU", F},
    {"NANOSLEEP", C},
    {"NOP", C},
    {"OUT", V},
    {"P2R", V},
    {"PIXLD", V},
    {"PLOP3", V},
    {"PMTRIG", C},
    {"POPC", I},
    {"PREEXIT", C},
    {"PRMT", I},
    {"PSETP", V},
    {"QGMMA", T},
    {"QSPC", M, generic},
    {"R2B", V},
    {"R2P", V},
    {"R2UR", V},
    {"RED", M, generic, store | atomic},
    {"REDAS", M, shared, store | atomic},
    {"REDG", M, global, store | atomic},
    {"REDUX", V},
    {"RET", C, no, branch},
    {"RPCMOV", C},
    {"RTT", C, no, exit_flag},
    {"S2R", V},
    {"S2UR", V},
    {"SEL", V},
    {"SETCTAID", V},
    {"SETLMEMBASE", V},
    {"SGXT", I},
    {"SHF", I},
    {"SHFL", V},
    {"SHL", I},
    {"SHR", I},
    {"ST", M, generic, store},
    {"STAS", M, shared, store},
    {"STG", M, global, store},
    {"STL", M, local, store},
    {"STS", M, shared, store},
    {"STSM", M, shared, store},
    {"SUATOM", M, texture, load | store | atomic},
    {"SULD", M, texture, load},
    {"SURED", M, texture, store | atomic},
    {"SUST", M, texture, store},
    {"SYNCS", B, no, barrier_flag},
    {"TEX", M, texture, load},
    {"TLD", M, texture, load},
    {"TLD4", M, texture, load},
    {"TMML", M, texture, load},
    {"TXA", M, texture, load},
    {"TXD", M, texture, load},
    {"TXQ", M, texture, load},
    {"UBLKCP", M, global, load},
    {"UBLKPF", M, global, load},
    {"UBLKRED", M, global, store | atomic},
    {"UBMSK", I},
    {"UBREV", I},
    {"UCLEA", I},
    {"UF2FP", V},
    {"UFLO", I},
    {"UIADD3", I},
    {"UIMAD", I},
    {"UISETP", I},
    {"ULDC", M, constant, load},
    {"ULEA", I},
    {"ULEPC", V},
    {"ULOP", I},
    {"ULOP3", I},
    {"ULOP32I", I},
    {"UMOV", V},
    {"UP2UR", V},
    {"UPLOP3", V},
    {"UPOPC", I},
    {"UPRMT", I},
    {"UPSETP", V},
    {"UR2UP", V},
    {"USEL", V},
    {"USETMAXREG", C},
    {"USGXT", I},
    {"USHF", I},
    {"USHL", I},
    {"USHR", I},
    {"UTMALDG", M, global, load},
    {"UTMAPF", M, global, load},
    {"UTMAREDG", M, global, store | atomic},
    {"UTMASTG", M, global, store},
    {"VABSDIFF", I},
    {"VABSDIFF4", I},
    {"VHMNMX", I},
    {"VIADD", I},
    {"VIADDMNMX", I},
    {"VIMNMX", I},
    {"VIMNMX3", I},
    {"VOTE", V},
    {"VOTEU", V},
    {"WARPGROUP", B, no, barrier_flag},
    {"WARPGROUPSET", B, no, barrier_flag},
    {"WARPSYNC", B, no, barrier_flag},
    {"YIELD", C},
};

constexpr bool is_sorted() {
    for (size_t i = 1; i < std::size(table); ++i)
        if (!(table[i - 1].base < table[i].base)) return false;
    return true;
}
static_assert(is_sorted(), "classify_opcode searches the table by halving");

}  // namespace

Opcode classify_opcode(std::string_view text) {
    Opcode opcode;
    opcode.text = text;
    opcode.base = text.substr(0, text.find('.'));
    const Entry* entry = std::lower_bound(std::begin(table), std::end(table), std::string_view(opcode.base),
                                          [](const Entry& e, std::string_view base) { return e.base < base; });
    if (entry == std::end(table) || entry->base != opcode.base) return opcode;
    opcode.unit = entry->unit;
    opcode.space = entry->space;
    opcode.is_load = entry->flags & load;
    opcode.is_store = entry->flags & store;
    opcode.is_atomic = entry->flags & atomic;
    opcode.is_branch = entry->flags & branch;
    opcode.is_barrier = entry->flags & barrier_flag;
    opcode.is_exit = entry->flags & exit_flag;
    return opcode;
}

}  // namespace kernelpoint
