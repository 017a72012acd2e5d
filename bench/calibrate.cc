// SPDX-License-Identifier: BSD-3-Clause
// calibrate: what this machine can do at best, without any FCI. Every other figure is to be read
// beside these.
#include <linux/futex.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/process_group.h"
#include "bench/report.h"
#include "fci_core/base/flag.h"

namespace fci::bench {
namespace {

constexpr std::size_t kWalkBytes = std::size_t{256} << 20;  // larger than the caches

struct Free {
    std::size_t bytes;
    void operator()(std::byte* memory) const { munmap(memory, bytes); }
};
using Memory = std::unique_ptr<std::byte, Free>;

Memory memory_of(std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) return Memory(nullptr, Free{bytes});
    std::memset(memory, 1, bytes);
    return Memory(static_cast<std::byte*>(memory), Free{bytes});
}

class Calibration {
public:
    Calibration(Report& report, std::int64_t budget_ns, int core, int other_core)
        : report_(report), budget_ns_(budget_ns), cores_{core, other_core} {}

    bool all(bool quick) {
        report_.heading("System calls and hand-offs");
        system_call();
        bool fine = futex() && eventfd() && udp();
        report_.heading("memcpy");
        for (const std::size_t bytes : {8, 64, 1 << 10, 8 << 10, 64 << 10, 1 << 20, 4 << 20})
            copy_warm(bytes);
        if (quick) return fine;
        fine = copy_cold() && fine;
        report_.heading("Kernel copy from the other process (process_vm_readv)");
        return kernel_copy() && fine;
    }

private:
    using Side = std::function<bool(SharedPage&)>;
    bool pair(const Side& here, const Side& other) const {
        return run_processes(cores_, [&](unsigned number, SharedPage& page) {
            return number == 0 ? here(page) : other(page);
        });
    }
    void add_time(const char* what, double ns) { report_.add({.what = what, .value = ns}); }
    void add_rate(const char* what, std::size_t bytes, double ns) {
        report_.add({.what = what, .bytes = bytes, .sized = true, .value = ns});
        report_.add({.what = what, .bytes = bytes, .sized = true,
                     .value = static_cast<double>(bytes) / ns, .unit = "GB/s"});
    }

    void system_call() {
        add_time("system call (getppid)",
                 time_per_call(budget_ns_, [] { syscall(SYS_getppid); }));
        add_time("clock_gettime", time_per_call(budget_ns_, [] { (void)fci_now_ns(); }));
    }

