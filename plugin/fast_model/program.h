// A launch as the SMs run it: what its instructions do is worked out once for each static instruction, and which lines
// an access touches once when its CTA is read, while its addresses are at hand.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fast_model/config.h"
#include "native/trace/opcode.h"
#include "native/trace/stream_hash.h"
#include "native/trace/trace.h"

namespace kernelpoint::fast_model {

// Sectors of one 128-byte line that one warp instruction accesses.
struct LineAccess {
    uint64_t line : 60;    // address / 128
    uint64_t sectors : 4;  // bit per 32-byte sector
};

// Passes that an access to shared memory takes over its 32 four-byte banks (bank conflicts).
struct BankPasses {
    uint32_t passes = 0;     // in all
    uint32_t conflicts = 0;  // of those, beyond what as wide an access without conflicts takes
};

enum class Action : uint8_t {
    compute,      // a result after a fixed latency; loads of constants and textures too, whose addresses traces lack
    branch,       // the warp goes on after the latency
    barrier,      // the warp waits for the other warps of its CTA
    fence,        // the warp waits until its own memory accesses are done
    load_global,  // global, local or generic memory through L1
    store_global,
    atomic_global,
    access_shared,
};

// Slot of a register in a Scoreboard: the files R, UR, P and UP follow each other. RZ, URZ, PT and UPT are constants
// and have none.
constexpr uint16_t kConstantSlot = 336;
constexpr uint16_t slot_of(Register reg, uint32_t offset = 0) {
    constexpr uint32_t constants[4] = {255, 63, 7, 7}, begins[4] = {0, 256, 320, 328};
    const uint32_t file = (reg >> 8) & 3, number = (reg & 255) + offset;
    return static_cast<uint16_t>(number >= constants[file] ? kConstantSlot : begins[file] + number);
}

// A static instruction. Its registers are slots of a Scoreboard.
struct Operation {
    Action action = Action::compute;
    MemorySpace space = MemorySpace::none;
    uint8_t unit = 0;
    bool exits = false;
    bool has_result = false;  // it names a destination, if only a constant register
    uint8_t needed = 0, written = 0;
    uint32_t latency = 0, interval = 0;
    uint16_t needs[8] = {};   // read, or overwritten
    uint16_t writes[8] = {};  // two destinations of up to four registers

    bool accesses_memory() const { return action >= Action::load_global; }
};

// Kind of access of a memory instruction: nothing, lines, lines of local memory, or shared memory.
enum class Reach : uint8_t { nothing, lines, local_lines, shared_memory };

// A dynamic instruction of a warp without its addresses. Warps that execute the same instructions share the steps.
struct Step {
    uint32_t operation;
    uint16_t count;  // how many accesses it takes of DecodedCta::accesses
    uint8_t lanes;
    Reach reach;
};
using Steps = std::vector<Step>;

// Access to shared memory in the form of a LineAccess: the passes over its banks.
inline LineAccess bank_access(const BankPasses& banks) {
    return {(uint64_t{banks.conflicts} << 24) | banks.passes, 0};
}
inline BankPasses bank_passes(const LineAccess& access) {
    return {static_cast<uint32_t>(access.line & 0xffffff), static_cast<uint32_t>(access.line >> 24)};
}

struct DecodedCta {
    struct Warp {
        std::shared_ptr<const Steps> steps;
        size_t first_access = 0;
    };
    Dim3 index;
    std::vector<Warp> warps;
    std::vector<LineAccess> accesses;  // in order of the steps; local ones relative to where local memory begins
};

constexpr uint32_t kBanks = 32, kBankBytes = 4;

constexpr uint64_t kSectorsPerLine = kLineBytes / kSectorBytes;

// Finds a line among those touched before: addresses that only grow need no search, others a small hash table.
class Touched {
public:
    explicit Touched(std::vector<LineAccess>& lines) : lines_(lines) { lines_.clear(); }

