// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/surroundings.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>

namespace fci::tools {

namespace {

using Clock = std::chrono::steady_clock;

/// Reads a pipe until it is closed or the time is over; false: it was not closed.
bool read_all(int from, Clock::time_point end, std::string* text) {
    for (char part[4096];;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
        pollfd readable{from, POLLIN, 0};
        if (left.count() <= 0 || poll(&readable, 1, static_cast<int>(left.count())) <= 0) {
            return false;
        }
        const ssize_t got = read(from, part, sizeof part);
        if (got <= 0) return got == 0;
        text->append(part, static_cast<std::size_t>(got));
    }
}

}  // namespace

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

bool is_file(const std::string& path) {
    struct stat known {};
    return stat(path.c_str(), &known) == 0 && S_ISREG(known.st_mode);
}

std::vector<std::string> paths_like(const std::string& pattern) {
    glob_t found{};
    std::vector<std::string> paths;
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
        paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    globfree(&found);
    return paths;
}

std::vector<std::string> split(const std::string& text, const char* separators) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
        if (end > at) parts.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

std::string between(const std::string& text, const std::string& before, char after) {
    const std::size_t at = text.find(before);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + before.size();
    return text.substr(begin, text.find(after, begin) - begin);
}

bool is_program(const std::string& path) {
    return is_file(path) && access(path.c_str(), X_OK) == 0;
}

std::string find_program(const std::string& name) {
    for (const std::string& directory : split(environment("PATH"), ":")) {
        const std::string path = directory + "/" + name;
        if (is_program(path)) return path;
    }
    return "";
}

std::string file_of(const std::string& name) {
    return name.find('/') != std::string::npos ? name : find_program(name);
}

std::string base_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string real_path(const std::string& path) {
    char resolved[PATH_MAX];
    return realpath(path.c_str(), resolved) != nullptr ? resolved : path;
}

std::string own_directory() {
    return directory_of(real_path("/proc/self/exe"));
}

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

unsigned usable_cores() {
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) return std::thread::hardware_concurrency();
    return static_cast<unsigned>(CPU_COUNT(&cores));
}

void set_variable(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
}

void put_in_front(const char* name, const std::string& directory) {
    const std::string before = environment(name);
    for (const std::string& part : split(before, ":")) {
        if (part == directory) return;
    }
    set_variable(name, before.empty() ? directory : directory + ":" + before);
}

Asked::Asked(const std::vector<std::string>& words, std::chrono::seconds patience)
    : end_(Clock::now() + patience) {
    std::vector<char*> arguments, variables;
    for (const std::string& word : words) {
        const std::size_t name = word.find_first_of("=/");
        const bool is_variable = arguments.empty() && name < word.size() && word[name] == '=';
        (is_variable ? variables : arguments).push_back(const_cast<char*>(word.c_str()));
    }
    const std::size_t own = variables.size();
    for (char** one = environ; *one != nullptr; ++one) {
        const std::string_view line = *one, name = line.substr(0, line.find('=') + 1);
        const bool is_other =
            std::any_of(variables.begin(), variables.begin() + own,
                        [&](char* it) { return std::string_view(it).starts_with(name); });
        if (!is_other) variables.push_back(*one);
    }
    for (auto* list : {&arguments, &variables}) list->push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    if (arguments[0] == nullptr || posix_spawnp(&child_, arguments[0], &actions, nullptr,
                                                arguments.data(), variables.data()) != 0) {
        child_ = 0;
    }
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    from_ = ends[0];
}

Asked::~Asked() {
    answer();
}

std::string Asked::answer() {
    std::string text;
    if (child_ != 0) {
        if (!read_all(from_, end_, &text)) kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }
    if (from_ >= 0) close(from_);
    child_ = 0;
    from_ = -1;
    return text;
}

std::string said_by(const std::vector<std::string>& words, std::chrono::seconds patience) {
    return Asked(words, patience).answer();
}

}  // namespace fci::tools
