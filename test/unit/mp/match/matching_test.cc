// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/match/matching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "fci_core/base/prng.h"
#include "test/unit/seed.h"

namespace fci::mp {
namespace {

/// The kinds of receives and messages of a random program.
struct Mix {
    unsigned sources, tags, masks, wildcard_percent, append_percent;
};

Envelope random_envelope(Prng& prng, const Mix& mix) {
    return {static_cast<nhi::PeerId>(prng.below(mix.sources)),
            static_cast<std::uint32_t>(prng.below(2)), prng.below(mix.tags) << 8 | prng.below(2)};
}

Pattern random_pattern(Prng& prng, const Mix& mix) {
    static constexpr std::uint64_t kMasks[] = {1ull << 63, 0,         0xff,   0xff00,
                                               ~0ull,      1ull << 31, 0xf0ff, 1};
    const Envelope model = random_envelope(prng, mix);
    Pattern pattern{model.source, model.space, model.match, kMasks[prng.below(mix.masks)]};
    if (prng.chance(mix.wildcard_percent)) pattern.source = kAnySource;
    return pattern;
}

constexpr Mix kMixes[] = {
    {1, 1, 1, 0, 50},    {4, 3, 1, 0, 50},     {4, 8, 2, 10, 50},   {16, 200, 1, 30, 60},
    {3, 20, 4, 50, 55},  {8, 50, 8, 30, 60},   {2, 2000, 8, 5, 70}, {50, 1000, 3, 1, 52},
    {5, 10, 6, 20, 50},  {1, 100000, 2, 0, 50},
};
constexpr int kSteps = 100000;

// Every step of the program is done to the list and to a deque that is searched from its front.
void run_posted(std::uint64_t seed, const Mix& mix) {
    Prng prng(seed);
    PostedList list;
    std::vector<std::unique_ptr<PostedNode>> pool;
    std::vector<PostedNode*> spare;
    std::deque<PostedNode*> reference;
    unsigned append_percent = mix.append_percent;
    for (int step = 0; step < kSteps; ++step) {
        if (step % 5000 == 0) append_percent = step % 10000 == 0 ? mix.append_percent : 35;
        if (reference.size() < 1500 && prng.chance(append_percent)) {
            if (spare.empty()) {
                pool.push_back(std::make_unique<PostedNode>());
                spare.push_back(pool.back().get());
            }
            PostedNode* node = spare.back();
            spare.pop_back();
            node->pattern = random_pattern(prng, mix);
            list.append(*node);
            reference.push_back(node);
        } else if (prng.chance(20) && !reference.empty()) {
            const auto at = reference.begin() + static_cast<long>(prng.below(reference.size()));
            list.remove(**at);
            spare.push_back(*at);
            reference.erase(at);
        } else {
            const Envelope message = random_envelope(prng, mix);
            const auto at = std::find_if(reference.begin(), reference.end(),
                                         [&](auto* n) { return n->pattern.fits(message); });
            PostedNode* const expected = at == reference.end() ? nullptr : *at;
            PostedNode* const find_head =
                list.find_head(message.source, message.space, message.match);
            if (find_head != nullptr) {
                ASSERT_EQ(find_head, expected) << "seed " << seed << " step " << step;
            }
            ASSERT_EQ(list.find(message), expected) << "seed " << seed << " step " << step;
            ASSERT_EQ(list.take(message), expected);
            if (expected != nullptr) {
                spare.push_back(expected);
                reference.erase(at);
            }
        }
        ASSERT_EQ(list.size(), reference.size());
        ASSERT_EQ(list.empty(), reference.empty());
    }
    std::size_t at = 0;
    list.for_each([&](PostedNode& node) {
        ASSERT_EQ(&node, reference[at++]);
        list.remove(node);
    });
    EXPECT_EQ(at, reference.size());
    EXPECT_TRUE(list.empty());
}

void run_arrived(std::uint64_t seed, const Mix& mix) {
    Prng prng(seed);
    ArrivedList list;
    std::vector<std::unique_ptr<ArrivedNode>> pool;
    std::vector<ArrivedNode*> spare;
    std::deque<ArrivedNode*> reference;
    unsigned append_percent = mix.append_percent;
    for (int step = 0; step < kSteps; ++step) {
        if (step % 5000 == 0) append_percent = step % 10000 == 0 ? mix.append_percent : 35;
        if (reference.size() < 1500 && prng.chance(append_percent)) {
            if (spare.empty()) {
                pool.push_back(std::make_unique<ArrivedNode>());
                spare.push_back(pool.back().get());
            }
            ArrivedNode* node = spare.back();
            spare.pop_back();
            node->envelope = random_envelope(prng, mix);
            list.append(*node);
            reference.push_back(node);
        } else if (prng.chance(20) && !reference.empty()) {
            const auto at = reference.begin() + static_cast<long>(prng.below(reference.size()));
            list.remove(**at);
            spare.push_back(*at);
            reference.erase(at);
        } else {
            const Pattern pattern = random_pattern(prng, mix);
            const auto at = std::find_if(reference.begin(), reference.end(),
                                         [&](auto* n) { return pattern.fits(n->envelope); });
            ArrivedNode* const expected = at == reference.end() ? nullptr : *at;
            ASSERT_EQ(list.find(pattern), expected) << "seed " << seed << " step " << step;
            if (expected != nullptr && prng.chance(80)) {  // else it was a probe
                list.remove(*expected);
                spare.push_back(expected);
                reference.erase(at);
            }
        }
        ASSERT_EQ(list.size(), reference.size());
        ASSERT_EQ(list.empty(), reference.empty());
    }
    std::size_t at = 0;
    list.for_each([&](ArrivedNode& node) {
        ASSERT_EQ(&node, reference[at++]);
        list.remove(node);
    });
    EXPECT_EQ(at, reference.size());
    EXPECT_TRUE(list.empty());
}

TEST(posted_list, random_programs__as_the_naive_list) {
    std::uint64_t seed = seeded(1);
    for (const Mix& mix : kMixes) {
        run_posted(seed++, mix);
        if (HasFatalFailure()) return;
    }
}

TEST(arrived_list, random_programs__as_the_naive_list) {
    std::uint64_t seed = seeded(1);
    for (const Mix& mix : kMixes) {
        run_arrived(seed++, mix);
        if (HasFatalFailure()) return;
    }
}

TEST(pattern, overlaps__exactly_when_some_message_fits_both) {
    Prng prng(seeded(7));
    for (int i = 0; i < 20000; ++i) {
        Pattern one{0, 0, prng.below(8), prng.below(8)};
        Pattern other{0, 0, prng.below(8), prng.below(8)};
        one.source = prng.chance(30) ? kAnySource : static_cast<nhi::PeerId>(prng.below(3));
        other.source = prng.chance(30) ? kAnySource : static_cast<nhi::PeerId>(prng.below(3));
        one.space = static_cast<std::uint32_t>(prng.below(2));
        bool both = false;
        for (nhi::PeerId source = 0; source < 3; ++source) {
            for (std::uint32_t space = 0; space < 2; ++space) {
                for (std::uint64_t match = 0; match < 8; ++match) {
                    const Envelope message{source, space, match};
                    both = both || (one.fits(message) && other.fits(message));
                }
            }
        }
        EXPECT_EQ(one.overlaps(other), both);
        EXPECT_EQ(other.overlaps(one), both);
    }
}

TEST(pattern, fits__what_is_not_ignored) {
    const Pattern some{3, 1, 0x12, 0xf0};
    EXPECT_EQ(some.match, 0xf2u);
    EXPECT_EQ(some, (Pattern{3, 1, 0xa2, 0xf0}));
    EXPECT_TRUE(some.fits({3, 1, 0x32}));
    EXPECT_FALSE(some.fits({3, 1, 0x33}));
    EXPECT_FALSE(some.fits({3, 1, 0x132}));
    EXPECT_FALSE(some.fits({4, 1, 0x32}));
    EXPECT_FALSE(some.fits({3, 0, 0x32}));
    EXPECT_TRUE((Pattern{kAnySource, 1, 0, ~0ull}).fits({9, 1, 77}));
    EXPECT_FALSE((Pattern{kAnySource, 1, 0, ~0ull}).fits({9, 0, 77}));
}

TEST(posted_list, blocks_offer__by_unannounced_overlap_only) {
    PostedList list;
    PostedNode wildcard, named;
    const Pattern wanted{3, 0, 42, 0};
    EXPECT_FALSE(list.blocks_offer(wanted));
    named.pattern = {3, 0, 42, 0};
    named.offer_stands = true;
    list.append(named);
    EXPECT_FALSE(list.blocks_offer(wanted));
    wildcard.pattern = {kAnySource, 0, 43, 0};
    list.append(wildcard);
    EXPECT_FALSE(list.blocks_offer(wanted));
    EXPECT_TRUE(list.blocks_offer({3, 0, 43, 0}));
    wildcard.pattern = {kAnySource, 0, 43, 1};
    EXPECT_TRUE(list.blocks_offer(wanted));
    EXPECT_FALSE(list.blocks_offer({3, 1, 42, 0}));
    list.remove(wildcard);
    EXPECT_FALSE(list.blocks_offer(wanted));
    named.offer_stands = false;
    EXPECT_TRUE(list.blocks_offer(wanted));
}

TEST(posted_list, for_each__removal_of_the_current_node) {
    PostedList list;
    PostedNode nodes[40];
    for (unsigned i = 0; i < 40; ++i) {
        nodes[i].pattern = {0, 0, i, 0};
        list.append(nodes[i]);
    }
    unsigned seen = 0;
    list.for_each([&](PostedNode& node) {
        EXPECT_EQ(&node, &nodes[seen]);
        if (seen++ % 2 == 0) list.remove(node);
    });
    EXPECT_EQ(seen, 40u);
    EXPECT_EQ(list.size(), 20u);
    for (unsigned i = 0; i < 40; ++i) {
        EXPECT_EQ(list.find({0, 0, i}), i % 2 == 0 ? nullptr : &nodes[i]);
    }
}

// --- O(1) at depth 10 000, counted in nodes looked at ---

constexpr std::uint64_t kDepth = 10000;
constexpr std::uint64_t kVisitsPerSearch = 12;  // 4 classes, a chain of a few keys each

struct Shape {
    const char* name;
    std::uint64_t keys;       // different match words
    std::uint64_t ignore[4];  // masks in use, cyclically
    bool wildcards;           // every fifth receive takes any source
};
constexpr Shape kShapes[] = {
    {"all keys differ", kDepth, {0, 0, 0, 0}, false},
    {"all keys differ, one bit always ignored", kDepth, {1ull << 63, 1ull << 63, 1ull << 63,
     1ull << 63}, false},
    {"one key", 1, {0, 0, 0, 0}, false},
    {"few keys, two masks, wildcards", 10, {0, 1ull << 62, 0, 1ull << 62}, true},
    {"many keys, two masks, wildcards", kDepth, {0, 1ull << 62, 0, 1ull << 62}, true},
};

Pattern shaped(const Shape& shape, std::uint64_t i) {
    const bool wildcard = shape.wildcards && i % 5 == 0;
    return {wildcard ? kAnySource : static_cast<nhi::PeerId>(1 + i % 7), 0, 100 + i % shape.keys,
            shape.ignore[i % 4]};
}

TEST(posted_list, visits__bounded_at_depth_10000) {
    for (const Shape& shape : kShapes) {
        SCOPED_TRACE(shape.name);
        PostedList list;
        std::vector<PostedNode> nodes(kDepth);
        std::set<PostedNode*> listed;
        for (std::uint64_t i = 0; i < kDepth; ++i) {
            nodes[i].pattern = shaped(shape, i);
            list.append(nodes[i]);
            listed.insert(&nodes[i]);
        }
        Prng prng(seeded(11));
        std::uint64_t searches = 0;
        const std::uint64_t before = list.visits();
        for (std::uint64_t i = 0; i < kDepth / 2; ++i, searches += 2) {
            // From the middle: a message for a random receive, and one that nobody wants.
            const Pattern& some = nodes[prng.below(kDepth)].pattern;
            const nhi::PeerId source = some.source == kAnySource ? 1 : some.source;
            listed.erase(list.take({source, 0, some.match}));
            EXPECT_EQ(list.find({9, 1, i}), nullptr);
            PostedNode& other = nodes[prng.below(kDepth)];
            if (listed.erase(&other) != 0) list.remove(other);
        }
        EXPECT_LT(list.visits() - before, searches * kVisitsPerSearch);
        EXPECT_LT(list.size(), kDepth);
    }
}

TEST(arrived_list, visits__bounded_at_depth_10000) {
    for (const Shape& shape : kShapes) {
        SCOPED_TRACE(shape.name);
        ArrivedList list;
        std::vector<ArrivedNode> nodes(kDepth);
        std::set<ArrivedNode*> listed;
        for (std::uint64_t i = 0; i < kDepth; ++i) {
            nodes[i].envelope = {static_cast<nhi::PeerId>(1 + i % 7), 0, 100 + i % shape.keys};
            list.append(nodes[i]);
            listed.insert(&nodes[i]);
        }
        Prng prng(seeded(12));
        std::uint64_t searches = 0;
        const std::uint64_t before = list.visits();
        for (std::uint64_t i = 0; i < kDepth / 2; ++i, searches += 2) {
            ArrivedNode* const found = list.find(shaped(shape, prng.below(kDepth)));
            if (found != nullptr) list.remove(*found);
            listed.erase(found);
            EXPECT_EQ(list.find({9, 1, i, 0}), nullptr);
            ArrivedNode& other = nodes[prng.below(kDepth)];
            if (listed.erase(&other) != 0) list.remove(other);
        }
        // Each of up to four classes is built once, from all nodes.
        EXPECT_LT(list.visits() - before, searches * kVisitsPerSearch + kClassesMax * kDepth);
        EXPECT_LT(list.size(), kDepth);
    }
}

TEST(arrived_list, visits__a_fifth_class_takes_over_from_a_stale_one) {
    ArrivedList list;
    std::vector<ArrivedNode> nodes(kDepth);
    for (std::uint64_t i = 0; i < kDepth; ++i) {
        nodes[i].envelope = {1, 0, i << 8};
        list.append(nodes[i]);
    }
    for (std::uint64_t mask = 0; mask < 4; ++mask) {
        EXPECT_EQ(list.find({1, 0, 5000 << 8, mask}), &nodes[5000]);
    }
    const std::uint64_t before = list.visits();
    for (std::uint64_t i = 1; i < 1000; ++i) {
        EXPECT_EQ(list.find({1, 0, (kDepth - i) << 8, 4}), &nodes[kDepth - i]);
    }
    // Linear until another class is stale, then one build, then a step or two each.
    EXPECT_LT(list.visits() - before, 70 * kDepth + 1000 * kVisitsPerSearch);
}

TEST(posted_list, visits__short_lists_at_the_head_cost_none) {
    PostedList list;
    PostedNode nodes[8];
    for (auto& node : nodes) {
        node.pattern = {1, 0, 5, 0};
        list.append(node);
    }
    for (auto& node : nodes) EXPECT_EQ(list.take({1, 0, 5}), &node);
    EXPECT_EQ(list.visits(), 0u);
}

}  // namespace
}  // namespace fci::mp
