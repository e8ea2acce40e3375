// The state of MacSim's cores that replay restores: as recorded with a list's predictions, else as a training leaves
// it.
#include "native/replay/sm_states.h"

#include <algorithm>

#include "native/registered.h"
#include "simulators/macsim/cores/sm_footprint.h"
#include "simulators/macsim/cores/trained_states.h"
#include "simulators/macsim/cores/training.h"

namespace kernelpoint::replay::macsim {
namespace {

class CoreStates : public SmStates {
public:
    CoreStates(const History& history, const SmInfo& sms, const std::string& trained, uint64_t memory_bytes,
               SmStateProvider::Refuse refuse)
        : history_(history),
          refuse_(std::move(refuse)),
          training_(sms, memory_bytes),
          trained_(trained, training_.beginning()),
          codes_(memory_bytes) {}

    std::vector<PredictorState> before(uint64_t launch) override {
        is_trained_ = trained_.seek(launch);
        sms_ = is_trained_ ? &trained_.sms() : &trained_by_model(launch);
        std::vector<PredictorState> predictors;
        for (const SmState& sm : *sms_) predictors.push_back({sm.predictor.history, sm.predictor.counters});
        return predictors;
    }

    // Fetches depend on predictors, so the cores know them and the walk does not: the fetches of the walk stand for the
    // code in the last level, as far as it got there.
    void set_fetches(std::vector<Touch>& touches) const override {
        touches.erase(std::remove_if(touches.begin(), touches.end(),
                                     [this](const Touch& touch) {
                                         return touch.path == Path::fetch && !holds_code(touch.line * kLineBytes);
                                     }),
                      touches.end());
        for (Touch& touch : touches)
            if (touch.path == Path::fetch) touch.path = Path::around;
        for (size_t sm = 0; sm < sms_->size(); ++sm)
            for (const uint64_t line : (*sms_)[sm].instructions.lines()) {
                const uint64_t address = line * kFetchBytes;
                const auto sector = static_cast<uint8_t>(1u << address % kLineBytes / kSectorBytes);
                touches.push_back(
                    {{address / kLineBytes, sector, 0, sector, static_cast<uint16_t>(sm), Path::fetch}, false});
            }
    }

private:
    const std::vector<SmState>& trained_by_model(uint64_t launch) {
        return training_.before(
            launch, history_.sources(), [this](uint64_t at) { return history_.trace_of(at); },
            [this](uint32_t trace) {
                const std::string& path = history_.path(trace);
                return codes_.find(trace, path, [&](const std::string& reason) { refuse_(trace, path, reason); });
            });
    }

    bool holds_code(uint64_t address) const {
        return is_trained_ ? trained_.holds_code(address) : training_.last_level().holds(code_line(address));
    }

    const History& history_;
    const SmStateProvider::Refuse refuse_;
    Training training_;
    TrainedStates trained_;
    CodeCache codes_;
    bool is_trained_ = false;                    // the present launch's state is the recorded one
    const std::vector<SmState>* sms_ = nullptr;  // of the present launch
};

class CoreStateProvider : public SmStateProvider {
public:
    const char* name() const override { return "macsim"; }
    Footprint footprint(const std::string& path, const Residency& residency) const override {
        return footprint_of(read_code(path), residency);
    }
    std::unique_ptr<SmStates> follow(const History& history, const SmInfo& sms, const std::string& trained,
                                     uint64_t memory_bytes, Refuse refuse) const override {
        return std::make_unique<CoreStates>(history, sms, trained, memory_bytes, std::move(refuse));
    }
};

const Registered<SmStateProvider, CoreStateProvider> registered;

}  // namespace
}  // namespace kernelpoint::replay::macsim
