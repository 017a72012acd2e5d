// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/surroundings.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "test/unit/progress/scheduler.h"

namespace fci::progress {
namespace {

/// What `question` answers in a child, which may change its environment and its cores.
unsigned in_child(const std::function<unsigned()>& question) {
    const pid_t child = fork();
    if (child == 0) _exit(static_cast<int>(question()));
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? static_cast<unsigned>(WEXITSTATUS(status)) : 999u;
}

void forget_launchers() {
    for (const char* name :
         {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE",
          "MV2_COMM_WORLD_LOCAL_SIZE", "SLURM_PROCID", "SLURM_NODEID", "SLURM_TASKS_PER_NODE",
          "SLURM_STEP_TASKS_PER_NODE", "OMPI_MCA_orte_bound_at_launch"}) {
        unsetenv(name);
    }
}

struct Groups : testing::Test {
    std::filesystem::path root =
        std::filesystem::temp_directory_path() / ("fci-groups-" + std::to_string(getpid()));
    ~Groups() override { std::filesystem::remove_all(root); }
    void write(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories((root / path).parent_path());
        std::ofstream(root / path) << text << "\n";
    }
    [[nodiscard]] unsigned cores(const std::string& groups) const {
        return cores_by_quota(groups, root.string());
    }
};

TEST_F(Groups, caches__as_the_kernel_lists_them) {
    EXPECT_EQ(caches(root.string()).second, 0u);
    const auto list = [&](int index, const char* level, const char* type, const char* size) {
        const std::string at = "index" + std::to_string(index);
        write(at + "/level", level);
        write(at + "/type", type);
        write(at + "/size", size);
    };
    list(0, "1", "Data", "32K");
    list(1, "2", "Instruction", "64K");
    list(2, "2", "Unified", "512K");
    list(3, "3", "Unified", "32768K");
    EXPECT_EQ(caches(root.string()).second, 512u << 10);
    EXPECT_EQ(caches(root.string()).third, 32u << 20);
}

TEST_F(Groups, cores_by_quota__version_2) {
    EXPECT_EQ(cores("0::/job\n"), 0u);
    write("job/cpu.max", "max 100000");
    EXPECT_EQ(cores("0::/job\n"), 0u);
    write("job/cpu.max", "150000 100000");
    EXPECT_EQ(cores("0::/job\n"), 2u);
    write("job/cpu.max", "20000 100000");
    EXPECT_EQ(cores("0::/job\n"), 1u);
}

TEST_F(Groups, cores_by_quota__tightest_of_all_levels) {
    write("outer/cpu.max", "300000 100000");
    write("outer/inner/cpu.max", "800000 100000");
    EXPECT_EQ(cores("0::/outer/inner\n"), 3u);
    EXPECT_EQ(cores("0::/outer/inner/unlisted\n"), 3u);
    write("cpu.max", "100000 100000");  // as a container sees its own group
    EXPECT_EQ(cores("0::/\n"), 1u);
}

TEST_F(Groups, cores_by_quota__version_1) {
    write("cpu,cpuacct/job/cpu.cfs_quota_us", "250000");
    write("cpu,cpuacct/job/cpu.cfs_period_us", "100000");
    EXPECT_EQ(cores("4:memory:/job\n3:cpu,cpuacct:/job\n"), 3u);
    EXPECT_EQ(cores("3:cpuset:/job\n"), 0u);
    write("cpu,cpuacct/job/cpu.cfs_quota_us", "-1");
    EXPECT_EQ(cores("3:cpu,cpuacct:/job\n"), 0u);
}

TEST_F(Groups, cores_by_quota__nonsense) {
    write("job/cpu.max", "many");
    for (const char* text : {"", "\n", "0", "0:", "::", "0::/job", "9:cpu:"}) {
        EXPECT_EQ(cores(text), 0u) << text;
    }
}

TEST(Surroundings, usable_cores__what_the_scheduler_allows) {
    const unsigned all = usable_cores();
    EXPECT_GE(all, 1u);
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || all < 2) GTEST_SKIP() << "only one core";
    // The whole job on one core: launcher and process.
    EXPECT_EQ(in_child([] {
                  forget_launchers();
                  bind_to(allowed_cores().front());
                  return in_child(usable_cores);
              }),
              1u);
    // The launcher has all, and bound this process: the others have the rest.
    EXPECT_EQ(in_child([] {
                  forget_launchers();
                  return in_child([] {
                      bind_to(allowed_cores().front());
                      return usable_cores();
                  });
              }),
              all);
    // The same with a shell between, which is bound as well.
    EXPECT_EQ(in_child([] {
                  forget_launchers();
                  setenv("OMPI_MCA_orte_bound_at_launch", "1", 1);
                  bind_to(allowed_cores().front());
                  return in_child(usable_cores);
              }),
              all);
}

}  // namespace
}  // namespace fci::progress
