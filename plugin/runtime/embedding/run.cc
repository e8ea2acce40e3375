#include "runtime/embedding/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace kernelpoint::embedding {
namespace {

constexpr int kPatienceMs = 30000;

// Start `command` with its output going to `output`; -1 where it cannot be started.
pid_t start(const std::vector<std::string>& command, int output) {
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = -1;
    if (posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) child = -1;
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

std::string read_once(int input) {
    pollfd ready = {input, POLLIN, 0};
    int count;
    while ((count = poll(&ready, 1, kPatienceMs)) < 0 && errno == EINTR) {
    }
    char buffer[4096];
    const ssize_t size = count > 0 ? read(input, buffer, sizeof(buffer)) : 0;
    return std::string(buffer, size > 0 ? static_cast<size_t>(size) : 0);
}

}  // namespace

std::string first_output(const std::vector<std::string>& command) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return "";
    const pid_t child = start(command, ends[1]);
    close(ends[1]);
    const std::string output = child < 0 ? "" : read_once(ends[0]);
    close(ends[0]);
    if (child < 0) return "";
    if (output.empty()) kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return output;
}

}  // namespace kernelpoint::embedding
