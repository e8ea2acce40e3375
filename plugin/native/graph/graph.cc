#include "native/graph/graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "native/trace/sectors.h"
#include "native/trace/stream_hash.h"

namespace kernelpoint::graph {

namespace {

// ---- statistics of operand values: what the value columns of a variable node hold (schema.h)

// Operand values of one warp, as in Cta; instructions are numbered from the warp's first. Empty if the trace has none.
struct WarpValues {
    std::vector<OperandValues> entries;
    std::vector<uint64_t> values;
};

// Values of one operand of an executed instruction, one for each lane.
struct Operand {
    const uint64_t* values = nullptr;  // one, or 32 by lane; nullptr: not known
    bool per_lane = false;
    uint32_t lanes = 0;  // mask of the lanes that executed the instruction
};

enum class ValueKind { integer, floating, address };

constexpr double kFloatingScale = 0x1p16;

double logarithm(double value) {
    return std::copysign(std::min(std::log2(1 + std::abs(value)) / 32, 2.0), value);
}

double floating(uint64_t bits) {
    const auto low = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &low, sizeof value);
    return std::isnan(value) ? 0 : value * kFloatingScale;
}

double as_signed(uint64_t bits, bool wide) {
    return wide ? static_cast<double>(static_cast<int64_t>(bits)) : static_cast<double>(static_cast<int32_t>(bits));
}

// The numbers of the lanes that executed, before logarithms.
std::vector<double> numbers(const Operand& operand, ValueKind kind) {
    std::vector<uint64_t> values;
    for (unsigned lane = 0; lane < 32; lane++)
        if (operand.lanes >> lane & 1) values.push_back(operand.values[operand.per_lane ? lane : 0]);
    const bool wide = std::any_of(values.begin(), values.end(), [](uint64_t value) { return value > UINT32_MAX; });
    std::vector<double> result;
    for (uint64_t value : values)
        result.push_back(kind == ValueKind::floating  ? floating(value)
                         : kind == ValueKind::address ? as_signed(value - values[0], wide)
                                                      : as_signed(value, wide));
    if (kind == ValueKind::address && !result.empty()) {
        const double least = *std::min_element(result.begin(), result.end());
        for (double& number : result) number -= least;
    }
    return result;
}

double percentile(const std::vector<double>& ascending, double share) {
    const double place = share * static_cast<double>(ascending.size() - 1);
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, ascending.size() - 1);
    return ascending[below] + (place - static_cast<double>(below)) * (ascending[above] - ascending[below]);
}

WarpValues values_of_warp(const Cta& cta, const Warp& warp) {
    WarpValues result;
    const auto before = [](const OperandValues& entry, uint32_t number) { return entry.instruction < number; };
    const auto begin = cta.operand_values.begin(), end = cta.operand_values.end();
    const auto first = std::lower_bound(begin, end, warp.first_instruction, before);
    const auto last = std::lower_bound(first, end, warp.first_instruction + warp.instruction_count, before);
    if (first == last) return result;
    const uint32_t start = first->first;
    const size_t stop = last == end ? cta.values.size() : last->first;
    result.values.assign(cta.values.begin() + start, cta.values.begin() + static_cast<int64_t>(stop));
    for (auto entry = first; entry != last; ++entry)
        result.entries.push_back({entry->instruction - warp.first_instruction, entry->first - start, entry->per_lane});
    return result;
}

// Values of operand number `operand` of an instruction; destinations come first.
Operand operand_values(const WarpValues& warp, const OperandValues& entry, unsigned operand, uint32_t lanes) {
    size_t place = entry.first;
    for (unsigned before = 0; before < operand; before++) place += entry.per_lane >> before & 1 ? 32 : 1;
    return {warp.values.data() + place, (entry.per_lane >> operand & 1) != 0, lanes};
}

