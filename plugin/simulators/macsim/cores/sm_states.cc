// The state of MacSim's cores that replay restores, as it was recorded while the list passed through their model.
#include "native/replay/sm_states.h"

#include <algorithm>
#include <optional>

#include "native/registered.h"
#include "simulators/macsim/cores/sm_footprint.h"
#include "simulators/macsim/cores/trained_states.h"
#include "simulators/macsim/cores/training.h"

namespace kernelpoint::replay::macsim {
namespace {

// Their whole list is passed where its states were not recorded, or not to their end.
class CoreStates : public SmStates {
public:
    CoreStates(const History& history, const SmInfo& sms, const std::string& recorded, uint64_t memory_bytes,
               SmStateProvider::Refuse refuse)
        : history_(history),
          info_(sms),
          refuse_(std::move(refuse)),
          codes_(memory_bytes),
          states_(std::in_place, recorded, Training(sms, 0).sms()) {}

    std::vector<PredictorState> before(uint64_t launch) override {
        if (!states_->seek(launch)) {
            states_.emplace(recorded(), Training(info_, 0).sms());
            states_->seek(launch);
        }
        std::vector<PredictorState> predictors;
        for (const SmState& sm : states_->sms()) predictors.push_back({sm.predictor.history, sm.predictor.counters});
        return predictors;
    }

    // Fetches depend on predictors, so the cores know them and the walk does not: the fetches of the walk stand for the
    // code in the last level, as far as it got there.
    void set_fetches(std::vector<Touch>& touches) const override {
        touches.erase(std::remove_if(touches.begin(), touches.end(),
                                     [this](const Touch& touch) {
                                         return touch.path == Path::fetch &&
                                                !states_->holds_code(touch.line * kLineBytes);
                                     }),
                      touches.end());
        for (Touch& touch : touches)
            if (touch.path == Path::fetch) touch.path = Path::around;
        for (size_t sm = 0; sm < states_->sms().size(); ++sm)
            for (const uint64_t line : states_->sms()[sm].instructions.lines()) {
                const uint64_t address = line * kFetchBytes;
                const auto sector = static_cast<uint8_t>(1u << address % kLineBytes / kSectorBytes);
                touches.push_back(
                    {{address / kLineBytes, sector, 0, sector, static_cast<uint16_t>(sm), Path::fetch}, false});
            }
    }

private:
    std::string recorded() {
        const auto code_of = [this](uint32_t trace) {
            const std::string& path = history_.path(trace);
            return codes_.find(trace, path, [&](const std::string& reason) { refuse_(trace, path, reason); });
        };
        Training training(info_, history_.sources());
        StateRecorder recorder(training.sms());
        for (uint64_t launch = 0; launch < history_.launches(); ++launch) {
            training.pass(history_.trace_of(launch), code_of);
            recorder.add(training.sms(), training.last_level());
        }
        return recorder.bytes();
    }

    const History& history_;
    const SmInfo info_;
    const SmStateProvider::Refuse refuse_;
    CodeCache codes_;
    std::optional<TrainedStates> states_;
};

class CoreStateProvider : public SmStateProvider {
public:
    const char* name() const override { return "macsim"; }
    Footprint footprint(const std::string& path, const Residency& residency) const override {
        return footprint_of(read_code(path), residency);
    }
    std::unique_ptr<SmStates> follow(const History& history, const SmInfo& sms, const std::string& recorded,
                                     uint64_t memory_bytes, Refuse refuse) const override {
        return std::make_unique<CoreStates>(history, sms, recorded, memory_bytes, std::move(refuse));
    }
};

const Registered<SmStateProvider, CoreStateProvider> registered;

}  // namespace
}  // namespace kernelpoint::replay::macsim
