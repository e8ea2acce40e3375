// Knobs by name, for the miniature simulator.
#pragma once
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace std;

typedef unsigned long long uns64;

struct abstract_knob_c {
    string name;
    virtual ~abstract_knob_c() {}
    virtual void set(const string& text) = 0;
    virtual void print(ostream& out) const = 0;
};

template <typename T>
class KnobTemplate : public abstract_knob_c {
public:
    KnobTemplate(const string& its_name, T standard) : m_value(standard) { name = its_name; }
    operator T() const { return m_value; }
    void set(const string& text) {
        istringstream words(text);
        words >> m_value;
    }
    void print(ostream& out) const { out << name << "   =   " << m_value; }

private:
    T m_value;
};

class all_knobs_c;

class KnobsContainer {
public:
    vector<abstract_knob_c*> all;

    void apply(const string& name, const string& value) {
        for (size_t i = 0; i < all.size(); ++i)
            if (all[i]->name == name) all[i]->set(value);
    }

    friend ostream& operator<<(ostream& out, KnobsContainer& container) {
        for (size_t i = 0; i < container.all.size(); ++i) {
            container.all[i]->print(out);
            out << endl;
        }
        return out;
    }
};
