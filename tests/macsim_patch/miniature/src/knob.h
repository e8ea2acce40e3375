// Knobs by name, for the miniature simulator.
#pragma once
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace std;

using uns64 = unsigned long long;

struct abstract_knob_c {
    string flag;
    virtual ~abstract_knob_c() {}
    virtual void set(const string& text) = 0;
    virtual void print(ostream& out) const = 0;
};

template <typename T>
class KnobTemplate : public abstract_knob_c {
public:
    KnobTemplate(const string& its_flag, T standard) : now(standard) { flag = its_flag; }
    operator T() const { return now; }
    void set(const string& text) {
        istringstream words(text);
        words >> now;
    }
    void print(ostream& out) const { out << flag << "   =   " << now; }

private:
    T now;
};

class all_knobs_c;

class KnobsContainer {
public:
    vector<abstract_knob_c*> all;

    void apply(const string& flag, const string& text) {
        for (abstract_knob_c* knob : all)
            if (knob->flag == flag) knob->set(text);
    }

    friend ostream& operator<<(ostream& out, KnobsContainer& container) {
        for (abstract_knob_c* knob : container.all) {
            knob->print(out);
            out << endl;
        }
        return out;
    }
};
