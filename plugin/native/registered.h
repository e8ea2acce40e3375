// Implementations of a contract, found by name. Each simulator adds its own from its folder below plugin/simulators;
// nothing outside that folder names them.
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kernelpoint {

// All registered implementations of a contract, by name. They are never destroyed, because a thread may still use one
// when static objects end.
template <typename Contract>
std::vector<const Contract*>& implementations() {
    static auto* const all = new std::vector<const Contract*>();
    return *all;
}

template <typename Contract>
const Contract* implementation(std::string_view name) {
    for (const Contract* known : implementations<Contract>())
        if (known->name() == name) return known;
    return nullptr;
}

// Registers an implementation when the library that contains it is loaded. A duplicate name ends the program, because
// it is a mistake of the build.
template <typename Contract, typename Implementation>
struct Registered {
    Registered() {
        auto added = std::make_unique<const Implementation>();
        const std::string_view name = added->name();
        if (implementation<Contract>(name) != nullptr)
            throw std::logic_error("two implementations are called " + std::string(name));
        std::vector<const Contract*>& all = implementations<Contract>();
        all.insert(std::find_if(all.begin(), all.end(), [&](const Contract* other) { return other->name() > name; }),
                   added.release());
    }
};

}  // namespace kernelpoint
