// Parts as version 2.0 holds them: several in a vector, an operand collector behind what all kinds of it share.
#pragma once
#include <vector>

template <typename Part>
struct Several {
    typedef std::vector<Part*> Type;
    static Type of(Part** first, unsigned count) { return Type(first, first + count); }
};

class opndcoll_base_t {
public:
    virtual ~opndcoll_base_t() {}
    virtual unsigned turn() = 0;
};

template <typename Part>
struct One {
    typedef opndcoll_base_t* Type;
    static Type make() { return new Part; }
    static opndcoll_base_t& of(Type held) { return *held; }
};