// Writes eight statistics of an operand over the lanes that executed, in the order of VariableColumn; false, and
// nothing written, if no lane did or no value is known.
//
// Model: statistics of values v on a scaled logarithmic scale from -2 to 2, so that large and small values count alike:
//   integer   sign(v) log2(1 + |v|) / 32, v signed, of 32 bits, or of 64 where one of the lanes needs more
//   floating  sign(v) log2(1 + 2^16 |v|) / 32, v in single precision; not-a-number counts as 0
//   address   as integer, of v less the smallest v of the lanes, so that the place of a buffer does not matter
// Standard deviation and skewness are those of a population, percentiles are interpolated linearly between order
// statistics, skewness is divided by 4.
bool write_statistics(const Operand& operand, ValueKind kind, float* statistics) {
    if (operand.values == nullptr || operand.lanes == 0) return false;
    std::vector<double> values = numbers(operand, kind);
    for (double& value : values) value = logarithm(value);
    std::sort(values.begin(), values.end());
    const auto count = static_cast<double>(values.size());
    double mean = 0, second = 0, third = 0;
    for (double value : values) mean += value / count;
    for (double value : values) {
        second += (value - mean) * (value - mean) / count;
        third += (value - mean) * (value - mean) * (value - mean) / count;
    }
    const bool varies = values.front() != values.back();
    const double deviation = varies ? std::sqrt(second) : 0;
    const double skewness = varies ? third / (second * deviation) : 0;
    const double found[] = {mean,
                            deviation,
                            percentile(values, .5),
                            values[0],
                            values.back(),
                            percentile(values, .25),
                            percentile(values, .75),
                            skewness / 4};
    std::copy(std::begin(found), std::end(found), statistics);
    return true;
}

// ---- the warps of a launch that go into its graph: the distinct ones, most frequent first (the rule stands in
// graph.h)

// Pattern of one memory instruction's addresses, apart from where they lie.
struct AccessPattern {
    uint16_t sectors = 0;   // distinct 32-byte sectors touched by [address, address + width) of all lanes
    bool regular = false;   // one stride between all neighbouring active lanes (true for a single lane, stride 0)
    int64_t stride = 0;     // bytes; 0 where irregular
    bool repeated = false;  // the warp accessed memory at this pc before
    int64_t step = 0;       // bytes from the first lane's address then to that now
};

// An executed instruction without its addresses.
struct Step {
    Instruction instruction;
    AccessPattern access;
};

// Model: equal warps may hold other operand values; those of the one whose position in the launch comes first in the
// golden-ratio sequence stand for all.
struct WarpStream {
    std::vector<Step> steps;
    WarpValues values;
    uint64_t nodes = 0;
    uint64_t weight = 0;
};

struct ChosenWarps {
    std::vector<WarpStream> warps;
    std::vector<Opcode> opcodes;  // Instruction::opcode is an index into these
    uint32_t largest_pc = 0;      // of the whole launch
    uint64_t total_warps = 0, left_out_warps = 0;
    bool truncated = false;
};

// Of at least one address; knows nothing of earlier accesses.
AccessPattern access_pattern(const uint64_t* addresses, uint32_t count, uint32_t width) {
    AccessPattern result;
    result.sectors = static_cast<uint16_t>(std::min<uint32_t>(count_sectors(addresses, count, width), UINT16_MAX));
    const int64_t stride = count > 1 ? static_cast<int64_t>(addresses[1] - addresses[0]) : 0;
    result.regular = true;
    for (uint32_t i = 2; i < count; i++) result.regular &= static_cast<int64_t>(addresses[i] - addresses[i - 1]) == stride;
    result.stride = result.regular ? stride : 0;
    return result;
}

// Number of nodes the steps make.
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

constexpr uint64_t kGolden = 11400714819323198485ull;  // 2^64 / golden ratio

// Two distinct warps of a launch collide with chance 2^-64.
uint64_t signature(const std::vector<Step>& steps) {
    uint64_t hash = steps.size();
    for (const auto& [instruction, access] : steps) {
        hash = mix(hash ^ (uint64_t{instruction.pc} << 32 | instruction.active_mask));
        hash = mix(hash ^ (uint64_t{instruction.opcode} << 32 | uint64_t{instruction.width} << 16 |
                           uint64_t{instruction.destination_count} << 8 | instruction.source_count));
        for (int i = 0; i < instruction.destination_count; i++) hash = mix(hash ^ instruction.destinations[i]);
        for (int i = 0; i < instruction.source_count; i++) hash = mix(hash ^ instruction.sources[i]);
        if (instruction.width > 0) {
            hash = mix(hash ^ (uint64_t{access.sectors} << 32 | uint64_t{instruction.address_count} << 1 | access.regular));
            hash = mix(hash ^ static_cast<uint64_t>(access.stride));
            hash = mix(hash ^ (static_cast<uint64_t>(access.step) << 1 | access.repeated));
        }
    }
    return hash;
}

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
            WarpStream stream = std::move(kept_.at(one.signature));
            stream.nodes = one.nodes;
            stream.weight = one.weight;
            if (result_.truncated) cut(stream);
            result_.left_out_warps -= one.weight;
            result_.warps.push_back(std::move(stream));
        }
        return std::move(result_);
    }

