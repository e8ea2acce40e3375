#include "native/trace/opcode.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace kernelpoint {

namespace {

enum Flag : uint8_t { load = 1, store = 2, atomic = 4, branch = 8, barrier_flag = 16, exit_flag = 32, bulk = 64 };

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

// SASS opcodes of Volta, Turing, Ampere, Ada, Hopper and Blackwell, from NVIDIA's instruction set tables (CUDA Binary
// Utilities). Model: half precision goes with single precision; uniform datapath instructions go with
// their 32-lane counterparts; S2R, VOTE and the like are moves; LDGSTS reads global memory (its store into shared
// memory is not a second access); warp-wide reductions and shuffles (REDUX, SHFL) are moves although they pass through
// the memory pipe. Bulk copies (TMA) access global memory; their side in shared memory is not a second access, and a
// prefetch is a load. mbarriers (SYNCS, ARRIVES, UTCBAR) are barriers with an address in shared memory; tensor memory
// counts as shared memory, as it lies on the SM; asynchronous matrix multiplications (GMMA, UTC*MMA) are one tensor
// instruction each, whatever their size.
// Opcodes that access memory, branch, synchronise or end.
constexpr Entry acting[] = {
    {"ACQBULK", B, no, barrier_flag},
    {"ACQSHMINIT", B, no, barrier_flag},
    {"ARRIVES", B, shared, barrier_flag},
    {"ATOM", M, generic, load | store | atomic},
    {"ATOMG", M, global, load | store | atomic},
    {"ATOMS", M, shared, load | store | atomic},
    {"BAR", B, no, barrier_flag},
    {"BRA", C, no, branch},
    {"BRX", C, no, branch},
    {"BRXU", C, no, branch},
    {"CALL", C, no, branch},
    {"CCTL", M, generic},
    {"CCTLL", M, local},
    {"CCTLT", M, texture},
    {"CGAERRBAR", B, no, barrier_flag},
    {"DEPBAR", B, no, barrier_flag},
    {"ERRBAR", B, no, barrier_flag},
    {"EXIT", C, no, exit_flag},
    {"FENCE", B, no, barrier_flag},
    {"ISBERD", M, local, load},
    {"JMP", C, no, branch},
    {"JMX", C, no, branch},
    {"JMXU", C, no, branch},
    {"KILL", C, no, exit_flag},
    {"LD", M, generic, load},
    {"LDC", M, constant, load},
    {"LDCU", M, constant, load},
    {"LDG", M, global, load},
    {"LDGDEPBAR", B, no, barrier_flag},
    {"LDGMC", M, global, load},
    {"LDGSTS", M, global, load},
    {"LDL", M, local, load},
    {"LDS", M, shared, load},
    {"LDSM", M, shared, load},
    {"LDT", M, shared, load},
    {"LDTM", M, shared, load},
    {"MEMBAR", B, no, barrier_flag},
    {"QSPC", M, generic},
    {"RED", M, generic, store | atomic},
    {"REDAS", M, shared, store | atomic},
    {"REDG", M, global, store | atomic},
    {"RET", C, no, branch},
    {"RTT", C, no, exit_flag},
    {"ST", M, generic, store},
    {"STAS", M, shared, store},
    {"STG", M, global, store},
    {"STL", M, local, store},
    {"STS", M, shared, store},
    {"STSM", M, shared, store},
    {"STT", M, shared, store},
    {"STTM", M, shared, store},
    {"SUATOM", M, texture, load | store | atomic},
    {"SULD", M, texture, load},
    {"SUQUERY", M, texture},
    {"SURED", M, texture, store | atomic},
    {"SUST", M, texture, store},
    {"SYNCS", B, shared, barrier_flag},
    {"TEX", M, texture, load},
    {"TLD", M, texture, load},
    {"TLD4", M, texture, load},
    {"TMML", M, texture, load},
    {"TXA", M, texture, load},
    {"TXD", M, texture, load},
    {"TXQ", M, texture, load},
    {"UBLKCP", M, global, load | bulk},
    {"UBLKPF", M, global, load | bulk},
    {"UBLKRED", M, global, store | atomic | bulk},
    {"UCGABAR_ARV", B, no, barrier_flag},
    {"UCGABAR_WAIT", B, no, barrier_flag},
    {"ULDC", M, constant, load},
    {"UMEMSETS", M, shared, store},
    {"UREDGR", M, global, store | atomic},
    {"USTGR", M, global, store},
    {"UTCATOMSWS", B, no, barrier_flag},
    {"UTCBAR", B, shared, barrier_flag},
    {"UTCCP", M, shared, load | store},
    {"UTMACCTL", M, generic},
    {"UTMACMDFLUSH", B, no, barrier_flag},
    {"UTMALDG", M, global, load | bulk},
    {"UTMAPF", M, global, load | bulk},
    {"UTMAREDG", M, global, store | atomic | bulk},
    {"UTMASTG", M, global, store | bulk},
    {"WARPGROUP", B, no, barrier_flag},
    {"WARPGROUPSET", B, no, barrier_flag},
    {"WARPSYNC", B, no, barrier_flag},
};

// All others, by unit.
constexpr std::pair<Unit, std::string_view> computing[] = {
    {I,
     "BMSK BREV FLO IABS IADD IADD3 IADD32I IDP IDP4A IMAD IMMU IMNMX IMUL IMUL32I ISCADD ISCADD32I ISETP"
     " LEA LOP LOP3 LOP32I POPC PRMT SGXT SHF SHL SHR UBMSK UBREV UCLEA UCPRMT UFLO UIABS UIADD3 UIMAD"
     " UIMNMX UISETP ULEA ULOP ULOP3 ULOP32I UPOPC UPRMT USGXT USHF USHL USHR UVABSDIFF UVIADD UVIADDMNMX"
     " UVIMNMX UVIMNMX3 VABSDIFF VABSDIFF4 VHMNMX VIADD VIADDMNMX VIMNMX VIMNMX3"},
    {S,
     "FADD FADD2 FADD32I FCHK FFMA FFMA2 FFMA32I FHADD FHFMA FMNMX FMNMX3 FMUL FMUL2 FMUL32I FSEL FSET"
     " FSETP FSWZADD HADD2 HADD2_32I HFMA2 HFMA2_32I HMNMX2 HMUL2 HMUL2_32I HSET2 HSETP2 QADD4 QFMA4 QMUL4"
     " UFADD UFFMA UFHADD UFHFMA UFMNMX UFMUL UFSEL UFSET UFSETP"},
    {D, "DADD DFMA DMNMX DMUL DSETP"},
    {F, "MUFU"},
    {T, "BGMMA BMMA DMMA HGMMA HMMA IGMMA IMMA OMMA QGMMA QMMA UTCHMMA UTCIMMA UTCOMMA UTCQMMA UTCSHIFT"},
    {V,
     "AL2P B2R BMOV CREDUX CS2R CS2UR ELECT F2F F2FP F2I F2IP FRND GETLMEMBASE I2F I2FP I2I I2IP LEPC"
     " MATCH MOV MOV32I MOV64IUR MOVM OUT P2R PIXLD PLOP3 PSETP R2B R2P R2UR REDUX S2R S2UR SEL SETCTAID"
     " SETLMEMBASE SHFL SPMETADATA UF2F UF2FP UF2I UF2IP UFRND UI2F UI2FP UI2I UI2IP ULEPC UMOV UMOV32I"
     " UP2UR UPLOP3 UPSETP UR2UP USEL VOTE VOTEU"},
    {C,
     "BPT BREAK BSSY BSYNC ENDCOLLECTIVE NANOSLEEP NOP PMTRIG PREEXIT RPCMOV UGETNEXTWORKID USETMAXREG"
     " USETSHMSZ UVIRTCOUNT YIELD"},
};

const std::unordered_map<std::string_view, Entry>& table() {
    static const std::unordered_map<std::string_view, Entry> all = [] {
        std::unordered_map<std::string_view, Entry> found;
        for (const Entry& entry : acting) found.emplace(entry.base, entry);
        for (auto [unit, bases] : computing)
            for (size_t end; !bases.empty(); bases.remove_prefix(std::min(end + 1, bases.size()))) {
                end = std::min(bases.find(' '), bases.size());
                found.emplace(bases.substr(0, end), Entry{bases.substr(0, end), unit});
            }
        return found;
    }();
    return all;
}

}  // namespace

Opcode classify_opcode(std::string_view text) {
    Opcode opcode;
    opcode.text = text;
    opcode.base = text.substr(0, text.find('.'));
    const auto found = table().find(opcode.base);
    if (found == table().end()) return opcode;
    const Entry* entry = &found->second;
    opcode.unit = entry->unit;
    opcode.space = entry->space;
    opcode.is_load = entry->flags & load;
    opcode.is_store = entry->flags & store;
    opcode.is_atomic = entry->flags & atomic;
    opcode.is_branch = entry->flags & branch;
    opcode.is_barrier = entry->flags & barrier_flag;
    opcode.is_exit = entry->flags & exit_flag;
    opcode.is_bulk_copy = entry->flags & bulk;
    if (opcode.base == "UBLKCP" && text.find(".G.S") != std::string_view::npos)  // destination, then source
        opcode.is_load = false, opcode.is_store = true;
    return opcode;
}

}  // namespace kernelpoint
