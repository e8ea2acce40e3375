// A cache of the miniature simulator: lines in sets, the one unused for longest is replaced.
#pragma once
#include <vector>

using namespace std;

using Addr = unsigned long long;
using Counter = unsigned long long;

struct cache_entry_c {
    bool m_valid = false;
    Addr m_tag = 0;
    Counter m_last_access_time = 0;
    void* m_data = NULL;
};

struct cache_set_c {
    cache_entry_c* m_entry;
};

class cache_c {
public:
    // `now` is the simulator's clock; each line holds a T.
    template <typename T>
    static cache_c* of(int sets, int ways, int bytes, const Counter* now) {
        cache_c* made = new cache_c(sets, ways, bytes, now);
        for (int set = 0; set < sets; ++set)
            for (int way = 0; way < ways; ++way) made->m_set[set]->m_entry[way].m_data = new T();
        return made;
    }

    Addr base_cache_line(Addr address) { return address - address % bytes_; }

    void find_tag_and_set(Addr address, Addr* tag, int* set) {
        *tag = address / bytes_;
        *set = int(*tag % m_num_sets);
    }

    // Content of the line, or NULL on a miss.
    void* access_cache(Addr address, Addr* line, bool use, int) {
        *line = base_cache_line(address);
        for (cache_entry_c* each : entries(address)) {
            if (!each->m_valid || each->m_tag != address / bytes_) continue;
            if (use) each->m_last_access_time = *now_;
            return each->m_data;
        }
        return NULL;
    }

    void* insert_cache(Addr address, Addr* line, Addr* evicted, int, bool) {
        *line = base_cache_line(address);
        cache_entry_c* place = entries(address)[0];
        for (cache_entry_c* each : entries(address))
            if (place->m_valid && (!each->m_valid || each->m_last_access_time < place->m_last_access_time)) place = each;
        *evicted = place->m_valid ? place->m_tag * bytes_ : 0;
        place->m_valid = true;
        place->m_tag = address / bytes_;
        place->m_last_access_time = *now_;
        return place->m_data;
    }

    bool invalidate_cache_line(Addr address) {
        for (cache_entry_c* each : entries(address))
            if (each->m_valid && each->m_tag == address / bytes_) each->m_valid = false;
        return false;
    }

    void invalidate_cache() {
        for (int set = 0; set < m_num_sets; ++set)
            for (int way = 0; way < m_assoc; ++way) m_set[set]->m_entry[way].m_valid = false;
    }

protected:
    cache_set_c** m_set;
    int m_num_sets, m_assoc;

private:
    cache_c(int sets, int ways, int bytes, const Counter* now)
        : m_set(new cache_set_c*[sets]), m_num_sets(sets), m_assoc(ways), bytes_(bytes), now_(now) {
        for (int set = 0; set < sets; ++set) m_set[set] = new cache_set_c{new cache_entry_c[ways]};
    }

    vector<cache_entry_c*> entries(Addr address) {
        vector<cache_entry_c*> all;
        for (int way = 0; way < m_assoc; ++way) all.push_back(&m_set[address / bytes_ % m_num_sets]->m_entry[way]);
        return all;
    }

    const int bytes_;
    const Counter* const now_;
};