private:
    // Takes the addresses out of a warp's instructions.
    void read_steps(const Cta& cta, const Warp& warp) {
        scratch_.clear();
        serial_++;
        for (uint32_t i = 0; i < warp.instruction_count; i++) {
            const Instruction& instruction = cta.instructions[warp.first_instruction + i];
            const uint64_t* addresses = cta.addresses.data() + instruction.first_address;
            AccessPattern access;
            if (instruction.width > 0 && instruction.address_count > 0) {
                access = access_pattern(addresses, instruction.address_count, instruction.width);
                Previous& previous = previous_[instruction.pc];
                access.repeated = previous.warp == serial_;
                if (access.repeated) access.step = static_cast<int64_t>(addresses[0] - previous.address);
                previous = {serial_, addresses[0]};
            }
            scratch_.push_back({instruction, access});
        }
    }

    void add(const LaunchHeader& header, const Cta& cta, const Warp& warp) {
        if (warp.instruction_count == 0) return;
        read_steps(cta, warp);
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
                read_steps(cta, warp);
                const auto found = wanted.find(signature(scratch_));
                if (found == wanted.end() || found->second != spread_key(reader->header(), cta, warp)) continue;
                kept_[found->first] = {scratch_, values_of_warp(cta, warp), 0, 0};
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
    std::unordered_map<uint64_t, size_t> index_;     // signature -> position in seen_
    std::unordered_map<uint64_t, WarpStream> kept_;  // by signature, without nodes and weight
    struct Previous {
        uint64_t warp = 0, address = 0;
    };
    std::unordered_map<uint32_t, Previous> previous_;  // accesses, by pc
    uint64_t serial_ = 0;                              // of the warp in scratch_
    std::vector<Step> scratch_;
    uint64_t kept_nodes_ = 0;
    bool all_kept_ = true;
};

// ---- their nodes and edges

constexpr double kPi = 3.14159265358979323846;

float log2p1(double value) {
    return static_cast<float>(std::log2(1.0 + value));
}

void write_position(float* row, double position) {
    int column = kPcFirst;
    for (int frequency = 1; frequency <= 8; frequency *= 2) {
        row[column++] = static_cast<float>(std::sin(kPi * frequency * position));
        row[column++] = static_cast<float>(std::cos(kPi * frequency * position));
    }
}

void write_instruction(float* row, const Instruction& instruction, const Opcode& opcode, double position, uint32_t earlier) {
    write_position(row, position);
    row[kActiveLanes] = static_cast<float>(__builtin_popcount(instruction.active_mask)) / 32;
    row[kLogRepeat] = log2p1(earlier) / 16;
    row[kLogWidth] = log2p1(instruction.width) / 5;
    row[kSourceCount] = static_cast<float>(instruction.source_count) / 6;
    row[kDestinationCount] = static_cast<float>(instruction.destination_count) / 2;
    row[kIsLoad] = opcode.is_load;
    row[kIsStore] = opcode.is_store;
    row[kIsAtomic] = opcode.is_atomic;
    row[kIsBranch] = opcode.is_branch;
    row[kIsBarrier] = opcode.is_barrier;
    row[kIsExit] = opcode.is_exit;
    if (opcode.unit != Unit::other) row[kUnitFirst + static_cast<int>(opcode.unit)] = 1;
}

void write_pseudo(float* row, const Step& step) {
    const uint32_t lanes = step.instruction.address_count, width = step.instruction.width;
    row[kAccessLogWidth] = log2p1(width) / 5;
    row[kAccessLanes] = static_cast<float>(std::min(lanes, 32u)) / 32;  // a bulk copy has more addresses than lanes
    row[kLogSectors] = log2p1(step.access.sectors) / 6;
    if (step.access.sectors > 0) {
        double efficiency = static_cast<double>(lanes) * width / (32.0 * step.access.sectors);
        row[kSectorEfficiency] = static_cast<float>(efficiency < 1 ? efficiency : 1);
    }
    row[kIsRegular] = step.access.regular;
    row[kStrideSign] = static_cast<float>((step.access.stride > 0) - (step.access.stride < 0));
    row[kLogStride] = log2p1(std::abs(static_cast<double>(step.access.stride))) / 16;
    row[kHasStep] = step.access.repeated;
    row[kStepSign] = static_cast<float>((step.access.step > 0) - (step.access.step < 0));
    row[kLogStep] = log2p1(std::abs(static_cast<double>(step.access.step))) / 16;
}

