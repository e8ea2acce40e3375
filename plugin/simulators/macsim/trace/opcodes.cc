#include <iterator>
#include <unordered_map>

#include "native/trace/opcode.h"
#include "simulators/macsim/trace/record.h"

namespace kernelpoint::macsim {

namespace {

// By number: Turing's instruction set, then (from 163) what newer tracers add for Hopper.
constexpr std::string_view names[newest_opcode_count] = {
    "FADD",          "FADD32I",     "FCHK",         "FFMA32I",   "FFMA",         "FMNMX",
    "FMUL",          "FMUL32I",     "FSEL",         "FSET",      "FSETP",        "FSWZADD",
    "MUFU",          "HADD2",       "HADD2_32I",    "HFMA2",     "HFMA2_32I",    "HMMA",
    "HMUL2",         "HMUL2_32I",   "HSET2",        "HSETP2",    "DADD",         "DFMA",
    "DMUL",          "DSETP",       "BMMA",         "BMSK",      "BREV",         "FLO",
    "IABS",          "IADD",        "IADD3",        "IADD32I",   "IDP",          "IDP4A",
    "IMAD",          "IMMA",        "IMNMX",        "IMUL",      "IMUL32I",      "ISCADD",
    "ISCADD32I",     "ISETP",       "LEA",          "LOP",       "LOP3",         "LOP32I",
    "POPC",          "SHF",         "SHL",          "SHR",       "VABSDIFF",     "VABSDIFF4",
    "F2F",           "F2I",         "I2F",          "I2I",       "I2IP",         "FRND",
    "MOV",           "MOV32I",      "MOVM",         "PRMT",      "SEL",          "SGXT",
    "SHFL",          "PLOP3",       "PSETP",        "P2R",       "R2P",          "LD",
    "LDC",           "LDG",         "LDL",          "LDS",       "LDSM",         "ST",
    "STG",           "STL",         "STS",          "MATCH",     "QSPC",         "ATOM",
    "ATOMS",         "ATOMG",       "RED",          "CCTL",      "CCTLL",        "ERRBAR",
    "MEMBAR",        "CCTLT",       "R2UR",         "S2UR",      "UBMSK",        "UBREV",
    "UCLEA",         "UFLO",        "UIADD3",       "UIADD3_64", "UIMAD",        "UISETP",
    "ULDC",          "ULEA",        "ULOP",         "ULOP3",     "ULOP32I",      "UMOV",
    "UP2UR",         "UPLOP3",      "UPOPC",        "UPRMT",     "UPSETP",       "UR2UP",
    "USEL",          "USGXT",       "USHF",         "USHL",      "USHR",         "VOTEU",
    "TEX",           "TLD",         "TLD4",         "TMML",      "TXD",          "TXQ",
    "SUATOM",        "SULD",        "SURED",        "SUST",      "BMOV",         "BPT",
    "BRA",           "BREAK",       "BRX",          "BRXU",      "BSSY",         "BSYNC",
    "CALL",          "EXIT",        "JMP",          "JMX",       "JMXU",         "KILL",
    "NANOSLEEP",     "RET",         "RPCMOV",       "RTT",       "WARPSYNC",     "YIELD",
    "B2R",           "BAR",         "CS2R",         "DEPBAR",    "GETLMEMBASE",  "LEPC",
    "NOP",           "PMTRIG",      "R2B",          "S2R",       "SETCTAID",     "SETLMEMBASE",
    "VOTE",          "HMNMX2",      "DMMA",         "VHMNMX",    "VIADD",        "VIADDMNMX",
    "VIMNMX",        "VIMNMX3",     "I2FP",         "F2IP",      "FENCE",        "LDGDEPBAR",
    "LDGMC",         "LDGSTS",      "STSM",         "SYNCS",     "REDAS",        "REDG",
    "REDUX",         "UCGABAR_ARV", "UCGABAR_WAIT", "UF2FP",     "ULEPC",        "USETMAXREG",
    "BGMMA",         "HGMMA",       "IGMMA",        "QGMMA",     "WARPGROUP",    "WARPGROUPSET",
    "UBLKCP",        "UBLKPF",      "UBLKRED",      "UTMACCTL",  "UTMACMDFLUSH", "UTMALDG",
    "UTMAPF",        "UTMAREDG",    "UTMASTG",      "ACQBULK",   "CGAERRBAR",    "ELECT",
    "ENDCOLLECTIVE", "PREEXIT",
};

constexpr struct {
    std::string_view known, opcodes;
} nearest[] = {
    {"ATOMS", "REDAS"},
    {"BMMA", "BGMMA"},
    {"DEPBAR", "ACQBULK ACQSHMINIT ARRIVES LDGDEPBAR SYNCS"},
    {"DSETP", "DMNMX"},
    {"F2F", "F2FP UF2FP"},
    {"F2I", "F2IP"},
    {"HADD2", "HMNMX2"},
    {"HMMA", "DMMA HGMMA QGMMA"},
    {"I2F", "I2FP"},
    {"IADD", "VIADD"},
    {"IADD3", "VIADDMNMX"},
    {"IMMA", "IGMMA"},
    {"IMNMX", "VIMNMX VIMNMX3"},
    {"IMUL", "IMMU"},
    {"LDG", "LDGMC LDGSTS UBLKCP UBLKPF UTMALDG UTMAPF"},
    {"LDL", "ISBERD LDTM"},
    {"LEPC", "ULEPC"},
    {"MEMBAR", "FENCE"},
    {"MOV", "AL2P OUT PIXLD"},
    {"RED", "REDG UBLKRED UTMAREDG"},
    {"SHFL", "REDUX"},
    {"STG", "UTMASTG"},
    {"STS", "STAS STSM"},
    {"TEX", "TXA"},
    {"VABSDIFF", "VHMNMX"},
    {"VOTE", "ELECT"},
    {"WARPSYNC", "WARPGROUP WARPGROUPSET"},
};

const std::unordered_map<std::string_view, uint8_t>& numbers() {
    static const auto* result = [] {
        auto* map = new std::unordered_map<std::string_view, uint8_t>;
        for (uint8_t number = 0; number < opcode_count; ++number) map->emplace(names[number], number);
        return map;
    }();
    return *result;
}

const std::unordered_map<std::string_view, uint8_t>& nearest_numbers() {
    static const auto* result = [] {
        auto* map = new std::unordered_map<std::string_view, uint8_t>;
        for (const auto& [known, opcodes] : nearest)
            each_word(opcodes,
                      [&, number = numbers().at(known)](std::string_view base) { map->emplace(base, number); });
        return map;
    }();
    return *result;
}

}  // namespace

std::string_view opcode_name(uint8_t number) {
    return number < std::size(names) ? names[number] : std::string_view();
}

uint8_t opcode_number(std::string_view base, bool& exact) {
    const auto same = numbers().find(base);
    exact = same != numbers().end();
    if (exact) return same->second;
    const auto near = nearest_numbers().find(base);
    return near != nearest_numbers().end() ? near->second : numbers().at("NOP");
}

bool is_floating_point(uint8_t number) {
    return number < 26;
}

}  // namespace kernelpoint::macsim
