// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/shm/region.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace fci::shm {
namespace {

constexpr std::size_t kAny = std::size_t{1} << 40;

TEST(Region, create__zeroed_sealed_and_shared) {
    Region own, other;
    host::Descriptor file;
    std::string error;
    ASSERT_EQ(Region::create("test", 10'000, &own, &file, &error), Status::ok) << error;
    EXPECT_EQ(own.size(), page_round(10'000));
    for (std::size_t i = 0; i < own.size(); ++i) ASSERT_EQ(own.data()[i], std::byte{0});
    ASSERT_EQ(Region::adopt(file.get(), own.size(), own.size(), &other, &error), Status::ok);
    own.data()[9999] = std::byte{7};
    EXPECT_EQ(other.data()[9999], std::byte{7});
    EXPECT_NE(ftruncate(file.get(), 0), 0) << "somebody could take the pages away";
    EXPECT_NE(ftruncate(file.get(), 1 << 20), 0);
    EXPECT_NE(fcntl(file.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
    EXPECT_NE(fcntl(file.get(), F_GETFD) & FD_CLOEXEC, 0);
}

std::uint64_t bytes_of(const host::Descriptor& file) {
    struct stat about {};
    EXPECT_EQ(fstat(file.get(), &about), 0);
    return static_cast<std::uint64_t>(about.st_blocks) * 512;
}

TEST(Region, create__the_first_bytes_only) {
    if (!Region::provides()) GTEST_SKIP() << "needs Linux 5.14";
    const std::size_t page = page_round(1);
    Region own, other;
    host::Descriptor file;
    std::string error;
    ASSERT_EQ(Region::create("test", 64 * page, &own, &file, &error, 2 * page), Status::ok);
    EXPECT_EQ(own.size(), 64 * page);
    EXPECT_EQ(bytes_of(file), 2 * page);
    ASSERT_EQ(Region::adopt(file.get(), own.size(), own.size(), &other, &error, 2 * page),
              Status::ok);
    EXPECT_EQ(bytes_of(file), 2 * page);
    ASSERT_TRUE(Region::provide(other.data() + 4 * page, 3 * page));
    EXPECT_EQ(bytes_of(file), 5 * page);
    other.data()[5 * page] = std::byte{9};
    EXPECT_EQ(own.data()[5 * page], std::byte{9});
    EXPECT_NE(ftruncate(file.get(), 0), 0);
}

TEST(Region, provide__says_so_where_there_is_none) {
    if (!Region::provides()) GTEST_SKIP() << "needs Linux 5.14";
    const std::size_t page = page_round(1);
    void* const hole = mmap(nullptr, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(hole, MAP_FAILED);
    EXPECT_FALSE(Region::provide(static_cast<std::byte*>(hole), page));
    munmap(hole, 2 * page);
}

TEST(Region, create_private__is_there_when_touched) {
    Region region;
    std::string error;
    ASSERT_EQ(Region::create_private(100'000, &region, &error), Status::ok) << error;
    EXPECT_EQ(region.size(), page_round(100'000));
    unsigned char resident[64] = {};
    ASSERT_EQ(mincore(region.data(), region.size(), resident), 0);
    EXPECT_EQ(resident[3] & 1, 0);
    EXPECT_EQ(region.data()[99'999], std::byte{0});
    region.data()[99'999] = std::byte{1};
}

TEST(Region, create__more_than_there_is) {
    Region region;
    host::Descriptor file;
    std::string error;
    EXPECT_EQ(Region::create("test", std::size_t{1} << 46, &region, &file, &error),
              Status::exhausted);
    EXPECT_NE(error.find(std::to_string(std::size_t{1} << 46)), std::string::npos) << error;
    EXPECT_EQ(region.data(), nullptr);
}

TEST(Region, create__limit_of_file_sizes_is_an_error_and_no_signal) {
    const pid_t child = fork();
    if (child == 0) {
        const rlimit limit{64 * 1024, 64 * 1024};
        setrlimit(RLIMIT_FSIZE, &limit);
        Region region;
        host::Descriptor file;
        std::string error;
        const bool small = Region::create("test", 65'536, &region, &file, &error) == Status::ok;
        const bool large =
            Region::create("test", 65'537, &region, &file, &error) == Status::exhausted;
        _exit(small && large ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Region, adopt__only_sealed_memory_of_the_right_size) {
    Region region;
    std::string error;
    int pipes[2];
    ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
    host::Descriptor in(pipes[0]), out(pipes[1]);
    EXPECT_EQ(Region::adopt(in.get(), 1, kAny, &region, &error), Status::mismatch);
    EXPECT_EQ(Region::adopt(-1, 1, kAny, &region, &error), Status::mismatch);
    host::Descriptor plain(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(Region::adopt(plain.get(), 1, kAny, &region, &error), Status::mismatch);
    host::Descriptor loose(memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(loose.get(), 8192), 0);
    EXPECT_EQ(Region::adopt(loose.get(), 1, kAny, &region, &error), Status::mismatch);
    ASSERT_EQ(fcntl(loose.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    EXPECT_EQ(Region::adopt(loose.get(), 1, kAny, &region, &error), Status::mismatch);
    ASSERT_EQ(fcntl(loose.get(), F_ADD_SEALS, F_SEAL_SEAL), 0);
    EXPECT_EQ(Region::adopt(loose.get(), 8193, kAny, &region, &error), Status::mismatch);
    EXPECT_EQ(Region::adopt(loose.get(), 1, 8191, &region, &error), Status::mismatch);
    EXPECT_EQ(region.data(), nullptr);
    EXPECT_EQ(Region::adopt(loose.get(), 8192, 8192, &region, &error), Status::ok);
}

TEST(Region, adopt__memory_that_cannot_be_written) {
    host::Descriptor file(memfd_create("frozen", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(file.get(), 4096), 0);
    ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS,
                    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL), 0);
    Region region;
    std::string error;
    EXPECT_NE(Region::adopt(file.get(), 4096, 4096, &region, &error), Status::ok);
    EXPECT_FALSE(error.empty());
}

// A child of fork() neither sees the memory nor takes away what it maps there itself.
TEST(Region, hide_from_children__and_leave_their_memory_alone) {
    auto region = std::make_unique<Region>();
    host::Descriptor file;
    std::string error;
    ASSERT_EQ(Region::create("test", 8192, region.get(), &file, &error), Status::ok);
    region->hide_from_children(region->size());
    std::byte* const where = region->data();
    const pid_t child = fork();
    if (child == 0) {
        unsigned char resident[2];
        const bool hidden = mincore(where, 8192, resident) != 0 && errno == ENOMEM;
        void* const mine = mmap(where, 8192, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (mine == MAP_FAILED) _exit(2);
        region.reset();
        const bool kept = mincore(where, 8192, resident) == 0;
        _exit(hidden && kept ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace fci::shm
