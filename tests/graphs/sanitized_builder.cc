// Builds the graph of each trace named, under several bounds, and prints its size; for the sanitizers.
#include <cstdio>

#include "native/graph/graph.h"

int main(int count, char** paths) {
    for (int i = 1; i < count; ++i)
        for (const uint64_t max_nodes : {16, 50, 20000}) {
            try {
                const auto graph = kernelpoint::graph::build_graph(paths[i], max_nodes);
                std::printf("%zu nodes %zu edges\n", static_cast<size_t>(graph.node_count()),
                            static_cast<size_t>(graph.edge_count()));
            } catch (const kernelpoint::TraceError& error) {
                std::printf("refused: %s\n", error.what());
            }
        }
}
