// A launch's steps in the order in which its warps take them.
#ifndef KERNELPOINT_MACSIM_WAVES_H
#define KERNELPOINT_MACSIM_WAVES_H

#include <stdint.h>
#include <zlib.h>

#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "steps.h"

namespace kernelpoint {

// A warp's next turn goes to its next branch, and to the fetch behind that.
inline size_t take_turn(const Steps& own, size_t next, Steps& all) {
    while (next < own.size()) {
        all.push_back(own[next++]);
        if (all.back().kind == Step::kBranch) break;
    }
    if (next < own.size()) all.push_back(own[next++]);
    return next;
}

// Model: all warps go on side by side, each from branch to branch; within a round they take turns in their order.
inline Steps side_by_side(const std::vector<Steps>& warps) {
    const Step end = {0, 0, Step::kRoundEnd, 0, 0, 0};
    Steps all;
    std::vector<size_t> next(warps.size(), 0);
    for (bool more = true; more;) {
        more = false;
        for (size_t w = 0; w < warps.size(); ++w) {
            next[w] = take_turn(warps[w], next[w], all);
            more = more || next[w] < warps[w].size();
        }
        all.push_back(end);
    }
    return all;
}

// A launch's steps, one wave after the other: as many CTAs and warps as the cores hold at once.
// Model: a wave begins when the one before it has ended.
class Waves {
public:
    Waves(const std::string& trace, size_t ctas, size_t warps)
        : m_file(trace.c_str()), m_base(trace.substr(0, trace.find_last_of('.'))), m_ctas(ctas), m_warps(warps) {
        std::string type;
        long version = 0, resident = 0;
        m_file >> type >> version >> resident >> m_left;
        if (m_file.fail()) fail(trace);
        read_id();
    }

    // Whether there was a wave left.
    bool next(Steps& wave) {
        std::vector<Steps> warps;
        std::set<uint64_t> ctas;
        for (; m_has_id && warps.size() < m_warps; read_id()) {
            if (!ctas.count(cta()) && ctas.size() == m_ctas) break;
            ctas.insert(cta());
            warps.push_back(steps_of_warp());
        }
        wave = side_by_side(warps);
        return !warps.empty();
    }

    // The file that could not be read, or not to its end; empty where all could.
    const std::string& broken() const { return m_broken; }

private:
    uint64_t cta() const { return m_id >> 16; }  // a warp's number begins with that of its CTA

    void read_id() {
        uint64_t start = 0;
        m_has_id = m_left-- > 0 && m_file >> m_id >> start;
    }

    Steps steps_of_warp() {
        const std::string path = m_base + "_" + std::to_string(m_id) + ".raw";
        gzFile file = gzopen(path.c_str(), "rb");
        WarpSteps own(static_cast<uint32_t>(cta()));
        if (file == NULL) {
            fail(path);
            return Steps();
        }
        Record buffer[256];
        int got = 0;
        bool whole = true;
        while ((got = gzread(file, buffer, sizeof(buffer))) > 0) {
            for (size_t i = 0; i < size_t(got) / sizeof(Record); ++i) own.add(buffer[i]);
            whole = whole && got % sizeof(Record) == 0;
        }
        if (gzclose(file) != Z_OK || got < 0 || !whole) fail(path);
        return std::move(own.steps);
    }

    void fail(const std::string& path) {
        if (m_broken.empty()) m_broken = path;
    }

    std::ifstream m_file;
    const std::string m_base;
    const size_t m_ctas, m_warps;  // at once
    long m_left = 0;
    uint64_t m_id = 0;  // of the next warp
    bool m_has_id = false;
    std::string m_broken;
};

}  // namespace kernelpoint
#endif
