// SASS opcodes of Volta to Hopper, as NVIDIA's "CUDA Binary Utilities" lists them, and later ones, which have the
// tokens of older opcodes. Any change is a change of schema.
#include <iterator>

#include "native/graph/schema.h"

namespace kernelpoint::graph {

namespace {

constexpr SharedToken kShared[] = {
    {"ACQSHMINIT", "ACQBULK"},
    {"ARRIVES", "SYNCS"},
    {"CREDUX", "REDUX"},
    {"CS2UR", "CS2R"},
    {"DMNMX", "DADD"},
    {"FADD2", "FADD"},
    {"FFMA2", "FFMA"},
    {"FHADD", "FADD"},
    {"FHFMA", "FFMA"},
    {"FMNMX3", "FMNMX"},
    {"FMUL2", "FMUL"},
    {"HADD2_32I", "HADD2"},
    {"HFMA2_32I", "HFMA2"},
    {"HMUL2_32I", "HMUL2"},
    {"IMMU", "IMAD"},
    {"LDCU", "ULDC"},
    {"LDT", "LDSM"},
    {"LDTM", "LDSM"},
    {"MOV64IUR", "MOV"},
    {"OMMA", "HMMA"},
    {"QADD4", "HADD2"},
    {"QFMA4", "HFMA2"},
    {"QMMA", "HMMA"},
    {"QMUL4", "HMUL2"},
    {"SPMETADATA", "MOV"},
    {"STT", "STSM"},
    {"STTM", "STSM"},
    {"SUQUERY", "TXQ"},
    {"TXA", "TXD"},
    {"UF2F", "F2F"},
    {"UF2I", "F2I"},
    {"UF2IP", "F2IP"},
    {"UFADD", "FADD"},
    {"UFFMA", "FFMA"},
    {"UFHADD", "FADD"},
    {"UFHFMA", "FFMA"},
    {"UFMNMX", "FMNMX"},
    {"UFMUL", "FMUL"},
    {"UFRND", "FRND"},
    {"UFSEL", "FSEL"},
    {"UFSET", "FSET"},
    {"UFSETP", "FSETP"},
    {"UGETNEXTWORKID", "PREEXIT"},
    {"UI2F", "I2F"},
    {"UI2FP", "I2FP"},
    {"UI2I", "I2I"},
    {"UI2IP", "I2IP"},
    {"UIABS", "IABS"},
    {"UIMNMX", "IMNMX"},
    {"ULEPC", "LEPC"},
    {"UMEMSETS", "STS"},
    {"UMOV32I", "UMOV"},
    {"UREDGR", "REDG"},
    {"USETSHMSZ", "USETMAXREG"},
    {"USTGR", "STG"},
    {"UTCATOMSWS", "UTMACMDFLUSH"},
    {"UTCBAR", "SYNCS"},
    {"UTCCP", "LDSM"},
    {"UTCHMMA", "HGMMA"},
    {"UTCIMMA", "IGMMA"},
    {"UTCOMMA", "QGMMA"},
    {"UTCQMMA", "QGMMA"},
    {"UTCSHIFT", "HGMMA"},
    {"UVABSDIFF", "VABSDIFF"},
    {"UVIADDMNMX", "VIADDMNMX"},
    {"UVIMNMX", "VIMNMX"},
    {"UVIMNMX3", "VIMNMX3"},
    {"UVIRTCOUNT", "NOP"},
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
    static const std::vector<SharedToken> shared(std::begin(kShared), std::end(kShared));
    return shared;
}

}  // namespace kernelpoint::graph
