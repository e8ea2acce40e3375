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
    for (int unit = 0; unit < static_cast<int>(Unit::other); ++unit)
        names.push_back(std::string("unit_") + unit_names[unit]);
    return names;
}

}  // namespace

const std::array<const char*, kNodeKindCount>& node_kind_names() {
    static const std::array<const char*, kNodeKindCount> names = {"instruction", "variable", "pseudo"};
    return names;
}

const std::array<const char*, kRelationCount>& relation_names() {
    static const std::array<const char*, kRelationCount> names = {"control_flow", "left_source", "right_source",
                                                                  "destination", "memory_reference"};
    return names;
}

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

}  // namespace kernelpoint::graph
