// Replay's history of a list: contents and copies in any order, any touches. A launch without a trace is refused. A
// walk back passes no more launches than came before, and has touches of the lines that it says it covers.
#include "native/replay/history.h"

#include <optional>
#include <stdexcept>

#include "abi_calls.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace kernelpoint;
    fuzz::Choices choices(data, size);
    std::vector<std::vector<replay::LineTouch>> touches(1 + choices.below(5));
    Launches launches;
    for (size_t i = 0; i < touches.size(); ++i) launches.paths.push_back("content " + std::to_string(i));
    for (std::vector<replay::LineTouch>& of_one : touches)
        for (uint64_t left = choices.below(12); left > 0; --left)
            of_one.push_back({choices.seldom() ? choices.number() : choices.below(20), static_cast<uint8_t>(choices.byte() | 1),
                              choices.byte(), choices.byte(), static_cast<uint16_t>(choices.below(3)), replay::Path::data});
    uint64_t commands = 0;
    while (choices.left() && launches.contents.size() < 200) {
        if (choices.byte() > 200)
            launches.copies.push_back({commands, choices.number() / 2, choices.seldom() ? 100000u : choices.byte()});
        else
            launches.contents.push_back(static_cast<uint32_t>(choices.below(touches.size())));
        ++commands;
    }
    if (choices.seldom()) launches.contents.push_back(kNoContent);
    const bool all_traced = launches.contents.empty() || launches.contents.back() != kNoContent;
    std::optional<replay::History> made;
    try {
        made.emplace(launches, choices.byte() > 40);
    } catch (const std::invalid_argument&) {
    }
    fuzz::require(made.has_value() == all_traced);
    if (!all_traced) return 0;
    replay::History& history = *made;
    fuzz::require(history.launches() == launches.contents.size());
    const auto touches_of = [&](uint32_t trace) -> const std::vector<replay::LineTouch>& {
        static const std::vector<replay::LineTouch> none;
        const std::string& path = history.path(trace);
        return path.empty() ? none : touches[std::stoul(path.substr(8))];
    };
    replay::TouchesBefore result;
    for (uint64_t launch = 0; launch < history.launches(); launch += 1 + launch / 8) {
        const uint64_t lines = 1 + launch % 40;
        history.walk(launch, lines, touches_of, result);
        fuzz::require(result.launches <= launch && (!result.covered || result.touches.size() >= lines));
        if (!result.covered) history.put_first_reads(launch, touches_of, result);
    }
    return 0;
}
