#include "native/graph/warps.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "native/trace/sectors.h"

namespace kernelpoint::graph {

namespace {

constexpr uint64_t kGolden = 11400714819323198485ull;  // 2^64 / golden ratio

// A word is mixed in with the finaliser of MurmurHash3; two distinct warps of a launch collide with chance 2^-64.
uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdull;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return hash ^ (hash >> 29);
}

uint64_t signature(const std::vector<Step>& steps) {
    uint64_t hash = steps.size();
    for (const auto& [instruction, access] : steps) {
        hash = mix(hash, uint64_t{instruction.pc} << 32 | instruction.active_mask);
        hash = mix(hash, uint64_t{instruction.opcode} << 32 | uint64_t{instruction.width} << 16 |
                             uint64_t{instruction.destination_count} << 8 | instruction.source_count);
        for (int i = 0; i < instruction.destination_count; i++) hash = mix(hash, instruction.destinations[i]);
        for (int i = 0; i < instruction.source_count; i++) hash = mix(hash, instruction.sources[i]);
        if (instruction.width > 0) {
            hash =
                mix(hash, uint64_t{access.sectors} << 32 | uint64_t{instruction.address_count} << 1 | access.regular);
            hash = mix(hash, static_cast<uint64_t>(access.stride));
            hash = mix(hash, static_cast<uint64_t>(access.step) << 1 | access.repeated);
        }
    }
    return hash;
}

// Takes the addresses out of a warp's instructions.
class StepReader {
public:
    void read(const Cta& cta, const Warp& warp, std::vector<Step>& steps) {
        steps.clear();
        serial_++;
        for (uint32_t i = 0; i < warp.instruction_count; i++) {
            const Instruction& instruction = cta.instructions[warp.first_instruction + i];
            const uint64_t* addresses = cta.addresses.data() + instruction.first_address;
            AccessPattern access;
            if (instruction.width > 0 && instruction.address_count > 0) {
                access = access_pattern(addresses, instruction.address_count, instruction.width);
                note_previous(instruction.pc, addresses[0], access);
            }
            steps.push_back({instruction, access});
        }
    }

private:
    struct Previous {
        uint64_t warp = 0, address = 0;
    };

    void note_previous(uint32_t pc, uint64_t address, AccessPattern& access) {
        Previous& previous = previous_[pc];
        access.repeated = previous.warp == serial_;
        if (access.repeated) access.step = static_cast<int64_t>(address - previous.address);
        previous = {serial_, address};
    }

    std::unordered_map<uint32_t, Previous> previous_;  // by pc
    uint64_t serial_ = 0;
};

// Facts of a distinct warp that are kept without its steps.
struct Seen {
    uint64_t signature = 0, weight = 0, nodes = 0, first_key = UINT64_MAX;
};

// Position in the golden-ratio sequence of a warp's position in the launch.
uint64_t spread_key(const LaunchHeader& header, const Cta& cta, const Warp& warp) {
    uint64_t linear = cta.index.x + uint64_t{header.grid.x} * (cta.index.y + uint64_t{header.grid.y} * cta.index.z);
    return (linear * header.warps_per_cta() + warp.id) * kGolden;
}

class Survey {
public:
    Survey(const std::string& path, uint64_t max_nodes) : path_(path), max_nodes_(max_nodes) {
        const auto reader = open_trace(path, true);
        Cta cta;
        while (reader->next(cta))
            for (const Warp& warp : cta.warps) add(reader->header(), cta, warp);
        result_.opcodes = reader->opcodes();
    }

    ChosenWarps choose() {
        std::sort(seen_.begin(), seen_.end(), [](const Seen& a, const Seen& b) {
            return a.weight != b.weight ? a.weight > b.weight : a.first_key < b.first_key;
        });
        uint64_t nodes = 0;
        size_t count = 0;
        while (count < seen_.size() && nodes + seen_[count].nodes <= max_nodes_) nodes += seen_[count++].nodes;
        result_.truncated = count == 0 && !seen_.empty();
        seen_.resize(result_.truncated ? 1 : count);
        if (!all_kept_) read_again();
        result_.left_out_warps = result_.total_warps;
        for (const Seen& one : seen_) {
            auto& [steps, values] = kept_.at(one.signature);
            WarpStream stream{std::move(steps), std::move(values), one.nodes, one.weight};
            if (result_.truncated) cut(stream);
            result_.left_out_warps -= one.weight;
            result_.warps.push_back(std::move(stream));
        }
        return std::move(result_);
    }

private:
    void add(const LaunchHeader& header, const Cta& cta, const Warp& warp) {
        if (warp.instruction_count == 0) return;
        steps_.read(cta, warp, scratch_);
        for (const Step& step : scratch_) result_.largest_pc = std::max(result_.largest_pc, step.instruction.pc);
        result_.total_warps++;
        uint64_t hash = signature(scratch_);
        auto [found, is_new] = index_.emplace(hash, seen_.size());
        if (is_new) {
            seen_.push_back({hash, 0, count_nodes(scratch_), UINT64_MAX});
            keep(hash, seen_.back().nodes);
        }
        Seen& seen = seen_[found->second];
        seen.weight++;
        const uint64_t key = spread_key(header, cta, warp);
        if (key > seen.first_key) return;
        seen.first_key = key;
        if (all_kept_) kept_.at(hash).values = values_of_warp(cta, warp);
    }