    /// A turn word that goes back and forth; the loser sleeps in the kernel.
    static void sleep_until(std::uint32_t& turn, std::uint32_t value) {
        for (std::uint32_t now = flag::load_acquire(turn); now != value;
             now = flag::load_acquire(turn))
            syscall(SYS_futex, &turn, FUTEX_WAIT, now, nullptr, nullptr, 0);
    }
    static void wake_with(std::uint32_t& turn, std::uint32_t value) {
        flag::store_release(turn, value);
        syscall(SYS_futex, &turn, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }

    bool futex() {
        constexpr std::uint32_t kOver = 0xffffffffu;
        double ns = 0;
        const bool fine = pair(
            [&](SharedPage& page) {
                std::uint32_t& turn = page.turn;
                std::uint32_t count = 0;
                ns = time_per_call(budget_ns_, [&] {
                         wake_with(turn, ++count);
                         sleep_until(turn, ++count);
                     }) / 2;
                wake_with(turn, kOver);
                return true;
            },
            [](SharedPage& page) {
                std::uint32_t& turn = page.turn;
                for (std::uint32_t seen = 0;;) {
                    std::uint32_t now = flag::load_acquire(turn);
                    if (now == kOver) return true;
                    if (now == seen) {
                        syscall(SYS_futex, &turn, FUTEX_WAIT, now, nullptr, nullptr, 0);
                        continue;
                    }
                    seen = now + 1;
                    wake_with(turn, seen);
                }
            });
        if (fine) add_time("futex hand-off, one way", ns);
        return fine;
    }

    bool eventfd() {
        const int to = ::eventfd(0, EFD_CLOEXEC), back = ::eventfd(0, EFD_CLOEXEC);
        if (to < 0 || back < 0) return false;
        constexpr std::uint64_t kOver = 1000;
        const auto put = [](int fd, std::uint64_t value) {
            return write(fd, &value, sizeof value) == sizeof value;
        };
        const auto get = [](int fd) {
            std::uint64_t value = 0;
            return read(fd, &value, sizeof value) == sizeof value ? value : kOver;
        };
        double ns = 0;
        const bool fine = pair(
            [&](SharedPage&) {
                ns = time_per_call(budget_ns_, [&] { put(to, 1), get(back); }) / 2;
                return put(to, kOver);
            },
            [&](SharedPage&) {
                while (get(to) < kOver) put(back, 1);
                return true;
            });
        close(to);
        close(back);
        if (fine) add_time("eventfd hand-off, one way", ns);
        return fine;
    }

    /// UDP through the loopback device, both sides spinning: the floor of the Ethernet driver.
    bool udp() {
        int ends[2];
        sockaddr_in at[2]{};
        for (int i = 0; i < 2; ++i) {
            ends[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
            at[i].sin_family = AF_INET;
            at[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            socklen_t length = sizeof at[i];
            if (ends[i] < 0 || bind(ends[i], reinterpret_cast<sockaddr*>(&at[i]), length) != 0 ||
                getsockname(ends[i], reinterpret_cast<sockaddr*>(&at[i]), &length) != 0)
                return udp_unusable();
        }
        for (int i = 0; i < 2; ++i)
            if (connect(ends[i], reinterpret_cast<sockaddr*>(&at[1 - i]), sizeof at[i]) != 0)
                return udp_unusable();
        const auto get = [](int fd) {
            char data[16];
            ssize_t got;
            while ((got = recv(fd, data, sizeof data, 0)) < 0 && errno == EAGAIN) {}
            return got;
        };
        double ns = 0;
        const bool fine = pair(
            [&](SharedPage&) {
                ns = time_per_call(budget_ns_,
                                   [&] { send(ends[0], "12345678", 8, 0), get(ends[0]); });
                return send(ends[0], "", 1, 0) == 1;
            },
            [&](SharedPage&) {
                while (get(ends[1]) == 8) send(ends[1], "12345678", 8, 0);
                return true;
            });
        close(ends[0]);
        close(ends[1]);
        if (fine) report_.add({.what = "UDP over loopback, one way", .bytes = 8, .sized = true,
                               .value = ns / 2});
        return fine;
    }
    static bool udp_unusable() {
        std::fprintf(stderr, "calibrate: no UDP over 127.0.0.1: %s\n", std::strerror(errno));
        return false;
    }

    void copy_warm(std::size_t bytes) {
        const Memory from = memory_of(bytes), to = memory_of(bytes);
        if (from == nullptr || to == nullptr) return;
        add_rate("memcpy, warm", bytes, time_per_call(budget_ns_, [&] {
                     std::memcpy(to.get(), from.get(), bytes);
                     asm volatile("" : : "r"(to.get()) : "memory");
                 }));
    }

    bool copy_cold() {
        const Memory from = memory_of(kWalkBytes), to = memory_of(kWalkBytes);
        if (from == nullptr || to == nullptr) {
            std::fprintf(stderr, "calibrate: no memory for cold copies (2 x 256 MiB)\n");
            return false;
        }
        for (const std::size_t bytes : {64 << 10, 1 << 20, 4 << 20}) {
            std::size_t at = 0;
            add_rate("memcpy, cold", bytes, time_per_call(budget_ns_, [&] {
                         std::memcpy(to.get() + at, from.get() + at, bytes);
                         asm volatile("" : : "r"(to.get()) : "memory");
                         at = at + 2 * bytes > kWalkBytes ? 0 : at + bytes;
                     }));
        }
        return true;
    }

    /// Pages of the child, read by this process; both buffers stay warm in its own cache.
    bool kernel_copy() {
        constexpr std::size_t kMost = 4 << 20;
        std::vector<std::pair<std::size_t, double>> results;
        int error = 0;
        const Memory to = memory_of(kMost);
        if (to == nullptr) return false;
        const bool fine = pair(
            [&](SharedPage& page) {
                while (flag::load_acquire(page.word[1]) == 0) std::this_thread::yield();
                const auto pid = static_cast<pid_t>(page.word[1]);
                for (const std::size_t bytes : {4 << 10, 64 << 10, 1 << 20, 4 << 20}) {
                    iovec local{to.get(), bytes};
                    iovec remote{reinterpret_cast<void*>(page.word[0]), bytes};
                    ssize_t got = 0;
                    const double ns = time_per_call(budget_ns_, [&] {
                        got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
                    });
                    if (got != static_cast<ssize_t>(bytes)) error = got < 0 ? errno : EIO;
                    results.emplace_back(bytes, ns);
                }
                flag::store_release(page.word[2], std::uint64_t{1});
                return true;
            },
            [&](SharedPage& page) {
                const Memory from = memory_of(kMost);
                if (from == nullptr) return false;
                page.word[0] = reinterpret_cast<std::uint64_t>(from.get());
                flag::store_release(page.word[1], static_cast<std::uint64_t>(getpid()));
                while (flag::load_acquire(page.word[2]) == 0) usleep(200);
                return true;
            });
        if (error != 0) {
            std::fprintf(stderr, "calibrate: process_vm_readv does not work here: %s\n",
                         std::strerror(error));
            return true;  // a fact about the machine, not a failure of this program
        }
        for (const auto& [bytes, ns] : results) add_rate("process_vm_readv", bytes, ns);
        return fine;
    }

    Report& report_;
    std::int64_t budget_ns_;
    std::vector<int> cores_;
};

int run(bool json, bool quick, int milliseconds) {
    const std::vector<int> cores = usable_cores(2);
    const int core = cores.empty() ? 0 : cores[0];
    const int other = cores.size() < 2 ? core : cores[1];
    Report report("What this machine can do", json);
    const double tc_ns = measure_tc(core, other);
    report.tc(tc_ns);
    report.fact("cores used", std::to_string(core) + " and " + std::to_string(other));
    report.fact("mode", name_of(mode_of(tc_ns)));
    report.add({.what = "t_c: cache line, one way", .value = tc_ns});
    Calibration calibration(report, std::int64_t{milliseconds} * 1000000, core, other);
    const bool fine = calibration.all(quick);
    const double after_ns = measure_tc(core, other);
    report.add({.what = "t_c, once more", .value = after_ns});
    report.finish();
    if (!Around{tc_ns, after_ns}.steady())
        std::fprintf(stderr, "calibrate: t_c was %.0f ns, then %.0f ns: the machine changed its "
                             "mode or is busy; call again\n", tc_ns, after_ns);
    return fine ? 0 : 1;
}

}  // namespace
}  // namespace fci::bench

int main(int argc, char** argv) {
    CLI::App app{"calibrate: what this machine can do at best, without any FCI"};
    bool json = false, quick = false;
    int milliseconds = 20;
    app.add_flag("--json", json, "for programs: one JSON object");
    app.add_flag("--quick", quick, "no cold copies, no kernel copies");
    app.add_option("--ms", milliseconds, "milliseconds for each figure")
        ->check(CLI::Range(1, 10000))
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    return fci::bench::run(json, quick, milliseconds);
}