// Its operands and results are numbers in single precision.
bool is_floating(const Opcode& opcode) {
    return opcode.base == "MUFU" || (opcode.unit == Unit::single_precision && opcode.base[0] == 'F');
}

// Appends one warp after another to a graph.
class Builder {
public:
    explicit Builder(const ChosenWarps& chosen) : chosen_(chosen) {
        for (const Opcode& opcode : chosen.opcodes) {
            opcode_tokens_.push_back(opcode_token(opcode));
            modifier_tokens_.push_back(modifier_token(opcode));
        }
        size_t nodes = 0;
        for (const WarpStream& warp : chosen.warps) nodes += warp.nodes;
        graph_.kinds.reserve(nodes);
        graph_.tokens.reserve(2 * nodes);
        graph_.features.reserve(kFeatureCount * nodes);
    }

    void add(const WarpStream& warp) {
        versions_.clear();
        repeats_.clear();
        operands_.clear();
        const size_t first_edge = graph_.relations.size();
        previous_ = -1;
        graph_.warp_starts.push_back(next_node());
        graph_.warp_weights.push_back(static_cast<int64_t>(warp.weight));
        auto entry = warp.values.entries.begin();
        for (uint32_t i = 0; i < warp.steps.size(); i++) {
            const bool has_values = entry != warp.values.entries.end() && entry->instruction == i;
            add_step(warp.steps[i], warp.values, has_values ? &*entry++ : nullptr);
        }
        if (!warp.values.entries.empty()) write_values(first_edge);
        for (size_t node = graph_.warp_starts.back(); node < graph_.kinds.size(); node++)
            if (graph_.kinds[node] == kVariable) row(node)[kLogReads] = log2p1(row(node)[kLogReads]) / 8;
    }

    TraceGraph finish() {
        graph_.warp_starts.push_back(next_node());
        graph_.edges = std::move(sources_);
        graph_.edges.insert(graph_.edges.end(), targets_.begin(), targets_.end());
        graph_.total_warps = chosen_.total_warps;
        graph_.left_out_warps = chosen_.left_out_warps;
        graph_.truncated = chosen_.truncated;
        return std::move(graph_);
    }

private:
    int64_t next_node() const { return static_cast<int64_t>(graph_.kinds.size()); }
    float* row(size_t node) { return graph_.features.data() + kFeatureCount * node; }

    int64_t add_node(NodeKind kind, uint32_t token, uint32_t modifiers = 0) {
        graph_.kinds.push_back(kind);
        graph_.tokens.push_back(static_cast<int32_t>(token));
        graph_.tokens.push_back(static_cast<int32_t>(modifiers));
        graph_.features.resize(graph_.features.size() + kFeatureCount);
        return next_node() - 1;
    }

    void add_edge(int64_t source, int64_t target, Relation relation) {
        sources_.push_back(source);
        targets_.push_back(target);
        graph_.relations.push_back(relation);
    }

    int64_t version_read(Register reg) {
        auto [found, is_new] = versions_.emplace(reg, next_node());
        if (is_new) row(add_node(kVariable, variable_token(reg, true)))[kIsInput] = 1;
        row(found->second)[kLogReads] += 1;  // a count until the warp is complete
        return found->second;
    }

