#include "host/results.h"

#include <fcntl.h>

#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstring>

#include "kernelpoint/descriptors.h"

namespace kernelpoint::host {
namespace {

// A cell of a CSV file; an apostrophe before what a spreadsheet would run.
std::string quoted(std::string text) {
    if (!text.empty() && std::strchr("=+-@\t\r", text[0]) != nullptr) text.insert(0, 1, '\'');
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string result = "\"";
    for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
    return result + "\"";
}

// A file, which is emptied, or a FIFO that somebody reads: one that nobody reads would wait for ever.
std::FILE* open_output(const std::string& path) {
    const int descriptor =
        kp_above_streams(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666));
    if (descriptor < 0) return nullptr;
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
    return fdopen(descriptor, "w");
}

}  // namespace

Results::Results(const std::string& csv_path) : csv_path_(csv_path) {
    if (csv_path.empty()) return;
    csv_.reset(open_output(csv_path));
    if (!csv_) throw fast_model::ConfigError("-results " + csv_path + ": cannot be written: " + std::strerror(errno));
    std::string names = "launch_index,trace,kernel_name,cycles,instructions";
    for (const fast_model::CounterField& field : fast_model::kCounterFields) names += std::string(",") + field.name;
    std::fprintf(csv_.get(), "%s\n", names.c_str());
}

void Results::add(uint64_t launch_index, const std::string& trace_path, const fast_model::LaunchResult& result) {
    ++launches_;
    cycles_ += result.cycles;
    instructions_ += result.instructions;
    for (const fast_model::CounterField& field : fast_model::kCounterFields)
        counters_.*field.value += result.counters.*field.value;
    if (csv_) write_row(launch_index, trace_path, result);
}

// Rows are flushed one by one: what an interrupted run has simulated is in the file.
void Results::write_row(uint64_t launch_index, const std::string& trace_path, const fast_model::LaunchResult& result) {
    std::string row = std::to_string(launch_index) + "," + quoted(trace_path.substr(trace_path.rfind('/') + 1)) + "," +
                      quoted(result.kernel_name) + "," + std::to_string(result.cycles) + "," +
                      std::to_string(result.instructions);
    for (const fast_model::CounterField& field : fast_model::kCounterFields)
        row += "," + std::to_string(result.counters.*field.value);
    row += "\n";
    if (std::fputs(row.c_str(), csv_.get()) < 0 || std::fflush(csv_.get()) != 0) {
        throw fast_model::ConfigError("-results " + csv_path_ + ": cannot be written: " + std::strerror(errno));
    }
}

Totals Results::totals() const {
    Totals made{launches_, static_cast<double>(cycles_), static_cast<double>(instructions_), {}};
    for (const fast_model::CounterField& field : fast_model::kCounterFields)
        made.counters.emplace_back(field.name, static_cast<double>(counters_.*field.value));
    return made;
}

void Totals::print() const {
    std::printf("gpu_tot_sim_launches = %" PRIu64 "\n", launches);
    std::printf("gpu_tot_sim_cycle = %lld\n", std::llround(cycles));
    std::printf("gpu_tot_sim_insn = %lld\n", std::llround(instructions));
    std::printf("gpu_tot_ipc = %.4f\n", cycles > 0 ? instructions / cycles : 0.0);
    for (const auto& [name, value] : counters) std::printf("gpu_tot_%s = %lld\n", name.c_str(), std::llround(value));
}

}  // namespace kernelpoint::host
