// Instruction lines of tracer version 6 (bulk copies, operand values, clusters): the input is what one warp executes,
// inside a file that is otherwise valid.
#include <algorithm>

#include "invariants.h"
#include "memory_files.h"

namespace {

const char header[] =
    "-kernel name = f\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n-nregs = 8\n"
    "-binary version = 90\n-cuda stream id = 0\n-shmem base_addr = 0x00007f0000000000\n"
    "-local mem base_addr = 0x00007e0000000000\n-nvbit version = 1.7\n-accelsim tracer version = 6\n\n"
    "#BEGIN_TB\n\nthread block = 0,0,0\ncluster id = 0,0,0\ncluster cta = 0,0,0\ncluster rank = 0\n\nwarp = 0\n";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string lines(reinterpret_cast<const char*>(data), size);
    if (!lines.empty() && lines.back() != '\n') lines += '\n';
    const auto count = std::count(lines.begin(), lines.end(), '\n');
    fuzz::put_file("/memory/kernel-1.traceg", header + ("insts = " + std::to_string(count) + "\n") + lines + "\n#END_TB\n");
    fuzz::read_launch("/memory/kernel-1.traceg", "/memory/");
    fuzz::remove_files();
    return 0;
}
