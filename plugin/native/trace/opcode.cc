#include "native/trace/opcode.h"

#include <unordered_map>

namespace kernelpoint {

namespace {

enum Flag : uint8_t { load = 1, store = 2, atomic = 4, branch = 8, barrier_flag = 16, exit_flag = 32, bulk = 64 };

struct Group {
    Unit unit;
    MemorySpace space;
    uint8_t flags;
    std::string_view opcodes;
};

constexpr auto I = Unit::integer, S = Unit::single_precision, D = Unit::double_precision, F = Unit::special_function,
               T = Unit::tensor, V = Unit::move, C = Unit::control, B = Unit::barrier, M = Unit::memory;
constexpr auto no = MemorySpace::none, global = MemorySpace::global, local = MemorySpace::local, shared = MemorySpace::shared,
               constant = MemorySpace::constant, generic = MemorySpace::generic, texture = MemorySpace::texture;

// SASS opcodes of Volta, Turing, Ampere, Ada, Hopper and Blackwell, from NVIDIA's instruction set tables (CUDA Binary
// Utilities). Model: half precision goes with single precision; uniform datapath instructions go with
// their 32-lane counterparts; S2R, VOTE and the like are moves; LDGSTS reads global memory (its store into shared
// memory is not a second access); warp-wide reductions and shuffles (REDUX, SHFL) are moves although they pass through
// the memory pipe. Bulk copies (TMA) access global memory; their side in shared memory is not a second access, and a
// prefetch is a load. mbarriers (SYNCS, ARRIVES, UTCBAR) are barriers with an address in shared memory; tensor memory
// counts as shared memory, as it lies on the SM; asynchronous matrix multiplications (GMMA, UTC*MMA) are one tensor
// instruction each, whatever their size.
constexpr Group groups[] = {
    {C, no, branch, "BRA BRX BRXU CALL JMP JMX JMXU RET"},
    {C, no, exit_flag, "EXIT KILL RTT"},
    {B, no, barrier_flag,
     "ACQBULK ACQSHMINIT BAR CGAERRBAR DEPBAR ERRBAR FENCE LDGDEPBAR MEMBAR UCGABAR_ARV UCGABAR_WAIT UTCATOMSWS"
     " UTMACMDFLUSH WARPGROUP WARPGROUPSET WARPSYNC"},
    {B, shared, barrier_flag, "ARRIVES SYNCS UTCBAR"},
    {M, global, load, "LDG LDGMC LDGSTS"},
    {M, global, load | bulk, "UBLKCP UBLKPF UTMALDG UTMAPF"},
    {M, global, load | store | atomic, "ATOMG"},
    {M, global, store, "STG USTGR"},
    {M, global, store | atomic, "REDG UREDGR"},
    {M, global, store | atomic | bulk, "UBLKRED UTMAREDG"},
    {M, global, store | bulk, "UTMASTG"},
    {M, generic, 0, "CCTL QSPC UTMACCTL"},
    {M, generic, load, "LD"},
    {M, generic, load | store | atomic, "ATOM"},
    {M, generic, store, "ST"},
    {M, generic, store | atomic, "RED"},
    {M, local, 0, "CCTLL"},
    {M, local, load, "ISBERD LDL"},
    {M, local, store, "STL"},
    {M, shared, load, "LDS LDSM LDT LDTM"},
    {M, shared, load | store, "UTCCP"},
    {M, shared, load | store | atomic, "ATOMS"},
    {M, shared, store, "STAS STS STSM STT STTM UMEMSETS"},
    {M, shared, store | atomic, "REDAS"},
    {M, constant, load, "LDC LDCU ULDC"},
    {M, texture, 0, "CCTLT SUQUERY"},
    {M, texture, load, "SULD TEX TLD TLD4 TMML TXA TXD TXQ"},
    {M, texture, load | store | atomic, "SUATOM"},
    {M, texture, store, "SUST"},
    {M, texture, store | atomic, "SURED"},
    {I, no, 0,
     "BMSK BREV FLO IABS IADD IADD3 IADD32I IDP IDP4A IMAD IMMU IMNMX IMUL IMUL32I ISCADD ISCADD32I ISETP LEA LOP LOP3"
     " LOP32I POPC PRMT SGXT SHF SHL SHR UBMSK UBREV UCLEA UCPRMT UFLO UIABS UIADD3 UIMAD UIMNMX UISETP ULEA ULOP ULOP3"
     " ULOP32I UPOPC UPRMT USGXT USHF USHL USHR UVABSDIFF UVIADD UVIADDMNMX UVIMNMX UVIMNMX3 VABSDIFF VABSDIFF4 VHMNMX"
     " VIADD VIADDMNMX VIMNMX VIMNMX3"},
    {S, no, 0,
     "FADD FADD2 FADD32I FCHK FFMA FFMA2 FFMA32I FHADD FHFMA FMNMX FMNMX3 FMUL FMUL2 FMUL32I FSEL FSET FSETP FSWZADD"
     " HADD2 HADD2_32I HFMA2 HFMA2_32I HMNMX2 HMUL2 HMUL2_32I HSET2 HSETP2 QADD4 QFMA4 QMUL4 UFADD UFFMA UFHADD UFHFMA"
     " UFMNMX UFMUL UFSEL UFSET UFSETP"},
    {D, no, 0, "DADD DFMA DMNMX DMUL DSETP"},
    {F, no, 0, "MUFU"},
    {T, no, 0, "BGMMA BMMA DMMA HGMMA HMMA IGMMA IMMA OMMA QGMMA QMMA UTCHMMA UTCIMMA UTCOMMA UTCQMMA UTCSHIFT"},
    {V, no, 0,
     "AL2P B2R BMOV CREDUX CS2R CS2UR ELECT F2F F2FP F2I F2IP FRND GETLMEMBASE I2F I2FP I2I I2IP LEPC MATCH MOV MOV32I"
     " MOV64IUR MOVM OUT P2R PIXLD PLOP3 PSETP R2B R2P R2UR REDUX S2R S2UR SEL SETCTAID SETLMEMBASE SHFL SPMETADATA"
     " UF2F UF2FP UF2I UF2IP UFRND UI2F UI2FP UI2I UI2IP ULEPC UMOV UMOV32I UP2UR UPLOP3 UPSETP UR2UP USEL VOTE VOTEU"},
    {C, no, 0,
     "BPT BREAK BSSY BSYNC ENDCOLLECTIVE NANOSLEEP NOP PMTRIG PREEXIT RPCMOV UGETNEXTWORKID USETMAXREG USETSHMSZ"
     " UVIRTCOUNT YIELD"},
};

const std::unordered_map<std::string_view, const Group*>& table() {
    static const std::unordered_map<std::string_view, const Group*> all = [] {
        std::unordered_map<std::string_view, const Group*> found;
        for (const Group& group : groups)
            each_word(group.opcodes, [&](std::string_view opcode) { found.emplace(opcode, &group); });
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
    const Group* group = found->second;
    opcode.unit = group->unit;
    opcode.space = group->space;
    opcode.is_load = group->flags & load;
    opcode.is_store = group->flags & store;
    opcode.is_atomic = group->flags & atomic;
    opcode.is_branch = group->flags & branch;
    opcode.is_barrier = group->flags & barrier_flag;
    opcode.is_exit = group->flags & exit_flag;
    opcode.is_bulk_copy = group->flags & bulk;
    if (opcode.base == "UBLKCP" && text.find(".G.S") != std::string_view::npos)  // destination, then source
        opcode.is_load = false, opcode.is_store = true;
    return opcode;
}

}  // namespace kernelpoint