    void add(uint64_t sector) {
        const uint64_t line = sector / kSectorsPerLine;
        const uint64_t bit = uint64_t{1} << (sector % kSectorsPerLine);
        if (!lines_.empty() && lines_.back().line == line) {
            lines_.back().sectors |= bit;
        } else if (lines_.empty() || line > greatest_) {
            greatest_ = line;
            lines_.push_back({line, bit});
        } else {
            search(line, bit);
        }
    }

private:
    void search(uint64_t line, uint64_t bit) {
        if (lines_.size() > kSlots / 2) return search_all(line, bit);
        for (; entered_ < lines_.size(); ++entered_) slot_of(lines_[entered_].line) = static_cast<uint8_t>(entered_ + 1);
        uint8_t& slot = slot_of(line);
        if (slot == 0) {
            lines_.push_back({line, bit});
        } else {
            lines_[slot - 1].sectors |= bit;
        }
    }
    // The slot that holds the line, or the free one where it belongs.
    uint8_t& slot_of(uint64_t line) {
        uint64_t i = (line ^ (line >> 6) ^ (line >> 12)) % kSlots;
        while (slots_[i] != 0 && lines_[slots_[i] - 1].line != line) i = (i + 1) % kSlots;
        return slots_[i];
    }
    void search_all(uint64_t line, uint64_t bit) {
        for (auto it = lines_.rbegin(); it != lines_.rend(); ++it) {
            if (it->line != line) continue;
            it->sectors |= bit;
            return;
        }
        lines_.push_back({line, bit});
    }

    static constexpr size_t kSlots = 128;
    std::vector<LineAccess>& lines_;
    uint64_t greatest_ = 0;
    size_t entered_ = 0;  // lines that are in the table
    uint8_t slots_[kSlots] = {};
};

// The distinct words met so far, by bank.
class Banks {
public:
    void touch(uint64_t word) {
        const uint32_t bank = word % kBanks;
        for (uint32_t i = 0; i < counts_[bank]; ++i) {
            if (words_[bank][i] == word) return;
        }
        words_[bank][counts_[bank]++] = word;
    }
    uint32_t most_words() const { return *std::max_element(counts_, counts_ + kBanks); }

private:
    // A group of lanes touches at most 32 words, whatever their width.
    uint64_t words_[kBanks][kWarpSize];
    uint8_t counts_[kBanks] = {};
};

// Computes the distinct lines of `count` accesses of `width` bytes each, in order of first access.
inline void coalesce(const uint64_t* addresses, uint32_t count, uint32_t width, std::vector<LineAccess>& lines) {
    Touched touched(lines);
    width = std::max(width, 1u);
    uint64_t previous = UINT64_MAX;
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t first = addresses[i] / kSectorBytes, last = (addresses[i] + width - 1) / kSectorBytes;
        for (uint64_t sector = first; sector <= last; ++sector) {
            if (sector != previous) touched.add(sector);
            previous = sector;
        }
    }
}

// Counts the passes; lanes that read the same word share it. Model: accesses wider than four bytes go in groups of
// lanes that together move 128 bytes, one pass each without conflicts.
inline BankPasses count_bank_passes(const uint64_t* addresses, uint32_t count, uint32_t width) {
    const uint32_t words_per_lane = std::clamp((width + kBankBytes - 1) / kBankBytes, 1u, kBanks);
    const uint32_t lanes_per_group = kBanks / words_per_lane;
    BankPasses result;
    for (uint32_t begin = 0; begin < count; begin += lanes_per_group) {
        Banks banks;
        for (uint32_t i = begin; i < std::min(count, begin + lanes_per_group); ++i) {
            for (uint32_t w = 0; w < words_per_lane; ++w) banks.touch(addresses[i] / kBankBytes + w);
        }
        result.passes += banks.most_words();
        result.conflicts += banks.most_words() - 1;
    }
    return result;
}

inline bool waits_for_memory(const Opcode& opcode) {
    return opcode.base == "MEMBAR" || opcode.base == "DEPBAR" || opcode.base == "LDGDEPBAR";
}

// BAR.ARV announces a warp without waiting. Model: the trace does not say at which barrier, so it is left out.
inline bool waits_for_cta(const Opcode& opcode) {
    return opcode.is_barrier && opcode.base == "BAR" && opcode.text.find(".ARV") == std::string::npos;
}

