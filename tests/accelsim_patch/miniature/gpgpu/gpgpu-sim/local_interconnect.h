// The network of the miniature simulator: one router whose inputs take turns, at each of two clusters and two slices.
#pragma once
#include <vector>

class xbar_router {
public:
    unsigned turn() {
        next_node_id = (next_node_id + 1) % 2;
        for (unsigned& next : next_node) next = (next + 1) % 4;
        return next_node_id + next_node[0] + 4 * next_node[2];
    }

private:
    std::vector<unsigned> next_node = {0, 0, 0, 0};
    unsigned next_node_id = 0;
};

class LocalInterconnect {
public:
    unsigned turn() { return net[0]->turn(); }

protected:
    std::vector<xbar_router*> net = {new xbar_router};
};
