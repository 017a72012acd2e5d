// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ucx/ports.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace fci::ucx {
namespace {

struct ucx_ports : testing::Test {
    ~ucx_ports() override { std::filesystem::remove_all(folder); }
    void add(const std::string& device, const std::string& number, const std::string& state) {
        const std::filesystem::path port = folder / device / "ports" / number;
        std::filesystem::create_directories(port);
        std::ofstream(port / "state") << state << '\n';
    }
    const std::filesystem::path folder = testing::TempDir() + "fci-ports-" +
                                         std::to_string(getpid());
};

TEST_F(ucx_ports, ports__by_name_with_their_state) {
    add("rxe0", "1", "4: ACTIVE");
    add("mlx5_0", "2", "1: DOWN");
    add("mlx5_0", "1", "4: ACTIVE");
    const std::vector<Port> found = ports(folder);
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].name, "mlx5_0:1");
    EXPECT_TRUE(found[0].is_up());
    EXPECT_EQ(found[1].name, "mlx5_0:2");
    EXPECT_EQ(found[1].state, "DOWN");
    EXPECT_FALSE(found[1].is_up());
    EXPECT_EQ(found[2].name, "rxe0:1");
}

TEST_F(ucx_ports, ports__of_a_kernel_without_rdma_are_none) {
    EXPECT_TRUE(ports(folder).empty());
    std::filesystem::create_directories(folder / "mlx5_0");
    EXPECT_TRUE(ports(folder).empty()) << "a device that has no ports";
}

TEST_F(ucx_ports, ports__with_a_state_that_cannot_be_read_are_not_up) {
    std::filesystem::create_directories(folder / "mlx5_0/ports/1");
    const std::vector<Port> found = ports(folder);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_FALSE(found[0].is_up());
}

TEST(ucx_rdma_text, rdma_text__names_the_ports_that_are_up) {
    EXPECT_EQ(rdma_text({{"a:1", "ACTIVE"}, {"b:1", "DOWN"}, {"c:2", "ACTIVE"}}),
              "RDMA by a:1, c:2");
}

TEST(ucx_rdma_text, rdma_text__says_why_there_is_no_rdma) {
    const std::string goes_by = ": it goes by what else it has, where FCI_DRIVER=tcp is simpler";
    EXPECT_EQ(rdma_text({{"a:1", "DOWN"}, {"b:1", "INIT"}}),
              "no port of an RDMA device is up (a:1, b:1)" + goes_by);
    EXPECT_EQ(rdma_text({}), "no RDMA device" + goes_by);
}

// --- what a job that goes by TCP is told ---

TEST(ucx_unused_text, text__names_the_ports_that_are_up) {
    EXPECT_EQ(unused_text({}), "");
    EXPECT_EQ(unused_text({{"a_0:1", "DOWN"}, {"a_0:2", "INIT"}}), "");
    EXPECT_EQ(unused_text({{"a_0:1", "ACTIVE"}, {"a_0:2", "DOWN"}, {"b_1:1", "ACTIVE"}}),
              "RDMA by a_0:1, b_1:1 is up: FCI_FAR=ucx goes by it");
}

}  // namespace
}  // namespace fci::ucx
