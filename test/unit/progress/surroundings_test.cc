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

TEST(Surroundings, slurm_tasks_on_node__runs_and_lists) {
    EXPECT_EQ(slurm_tasks_on_node("4", 0), 4u);
    EXPECT_EQ(slurm_tasks_on_node("4", 1), 0u);
    EXPECT_EQ(slurm_tasks_on_node("2(x3),1", 0), 2u);
    EXPECT_EQ(slurm_tasks_on_node("2(x3),1", 2), 2u);
    EXPECT_EQ(slurm_tasks_on_node("2(x3),1", 3), 1u);
    EXPECT_EQ(slurm_tasks_on_node("2(x3),1", 4), 0u);
    EXPECT_EQ(slurm_tasks_on_node("16,8(x2)", 2), 8u);
    for (const char* bad : {"", ",", "x", "2(x", "2(x3", "2(x0)", "-3", "(x3)", "2(3)"}) {
        EXPECT_EQ(slurm_tasks_on_node(bad, 0), 0u) << bad;
    }
}

TEST(Surroundings, local_ranks_from_launcher__who_tells) {
    const auto with = [](const char* name, const char* value) {
        return in_child([&] {
            forget_launchers();
            setenv(name, value, 1);
            return local_ranks_from_launcher();
        });
    };
    EXPECT_EQ(with("FCI_NOBODY", "1"), 0u);
    EXPECT_EQ(with("OMPI_COMM_WORLD_LOCAL_SIZE", "8"), 8u);
    EXPECT_EQ(with("MPI_LOCALNRANKS", "3"), 3u);
    EXPECT_EQ(with("MPI_LOCALNRANKS", "three"), 0u);
    EXPECT_EQ(with("MPI_LOCALNRANKS", "-1"), 0u);
    EXPECT_EQ(with("MPI_LOCALNRANKS", ""), 0u);
    // In an allocation, but not started by srun.
    EXPECT_EQ(with("SLURM_TASKS_PER_NODE", "5"), 0u);
    EXPECT_EQ(in_child([] {
                  forget_launchers();
                  setenv("SLURM_PROCID", "9", 1);
                  setenv("SLURM_NODEID", "1", 1);
                  setenv("SLURM_TASKS_PER_NODE", "4,6", 1);
                  return local_ranks_from_launcher();
              }),
              6u);
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
