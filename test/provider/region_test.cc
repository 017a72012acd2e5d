// SPDX-License-Identifier: BSD-3-Clause
// Memory regions: their keys, and what becomes of accesses when a region or an endpoint goes.
#include "test/provider/remote.h"

namespace fci::test {
namespace {

TEST_F(Remote, keys__one_region_each) {
    start();
    char memory[8];
    Region region(*b, memory, 8, kKey);
    fid_mr* other = nullptr;
    EXPECT_EQ(fi_mr_reg(b->domain, memory, 8, kBoth, 0, kKey, 0, &other, nullptr), -FI_ENOKEY);
    EXPECT_EQ(fi_mr_key(region.mr), kKey);
    Region unreachable(*b, memory, 8, kKey, FI_SEND | FI_RECV);
    region.close();
    Region again(*b, memory, 8, kKey);
}

/// MPICH's dynamic windows: all memory under one key.
TEST_F(Remote, all_memory__by_its_addresses) {
    start();
    Region region(*b, nullptr, SIZE_MAX, kKey);
    std::uint64_t memory = 1, data = 2;
    EXPECT_EQ(write(&data, 8, reinterpret_cast<std::uint64_t>(&memory)), 0);
    EXPECT_EQ(memory, 2u);
    EXPECT_EQ(write(&data, 8, SIZE_MAX - 4), FI_EINVAL);
}

TEST_F(Remote, closing__a_region_waits_for_what_is_under_way) {
    start();
    std::vector<char> data(9u << 20, 'd');
    for (const int turns : {0, 1, 3}) {
        auto memory = std::make_unique<std::vector<char>>(data.size());
        Region region(*b, memory->data(), memory->size(), kKey);
        insist([&] {
            return fi_write(a->ep, data.data(), data.size(), nullptr, to_b, 0, kKey, this);
        });
        for (int i = 0; i < turns; ++i) both();
        int result = -FI_EBUSY;
        EXPECT_TRUE(eventually([&] {
            result = fi_close(&region.mr->fid);
            for (int i = 0; i < 1000 && result == -FI_EBUSY; ++i) both();
            return result != -FI_EBUSY;
        }));
        ASSERT_EQ(result, 0);
        region.mr = nullptr;
        memory.reset();
        const Entry entry = next(*a);
        if (entry.error) {
            EXPECT_EQ(entry.error->err, FI_EKEYREJECTED);
        }
    }
}

TEST_F(Remote, closing__the_target_ends_what_waits_for_it) {
    start();
    acquaint();
    char byte = 0;
    std::vector<char> data(1u << 20);
    for (int i = 0; i < 10; ++i) {
        insist([&] { return fi_write(a->ep, &byte, 1, nullptr, to_b, 0, kKey, this); });
        insist(
            [&] { return fi_read(a->ep, data.data(), data.size(), nullptr, to_b, 0, kKey, this); });
    }
    b->close();
    for (int i = 0; i < 20; ++i) {
        const Entry entry = a->next();
        ASSERT_TRUE(entry.error);
        EXPECT_TRUE(entry.error->err == FI_ECONNRESET || entry.error->err == FI_EKEYREJECTED);
    }
    EXPECT_EQ(fi_write(a->ep, &byte, 1, nullptr, to_b, 0, kKey, this), -FI_ECONNRESET);
}

/// From before the mode bits: the provider picks the key, addresses are virtual.
TEST(basic_regions, provider_keys_and_virtual_addresses) {
    Info hints = new_hints(), info;
    hints->caps = FI_MSG | FI_RMA;
    hints->domain_attr->mr_mode = 1 << 0;
    ASSERT_EQ(ask(hints.get(), &info, FI_VERSION(1, 4)), 0);
    ASSERT_EQ(info->domain_attr->mr_mode, 1 << 0);
    fid_fabric* fabric = nullptr;
    fid_domain* domain = nullptr;
    ASSERT_EQ(fi_fabric(info->fabric_attr, &fabric, nullptr), 0);
    ASSERT_EQ(fi_domain(fabric, info.get(), &domain, nullptr), 0);
    char memory[16];
    fid_mr* regions[2];
    for (fid_mr*& region : regions) {
        ASSERT_EQ(fi_mr_reg(domain, memory, 16, kBoth, 0, 0, 0, &region, nullptr), 0);
    }
    EXPECT_NE(fi_mr_key(regions[0]), fi_mr_key(regions[1]));
    for (fid_mr* region : regions) EXPECT_EQ(fi_close(&region->fid), 0);
    EXPECT_EQ(fi_close(&domain->fid), 0);
    EXPECT_EQ(fi_close(&fabric->fid), 0);
}

}  // namespace
}  // namespace fci::test
