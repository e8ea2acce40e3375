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
    throw ConfigError(where + ": no option of it describes a simulated GPU (it has " +
                      (found.empty() ? "none" : found) +
                      "); allowed: a simulator's configuration, with options such as " + allowed + "...");
}

}  // namespace kernelpoint::fast_model
