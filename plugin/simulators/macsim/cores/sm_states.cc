// The state of MacSim's cores that replay restores: as it was recorded while the list passed through their model; and
// the footprints of launches by SM, as L1s keep their lines between launches.
#include "native/replay/sm_states.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "native/registered.h"
#include "simulators/macsim/cores/trained_states.h"
#include "simulators/macsim/cores/training.h"

namespace kernelpoint::replay::macsim {
namespace {

struct Hash {
    size_t operator()(const LineTouch& place) const {
        const uint64_t who = uint64_t{place.sm} << 2 | static_cast<uint64_t>(place.path);
        return std::hash<uint64_t>()(place.line ^ who << 48);
    }
};

struct SamePlace {
    bool operator()(const LineTouch& a, const LineTouch& b) const { return a.is_same_place(b); }
};

// Footprints by SM. Model: a CTA runs on the SM with its number modulo the number of SMs. Within an SM accesses are
// ordered as in read_footprint. A warp fetches instructions from its start and from branch targets.
class Builder {
public:
    Builder(const LaunchCode& code, const Residency& residency) : code_(code) {
        const uint64_t warps = code.ctas.empty() ? 0 : code.ctas[0].count;
        slots_.assign(std::max<uint32_t>(residency.sms, 1), Slots(ctas_at_once(residency, warps)));
    }

    Footprint footprint() {
        for (const CtaWarps& cta : code_.ctas) add(cta);
        return finish();
    }

private:
    void add(const CtaWarps& cta) {
        sm_ = static_cast<uint16_t>(cta.number % slots_.size());
        const uint64_t start = slots_[sm_].take();
        uint64_t end = start;
        for (uint32_t warp = cta.first; warp < cta.first + cta.count; ++warp)
            end = std::max(end, run(code_.warps[warp], start));
        slots_[sm_].give(end);
        ++footprint_.grid.ctas;
    }

    Footprint finish() {
        std::vector<std::pair<uint64_t, LineTouch>> order;
        order.reserve(lines_.size());
        for (const auto& [touch, step] : lines_) order.emplace_back(step.second, merged(touch, step.first));
        std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
            const auto key = [](const auto& entry) {
                return std::make_tuple(entry.first, entry.second.line, entry.second.sm, entry.second.path);
            };
            return key(a) < key(b);
        });
        for (const auto& entry : order) footprint_.touches.push_back(entry.second);
        return std::move(footprint_);
    }

    struct Masks {
        uint8_t read = 0, written = 0;
    };

    uint64_t run(const WarpCode& warp, uint64_t step) {
        bool fetches = true;
        for (uint32_t i = warp.first; i < warp.first + warp.count; ++i, ++step) {
            const WarpInstruction& instruction = code_.instructions[i];
            if (fetches) fetch(instruction.pc, step);
            fetches = leads_elsewhere(instruction.action);
            for (uint32_t l = 0; l < instruction.line_count; ++l)
                access(code_.lines[instruction.first_line + l], instruction.action, step);
            if (instruction.action == Action::load) step += kMemorySteps;
        }
        return step;
    }

    void fetch(uint64_t pc, uint64_t step) {
        const auto sector = static_cast<uint8_t>(1u << pc % kLineBytes / kSectorBytes);
        at(pc / kLineBytes, Path::fetch, step).read |= sector;
    }

    void access(uint64_t address, Action action, uint64_t step) {
        const Path path = action == Action::store_around ? Path::around : Path::data;
        Masks& masks = at(address / kLineBytes, path, step);
        (action == Action::load ? masks.read : masks.written) |= kAllSectors;
    }

    Masks& at(uint64_t line, Path path, uint64_t step) {
        LineTouch place;
        place.line = line;
        place.sm = sm_;
        place.path = path;
        auto& entry = lines_[place];
        entry.second = std::max(entry.second, step);
        return entry.first;
    }

    static LineTouch merged(LineTouch touch, const Masks& masks) {
        touch.touched = masks.read | masks.written;
        touch.written = masks.written;
        touch.filled = touch.touched;
        return touch;
    }

    static constexpr uint8_t kAllSectors = 0xf;
    const LaunchCode& code_;
    std::vector<Slots> slots_;
    uint16_t sm_ = 0;
    std::unordered_map<LineTouch, std::pair<Masks, uint64_t>, Hash, SamePlace> lines_;
    Footprint footprint_;
};

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
                                         return touch.path == Path::fetch && !states_->holds_code(touch.line * kLineBytes);
                                     }),
                      touches.end());
        for (Touch& touch : touches)
            if (touch.path == Path::fetch) touch.path = Path::around;
        for (size_t sm = 0; sm < states_->sms().size(); ++sm)
            for (const uint64_t line : states_->sms()[sm].instructions.lines()) {
                const uint64_t address = line * kFetchBytes;
                const auto sector = static_cast<uint8_t>(1u << address % kLineBytes / kSectorBytes);
                touches.push_back({{address / kLineBytes, sector, 0, sector, static_cast<uint16_t>(sm), Path::fetch}, false});
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
        return Builder(read_code(path), residency).footprint();
    }
    std::unique_ptr<SmStates> follow(const History& history, const SmInfo& sms, const std::string& recorded,
                                     uint64_t memory_bytes, Refuse refuse) const override {
        return std::make_unique<CoreStates>(history, sms, recorded, memory_bytes, std::move(refuse));
    }
};

const Registered<SmStateProvider, CoreStateProvider> registered;

}  // namespace
}  // namespace kernelpoint::replay::macsim
