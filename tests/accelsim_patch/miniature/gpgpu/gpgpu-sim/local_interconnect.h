// The network of the miniature simulator: one router whose inputs take turns.
#pragma once
#include <vector>

class xbar_router {
public:
    unsigned turn() {
        next_node_id = (next_node_id + 1) % 2;
        next_node[0] = (next_node[0] + 1) % 3;
        return next_node_id + next_node[0];
    }

private:
    std::vector<unsigned> next_node = {0, 0};
    unsigned next_node_id = 0;
};

class LocalInterconnect {
public:
    unsigned turn() { return net[0]->turn(); }

protected:
    std::vector<xbar_router*> net = {new xbar_router};
};
