// Parts of the miniature simulator as it holds them: several in an array, one by value.
#pragma once

template <typename Part>
struct Several {
    typedef Part** Type;
    static Type of(Part** first, unsigned) { return first; }
};

class opndcoll_base_t {};

template <typename Part>
struct One {
    typedef Part Type;
    static Part make() { return Part(); }
    static Part& of(Part& held) { return held; }
};
