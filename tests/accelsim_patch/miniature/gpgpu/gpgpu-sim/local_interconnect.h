// The network of the miniature simulator: one router whose inputs take turns, at each of two clusters and two slices.
#pragma once
#include <stdio.h>

#include <vector>

enum Arbiteration_type { NAIVE_RR = 0, iSLIP = 1 };

class xbar_router {
public:
    // A tick without a packet: its first turn moves on, as that of the naive arbiter.
    void Advance() {
        ++advances;
        ++cycles;
        next_node_id = (next_node_id + 1) % static_cast<unsigned>(next_node.size());
    }
    bool Busy() const { return cycles % 3 == 1; }  // with a packet that changes nothing
    void print() const { printf(" network %llu %u", cycles, next_node_id); }
    unsigned long long cycles = 0;
    unsigned advances = 0;

    unsigned turn() {
        next_node_id = (next_node_id + 1) % 2;
        for (unsigned& next : next_node) next = (next + 1) % 4;
        return next_node_id + next_node[0] + 4 * next_node[2];
    }

private:
    Arbiteration_type arbit_type = NAIVE_RR;
    std::vector<unsigned> next_node = {0, 0, 0, 0};
    unsigned next_node_id = 0;
};

class LocalInterconnect {
public:
    unsigned turn() { return net[0]->turn(); }
    void Advance() { net[0]->Advance(); }
    bool Busy() const { return false; }
    void print() const { net[0]->print(); }
    unsigned advances() const { return net[0]->advances; }

protected:
    std::vector<xbar_router*> net = {new xbar_router};
};