    // Model: the first listed source of a memory instruction is its address and meets the pseudo node.
    void add_step(const Step& step, const WarpValues& values, const OperandValues* entry) {
        const Instruction& instruction = step.instruction;
        const Opcode& opcode = chosen_.opcodes[instruction.opcode];
        const auto note = [&](int64_t variable, int operand, bool is_read) {
            if (entry != nullptr && variable >= 0)
                note_values(variable, operand_values(values, *entry, operand, instruction.active_mask), is_floating(opcode),
                            is_read);
        };
        int64_t reads[6];
        for (int i = 0; i < instruction.source_count; i++)
            note(reads[i] = is_zero_register(instruction.sources[i]) ? -1 : version_read(instruction.sources[i]),
                 instruction.destination_count + i, true);
        int64_t pseudo = -1;
        if (instruction.width > 0) write_pseudo(row(pseudo = add_node(kPseudo, pseudo_token(opcode))), step);
        int64_t node = add_node(kInstruction, opcode_tokens_[instruction.opcode], modifier_tokens_[instruction.opcode]);
        double position = chosen_.largest_pc > 0 ? static_cast<double>(instruction.pc) / chosen_.largest_pc : 0;
        write_instruction(row(node), instruction, opcode, position, repeats_[instruction.pc]++);
        if (previous_ >= 0) add_edge(previous_, node, kControlFlow);
        previous_ = node;
        for (int i = 0; i < instruction.source_count; i++)
            if (reads[i] >= 0) add_edge(reads[i], i == 0 && pseudo >= 0 ? pseudo : node, i == 0 ? kLeftSource : kRightSource);
        if (pseudo >= 0) add_edge(pseudo, node, kMemoryReference);
        for (int i = 0; i < instruction.destination_count; i++) note(add_write(node, instruction.destinations[i]), i, false);
    }

    int64_t add_write(int64_t instruction, Register reg) {
        if (is_zero_register(reg)) return -1;
        int64_t variable = add_node(kVariable, variable_token(reg, false));
        versions_[reg] = variable;
        add_edge(instruction, variable, kDestination);
        return variable;
    }

    void note_values(int64_t variable, const Operand& operand, bool floating, bool is_read) {
        auto [found, is_new] = operands_.emplace(variable, Noted{operand, false, is_read});
        Noted& noted = found->second;
        noted.floating |= floating;
        if (is_new || !is_read || noted.is_read) return;
        noted.operand = operand;
        noted.is_read = true;
    }

    void write_values(size_t first_edge) {
        mark_addresses(first_edge);
        for (const auto& [variable, noted] : operands_) {
            const ValueKind kind = noted.floating                                     ? ValueKind::floating
                                   : addresses_[variable - graph_.warp_starts.back()] ? ValueKind::address
                                                                                      : ValueKind::integer;
            if (write_statistics(noted.operand, kind, row(variable) + kValueFirst)) row(variable)[kHasValues] = 1;
        }
    }

    // Model: a variable holds an address, or a part of one, if memory is accessed at it or if an instruction that does
    // not access memory computes another such variable from it. Edges lead to later nodes, so one walk back finds all.
    void mark_addresses(size_t first_edge) {
        const int64_t start = graph_.warp_starts.back();
        addresses_.assign(next_node() - start, false);
        for (size_t edge = graph_.relations.size(); edge-- > first_edge;) {
            const int64_t source = sources_[edge], target = targets_[edge];
            const Relation relation = static_cast<Relation>(graph_.relations[edge]);
            if (relation == kLeftSource || relation == kRightSource)
                addresses_[source - start] |= graph_.kinds[target] == kPseudo || addresses_[target - start];
            else if (relation == kDestination && row(source)[kUnitFirst + static_cast<int>(Unit::memory)] == 0)
                addresses_[source - start] |= addresses_[target - start];
        }
    }

    struct Noted {
        Operand operand;
        bool floating, is_read;
    };

    const ChosenWarps& chosen_;
    std::vector<uint32_t> opcode_tokens_, modifier_tokens_;
    TraceGraph graph_;
    std::vector<int64_t> sources_, targets_;
    std::unordered_map<Register, int64_t> versions_;  // register -> its current variable node
    std::unordered_map<uint32_t, uint32_t> repeats_;  // pc -> executions so far
    std::unordered_map<int64_t, Noted> operands_;     // variable node -> values known of it
    std::vector<uint8_t> addresses_;                  // by node of the warp: computes an address
    int64_t previous_ = -1;                           // instruction node before this one
};

}  // namespace

TraceGraph build_graph(const std::string& path, uint64_t max_nodes) {
    if (max_nodes < kSmallestMaxNodes)
        throw std::invalid_argument("max_nodes is " + std::to_string(max_nodes) + ", at least " +
                                    std::to_string(kSmallestMaxNodes) + " is needed");
    const ChosenWarps chosen = Survey(path, max_nodes).choose();
    Builder builder(chosen);
    for (const WarpStream& warp : chosen.warps) builder.add(warp);
    return builder.finish();
}

}  // namespace kernelpoint::graph
