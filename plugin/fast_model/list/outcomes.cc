#include "fast_model/list/outcomes.h"

#include <algorithm>

namespace kernelpoint::fast_model {
namespace {

constexpr size_t kMostOfASource = 8;  // looking through more costs more than it saves

uint64_t bytes_of(const Outcome& outcome) {
    return sizeof(Outcome) + outcome.change.bytes();
}

}  // namespace

Outcomes::Shared Outcomes::find(uint32_t source, const Cache& state) {
    for (const Place place : of_source_[source]) {
        const Outcome& outcome = *place->outcome;
        outcome.suspect = state.misfit(outcome.change, outcome.suspect);
        if (outcome.suspect == outcome.change.sets.size()) {
            used(place);
            return place->outcome;
        }
    }
    return nullptr;
}

void Outcomes::used(Place place) {
    std::vector<Place>& places = of_source_[place->source];
    const auto found = std::find(places.begin(), places.end(), place);
    kept_.splice(kept_.begin(), kept_, place);
    std::rotate(places.begin(), found, found + 1);
}

void Outcomes::add(uint32_t source, Shared outcome) {
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
