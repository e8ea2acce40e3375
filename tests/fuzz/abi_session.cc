// The ABI's call sequences on the whole plugin: shim, embedding, Python, a journal; kills and resumed runs among them.
//
// Lies beside the package that it loads, as the plugin does; run_targets.py sees to that. Sessions are freed after each
// input, which no host can do.
#include <pybind11/embed.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "abi_calls.h"
#include "runtime/embedding/embedding.h"
#include "runtime/embedding/interpreter.h"
#include "runtime/embedding/session.h"
#include "runtime/shim/error.h"
#include "runtime/shim/load.h"

extern "C" const kp_embedding* kp_embedding_start(uint32_t version, kp_set_error_fn set_error);

namespace {

namespace py = pybind11;

const kp_embedding* g_embedding = nullptr;

struct Kind {
    const char* yaml;
    uint32_t launches;
};

const Kind kKinds[] = {
    {"policy: random\nerror_budget.relative_error: 0.2\n", 6},
    {"policy: all\n", 6},
    {"policy: random\nerror_budget.relative_error: 0.001\n", 6},
    {"policy: random\nerror_budget.relative_error: 0.1\nreplay.validation: 2\n", 64},
    {"policy: kernelpoint\nclusters: online\n", 6},
    {"policy: random\nintra_kernel: pka\n", 6},
    {"policy: nosuch\n", 6},
};

// Files of the runs: configurations, lists, one trace.
class Files {
public:
    Files() {
        const char* parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        std::string name = std::string(parent) + "/kernelpoint-fuzz-XXXXXX";
        fuzz::require(mkdtemp(name.data()) != nullptr);
        folder_ = name;
        setenv("KERNELPOINT_CACHE", (name + "/cache").c_str(), 1);
        write("kernel-1.traceg",
              "-kernel name = k\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n-nregs = 8\n"
              "-binary version = 70\n-cuda stream id = 0\n-shmem base_addr = 0x0\n-local mem base_addr = 0x0\n"
              "-nvbit version = 1.5\n-accelsim tracer version = 3\n\n#traces format\n\n#BEGIN_TB\n\nthread block = "
              "0,0,0\n\n"
              "warp = 0\ninsts = 1\n0000 ffffffff 1 R1 LDG.E.SYS 1 R2 4 1 0x7f0000001000 4\n\n#END_TB\n");
        for (const Kind& kind : kKinds) {
            const std::string number = std::to_string(&kind - kKinds);
            write("config-" + number, "version: 1\njournal: " + journal() + "\n" + kind.yaml);
            std::string list;
            for (uint32_t i = 0; i < kind.launches; ++i) list += "kernel-1.traceg\n";
            write("list-" + number, list);
        }
    }
    ~Files() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    std::string path(const std::string& name) const { return folder_ + "/" + name; }
    std::string journal() const { return path("run.kpjournal"); }

private:
    void write(const std::string& name, const std::string& text) { std::ofstream(path(name)) << text; }

    std::string folder_;
};

// End of a session as a kill makes it: its journal is closed, its objects are gone.
void end(kp_session* session) {
    if (session == nullptr) return;
    static uint64_t ended = 0;
    kernelpoint::embedding::Gil gil;
    session->object.attr("journal").attr("close")();
    delete session;
    if (++ended % 50 == 0) py::module_::import("gc").attr("collect")();
}

}  // namespace

const kp_embedding* kernelpoint::shim::load_embedding() {
    const auto set_error = [](const char* reason) { fail(KP_EFAILED, reason); };
    if (g_embedding == nullptr) g_embedding = kp_embedding_start(KP_EMBEDDING_VERSION, set_error);
    return g_embedding;
}

const kp_embedding* kernelpoint::shim::loaded_embedding() {
    return g_embedding;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const Files files;
    unlink(files.journal().c_str());
    fuzz::Choices choices(data, size);
    const uint64_t kind = choices.below(std::size(kKinds));
    const std::string number = std::to_string(kind);
    const std::string config = files.path("config-" + number), list = files.path("list-" + number);
    fuzz::Calls calls(choices, kKinds[kind].launches, true);
    for (int opened = 0; choices.left();) {
        if (calls.session == nullptr || choices.byte() == 255) {
            if (++opened > 4) break;
            end(calls.session);
            calls.forget();
            calls.open(config, choices.seldom() ? nullptr : list.c_str());
        }
        calls.step();
    }
    end(calls.session);
    return 0;
}
