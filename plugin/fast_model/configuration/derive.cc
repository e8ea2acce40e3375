#include "fast_model/configuration/derive.h"

#include <algorithm>
#include <cmath>

#include "fast_model/configuration/simulators.h"

namespace kernelpoint::fast_model {
namespace {

enum class Kind { own, accelsim, macsim };

// By the first line that says something: `-key value`, `key: value` or `key value`.
Kind recognise(const ConfigurationText& source) {
    for (size_t begin = 0; begin < source.text.size();) {
        const size_t end = std::min(source.text.find('\n', begin), source.text.size());
        std::string line = source.text.substr(begin, end - begin);
        begin = end + 1;
        line.erase(0, std::min(line.find_first_not_of(" \t\r"), line.size()));
        if (line.empty() || line[0] == '#') continue;
        if (line[0] == '-' && line.size() > 1 && line[1] != '-') return Kind::accelsim;
        const size_t end_of_key = line.find_first_of(" \t:");
        if (end_of_key == std::string::npos) break;
        const size_t after = line.find_first_not_of(" \t", end_of_key);
        return after != std::string::npos && line[after] == ':' ? Kind::own : Kind::macsim;
    }
    throw ConfigError(
        source.where +
        ": says nothing; allowed: this model's `key: value`, Accel-Sim's `-key value` or MacSim's `key value`");
}

}  // namespace

bool begins_with_any(const std::string& key, const std::vector<std::string>& beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](const std::string& beginning) { return key.compare(0, beginning.size(), beginning) == 0; });
}

uint32_t whole(double value, double least, double most) {
    return static_cast<uint32_t>(std::llround(std::clamp(value, least, most)));
}

void set_cache(uint32_t& size, uint32_t& ways, double sets, double associativity, double line) {
    constexpr double most_ways = 32;  // beyond that a cache behaves as one with more sets does
    const double lines = std::max(1.0, sets * associativity * line / kLineBytes);
    ways = whole(std::min(associativity, most_ways), 1, std::min(lines, most_ways));
    size = whole(std::max(1.0, std::floor(lines / ways)) * ways * kLineBytes, kLineBytes, 1u << 30);
}

Derived derive_configuration(const std::vector<ConfigurationText>& texts, const std::string& base) {
    const Kind kind = recognise(texts.at(0));
    Options options;
    for (const ConfigurationText& source : texts) {
        if (recognise(source) != kind || (kind == Kind::own && texts.size() > 1))
            throw ConfigError(source.where + ": cannot be combined with " + texts[0].where +
                              "; allowed: one configuration of this model, or several of one simulator");
        if (kind == Kind::own) return {parse_config(source.text, source.where), "", {}, {}, {}};
        options.update(kind == Kind::accelsim ? Options::of_accelsim(source.text, source.where)
                                              : Options::of_macsim(source.text, source.where));
    }
    Derived derived = kind == Kind::accelsim ? derive_from_accelsim(options, read_config(base))
                                             : derive_from_macsim(options, read_config(base));
    options.require_known(texts[0].where);
    derived.config.name = derived.simulator + " configuration";
    return derived;
}

std::string Derived::hash() const {
    if (!cores) return config.hash();
    const replay::Residency& held = cores->residency;
    std::string text = config.hash() + "-cores" + std::to_string(replay::macsim::kCoreModelVersion);
    for (const uint32_t number :
         {held.sms, held.ctas_per_sm, held.warps_per_sm, cores->predictor.history_bits, cores->predictor.counter_bits})
        text += "-" + std::to_string(number);
    return text;
}

std::vector<std::string> notes(const Derived& derived) {
    const auto listed = [](const std::vector<std::string>& keys) {
        const std::size_t named = std::min<std::size_t>(keys.size(), 8);
        std::string text;
        for (std::size_t i = 0; i < named; ++i) text += (i ? ", " : "") + keys[i];
        return named == keys.size() ? text : text + " and " + std::to_string(keys.size() - named) + " more";
    };
    std::vector<std::string> notes;
    if (!derived.not_modelled.empty())
        notes.push_back("the fast model does not model these options: " + listed(derived.not_modelled));
    if (!derived.not_known.empty())
        notes.push_back("the fast model does not know these options: " + listed(derived.not_known));
    return notes;
}

Derived read_configuration(const std::vector<std::string>& paths, const std::string& base) {
    std::vector<ConfigurationText> texts;
    for (const std::string& path : paths) texts.push_back({read_config_file(path), path});
    return derive_configuration(texts, base);
}

}  // namespace kernelpoint::fast_model
