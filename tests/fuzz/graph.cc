// The graph of a trace: the arrays fit together, or the trace is refused.
#include "native/graph/graph.h"

#include "invariants.h"
#include "memory_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::put_file("/memory/kernel-1.traceg", std::string(reinterpret_cast<const char*>(data), size));
    try {
        const auto built = kernelpoint::graph::build_graph("/memory/kernel-1.traceg", 200);
        const auto nodes = static_cast<int64_t>(built.node_count());
        fuzz::require(built.tokens.size() == 2 * built.kinds.size() && built.edges.size() == 2 * built.edge_count());
        fuzz::require(built.features.size() == built.kinds.size() * kernelpoint::graph::kFeatureCount);
        fuzz::require(built.warp_starts.size() == built.warp_weights.size() + 1 && built.warp_starts.back() == nodes);
        for (const int64_t node : built.edges) fuzz::require(0 <= node && node < nodes);
    } catch (const kernelpoint::TraceError&) {
    }
    fuzz::remove_files();
    return 0;
}