inline Action memory_action(const Opcode& opcode) {
    switch (opcode.space) {
        case MemorySpace::none:
        case MemorySpace::constant:
        case MemorySpace::texture:
            return Action::compute;
        case MemorySpace::shared:
            return Action::access_shared;
        default:
            break;
    }
    if (opcode.is_atomic) return Action::atomic_global;
    if (opcode.is_load) return Action::load_global;
    return opcode.is_store ? Action::store_global : Action::compute;  // the rest is cache control
}

inline uint8_t count_lanes(uint32_t mask) {
    return static_cast<uint8_t>(mask == UINT32_MAX ? kWarpSize : __builtin_popcount(mask));
}

// Bound of addresses within a warp's local memory, whose begin is known only when the warp runs.
constexpr uint64_t kLocalBytes = 0x7ffff;  // 512 KiB a thread, as a mask

class Program {
public:
    explicit Program(const GpuConfig& config) : config_(config) {}

    void start(const LaunchHeader& header) {
        shared_base_ = header.shared_base;
        operations_.clear();
        index_.clear();
        by_pc_.fill(Remembered{});
        lately_.fill(nullptr);
    }
    void decode(const Cta& cta, const std::vector<Opcode>& opcodes, DecodedCta& decoded) {
        decoded.index = cta.index;
        decoded.warps.clear();
        decoded.accesses.clear();
        for (const auto& warp : cta.warps) {
            const size_t first_access = decoded.accesses.size();
            steps_.clear();
            for (uint32_t i = 0; i < warp.instruction_count; ++i) {
                const Instruction& instruction = cta.instructions[warp.first_instruction + i];
                Step step{operation_of(instruction, opcodes), 0, count_lanes(instruction.active_mask), Reach::nothing};
                if (instruction.address_count != 0 && step.lanes != 0 && operations_[step.operation].accesses_memory())
                    reach(instruction, cta.addresses.data() + instruction.first_address, step, decoded);
                steps_.push_back(step);
            }
            decoded.warps.push_back({shared(), first_access});
        }
    }
    const Operation& operator[](uint32_t operation) const { return operations_[operation]; }

private:
    // Key of an operation: all of Instruction from its opcode to its sources.
    using Key = std::array<unsigned char, 24>;
    struct KeyHash {
        size_t operator()(const Key& key) const {
            uint64_t words[3];
            std::memcpy(words, key.data(), sizeof words);
            return mix(mix(mix(words[0]) ^ words[1]) ^ words[2]);
        }
    };
    struct Remembered {
        Key key{};
        uint32_t operation = UINT32_MAX;
    };

