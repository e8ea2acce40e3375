#include "fast_model/program.h"

#include <algorithm>
#include <cstddef>

#include "fast_model/scoreboard.h"
#include "native/trace/mix.h"

namespace kernelpoint::fast_model {
namespace {

uint8_t count_lanes(uint32_t mask) {
    return static_cast<uint8_t>(mask == UINT32_MAX ? kWarpSize : __builtin_popcount(mask));
}

// Bound of addresses within a warp's local memory, whose begin is known only when the warp runs.
constexpr uint64_t kLocalBytes = 0x7ffff;  // 512 KiB a thread, as a mask

}  // namespace

size_t Program::KeyHash::operator()(const Key& key) const {
    uint64_t words[3];
    std::memcpy(words, key.data(), sizeof words);
    uint64_t hash = words[0];
    for (const uint64_t word : {words[1], words[2]}) hash = mix(hash) ^ word;
    return mix(hash);
}

void Program::start(const LaunchHeader& header) {
    shared_base_ = header.shared_base;
    timings_.clear();
    operations_.clear();
    index_.clear();
    by_pc_.fill(Remembered{});
    lately_.fill(nullptr);
}

void Program::decode(const Cta& cta, const std::vector<Opcode>& opcodes, DecodedCta& decoded) {
    timings_.extend(opcodes);
    decoded.index = cta.index;
    decoded.warps.clear();
    decoded.accesses.clear();
    for (const auto& warp : cta.warps) {
        const size_t first_access = decoded.accesses.size();
        steps_.clear();
        for (uint32_t i = 0; i < warp.instruction_count; ++i)
            steps_.push_back(step_of(cta.instructions[warp.first_instruction + i], cta, decoded));
        decoded.warps.push_back({shared(), first_access});
    }
}

Step Program::step_of(const Instruction& instruction, const Cta& cta, DecodedCta& decoded) {
    Step step{operation_of(instruction), 0, count_lanes(instruction.active_mask), Reach::nothing};
    if (instruction.address_count == 0 || step.lanes == 0) return step;
    if (operations_[step.operation].action >= Action::load_global)
        reach(instruction, cta.addresses.data() + instruction.first_address, step, decoded);
    return step;
}

// The steps just read: those of an earlier warp, if it did the same.
std::shared_ptr<const Steps> Program::shared() {
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

uint32_t Program::operation_of(const Instruction& instruction) {
    static_assert(offsetof(Instruction, opcode) + sizeof(Key) == offsetof(Instruction, first_address),
                  "a key holds all that instructions of one operation have in common");
    Key key;
    std::memcpy(key.data(), &instruction.opcode, sizeof key);
    Remembered& remembered = by_pc_[(instruction.pc >> 4) % by_pc_.size()];
    if (remembered.operation != UINT32_MAX && remembered.key == key) return remembered.operation;
    const auto [found, is_new] = index_.try_emplace(key, static_cast<uint32_t>(operations_.size()));
    if (is_new) operations_.push_back(make(instruction));
    remembered = {key, found->second};
    return found->second;
}

Operation Program::make(const Instruction& instruction) const {
    const OpcodeTiming& timing = timings_[instruction.opcode];
    Operation operation;
    operation.action = timing.action;
    operation.unit = timing.unit;
    operation.exits = timing.exits;
    operation.has_result = instruction.destination_count > 0;
    operation.latency = timing.latency;
    operation.interval = timing.interval;
    const auto add = [](uint16_t* slots, uint8_t& count, uint16_t slot) {
        if (slot != Scoreboard::kConstant) slots[count++] = slot;
    };
    for (uint32_t i = 0; i < instruction.source_count; ++i)
        add(operation.needs, operation.needed, Scoreboard::slot(instruction.sources[i]));
    // Model: a trace names the first register of a wide load; the others follow it.
    const uint32_t registers = instruction.width > 4 ? std::min<uint32_t>(instruction.width / 4, 4) : 1;
    for (uint32_t i = 0; i < instruction.destination_count; ++i) {
        add(operation.needs, operation.needed, Scoreboard::slot(instruction.destinations[i]));
        for (uint32_t r = 0; r < registers; ++r)
            add(operation.writes, operation.written, Scoreboard::slot(instruction.destinations[i], r));
    }
    return operation;
}

void Program::reach(const Instruction& instruction, const uint64_t* addresses, Step& step, DecodedCta& decoded) {
    const OpcodeTiming& timing = timings_[instruction.opcode];
    const uint32_t count = instruction.address_count;
    if (timing.action == Action::access_shared || (timing.space == MemorySpace::generic && is_shared(addresses[0]))) {
        step.reach = Reach::shared_memory;
        step.count = 1;
        decoded.accesses.push_back(bank_access(count_bank_passes(addresses, count, instruction.width)));
        return;
    }
    const bool local = timing.space == MemorySpace::local;
    coalesce(local ? interleave(instruction, addresses) : addresses, count, instruction.width, touched_);
    step.reach = local ? Reach::local_lines : Reach::lines;
    step.count = static_cast<uint16_t>(touched_.size());
    decoded.accesses.insert(decoded.accesses.end(), touched_.begin(), touched_.end());
}

// Model: the trace gives a local address as its thread sees it; hardware interleaves the threads of a warp, so that
// equal addresses of neighbouring lanes lie side by side.
const uint64_t* Program::interleave(const Instruction& instruction, const uint64_t* addresses) {
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
bool Program::is_shared(uint64_t generic_address) const {
    return shared_base_ != 0 && generic_address >= shared_base_ && generic_address - shared_base_ < (uint64_t{1} << 24);
}

}  // namespace kernelpoint::fast_model
