#include "native/graph/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kernelpoint::graph {

namespace {

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

}  // namespace

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

Operand operand_values(const WarpValues& warp, const OperandValues& entry, unsigned operand, uint32_t lanes) {
    size_t place = entry.first;
    for (unsigned before = 0; before < operand; before++) place += entry.per_lane >> before & 1 ? 32 : 1;
    return {warp.values.data() + place, (entry.per_lane >> operand & 1) != 0, lanes};
}

bool value_statistics(const Operand& operand, ValueKind kind, Statistics& statistics) {
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
    const double found[kStatisticCount] = {mean,
                                           deviation,
                                           percentile(values, .5),
                                           values[0],
                                           values.back(),
                                           percentile(values, .25),
                                           percentile(values, .75),
                                           skewness / 4};
    std::copy(std::begin(found), std::end(found), statistics.begin());
    return true;
}

}  // namespace kernelpoint::graph
