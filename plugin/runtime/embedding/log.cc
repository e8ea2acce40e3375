#include <stdio.h>

#include "kernelpoint/printable.hpp"
#include "runtime/embedding/failure.h"
#include "runtime/embedding/session.h"

namespace kernelpoint::embedding {

thread_local const kp_session* t_current_session = nullptr;

void write_lines(const kp_session* session, const std::string& text) {
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = printable(text.substr(begin, end - begin));
        if (session != nullptr && session->log != nullptr)
            session->log(session->log_user, line.c_str());
        else
            fprintf(stderr, "%s\n", line.c_str());
        begin = end + 1;
    }
}

void write_line(pybind11::object line) {
    write_lines(t_current_session, utf8(line));
}

}  // namespace kernelpoint::embedding
