// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/launcher.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace fci {
namespace {

Lookup in(std::map<std::string, std::string> environment) {
    return [environment = std::move(environment)](const char* name) {
        const auto found = environment.find(name);
        return found != environment.end() ? found->second : std::string();
    };
}

TEST(Launcher, job_name__who_tells) {
    EXPECT_EQ(job_name(in({})), "");
    EXPECT_EQ(job_name(in({{"PMI_JOBID", "kvs_7"}})), "kvs_7");
    EXPECT_EQ(job_name(in({{"PMI_JOBID", "kvs_7"}, {"SLURM_JOB_ID", "70001"}})), "70001");
    EXPECT_EQ(job_name(in({{"SLURM_JOB_ID", "70001"}, {"PMIX_NAMESPACE", "slurm.pmix.1.0"}})),
              "slurm.pmix.1.0");
}

TEST(Launcher, job_name__jobs_that_spawned_each_other_are_one) {
    const auto name = [](const char* job) { return job_name(in({{"PMIX_NAMESPACE", job}})); };
    EXPECT_EQ(name("prterun-host-4711@1"), name("prterun-host-4711@2"));
    EXPECT_NE(name("prterun-host-4711@1"), name("prterun-host-4712@1"));
    // Open MPI 4: 2997 * 65536 + 1 and + 2.
    EXPECT_EQ(name("196411393"), name("196411394"));
    EXPECT_NE(name("196411393"), name("196476929"));
    EXPECT_NE(name("1"), name("2"));
    // Slurm's numbers mean nothing but themselves.
    EXPECT_NE(job_name(in({{"SLURM_JOB_ID", "196411393"}})),
              job_name(in({{"SLURM_JOB_ID", "196411394"}})));
}

TEST(Launcher, rank_in_job__who_tells) {
    EXPECT_EQ(rank_in_job(in({})), -1);
    EXPECT_EQ(rank_in_job(in({{"SLURM_PROCID", "3"}})), 3);
    EXPECT_EQ(rank_in_job(in({{"SLURM_PROCID", "3"}, {"PMI_RANK", "0"}})), 0);
    EXPECT_EQ(rank_in_job(in({{"OMPI_COMM_WORLD_RANK", "5"}, {"PMI_RANK", "0"}})), 5);
    EXPECT_EQ(rank_in_job(in({{"PMIX_RANK", "6"}, {"OMPI_COMM_WORLD_RANK", "5"}})), 6);
    for (const char* bad : {"x", "-1", "2147483648", "1 "}) {
        EXPECT_EQ(rank_in_job(in({{"PMI_RANK", bad}})), -1) << bad;
    }
}

TEST(Launcher, rank_on_host__who_tells) {
    EXPECT_EQ(rank_on_host(in({{"FCI_NOBODY", "1"}})), -1);
    EXPECT_EQ(rank_on_host(in({{"OMPI_COMM_WORLD_LOCAL_RANK", "0"}})), 0);
    EXPECT_EQ(rank_on_host(in({{"MPI_LOCALRANKID", "7"}})), 7);
    EXPECT_EQ(rank_on_host(in({{"SLURM_LOCALID", "3"}})), 3);
    EXPECT_EQ(rank_on_host(in({{"MPI_LOCALRANKID", "three"}})), -1);
    EXPECT_EQ(rank_on_host(in({{"MPI_LOCALRANKID", ""}})), -1);
}

std::vector<std::string> texts(const std::vector<std::uint32_t>& addresses) {
    std::vector<std::string> texts;
    for (const std::uint32_t address : addresses) {
        char text[INET_ADDRSTRLEN];
        texts.emplace_back(inet_ntop(AF_INET, &address, text, sizeof text));
    }
    return texts;
}

TEST(Launcher, numeric_addresses__names_and_loopback_are_left_alone) {
    using Texts = std::vector<std::string>;
    const auto found = [](const std::string& text) { return texts(numeric_addresses(text)); };
    EXPECT_EQ(found("2034237440.0;tcp://10.0.0.1:44435;tcp6://[fd00::2]:40585"),
              Texts{"10.0.0.1"});
    EXPECT_EQ(found("7.0;tcp://10.0.0.1,172.17.0.1:4711:24,16"), (Texts{"10.0.0.1", "172.17.0.1"}));
    EXPECT_EQ(found("7.0;tcp4://127.0.0.1:57847"), Texts{});
    EXPECT_EQ(found("7.0;tcp4://127.0.0.1:1;tcp4://10.0.0.9:2"), Texts{"10.0.0.9"});
    EXPECT_EQ(found("10.0.0.3"), Texts{"10.0.0.3"});
    EXPECT_EQ(found("10.0.0.3:4711"), Texts{"10.0.0.3"});
    for (const char* bad :
         {"", "node7:4711", "localhost", "0.0.0.0", "10.0.0", "10.0.0.1.2", "file:/tmp/uri", "://",
          "tcp://", "tcp://:1", "7;tcp://,,:", "tcp6://[::ffff:10.0.0.1]:1", "://://", "010.0.0.1",
          "\xff"}) {
        EXPECT_EQ(found(bad), Texts{}) << bad;
    }
    std::string many = "tcp://";
    for (int i = 0; i < 10'000; ++i) many += "10.0.0.1,";
    EXPECT_EQ(found(many).size(), 64u);
}

TEST(Launcher, launcher_addresses__the_first_who_tells) {
    const auto found = [](std::map<std::string, std::string> environment) {
        const auto addresses = texts(launcher_addresses(in(std::move(environment))));
        return addresses.empty() ? "" : addresses.front();
    };
    EXPECT_EQ(found({}), "");
    using Variable = std::pair<const std::string, std::string>;
    const Variable slurm{"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.3"};
    const Variable hydra{"PMI_PORT", "10.0.0.4:4711"};
    const Variable pmix{"PMIX_SERVER_URI2", "1;tcp4://127.0.0.1:5"};
    const Variable orte{"OMPI_MCA_orte_hnp_uri", "1;tcp://10.0.0.1:6"};
    EXPECT_EQ(found({hydra}), "10.0.0.4");
    EXPECT_EQ(found({hydra, slurm}), "10.0.0.3");
    EXPECT_EQ(found({pmix, slurm}), "10.0.0.3") << "the daemon of this host tells nothing";
    EXPECT_EQ(found({pmix, orte, slurm}), "10.0.0.1");
    EXPECT_EQ(found({{"PMI_PORT", "node7:4711"}}), "");
}

TEST(Launcher, ranks_in_job__who_tells) {
    EXPECT_EQ(ranks_in_job(in({})), 0u);
    EXPECT_EQ(ranks_in_job(in({{"PMI_SIZE", "5"}})), 5u);
    EXPECT_EQ(ranks_in_job(in({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMI_SIZE", "5"}})), 4u);
    EXPECT_EQ(ranks_in_job(in({{"OMPI_COMM_WORLD_SIZE", "none"}})), 0u);
    EXPECT_EQ(ranks_in_job(in({{"SLURM_NTASKS", "6"}})), 0u);
    EXPECT_EQ(ranks_in_job(in({{"SLURM_NTASKS", "6"}, {"SLURM_PROCID", "0"}})), 6u);
    EXPECT_EQ(ranks_in_job(in({{"SLURM_STEP_NUM_TASKS", "2"},
                               {"SLURM_NTASKS", "6"},
                               {"SLURM_PROCID", "0"}})),
              2u);
}

TEST(Launcher, own_variable__is_empty_where_it_is_not_set) {
    setenv("FCI_TEST_OF_LAUNCHER", "word", 1);
    EXPECT_EQ(own_variable("FCI_TEST_OF_LAUNCHER"), "word");
    unsetenv("FCI_TEST_OF_LAUNCHER");
    EXPECT_EQ(own_variable("FCI_TEST_OF_LAUNCHER"), "");
}

TEST(Launcher, slurm_tasks_on_node__runs_and_lists) {
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

TEST(Launcher, ranks_on_host__who_tells) {
    const auto with = [](const char* name, const char* value) {
        return ranks_on_host(in({{name, value}}));
    };
    EXPECT_EQ(with("FCI_NOBODY", "1"), 0u);
    EXPECT_EQ(with("OMPI_COMM_WORLD_LOCAL_SIZE", "8"), 8u);
    EXPECT_EQ(with("MPI_LOCALNRANKS", "3"), 3u);
    EXPECT_EQ(with("MPI_LOCALNRANKS", "three"), 0u);
    EXPECT_EQ(with("MPI_LOCALNRANKS", "-1"), 0u);
    EXPECT_EQ(with("MPI_LOCALNRANKS", ""), 0u);
    // In an allocation, but not started by srun.
    EXPECT_EQ(with("SLURM_TASKS_PER_NODE", "5"), 0u);
    EXPECT_EQ(ranks_on_host(in({{"SLURM_PROCID", "9"},
                                {"SLURM_NODEID", "1"},
                                {"SLURM_TASKS_PER_NODE", "4,6"}})),
              6u);
}

}  // namespace
}  // namespace fci
