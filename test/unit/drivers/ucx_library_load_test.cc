// SPDX-License-Identifier: BSD-3-Clause
// What is asked of UCX's library before it is used, where others stand in for dlopen and dlsym.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "drivers/tcp/tcp.h"
#include "drivers/ucx/library.h"
#include "drivers/ucx/ucx.h"

namespace fci::ucx {
namespace {

/// The library that dlopen and dlsym find. They are functions without an object.
struct Found {
    bool is_there = true, has_nothing = false;  // but its version
    unsigned major = 1, minor = 14, release = 2;
    std::string missing{};  // a function that it has not
    int mode = 0;
    std::string name{}, signals{}, debug{};  // that was opened, and variables meanwhile
    std::map<std::string, const void*> functions{};
};
Found found;
char places[64];  // for functions that nobody calls

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? "'" + std::string(value) + "'" : "none";
}
void* open_library(const char* name, int mode) noexcept {
    found.name = name;
    found.mode = mode;
    found.signals = variable("UCX_ERROR_SIGNALS");
    found.debug = variable("UCX_DEBUG_SIGNO");
    return found.is_there ? &found : nullptr;
}
void get_version(unsigned* major, unsigned* minor, unsigned* release) {
    *major = found.major;
    *minor = found.minor;
    *release = found.release;
}
void* find_function(void* handle, const char* name) noexcept {
    EXPECT_EQ(handle, &found);
    if (found.missing == name) return nullptr;
    if (std::strcmp(name, "ucp_get_version") == 0) return reinterpret_cast<void*>(get_version);
    if (found.has_nothing) return nullptr;
    const void*& place = found.functions[name];
    if (place == nullptr) place = places + found.functions.size();
    return const_cast<void*>(place);
}

struct ucx_library_load : testing::Test {
    ucx_library_load() { found = {}; }
    ~ucx_library_load() override {
        unsetenv("UCX_ERROR_SIGNALS");
        unsetenv("UCX_DEBUG_SIGNO");
    }
    std::string load() { return Library::load(open_library, find_function, &library); }
    std::string load(unsigned major, unsigned minor) {
        found.major = major;
        found.minor = minor;
        return load();
    }
    template <class Function>
    void expect(Function function, const char* name) {
        EXPECT_EQ(reinterpret_cast<const void*>(function), found.functions[name]) << name;
        EXPECT_NE(function, nullptr) << name;
    }
    Library library{};
};

TEST_F(ucx_library_load, functions__each_by_its_name) {
    EXPECT_EQ(load(), "");
    expect(library.context.config_read, "ucp_config_read");
    expect(library.context.config_modify, "ucp_config_modify");
    expect(library.context.config_release, "ucp_config_release");
    expect(library.context.init, "ucp_init_version");
    expect(library.context.cleanup, "ucp_cleanup");
    expect(library.context.status_string, "ucs_status_string");
    expect(library.worker.create, "ucp_worker_create");
    expect(library.worker.destroy, "ucp_worker_destroy");
    expect(library.worker.get_address, "ucp_worker_get_address");
    expect(library.worker.release_address, "ucp_worker_release_address");
    expect(library.worker.set_handler, "ucp_worker_set_am_recv_handler");
    expect(library.worker.get_efd, "ucp_worker_get_efd");
    expect(library.worker.arm, "ucp_worker_arm");
    expect(library.worker.progress, "ucp_worker_progress");
    expect(library.worker.flush, "ucp_worker_flush_nbx");
    expect(library.worker.fetch, "ucp_am_recv_data_nbx");
    expect(library.worker.release, "ucp_am_data_release");
    expect(library.endpoint.create, "ucp_ep_create");
    expect(library.endpoint.close, "ucp_ep_close_nbx");
    expect(library.endpoint.flush, "ucp_ep_flush_nbx");
    expect(library.endpoint.send, "ucp_am_send_nbx");
    expect(library.endpoint.check, "ucp_request_check_status");
    expect(library.endpoint.free, "ucp_request_free");
    EXPECT_EQ(library.version, "1.14.2");
    EXPECT_NE(library.file.find("test_drivers"), std::string::npos) << library.file;
    EXPECT_EQ(found.name, "libucp.so.0");
    EXPECT_EQ(found.mode, RTLD_NOW | RTLD_LOCAL) << "nothing else in the process is to use it";
}

TEST_F(ucx_library_load, function__that_is_missing_is_named) {
    ASSERT_EQ(load(), "");
    for (const auto& [name, place] : std::map(found.functions)) {
        found.missing = name;
        EXPECT_EQ(load(), "UCX 1.14.2 (" + library.file + ") has no " + name);
    }
    found.has_nothing = true;
    EXPECT_EQ(load(), "UCX 1.14.2 (" + library.file + ") has no ucp_config_read");
}

TEST_F(ucx_library_load, library__of_another_kind) {
    found.missing = "ucp_get_version";
    EXPECT_EQ(load(), "libucp.so.0 is no UCX");
}

TEST_F(ucx_library_load, library__that_is_not_there) {
    found.is_there = false;
    EXPECT_EQ(load(), "UCX cannot be opened (libucp.so.0); Debian's package is libucx0, and "
                      "LD_LIBRARY_PATH leads to others");
}

/// A child that can open no file: the library stays out of this process either way.
TEST_F(ucx_library_load, open__that_fails_says_why_each_time) {
    const pid_t child = fork();
    if (child == 0) {
        const rlimit none{0, 0};
        (void)setrlimit(RLIMIT_NOFILE, &none);
        std::string why[2];
        const bool is_open = Library::open(&why[0]) != nullptr || Library::open(&why[1]) != nullptr;
        const bool says = why[0].rfind("UCX cannot be opened (", 0) == 0 && why[1] == why[0];
        _exit(!is_open && says ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

/// A child that may have so many descriptors that TCP has enough, and the library none.
TEST_F(ucx_library_load, open_ucx__where_the_library_cannot_be_opened) {
    const pid_t child = fork();
    if (child == 0) {
        ddi::Settings usual;
        usual.block_bytes = 4096;
        Status ignored;
        std::string unused;
        // A sanitizer needs a descriptor of its own for the first use of each class of TCP.
        (void)tcp::open_tcp(usual, &ignored, &unused);
        rlimit files{};
        (void)getrlimit(RLIMIT_NOFILE, &files);
        for (files.rlim_cur = 3; files.rlim_cur < 200; ++files.rlim_cur) {
            (void)setrlimit(RLIMIT_NOFILE, &files);
            Status status = Status::ok;
            std::string error;
            const bool is_open = open_ucx(usual, &status, &error) != nullptr;
            if (is_open) _exit(2);
            if (error.rfind("UCX cannot be opened (", 0) != 0) continue;
            _exit(status == Status::unsupported ? 0 : 1);
        }
        _exit(3);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ucx_library_load, version__from_1_12_on) {
    EXPECT_EQ(load(1, 12), "");
    EXPECT_EQ(load(1, 99), "");
    EXPECT_EQ(load(2, 0), "") << "which has its functions, or is told what it has not";
    EXPECT_EQ(load(2, 50), "");
    EXPECT_EQ(library.version, "2.50.2");
}

/// It is taken only if the user asks for it.
TEST_F(ucx_library_load, danger__of_a_version_that_may_end_a_process) {
    ASSERT_EQ(load(1, 13), "");
    EXPECT_EQ(library.danger(), "UCX 1.13.2 may end a process as its peer dies, which UCX 1.14 "
                                "does not; FCI_FAR=ucx takes it nevertheless");
    ASSERT_EQ(load(1, 12), "");
    EXPECT_NE(library.danger(), "");
    for (const auto& [major, minor] : {std::pair{1u, 14u}, {1u, 22u}, {2u, 0u}, {2u, 13u}}) {
        ASSERT_EQ(load(major, minor), "");
        EXPECT_EQ(library.danger(), "") << major << "." << minor;
    }
}

TEST_F(ucx_library_load, version__that_is_too_old) {
    ASSERT_EQ(load(), "");
    EXPECT_EQ(load(1, 11), "UCX 1.11.2 (" + library.file + ") is too old: 1.12 is the first that "
                           "notices dead peers in long messages");
    EXPECT_NE(load(1, 0), "");
    EXPECT_NE(load(0, 12), "");
    EXPECT_NE(load(0, 50), "");
}

TEST_F(ucx_library_load, variables__that_keep_signals_the_programs_are_set_while_it_opens) {
    EXPECT_EQ(load(), "");
    EXPECT_EQ(found.signals, "''");
    EXPECT_EQ(found.debug, "'0'");
    EXPECT_EQ(variable("UCX_ERROR_SIGNALS"), "none");
    EXPECT_EQ(variable("UCX_DEBUG_SIGNO"), "none");
}

TEST_F(ucx_library_load, variables__of_the_user_stay) {
    setenv("UCX_ERROR_SIGNALS", "SEGV", 1);
    EXPECT_EQ(load(), "");
    EXPECT_EQ(found.signals, "'SEGV'");
    EXPECT_EQ(found.debug, "'0'");
    EXPECT_EQ(variable("UCX_ERROR_SIGNALS"), "'SEGV'");
    EXPECT_EQ(variable("UCX_DEBUG_SIGNO"), "none");
}

}  // namespace
}  // namespace fci::ucx
