// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/api/choose_driver.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

namespace fci::api {
namespace {

Preference prefer(const std::map<std::string, std::string>& environment, std::uint32_t job = 0) {
    return prefer_drivers(Ranks::of(
        [&](const char* name) {
            const auto found = environment.find(name);
            return found != environment.end() ? found->second : std::string();
        },
        job));
}

std::string first(const std::map<std::string, std::string>& environment, std::uint32_t job = 0) {
    return prefer(environment, job).drivers[0];
}

TEST(ChooseDriver, prefer__memory_where_the_whole_job_is_on_one_host) {
    EXPECT_EQ(first({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}), "shm");
    EXPECT_EQ(first({{"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}, {"PMI_RANK", "1"}}), "shm");
    EXPECT_EQ(first({{"SLURM_PROCID", "0"},
                     {"SLURM_NODEID", "0"},
                     {"SLURM_STEP_NUM_TASKS", "3"},
                     {"SLURM_STEP_TASKS_PER_NODE", "3"}}),
              "shm");
    EXPECT_EQ(prefer({{"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}}).why,
              "all 2 ranks on this host");
    EXPECT_EQ(first({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}}), "shm");
}

TEST(ChooseDriver, prefer__both_where_there_are_more_in_the_job_than_here) {
    EXPECT_EQ(first({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}), "node");
    EXPECT_EQ(first({{"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "1"}}), "node");
    EXPECT_EQ(prefer({{"SLURM_PROCID", "3"},
                      {"SLURM_NODEID", "1"},
                      {"SLURM_STEP_NUM_TASKS", "5"},
                      {"SLURM_STEP_TASKS_PER_NODE", "3,2"}})
                  .why,
              "2 of 5 ranks on this host");
}

// What a job spawns finds the card that was handed out before.
TEST(ChooseDriver, prefer__both_where_the_launcher_has_hosts_to_spawn_on) {
    for (const auto& [name, value, driver] :
         {std::array{"OMPI_MCA_orte_default_hostfile", "hosts", "node"},
          std::array{"PRTE_MCA_prte_default_hostfile", "hosts", "node"},
          std::array{"HYDRA_HOST_FILE", "hosts", "node"},
          std::array{"I_MPI_HYDRA_HOST_FILE", "hosts", "node"},
          std::array{"SLURM_JOB_NUM_NODES", "2", "node"},
          std::array{"SLURM_JOB_NUM_NODES", "1", "shm"}}) {
        EXPECT_EQ(first({{"OMPI_COMM_WORLD_SIZE", "1"}, {name, value}, {"PMIX_RANK", "0"}}), driver)
            << name;
        EXPECT_EQ(first({{"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}, {name, value}}), driver)
            << name;
        EXPECT_EQ(first({{name, value}}), "shm") << "no launcher";
    }
}

// Its parents may be on another host, which only their launcher's command line may name.
TEST(ChooseDriver, prefer__both_where_the_job_was_spawned) {
    for (const auto& [name, value, driver] : {std::array{"PMI_SPAWNED", "1", "node"},
                                              std::array{"PMI_SPAWNED", "0", "shm"},
                                              std::array{"OMPI_PARENT_PORT", "job@1", "node"}}) {
        EXPECT_EQ(first({{"PMI_SIZE", "1"}, {name, value}, {"PMI_RANK", "0"}}), driver) << name;
        EXPECT_EQ(first({{"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}, {name, value}}), driver)
            << name;
    }
}

// Who opens the process knows the size of its job better than variables that it may have inherited.
TEST(ChooseDriver, prefer__by_what_the_caller_knows) {
    EXPECT_EQ(first({}, 4), "node");
    EXPECT_EQ(first({}, 1), "shm");
    EXPECT_EQ(first({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}, 1),
              "shm");
    EXPECT_EQ(first({{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}, 2), "shm");
}

TEST(ChooseDriver, prefer__where_little_is_told) {
    EXPECT_EQ(first({}), "shm");
    EXPECT_EQ(first({{"SLURM_NTASKS", "8"}}), "shm") << "in an allocation, not started by it";
    EXPECT_EQ(first({{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "job@1"}}), "node");
    EXPECT_EQ(first({{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}}), "node");
    for (const auto& environment : {std::map<std::string, std::string>{}, {{"PMI_RANK", "0"}}}) {
        EXPECT_STREQ(prefer(environment).drivers[1], "tcp");
        EXPECT_FALSE(prefer(environment).why.empty());
    }
}

}  // namespace
}  // namespace fci::api
