// Counters by number, for the miniature simulator; a file for every definition file.
#pragma once
#include <stdio.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "statsEnums.h"

using namespace std;

class AbstractStat {
public:
    explicit AbstractStat(const string& its_label) : label(its_label) {}
    const string& getName() { return label; }
    unsigned long long getCount() { return m_count; }
    void operator++(int) { ++m_count; }
    void operator+=(unsigned int more) { m_count += more; }

protected:
    unsigned long long m_count = 0;

private:
    const string label;
};

class GlobalStatistics {
public:
    vector<AbstractStat*> all;
    AbstractStat& operator[](int index) const { return *all[index]; }
    int size() const { return int(all.size()); }
};

class ProcessorStatistics {
public:
    map<string, ofstream*>* written = NULL;  // the names of its files

    explicit ProcessorStatistics(int cores) {
        for (const StatName& stat : kGlobalStats) overall_.all.push_back(new AbstractStat(stat.name));
        while (cores-- > 0) {
            per_core_.push_back(new GlobalStatistics);
            for (const StatName& stat : kCoreStats) per_core_.back()->all.push_back(new AbstractStat(stat.name));
        }
    }
    AbstractStat& operator[](int index) const { return overall_[index]; }
    GlobalStatistics* globalStats() { return &overall_; }
    GlobalStatistics& core(unsigned id) const { return *per_core_[id]; }
    void saveStats(const string& ending = string()) {
        map<string, FILE*> files;
        for (int i = 0; i < overall_.size(); ++i) {
            FILE*& file = files[kGlobalStats[i].file];
            const string path = string(kGlobalStats[i].file) + ".stat.out" + ending;
            if (file == NULL) file = fopen(path.c_str(), "w");
            (*written)[path] = NULL;
            const unsigned long long amount = overall_[i].getCount();
            fprintf(file, "%-45s%20llu%30llu\n\n", kGlobalStats[i].name, amount, amount);
        }
        for (map<string, FILE*>::iterator each = files.begin(); each != files.end(); ++each) fclose(each->second);
    }

private:
    GlobalStatistics overall_;
    vector<GlobalStatistics*> per_core_;
};
