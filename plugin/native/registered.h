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

// All implementations by name. They live as long as the process: a thread may still use one while static objects end.
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

// Adds an implementation while the program or the library that holds it is loaded, before anything is read. A name that
// is taken ends the program: it is a mistake of the build.
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
