// Counters by number, for the miniature simulator; a file for every definition file.
#pragma once
#include <stdio.h>

#include <map>
#include <string>
#include <vector>

#include "statsEnums.h"

using namespace std;

class AbstractStat {
public:
    explicit AbstractStat(const string& name) : m_name(name), m_count(0) {}
    const string& getName() { return m_name; }
    unsigned long long getCount() { return m_count; }
    void operator++(int) { ++m_count; }
    void operator+=(unsigned int delta) { m_count += delta; }

private:
    string m_name;
    unsigned long long m_count;
};

class GlobalStatistics {
public:
    vector<AbstractStat*> all;
    AbstractStat& operator[](int index) const { return *all[index]; }
    int size() const { return static_cast<int>(all.size()); }
};

class ProcessorStatistics {
public:
    explicit ProcessorStatistics(int cores) {
        for (int i = 0; i < kGlobalStatCount; ++i) m_global.all.push_back(new AbstractStat(kGlobalStats[i].name));
        for (int core = 0; core < cores; ++core) {
            m_cores.push_back(new GlobalStatistics);
            for (int i = 0; i < kCoreStatCount; ++i) m_cores[core]->all.push_back(new AbstractStat(kCoreStats[i].name));
        }
    }
    AbstractStat& operator[](int index) const { return m_global[index]; }
    GlobalStatistics* globalStats() { return &m_global; }
    GlobalStatistics& core(unsigned id) const { return *m_cores[id]; }
    void saveStats() { saveStats(""); }
    void saveStats(const string& ending) {
        map<string, FILE*> files;
        for (int i = 0; i < kGlobalStatCount; ++i) {
            FILE*& file = files[kGlobalStats[i].file];
            if (file == NULL) file = fopen((string(kGlobalStats[i].file) + ".stat.out" + ending).c_str(), "w");
            const unsigned long long count = m_global[i].getCount();
            fprintf(file, "%-45s%20llu%30llu\n\n", kGlobalStats[i].name, count, count);
        }
        for (map<string, FILE*>::iterator each = files.begin(); each != files.end(); ++each) fclose(each->second);
    }

private:
    GlobalStatistics m_global;
    vector<GlobalStatistics*> m_cores;
};
