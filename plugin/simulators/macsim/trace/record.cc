#include "simulators/macsim/trace/record.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <unordered_map>

#include "native/trace/interruption.h"
#include "native/trace/opcode.h"
#include "native/trace/trace.h"

namespace kernelpoint::macsim {

namespace {

constexpr size_t packed_block = 16 << 10;
constexpr size_t record_block = 1024 * sizeof(Record);

// By number: Turing's instruction set, then (from 163) what newer tracers add for Hopper.
constexpr std::string_view names[newest_opcode_count] = {
    "FADD",      "FADD32I",     "FCHK",        "FFMA32I",   "FFMA",          "FMNMX",       "FMUL",         "FMUL32I",
    "FSEL",      "FSET",        "FSETP",       "FSWZADD",   "MUFU",          "HADD2",       "HADD2_32I",    "HFMA2",
    "HFMA2_32I", "HMMA",        "HMUL2",       "HMUL2_32I", "HSET2",         "HSETP2",      "DADD",         "DFMA",
    "DMUL",      "DSETP",       "BMMA",        "BMSK",      "BREV",          "FLO",         "IABS",         "IADD",
    "IADD3",     "IADD32I",     "IDP",         "IDP4A",     "IMAD",          "IMMA",        "IMNMX",        "IMUL",
    "IMUL32I",   "ISCADD",      "ISCADD32I",   "ISETP",     "LEA",           "LOP",         "LOP3",         "LOP32I",
    "POPC",      "SHF",         "SHL",         "SHR",       "VABSDIFF",      "VABSDIFF4",   "F2F",          "F2I",
    "I2F",       "I2I",         "I2IP",        "FRND",      "MOV",           "MOV32I",      "MOVM",         "PRMT",
    "SEL",       "SGXT",        "SHFL",        "PLOP3",     "PSETP",         "P2R",         "R2P",          "LD",
    "LDC",       "LDG",         "LDL",         "LDS",       "LDSM",          "ST",          "STG",          "STL",
    "STS",       "MATCH",       "QSPC",        "ATOM",      "ATOMS",         "ATOMG",       "RED",          "CCTL",
    "CCTLL",     "ERRBAR",      "MEMBAR",      "CCTLT",     "R2UR",          "S2UR",        "UBMSK",        "UBREV",
    "UCLEA",     "UFLO",        "UIADD3",      "UIADD3_64", "UIMAD",         "UISETP",      "ULDC",         "ULEA",
    "ULOP",      "ULOP3",       "ULOP32I",     "UMOV",      "UP2UR",         "UPLOP3",      "UPOPC",        "UPRMT",
    "UPSETP",    "UR2UP",       "USEL",        "USGXT",     "USHF",          "USHL",        "USHR",         "VOTEU",
    "TEX",       "TLD",         "TLD4",        "TMML",      "TXD",           "TXQ",         "SUATOM",       "SULD",
    "SURED",     "SUST",        "BMOV",        "BPT",       "BRA",           "BREAK",       "BRX",          "BRXU",
    "BSSY",      "BSYNC",       "CALL",        "EXIT",      "JMP",           "JMX",         "JMXU",         "KILL",
    "NANOSLEEP", "RET",         "RPCMOV",      "RTT",       "WARPSYNC",      "YIELD",       "B2R",          "BAR",
    "CS2R",      "DEPBAR",      "GETLMEMBASE", "LEPC",      "NOP",           "PMTRIG",      "R2B",          "S2R",
    "SETCTAID",  "SETLMEMBASE", "VOTE",        "HMNMX2",    "DMMA",          "VHMNMX",      "VIADD",        "VIADDMNMX",
    "VIMNMX",    "VIMNMX3",     "I2FP",        "F2IP",      "FENCE",         "LDGDEPBAR",   "LDGMC",        "LDGSTS",
    "STSM",      "SYNCS",       "REDAS",       "REDG",      "REDUX",         "UCGABAR_ARV", "UCGABAR_WAIT", "UF2FP",
    "ULEPC",     "USETMAXREG",  "BGMMA",       "HGMMA",     "IGMMA",         "QGMMA",       "WARPGROUP",    "WARPGROUPSET",
    "UBLKCP",    "UBLKPF",      "UBLKRED",     "UTMACCTL",  "UTMACMDFLUSH",  "UTMALDG",     "UTMAPF",       "UTMAREDG",
    "UTMASTG",   "ACQBULK",     "CGAERRBAR",   "ELECT",     "ENDCOLLECTIVE", "PREEXIT",
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
            each_word(opcodes, [&, number = numbers().at(known)](std::string_view base) { map->emplace(base, number); });
        return map;
    }();
    return *result;
}

}  // namespace

RecordFile::RecordFile(const std::string& path)
    : path_(path), file_(path), packed_(new char[packed_block]), records_(new char[record_block]) {
    packed_size_ = file_.read(packed_.get(), packed_block);
    file_ended_ = packed_size_ < packed_block;
    if (recognise_compression(packed_.get(), packed_size_) != Compression::gzip) return;
    try {
        decoder_ = make_decoder(Compression::gzip);
    } catch (const std::runtime_error& error) {
        throw TraceError(path, 0, error.what());
    }
}

RecordFile::~RecordFile() = default;

void RecordFile::fail(const std::string& what_is_wrong) const {
    throw TraceError(path_, 0, "record " + std::to_string(count_) + " (from 1): " + what_is_wrong);
}

void RecordFile::fail_behind(const std::string& what_is_wrong) const {
    throw TraceError(path_, 0,
                     "behind record " + std::to_string(count_ + (filled_ - used_) / sizeof(Record)) + ": " + what_is_wrong);
}

size_t RecordFile::unpack() {
    size_t filled = 0;
    while (filled < record_block) {
        if (packed_used_ == packed_size_ && !file_ended_) {
            packed_used_ = 0;
            packed_size_ = file_.read(packed_.get(), packed_block);
            file_ended_ = packed_size_ < packed_block;
        }
        const char* packed = packed_.get() + packed_used_;
        const size_t available = packed_size_ - packed_used_;
        char* records = records_.get() + filled;
        size_t used = std::min(available, record_block - filled), got = used;
        if (decoder_ == nullptr) {
            std::memcpy(records, packed, used);
        } else {
            try {
                got = decoder_->decode(packed, available, used, records, record_block - filled, file_ended_);
            } catch (const std::runtime_error& error) {
                fail_behind(error.what());
            }
        }
        packed_used_ += used;
        filled += got;
        if (got == 0 && used == 0 && file_ended_) break;
    }
    return filled;
}

void RecordFile::fill() {
    interruption_point();
    filled_ = used_ = 0;
    const size_t got = unpack();
    filled_ = got / sizeof(Record) * sizeof(Record);
    ended_ = got < record_block;
    if (got != filled_)
        fail_behind("expected records of 64 bytes, found " + std::to_string(got - filled_) + " more bytes at the end");
}

bool RecordFile::next(Record& record) {
    if (used_ == filled_) {
        if (ended_) return false;
        fill();
        if (filled_ == 0) return false;
    }
    std::memcpy(&record, records_.get() + used_, sizeof record);
    used_ += sizeof record;
    ++count_;
    return true;
}

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