    // Steps are kept while everything fits, so that most launches are read once.
    void keep(uint64_t hash, uint64_t nodes) {
        kept_nodes_ += nodes;
        all_kept_ = all_kept_ && kept_nodes_ <= max_nodes_;
        if (all_kept_)
            kept_[hash].steps = scratch_;
        else
            kept_.clear();
    }

    void read_again() {
        std::unordered_map<uint64_t, uint64_t> wanted;  // signature -> key of the warp whose values stand for all
        for (const Seen& one : seen_) wanted.emplace(one.signature, one.first_key);
        const auto reader = open_trace(path_, true);
        Cta cta;
        while (kept_.size() < wanted.size() && reader->next(cta))
            for (const Warp& warp : cta.warps) {
                if (warp.instruction_count == 0) continue;
                steps_.read(cta, warp, scratch_);
                const auto found = wanted.find(signature(scratch_));
                if (found == wanted.end() || found->second != spread_key(reader->header(), cta, warp)) continue;
                kept_[found->first] = {scratch_, values_of_warp(cta, warp)};
            }
    }

    void cut(WarpStream& stream) {
        size_t fits = 0, last = stream.steps.size();
        while (last - fits > 1) {  // count_nodes grows with the prefix
            size_t middle = (fits + last) / 2;
            std::vector<Step> prefix(stream.steps.begin(), stream.steps.begin() + middle);
            (count_nodes(prefix) <= max_nodes_ ? fits : last) = middle;
        }
        stream.steps.resize(fits);
        stream.nodes = count_nodes(stream.steps);
    }

    const std::string path_;
    const uint64_t max_nodes_;
    ChosenWarps result_;
    std::vector<Seen> seen_;
    struct Kept {
        std::vector<Step> steps;
        WarpValues values;
    };
    std::unordered_map<uint64_t, size_t> index_;  // signature -> position in seen_
    std::unordered_map<uint64_t, Kept> kept_;     // by signature
    StepReader steps_;
    std::vector<Step> scratch_;
    uint64_t kept_nodes_ = 0;
    bool all_kept_ = true;
};

}  // namespace

AccessPattern access_pattern(const uint64_t* addresses, uint32_t count, uint32_t width) {
    AccessPattern result;
    result.sectors = static_cast<uint16_t>(std::min<uint32_t>(count_sectors(addresses, count, width), UINT16_MAX));
    const int64_t stride = count > 1 ? static_cast<int64_t>(addresses[1] - addresses[0]) : 0;
    result.regular = true;
    for (uint32_t i = 2; i < count; i++)
        result.regular &= static_cast<int64_t>(addresses[i] - addresses[i - 1]) == stride;
    result.stride = result.regular ? stride : 0;
    return result;
}

uint64_t count_nodes(const std::vector<Step>& steps) {
    std::unordered_set<Register> known;
    uint64_t nodes = 0;
    for (const Step& step : steps) {
        const Instruction& instruction = step.instruction;
        for (int i = 0; i < instruction.source_count; i++)
            nodes += !is_zero_register(instruction.sources[i]) && known.insert(instruction.sources[i]).second;
        nodes += 1 + (instruction.width > 0);
        for (int i = 0; i < instruction.destination_count; i++) {
            if (is_zero_register(instruction.destinations[i])) continue;
            known.insert(instruction.destinations[i]);
            nodes++;
        }
    }
    return nodes;
}

ChosenWarps choose_warps(const std::string& path, uint64_t max_nodes) {
    return Survey(path, max_nodes).choose();
}

}  // namespace kernelpoint::graph
