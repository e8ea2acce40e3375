#include "fast_model/configuration/derive.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "fast_model/configuration/dialect.h"

namespace kernelpoint::fast_model {

std::string without_comment(const std::string& line) {
    bool quoted = false;
    for (size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '"') quoted = !quoted;
        if (line[i] == '#' && !quoted) return line.substr(0, i);
    }
    return line;
}

void Options::set(const std::string& key, const std::string& value, const std::string& where) {
    values_[key] = {value, where};
}

void Options::update(const Options& later) {
    for (const auto& [key, value] : later.values_) values_[key] = value;
}

std::optional<std::string> Options::text(const std::string& key) {
    asked_.insert(key);
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    return found->second.text;
}

std::optional<std::vector<double>> Options::numbers(const std::string& key, size_t least) {
    const auto value = text(key);
    if (!value) return std::nullopt;
    std::vector<double> numbers;
    for (const char* p = value->c_str(); *p != '\0';) {
        char* end = nullptr;
        const double number = std::strtod(p, &end);
        if (end == p || !std::isfinite(number)) break;
        numbers.push_back(number);
        p = end + std::strspn(end, ",: \t");
    }
    if (numbers.size() < least) refuse(key, least == 1 ? "a number" : std::to_string(least) + " numbers");
    return numbers;
}

double Options::number(const std::string& key, double otherwise) {
    const auto found = numbers(key);
    return found ? found->front() : otherwise;
}

void Options::refuse(const std::string& key, const std::string& allowed) const {
    const auto found = values_.find(key);
    if (found == values_.end()) throw ConfigError(key + " is missing; allowed: " + allowed);
    throw ConfigError(found->second.where + ": " + key + " is '" + found->second.text + "'; allowed: " + allowed);
}

void Options::require_known(const std::string& where) const {
    const auto was_asked = [this](const auto& entry) { return asked_.count(entry.first) != 0; };
    if (std::any_of(values_.begin(), values_.end(), was_asked)) return;
    std::string found, allowed;
    for (auto entry = values_.begin(); entry != values_.end() && found.size() < 60; ++entry)
        found += (found.empty() ? "" : ", ") + entry->first.substr(0, 40);
    for (auto key = asked_.begin(); key != asked_.end() && allowed.size() < 100; ++key) allowed += *key + ", ";
    throw ConfigError(where + ": no option of it describes a simulated GPU (it has " + (found.empty() ? "none" : found) +
                      "); allowed: a simulator's configuration, with options such as " + allowed + "...");
}

namespace {

// True if a line of `key: value` is of the model's own YAML.
bool is_own(const std::string& line) {
    const size_t after = line.find_first_not_of(" \t", line.find_first_of(" \t:"));
    return after != std::string::npos && line[after] == ':';
}

// The dialect of the first line that says something; null for the model's own.
const Dialect* recognise(const ConfigurationText& source) {
    std::string allowed = "this model's `key: value`";
    for (const Dialect* dialect : implementations<Dialect>()) allowed += std::string(", ") + dialect->example();
    for (size_t begin = 0; begin < source.text.size();) {
        const size_t end = std::min(source.text.find('\n', begin), source.text.size());
        std::string line = source.text.substr(begin, end - begin);
        begin = end + 1;
        line.erase(0, std::min(line.find_first_not_of(" \t\r"), line.size()));
        if (line.empty() || line[0] == '#') continue;
        for (const Dialect* dialect : implementations<Dialect>())
            if (dialect->matches(line)) return dialect;
        if (is_own(line)) return nullptr;
        break;
    }
    throw ConfigError(source.where + ": says nothing; allowed: " + allowed);
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
    const Dialect* const dialect = recognise(texts.at(0));
    if (dialect == nullptr && texts.size() > 1)
        throw ConfigError(texts[1].where + ": cannot be combined with " + texts[0].where +
                          ", which describes a whole GPU; allowed: one configuration of this model, or several of one "
                          "simulator");
    Options options;
    for (const ConfigurationText& source : texts) {
        if (recognise(source) != dialect)
            throw ConfigError(source.where + ": cannot be combined with " + texts[0].where +
                              "; allowed: one configuration of this model, or several of one simulator");
        if (dialect == nullptr) return {parse_config(source.text, source.where), "", {}, {}, {}, ""};
        options.update(dialect->read(source.text, source.where));
    }
    Derived derived = dialect->derive(options, read_config(base));
    options.require_known(texts[0].where);
    derived.config.name = derived.simulator + " configuration";
    return derived;
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
    if (!derived.not_known.empty()) notes.push_back("the fast model does not know these options: " + listed(derived.not_known));
    return notes;
}

Derived read_configuration(const std::vector<std::string>& paths, const std::string& base) {
    std::vector<ConfigurationText> texts;
    for (const std::string& path : paths) texts.push_back({read_config_file(path), path});
    return derive_configuration(texts, base);
}

}  // namespace kernelpoint::fast_model
