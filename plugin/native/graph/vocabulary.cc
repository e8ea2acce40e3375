// SASS opcodes of Volta to Hopper, as NVIDIA's "CUDA Binary Utilities" lists them, and later ones, which have the
// tokens of older opcodes. Any change is a change of schema.
#include "native/graph/schema.h"

namespace kernelpoint::graph {

namespace {

constexpr struct {
    std::string_view older, opcodes;
} kShared[] = {
    {"ACQBULK", "ACQSHMINIT"},
    {"CS2R", "CS2UR"},
    {"DADD", "DMNMX"},
    {"F2F", "UF2F"},
    {"F2I", "UF2I"},
    {"F2IP", "UF2IP"},
    {"FADD", "FADD2 FHADD UFADD UFHADD"},
    {"FFMA", "FFMA2 FHFMA UFFMA UFHFMA"},
    {"FMNMX", "FMNMX3 UFMNMX"},
    {"FMUL", "FMUL2 UFMUL"},
    {"FRND", "UFRND"},
    {"FSEL", "UFSEL"},
    {"FSET", "UFSET"},
    {"FSETP", "UFSETP"},
    {"HADD2", "HADD2_32I QADD4"},
    {"HFMA2", "HFMA2_32I QFMA4"},
    {"HGMMA", "UTCHMMA UTCSHIFT"},
    {"HMMA", "OMMA QMMA"},
    {"HMUL2", "HMUL2_32I QMUL4"},
    {"I2F", "UI2F"},
    {"I2FP", "UI2FP"},
    {"I2I", "UI2I"},
    {"I2IP", "UI2IP"},
    {"IABS", "UIABS"},
    {"IGMMA", "UTCIMMA"},
    {"IMAD", "IMMU"},
    {"IMNMX", "UIMNMX"},
    {"LDSM", "LDT LDTM UTCCP"},
    {"LEPC", "ULEPC"},
    {"MOV", "MOV64IUR SPMETADATA"},
    {"NOP", "UVIRTCOUNT"},
    {"PREEXIT", "UGETNEXTWORKID"},
    {"QGMMA", "UTCOMMA UTCQMMA"},
    {"REDG", "UREDGR"},
    {"REDUX", "CREDUX"},
    {"STG", "USTGR"},
    {"STS", "UMEMSETS"},
    {"STSM", "STT STTM"},
    {"SYNCS", "ARRIVES UTCBAR"},
    {"TXD", "TXA"},
    {"TXQ", "SUQUERY"},
    {"ULDC", "LDCU"},
    {"UMOV", "UMOV32I"},
    {"USETMAXREG", "USETSHMSZ"},
    {"UTMACMDFLUSH", "UTCATOMSWS"},
    {"VABSDIFF", "UVABSDIFF"},
    {"VIADDMNMX", "UVIADDMNMX"},
    {"VIMNMX", "UVIMNMX"},
    {"VIMNMX3", "UVIMNMX3"},
};

}  // namespace

const std::vector<std::string_view>& opcode_vocabulary() {
    static const std::vector<std::string_view> opcodes = {
        // floating point
        "FADD", "FADD32I", "FCHK", "FFMA", "FFMA32I", "FMNMX", "FMUL", "FMUL32I", "FSEL", "FSET", "FSETP", "FSWZADD",
        "MUFU", "HADD2", "HADD2_32", "HFMA2", "HFMA2_32", "HMMA", "HMNMX2", "HMUL2", "HMUL2_32", "HSET2", "HSETP2",
        "DADD", "DFMA", "DMMA", "DMUL", "DSETP", "FRND", "BMMA", "IMMA", "HGMMA", "IGMMA", "BGMMA", "QGMMA",
        // integer
        "BMSK", "BREV", "FLO", "IABS", "IADD", "IADD3", "IADD32I", "IDP", "IDP4A", "IMAD", "IMNMX", "IMUL", "IMUL32I",
        "ISCADD", "ISCADD32I", "ISETP", "LEA", "LOP", "LOP3", "LOP32I", "POPC", "SHF", "SHL", "SHR", "VABSDIFF",
        "VABSDIFF4", "VIADD", "VIADDMNMX", "VIMNMX", "VIMNMX3", "VHMNMX",
        // conversion
        "F2F", "F2I", "I2F", "I2I", "I2IP", "I2FP", "F2IP", "F2FP",
        // movement and predicates
        "MOV", "MOV32I", "MOVM", "PRMT", "SEL", "SGXT", "SHFL", "PLOP3", "PSETP", "P2R", "R2P", "R2UR", "CS2R", "S2R",
        "S2UR", "B2R", "R2B", "VOTE", "VOTEU", "MATCH", "ELECT", "REDUX", "CSMTEST", "LEPC", "NOP", "PMTRIG",
        // uniform path
        "UBMSK", "UBREV", "UCLEA", "UF2FP", "UFLO", "UIADD3", "UIMAD", "UISETP", "ULDC", "ULEA", "ULOP", "ULOP3",
        "ULOP32I", "UMOV", "UP2UR", "UPLOP3", "UPOPC", "UPRMT", "UPSETP", "UR2UP", "USEL", "USGXT", "USHF", "USHL",
        "USHR", "UCGABAR_ARV", "UCGABAR_WAIT", "UVIADD", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMACCTL", "UTMACMDFLUSH",
        "UTMAPF", "UBLKCP", "UBLKRED", "UBLKPF",
        // memory
        "LD", "LDC", "LDG", "LDGDEPBAR", "LDGMC", "LDGSTS", "LDL", "LDS", "LDSM", "STSM", "ST", "STG", "STL", "STS",
        "STAS", "MATCH_ANY", "QSPC", "ATOM", "ATOMS", "ATOMG", "RED", "REDAS", "REDG", "CCTL", "CCTLL", "CCTLT",
        "ERRBAR", "MEMBAR", "FENCE", "SYNCS", "WARPGROUP", "WARPGROUPSET", "TEX", "TLD", "TLD4", "TMML", "TXD", "TXQ",
        "SULD", "SUST", "SUATOM", "SURED", "AL2P", "ALD", "AST", "IPA", "ISBERD", "OUT", "PIXLD",
        // control
        "BAR", "BMOV", "BPT", "BRA", "BREAK", "BRX", "BRXU", "BSSY", "BSYNC", "CALL", "DEPBAR", "EXIT", "GETLMEMBASE",
        "JMP", "JMX", "JMXU", "KILL", "NANOSLEEP", "NANOTRAP", "RET", "RPCMOV", "RTT", "SETCTAID", "SETLMEMBASE",
        "WARPSYNC", "YIELD", "ACQBULK", "CGAERRBAR", "ENDCOLLECTIVE", "PREEXIT", "UCPRMT", "USETMAXREG"};
    return opcodes;
}

const std::vector<SharedToken>& shared_tokens() {
    static const std::vector<SharedToken> shared = [] {
        std::vector<SharedToken> all;
        for (const auto& [older, opcodes] : kShared)
            each_word(opcodes, [&, as = older](std::string_view opcode) { all.push_back({opcode, as}); });
        return all;
    }();
    return shared;
}

}  // namespace kernelpoint::graph
