#include "fast_model/list/outcomes.h"

#include <algorithm>

namespace kernelpoint::fast_model {
namespace {

constexpr size_t kMostOfASource = 8;  // looking through more costs more than it saves

uint64_t bytes_of(const Outcome& outcome) {
    return sizeof(Outcome) + outcome.change.bytes();
}

}  // namespace

void Outcomes::known(uint32_t source, std::vector<Shared>& found) {
    const std::lock_guard<std::mutex> held(mutex_);
    for (const Place place : of_source_[source]) found.push_back(place->outcome);
}

Outcomes::Shared Outcomes::find(uint32_t source, const Cache& state) {
    std::vector<Shared> outcomes;
    known(source, outcomes);
    for (const Shared& outcome : outcomes) {
        const size_t misfit = state.misfit(outcome->change, outcome->suspect);
        if (misfit == outcome->change.sets.size()) {
            used(source, outcome);
            return outcome;
        }
        outcome->suspect = misfit;
    }
    return nullptr;
}

void Outcomes::used(uint32_t source, const Shared& outcome) {
    const std::lock_guard<std::mutex> held(mutex_);
    std::vector<Place>& places = of_source_[source];
    const auto is_it = [&](Place place) { return place->outcome == outcome; };
    const auto found = std::find_if(places.begin(), places.end(), is_it);
    if (found == places.end()) return;  // forgotten meanwhile
    kept_.splice(kept_.begin(), kept_, *found);
    std::rotate(places.begin(), found, found + 1);
}

void Outcomes::add(uint32_t source, Shared outcome) {
    const std::lock_guard<std::mutex> held(mutex_);
    bytes_ += bytes_of(*outcome);
    kept_.push_front({source, std::move(outcome)});
    std::vector<Place>& places = of_source_[source];
    places.insert(places.begin(), kept_.begin());
    if (places.size() > kMostOfASource) forget(places.back());
    while (bytes_ > most_bytes_ && kept_.size() > 1) forget(std::prev(kept_.end()));
}

void Outcomes::forget(Place place) {
    std::vector<Place>& places = of_source_[place->source];
    places.erase(std::find(places.begin(), places.end(), place));
    bytes_ -= bytes_of(*place->outcome);
    kept_.erase(place);
}

}  // namespace kernelpoint::fast_model