    // The steps just read: those of an earlier warp, if it did the same.
    std::shared_ptr<const Steps> shared() {
        static_assert(sizeof(Step) == 8, "a step is hashed and compared as it lies in memory");
        uint64_t hash = steps_.size();  // not mix(): one multiplication a step, and a collision costs memory only
        for (const Step& step : steps_) {
            uint64_t word;
            std::memcpy(&word, &step, sizeof word);
            hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
        }
        std::shared_ptr<const Steps>& known = lately_[(hash >> 32) % lately_.size()];
        const size_t bytes = steps_.size() * sizeof(Step);
        if (!known || known->size() != steps_.size() || std::memcmp(known->data(), steps_.data(), bytes) != 0)
            known = std::make_shared<const Steps>(steps_);
        return known;
    }
    uint32_t operation_of(const Instruction& instruction, const std::vector<Opcode>& opcodes) {
        static_assert(offsetof(Instruction, opcode) + sizeof(Key) == offsetof(Instruction, first_address),
                      "a key holds all that instructions of one operation have in common");
        Key key;
        std::memcpy(key.data(), &instruction.opcode, sizeof key);
        Remembered& remembered = by_pc_[(instruction.pc >> 4) % by_pc_.size()];
        if (remembered.operation != UINT32_MAX && remembered.key == key) return remembered.operation;
        const auto [found, is_new] = index_.try_emplace(key, static_cast<uint32_t>(operations_.size()));
        if (is_new) operations_.push_back(make(instruction, opcodes[instruction.opcode]));
        remembered = {key, found->second};
        return found->second;
    }
    Operation make(const Instruction& instruction, const Opcode& opcode) const {
        Operation operation;
        operation.space = opcode.space;
        operation.unit = static_cast<uint8_t>(opcode.unit);
        operation.exits = opcode.is_exit;
        operation.has_result = instruction.destination_count > 0;
        operation.latency = config_.unit(opcode.unit).latency;
        operation.interval = config_.unit(opcode.unit).interval;
        if (opcode.unit == Unit::memory) {
            operation.action = memory_action(opcode);
            operation.latency = opcode.space == MemorySpace::texture  ? config_.texture_latency
                                : opcode.space == MemorySpace::shared ? config_.shared_latency
                                                                      : config_.constant_latency;
        } else if (waits_for_cta(opcode)) {
            operation.action = Action::barrier;
        } else if (waits_for_memory(opcode)) {
            operation.action = Action::fence;
        } else if (opcode.is_branch) {
            operation.action = Action::branch;
        }
        const auto add = [](uint16_t* slots, uint8_t& count, uint16_t slot) {
            if (slot != kConstantSlot) slots[count++] = slot;
        };
        for (uint32_t i = 0; i < instruction.source_count; ++i)
            add(operation.needs, operation.needed, slot_of(instruction.sources[i]));
        // Model: a trace names the first register of a wide load; the others follow it.
        const uint32_t registers = instruction.width > 4 ? std::min<uint32_t>(instruction.width / 4, 4) : 1;
        for (uint32_t i = 0; i < instruction.destination_count; ++i) {
            add(operation.needs, operation.needed, slot_of(instruction.destinations[i]));
            for (uint32_t r = 0; r < registers; ++r)
                add(operation.writes, operation.written, slot_of(instruction.destinations[i], r));
        }
        return operation;
    }
    void reach(const Instruction& instruction, const uint64_t* addresses, Step& step, DecodedCta& decoded) {
        const Operation& operation = operations_[step.operation];
        const uint32_t count = instruction.address_count;
        if (operation.action == Action::access_shared || (operation.space == MemorySpace::generic && is_shared(addresses[0]))) {
            step.reach = Reach::shared_memory;
            step.count = 1;
            decoded.accesses.push_back(bank_access(count_bank_passes(addresses, count, instruction.width)));
            return;
        }
        const bool local = operation.space == MemorySpace::local;
        coalesce(local ? interleave(instruction, addresses) : addresses, count, instruction.width, touched_);
        step.reach = local ? Reach::local_lines : Reach::lines;
        step.count = static_cast<uint16_t>(touched_.size());
        decoded.accesses.insert(decoded.accesses.end(), touched_.begin(), touched_.end());
    }
    // Model: the trace gives a local address as its thread sees it; hardware interleaves the threads of a warp, so that
    // equal addresses of neighbouring lanes lie side by side.
    const uint64_t* interleave(const Instruction& instruction, const uint64_t* addresses) {
        const uint64_t width = std::max<uint64_t>(instruction.width, 1);
        uint32_t lanes = instruction.active_mask;
        for (uint32_t i = 0; i < instruction.address_count && i < kWarpSize; ++i) {
            const auto lane = static_cast<uint64_t>(__builtin_ctz(lanes | 0x80000000u));
            lanes &= lanes - 1;
            const uint64_t offset = addresses[i] & kLocalBytes;
            local_addresses_[i] = (offset / width * kWarpSize + lane) * width + offset % width;
        }
        return local_addresses_;
    }
    // Model: the shared window of the generic address space is 16 MiB. All lanes of an access are taken to agree.
    bool is_shared(uint64_t generic_address) const {
        return shared_base_ != 0 && generic_address >= shared_base_ && generic_address - shared_base_ < (uint64_t{1} << 24);
    }

    const GpuConfig& config_;
    uint64_t shared_base_ = 0;  // generic addresses from here on are shared memory; 0 for none
    std::vector<Operation> operations_;
    std::unordered_map<Key, uint32_t, KeyHash> index_;
    std::array<Remembered, 1024> by_pc_;
    std::vector<LineAccess> touched_;
    Steps steps_;  // of the warp being read
    // Steps that warps had lately, by a hash of them.
    std::array<std::shared_ptr<const Steps>, 256> lately_;
    uint64_t local_addresses_[kWarpSize];
};

}  // namespace kernelpoint::fast_model
