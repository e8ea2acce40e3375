// A small driver for fuzz targets where clang's libFuzzer is not there. It takes the part of libFuzzer's command line
// that tests/fuzz/run_targets.py uses:
//
//     TARGET [-runs=N] [-max_total_time=SECONDS] [-seed=N] [-max_len=BYTES] FOLDER..
//
// Inputs of the folders are run first, then mutations of them. Built with -fsanitize-coverage=trace-pc, an input that
// reaches a new edge is mutated further, and written to the first folder. A crash leaves its input in `crash-input`.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t edge_count = 1 << 16;
unsigned char edges_seen[edge_count];
size_t new_edges = 0, edges = 0;
std::string current;

using Random = std::mt19937_64;

const char* const words[] = {"-",
                             "0",
                             "#END_TB\n",
                             "#BEGIN_TB\n",
                             "warp = 1\n",
                             "\n",
                             "insts = 3\n",
                             " Val 1 0x5 32",
                             "0xffffffffffffffff",
                             "4294967296",
                             "2 0x0 -1 ",
                             "9223372036854775807",
                             "R255",
                             "UP7 ",
                             "-9223372036854775808",
                             "LDG.E.U8.",
                             "thread block = 0,0,0\n",
                             "cluster cta = 1,0,0\n",
                             " NoVal",
                             " 3 16384 0x10",
                             "UTMALDG.2D",
                             "HGMMA.64x8x16",
                             " STORE_DATA ",
                             "%%\n",
                             "65536 ",
                             "Kernel0 name: ",
                             "MemcpyHtoD,",
                             "kernel-1.traceg\n",
                             "../",
                             "\r",
                             "\xff\xff\xff\xff"};

void mutate(std::string& text, Random& random, const std::vector<std::string>& corpus) {
    const auto at = [&] { return text.empty() ? 0 : random() % text.size(); };
    switch (random() % 9) {
        case 0:
            if (random() % 8 == 0) text.resize(at());
            break;
        case 1:
            if (!text.empty()) text[at()] = static_cast<char>(random());
            break;
        case 2:
            text.insert(at(), words[random() % std::size(words)]);
            break;
        case 3:
            text.erase(at(), random() % 40);
            break;
        case 4:
            text.insert(at(), text.substr(at(), random() % 200));
            break;
        case 5:
            if (!text.empty()) text[at()] ^= static_cast<char>(1 << random() % 8);
            break;
        case 6: {
            const std::string& other = corpus[random() % corpus.size()];
            text.replace(at(), random() % 100, other.substr(other.empty() ? 0 : random() % other.size(), random() % 100));
            break;
        }
        case 7: {  // a number of four or eight bytes
            const uint64_t numbers[] = {0, 1, 255, 65536, 0x7fffffff, 0xffffffff, text.size(), ~uint64_t{0}, random()};
            const uint64_t number = numbers[random() % std::size(numbers)];
            const size_t size = random() % 2 == 0 ? 4 : 8, begin = at();
            for (size_t i = 0; i < size && begin + i < text.size(); ++i) text[begin + i] = static_cast<char>(number >> 8 * i);
            break;
        }
        default:
            if (!text.empty()) text.replace(at(), 1, words[random() % std::size(words)]);
    }
}

void keep_crash(int signal) {
    const int file = open("crash-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file >= 0 && write(file, current.data(), current.size()) >= 0) close(file);
    std::signal(signal, SIG_DFL);
    raise(signal);
}

void run(const std::string& input) {
    current = input;
    new_edges = 0;
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(current.data()), current.size());
}

std::vector<std::string> read_folder(const std::string& path) {
    std::vector<std::string> inputs;
    DIR* folder = opendir(path.c_str());
    if (folder == nullptr) return inputs;
    while (const dirent* entry = readdir(folder)) {
        if (entry->d_name[0] == '.') continue;
        std::ifstream file(path + "/" + entry->d_name, std::ios::binary);
        inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    closedir(folder);
    return inputs;
}

struct Options {
    uint64_t runs = ~uint64_t{0}, seed = 1, longest = 16384;
    double seconds = 1e9;
    std::vector<std::string> folders;
};

Options parse(int count, char** arguments) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string text = arguments[i];
        const auto value = [&] { return text.c_str() + text.find('=') + 1; };
        if (text.rfind("-runs=", 0) == 0)
            options.runs = std::strtoull(value(), nullptr, 10);
        else if (text.rfind("-max_total_time=", 0) == 0)
            options.seconds = std::strtod(value(), nullptr);
        else if (text.rfind("-seed=", 0) == 0)
            options.seed = std::strtoull(value(), nullptr, 10);
        else if (text.rfind("-max_len=", 0) == 0)
            options.longest = std::strtoull(value(), nullptr, 10);
        else if (text[0] != '-')
            options.folders.push_back(text);
    }
    return options;
}

}  // namespace

extern "C" __attribute__((no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc() {
    static thread_local uintptr_t previous = 0;
    const auto here = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) * 0x9e3779b97f4a7c15u >> 48;
    unsigned char& seen = edges_seen[(here ^ previous) % edge_count];
    if (seen == 0) {
        seen = 1;
        ++new_edges;
        ++edges;
    }
    previous = here >> 1;
}

int main(int count, char** arguments) {
    const Options options = parse(count, arguments);
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, keep_crash);
    Random random(options.seed);
    std::vector<std::string> corpus;
    uint64_t tried = 0;
    for (const std::string& folder : options.folders)
        for (std::string& input : read_folder(folder)) {
            run(input);
            ++tried;
            corpus.push_back(std::move(input));
        }
    if (corpus.empty()) corpus.emplace_back("\n");
    const auto begun = std::chrono::steady_clock::now();
    const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); };
    for (; tried < options.runs && (tried % 64 != 0 || seconds() < options.seconds); ++tried) {
        std::string input = corpus[random() % corpus.size()];
        for (uint64_t left = 1 + random() % 4; left > 0; --left) mutate(input, random, corpus);
        if (input.size() > options.longest) input.resize(options.longest);
        run(input);
        if (new_edges == 0) continue;
        corpus.push_back(input);
        if (!options.folders.empty())
            std::ofstream(options.folders[0] + "/reached-" + std::to_string(tried), std::ios::binary) << input;
    }
    std::fprintf(stderr, "Done %llu runs in %.1f second(s), %zu edges, %zu inputs\n", static_cast<unsigned long long>(tried),
                 seconds(), edges, corpus.size());
}
