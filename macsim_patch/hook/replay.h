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
#include <set>
#include <string>
#include <vector>

#include "all_knobs.h"
#include "application.h"
#include "caches.h"
#include "macsim.h"
#include "predictors.h"
#include "waves.h"

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
        if (*base->m_knobs->KNOB_ENABLE_PHYSICAL_MAPPING) give_up("enable_physical_mapping");
        if (*base->m_knobs->KNOB_PTX_COMMON_CACHE) give_up("ptx_common_cache");
        if (m_most == 0) return;
        m_caches.attach(base);
        m_predictors.attach(base);
    }

    // Brings the state to where the application's launch is met. Going back to an earlier launch begins a pass, as the
    // simulation began; caches that other applications use as well are left as they are.
    void bring_to(Application& here) {
        const std::vector<int> cores = cores_of(here);
        if (m_most == 0 || here.list.type != "nvbit" || cores.empty()) return;
        if (here.at.launch < here.position) {
            m_caches.empty(cores, m_alone);
            m_predictors.forget(cores);
            here.position = 0;
        }
        const uint64_t first = here.at.launch - std::min(m_most, here.at.launch);
        for (uint64_t i = std::max(first, here.position); i < here.at.launch; ++i)
            run(here.process->m_applications[i], cores, here.process_id);
        here.position = here.at.launch + 1;
    }

private:
    void give_up(const char* knob) {
        if (m_most != 0) fprintf(stderr, "kernelpoint: %s: skipped launches are not replayed\n", knob);
        m_most = 0;
    }

    // Launches may share a folder; its steps are kept as long as all that are kept fit into 256 MiB.
    void run(const std::string& trace, const std::vector<int>& cores, unsigned application) {
        const std::map<std::string, Steps>::const_iterator found = m_steps.find(trace);
        if (found != m_steps.end()) return take(found->second, cores, application);
        const int warps = m_base->m_core_pointers[cores[0]]->get_max_threads_per_core();
        Waves waves(trace, cores.size() * int(*m_base->m_knobs->KNOB_MAX_BLOCK_PER_CORE), cores.size() * warps);
        Steps all;
        bool keep = true;
        for (Steps wave; waves.next(wave);) {
            take(wave, cores, application);
            keep = keep && (m_kept + all.size() + wave.size()) * sizeof(Step) <= (256u << 20);
            if (keep) all.insert(all.end(), wave.begin(), wave.end());
            if (!keep) Steps().swap(all);
        }
        if (!waves.broken().empty() && m_broken.insert(trace).second)
            fprintf(stderr, "kernelpoint: %s: cannot be read; the launch is replayed without it\n",
                    waves.broken().c_str());
        if (!keep) return;
        m_kept += all.size();
        m_steps[trace].swap(all);
    }

    void take(const Steps& steps, const std::vector<int>& cores, unsigned application) {
        for (size_t i = 0; i < steps.size(); ++i)
            if (!take(steps[i], cores[steps[i].cta % cores.size()], application)) ++i;
    }

    // False: the step behind it is not taken. MacSim does not fetch from where a branch leads that is mispredicted.
    bool take(const Step& step, int core, unsigned application) {
        switch (step.kind) {
            case Step::kFetch:
                m_caches.fetch(core, step.address, application);
                return true;
            case Step::kBranch:
                return m_predictors.predict(core, step.address, step.taken, step.conditional) || !step.followed;
            case Step::kRoundEnd:
                m_predictors.resolve();
                return true;
            case Step::kLoad:
                m_caches.load(core, step.address, application);
                return true;
            default:
                m_caches.store(core, step.address, application, step.kind == Step::kStore,
                               step.kind == Step::kLocalStore);
                return true;
        }
    }

    // An application's cores, with those that MacSim gives it when the kernel is set up.
    std::vector<int> cores_of(const Application& here) const {
        std::vector<int> cores;
        for (std::map<int, bool>::const_iterator core = here.process->m_core_list.begin();
             core != here.process->m_core_list.end(); ++core)
            cores.push_back(core->first);
        const int most = *m_base->m_knobs->KNOB_MAX_NUM_CORE_PER_APPL;
        std::queue<int> pool = *here.process->m_core_pool;
        for (int taken = 0; !pool.empty() && (most == 0 || taken < most); ++taken, pool.pop())
            cores.push_back(pool.front());
        std::sort(cores.begin(), cores.end());
        return cores;
    }

    macsim_c* m_base;
    bool m_alone;
    uint64_t m_most;  // launches before one that is simulated
    Caches m_caches;
    Predictors m_predictors;
    std::map<std::string, Steps> m_steps;
    uint64_t m_kept;  // steps in all of them
    std::set<std::string> m_broken;
};

}  // namespace kernelpoint
#endif
