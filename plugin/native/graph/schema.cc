#include "native/graph/schema.h"

#include <unordered_map>

namespace kernelpoint::graph {

namespace {

constexpr uint32_t kRegisterFiles = 4;  // R, UR, P, UP
constexpr uint32_t kSpaces = 7;         // MemorySpace
constexpr uint32_t kDirections = 3;     // load, store, atomic

const std::unordered_map<std::string_view, uint32_t>& vocabulary_index() {
    static const auto* index = [] {
        auto* result = new std::unordered_map<std::string_view, uint32_t>;
        uint32_t token = 1;
        for (auto opcode : opcode_vocabulary()) result->emplace(opcode, token++);
        for (const auto& shared : shared_tokens()) result->emplace(shared.opcode, result->at(shared.older));
        return result;
    }();
    return *index;
}

uint32_t first_variable_token() {
    return 1 + static_cast<uint32_t>(opcode_vocabulary().size());
}
uint32_t first_pseudo_token() {
    return first_variable_token() + 2 * kRegisterFiles;
}

std::vector<std::string> instruction_columns() {
    std::vector<std::string> names = {"pc_sin_1",  "pc_cos_1",     "pc_sin_2",          "pc_cos_2",     "pc_sin_4",
                                      "pc_cos_4",  "pc_sin_8",     "pc_cos_8",          "active_lanes", "log_repeat",
                                      "log_width", "source_count", "destination_count", "is_load",      "is_store",
                                      "is_atomic", "is_branch",    "is_barrier",        "is_exit"};
    for (int unit = 0; unit < static_cast<int>(Unit::other); ++unit) names.push_back(std::string("unit_") + unit_names[unit]);
    return names;
}

}  // namespace

const std::vector<std::string>& column_names(NodeKind kind) {
    static const std::vector<std::string> instruction = instruction_columns();
    static const std::vector<std::string> variable = {"value_mean", "value_std", "value_median", "value_min",
                                                      "value_max",  "value_p25", "value_p75",    "value_skewness",
                                                      "has_values", "is_input",  "log_reads"};
    static const std::vector<std::string> pseudo = {"log_width",  "active_lanes", "log_sectors", "sector_efficiency",
                                                    "is_regular", "stride_sign",  "log_stride",  "has_step",
                                                    "step_sign",  "log_step"};
    return kind == kInstruction ? instruction : kind == kVariable ? variable : pseudo;
}

uint32_t token_count() {
    return first_pseudo_token() + kSpaces * kDirections;
}

uint32_t opcode_token(const Opcode& opcode) {
    auto found = vocabulary_index().find(opcode.base);
    return found == vocabulary_index().end() ? 0 : found->second;
}

uint32_t modifier_token(const Opcode& opcode) {
    if (opcode.text.size() <= opcode.base.size() + 1) return 0;
    uint32_t hash = 2166136261u;
    for (size_t i = opcode.base.size() + 1; i < opcode.text.size(); i++)
        hash = (hash ^ static_cast<uint8_t>(opcode.text[i])) * 16777619u;
    return 1 + hash % (kModifierCount - 1);
}

uint32_t variable_token(Register reg, bool is_input) {
    return first_variable_token() + 2 * ((reg >> 8) % kRegisterFiles) + (is_input ? 1 : 0);
}

uint32_t pseudo_token(const Opcode& opcode) {
    uint32_t direction = opcode.is_atomic ? 2 : opcode.is_store ? 1 : 0;
    return first_pseudo_token() + kDirections * static_cast<uint32_t>(opcode.space) + direction;
}

bool is_zero_register(Register reg) {
    static constexpr uint16_t zero[kRegisterFiles] = {255, 63, 7, 7};
    return (reg & 0xff) == zero[(reg >> 8) % kRegisterFiles];
}

// SASS opcodes of Volta to Hopper, as NVIDIA's "CUDA Binary Utilities" lists them, and later ones, which have the
// tokens of older opcodes. Any change is a change of schema.

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
        "FADD", "FADD32I", "FCHK", "FFMA", "FFMA32I", "FMNMX", "FMUL", "FMUL32I", "FSEL", "FSET", "FSETP", "FSWZADD", "MUFU",
        "HADD2", "HADD2_32", "HFMA2", "HFMA2_32", "HMMA", "HMNMX2", "HMUL2", "HMUL2_32", "HSET2", "HSETP2", "DADD", "DFMA",
        "DMMA", "DMUL", "DSETP", "FRND", "BMMA", "IMMA", "HGMMA", "IGMMA", "BGMMA", "QGMMA",
        // integer
        "BMSK", "BREV", "FLO", "IABS", "IADD", "IADD3", "IADD32I", "IDP", "IDP4A", "IMAD", "IMNMX", "IMUL", "IMUL32I", "ISCADD",
        "ISCADD32I", "ISETP", "LEA", "LOP", "LOP3", "LOP32I", "POPC", "SHF", "SHL", "SHR", "VABSDIFF", "VABSDIFF4", "VIADD",
        "VIADDMNMX", "VIMNMX", "VIMNMX3", "VHMNMX",
        // conversion
        "F2F", "F2I", "I2F", "I2I", "I2IP", "I2FP", "F2IP", "F2FP",
        // movement and predicates
        "MOV", "MOV32I", "MOVM", "PRMT", "SEL", "SGXT", "SHFL", "PLOP3", "PSETP", "P2R", "R2P", "R2UR", "CS2R", "S2R", "S2UR",
        "B2R", "R2B", "VOTE", "VOTEU", "MATCH", "ELECT", "REDUX", "CSMTEST", "LEPC", "NOP", "PMTRIG",
        // uniform path
        "UBMSK", "UBREV", "UCLEA", "UF2FP", "UFLO", "UIADD3", "UIMAD", "UISETP", "ULDC", "ULEA", "ULOP", "ULOP3", "ULOP32I",
        "UMOV", "UP2UR", "UPLOP3", "UPOPC", "UPRMT", "UPSETP", "UR2UP", "USEL", "USGXT", "USHF", "USHL", "USHR", "UCGABAR_ARV",
        "UCGABAR_WAIT", "UVIADD", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMACCTL", "UTMACMDFLUSH", "UTMAPF", "UBLKCP", "UBLKRED",
        "UBLKPF",
        // memory
        "LD", "LDC", "LDG", "LDGDEPBAR", "LDGMC", "LDGSTS", "LDL", "LDS", "LDSM", "STSM", "ST", "STG", "STL", "STS", "STAS",
        "MATCH_ANY", "QSPC", "ATOM", "ATOMS", "ATOMG", "RED", "REDAS", "REDG", "CCTL", "CCTLL", "CCTLT", "ERRBAR", "MEMBAR",
        "FENCE", "SYNCS", "WARPGROUP", "WARPGROUPSET", "TEX", "TLD", "TLD4", "TMML", "TXD", "TXQ", "SULD", "SUST", "SUATOM",
        "SURED", "AL2P", "ALD", "AST", "IPA", "ISBERD", "OUT", "PIXLD",
        // control
        "BAR", "BMOV", "BPT", "BRA", "BREAK", "BRX", "BRXU", "BSSY", "BSYNC", "CALL", "DEPBAR", "EXIT", "GETLMEMBASE", "JMP",
        "JMX", "JMXU", "KILL", "NANOSLEEP", "NANOTRAP", "RET", "RPCMOV", "RTT", "SETCTAID", "SETLMEMBASE", "WARPSYNC", "YIELD",
        "ACQBULK", "CGAERRBAR", "ENDCOLLECTIVE", "PREEXIT", "UCPRMT", "USETMAXREG"};
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
