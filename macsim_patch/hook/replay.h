// Functional warm-up (SMARTS, Wunderlich et al., ISCA 2003, section 3): the launches that are skipped still pass
// through caches and branch predictors, without being timed, so that a launch which is simulated meets them about as it
// would in a full run.
#ifndef KERNELPOINT_MACSIM_REPLAY_H
#define KERNELPOINT_MACSIM_REPLAY_H

#include <stdint.h>
#include <stdio.h>

#include <algorithm>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "all_knobs.h"
#include "application.h"
#include "caches.h"
#include "macsim.h"
#include "predictors.h"
#include "steps.h"

namespace kernelpoint {

class Replay {
public:
    Replay() : m_base(NULL), m_alone(false), m_most(0), m_kept(0) {}

    // `alone`: no other application uses the shared caches.
    void attach(macsim_c* base, bool alone) {
        m_base = base;
        m_alone = alone;
        const int most = *base->m_knobs->KNOB_KERNEL_SAMPLING_REPLAY;
        m_most = most < 0 ? UINT64_MAX : static_cast<uint64_t>(most);
        if (m_most != 0 && *base->m_knobs->KNOB_ENABLE_PHYSICAL_MAPPING) {
            fprintf(stderr, "kernelpoint: enable_physical_mapping: skipped launches are not replayed\n");
            m_most = 0;
        }
        if (m_most == 0) return;
        m_caches.attach(base);
        m_predictors.attach(base);
    }

    // Brings the state to where the application's launch is met. Going back to an earlier launch begins a pass, as the
    // simulation began; caches that other applications use as well are left as they are.
    void bring_to(Application& here) {
        if (m_most == 0 || here.list.type != "nvbit") return;
        const std::vector<int> cores = cores_of(here);
        if (here.launch < here.position) {
            m_caches.empty(cores, m_alone);
            m_predictors.forget(cores);
            here.position = 0;
        }
        const uint64_t first = here.launch - std::min(m_most, here.launch);
        run(here, cores, std::max(first, here.position), here.launch);
        here.position = here.launch + 1;
    }

private:
    void run(const Application& here, const std::vector<int>& cores, uint64_t first, uint64_t end) {
        for (uint64_t i = first; i < end; ++i) {
            const Steps& steps = steps_of(here.process->m_applications[i]);
            for (size_t k = 0; k < steps.size(); ++k) {
                const bool skip = !take(steps[k], cores[steps[k].cta % cores.size()], here.process_id);
                k += skip && k + 1 < steps.size() && steps[k + 1].kind == Step::kFetch;
            }
        }
    }

    // False: a branch that is mispredicted; MacSim does not fetch from where it leads.
    bool take(const Step& step, int core, unsigned application) {
        switch (step.kind) {
            case Step::kFetch:
                m_caches.fetch(core, step.address, application);
                return true;
            case Step::kBranch:
                return m_predictors.predict(core, step.address, step.taken, step.conditional);
            case Step::kRoundEnd:
                m_predictors.resolve();
                return true;
            default:
                m_caches.access(core, step.address, application, step.kind == Step::kStore);
                return true;
        }
    }

    // Launches may share a folder; its steps are kept as long as all that are kept fit into 256 MiB.
    const Steps& steps_of(const std::string& trace) {
        const std::map<std::string, Steps>::const_iterator found = m_steps.find(trace);
        if (found != m_steps.end()) return found->second;
        m_last = read_steps(trace);
        if ((m_kept + m_last.size()) * sizeof(Step) > (256u << 20)) return m_last;
        m_kept += m_last.size();
        return m_steps[trace] = m_last;
    }

    // Before its first kernel an application holds no cores; MacSim will give it these.
    std::vector<int> cores_of(const Application& here) const {
        std::vector<int> cores;
        for (std::map<int, bool>::const_iterator core = here.process->m_core_list.begin();
             core != here.process->m_core_list.end(); ++core)
            cores.push_back(core->first);
        const size_t most = static_cast<size_t>(int(*m_base->m_knobs->KNOB_MAX_NUM_CORE_PER_APPL));
        for (std::queue<int> pool = *here.process->m_core_pool;
             here.process->m_core_list.empty() && !pool.empty() && (most == 0 || cores.size() < most); pool.pop())
            cores.push_back(pool.front());
        return cores;
    }

    macsim_c* m_base;
    bool m_alone;
    uint64_t m_most;  // launches before one that is simulated
    Caches m_caches;
    Predictors m_predictors;
    std::map<std::string, Steps> m_steps;
    Steps m_last;
    uint64_t m_kept;
};

}  // namespace kernelpoint
#endif
