// Reads lists and the headers of traces, for the miniature simulator. Says which files it opens.
#pragma once
#include <stdio.h>
#include <stdlib.h>

#include <fstream>
#include <string>
#include <vector>

enum command_type { kernel_launch = 1, cpu_gpu_mem_copy };

struct trace_command {
    std::string command_string;
    command_type m_type;
};

struct kernel_trace_t {
    std::string kernel_name;
    unsigned grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};
};

class trace_parser {
public:
    explicit trace_parser(const char* list) : m_list(list) {}

    std::vector<trace_command> parse_commandlist_file() {
        const std::string folder = m_list.substr(0, m_list.rfind('/'));
        std::vector<trace_command> commands;
        std::ifstream file(m_list);
        for (std::string line; std::getline(file, line);) {
            if (line.compare(0, 6, "Memcpy") == 0) commands.push_back({line, cpu_gpu_mem_copy});
            if (line.compare(0, 6, "kernel") == 0) commands.push_back({folder + "/" + line, kernel_launch});
        }
        return commands;
    }

    void parse_memcpy_info(const std::string& command, size_t& address, size_t& bytes) {
        const size_t first = command.find(','), second = command.rfind(',');
        address = strtoull(command.substr(first + 1, second - first - 1).c_str(), NULL, 16);
        bytes = strtoull(command.substr(second + 1).c_str(), NULL, 10);
    }

    kernel_trace_t* parse_kernel_info(const std::string& path) {
        printf("Processing kernel %s\n", path.c_str());
        kernel_trace_t* trace = new kernel_trace_t;
        const bool is_packed = path.size() > 3 && path.compare(path.size() - 3, 3, ".xz") == 0;
        FILE* shell = is_packed ? popen(("xz -dc " + path).c_str(), "r") : NULL;  // as Accel-Sim opens its traces
        if (shell != NULL) pclose(shell);
        std::ifstream file(path);
        for (std::string line; std::getline(file, line) && line[0] == '-';) {
            if (line.compare(0, 15, "-kernel name = ") == 0) trace->kernel_name = line.substr(15);
            sscanf(line.c_str(), "-grid dim = (%u,%u,%u)", &trace->grid[0], &trace->grid[1], &trace->grid[2]);
            sscanf(line.c_str(), "-block dim = (%u,%u,%u)", &trace->block[0], &trace->block[1], &trace->block[2]);
        }
        return trace;
    }

    void kernel_finalizer(kernel_trace_t* trace) { delete trace; }

private:
    std::string m_list;
};
