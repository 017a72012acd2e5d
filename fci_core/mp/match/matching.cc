// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/match/matching.h"

#include <new>

#include "fci_core/base/assert.h"
#include "fci_core/mp/match/key_index.h"

namespace fci::mp {

namespace {

struct MatchClass {
    std::uint64_t ignore = 0;
    bool any_source = false;

    [[nodiscard]] bool holds(const Pattern& pattern) const noexcept {
        return ignore == pattern.ignore && any_source == (pattern.source == kAnySource);
    }
    void assign(const Pattern& pattern) noexcept {
        ignore = pattern.ignore;
        any_source = pattern.source == kAnySource;
    }
    /// The same for a receive of this class and for every message that fits it.
    template <class T>
    [[nodiscard]] MatchKey key(const T& of) const noexcept {
        return {any_source ? kAnySource : of.source, of.space, of.match & ~ignore};
    }
};

}  // namespace

// --- posted receives ---

struct PostedList::Index {
    static constexpr std::uint8_t kExtra = kClassesMax;
    static constexpr MatchKey kExtraKey{};

    MatchClass class_of[kClassesMax];
    KeyIndex keys[kClassesMax];  // a class without entries is free for another mask
    KeyIndex extra;              // nodes of further classes, all under one key: a plain queue
};

PostedList::PostedList() noexcept = default;
PostedList::~PostedList() = default;

bool PostedList::enter(PostedNode& node) noexcept {
    FCI_ASSERT(node.slot_ == PostedNode::kNoSlot);
    node.stamp_ = ++stamp_;  // in the order of posting: the young ones enter one after the other
    unsigned slot = Index::kExtra;
    for (unsigned i = 0; i < kClassesMax; ++i) {
        if (index_->keys[i].empty()) {
            if (slot == Index::kExtra) slot = i;
        } else if (index_->class_of[i].holds(node.pattern)) {
            slot = i;
            break;
        }
    }
    if (slot == Index::kExtra) {
        node.entry_ = index_->extra.insert(Index::kExtraKey, &node);
    } else {
        MatchClass& its = index_->class_of[slot];
        its.assign(node.pattern);
        node.entry_ = index_->keys[slot].insert(its.key(node.pattern), &node);
    }
    if (node.entry_ == KeyIndex::kNone) return false;
    node.slot_ = static_cast<std::uint8_t>(slot);
    return true;
}

/// There are many young receives: they enter the index, too.
void PostedList::settle() noexcept {
    FCI_ASSERT(is_indexed());
    bool whole = true;
    for (; young_ != nullptr && whole; young_ = nodes_.after(*young_)) whole = enter(*young_);
    young_count_ = 0;
    absent_.source = kAnySource;
    if (whole) return;
    starved_ = true;
    leave_index();
}

/// Called only once a search needs it: programs that receive in the order of posting never do.
void PostedList::build_index() noexcept {
    if (index_ == nullptr) index_.reset(new (std::nothrow) Index);
    starved_ = index_ == nullptr;
    if (starved_) return;
    FCI_ASSERT(!is_indexed() && young_ == nullptr);
    size_ |= kIndexed;
    young_ = nodes_.head();
    settle();
}

void PostedList::leave_index() noexcept {
    for_each([this](PostedNode& each) { leave(each); });
    size_ &= ~kIndexed;
    young_ = nullptr;
    absent_.source = kAnySource;
}

/// The node is about to be removed, and there is an index.
void PostedList::leaving(PostedNode& node) noexcept {
    FCI_ASSERT(is_indexed());
    if (node.slot_ == PostedNode::kNoSlot) {
        FCI_ASSERT(young_count_ != 0);
        --young_count_;
    } else {
        leave(node);
    }
    if (size() <= kHashUntil) leave_index();
}

void PostedList::leave(PostedNode& node) noexcept {
    if (node.slot_ == PostedNode::kNoSlot) return;
    KeyIndex& keys = node.slot_ == Index::kExtra ? index_->extra : index_->keys[node.slot_];
    FCI_ASSERT(keys.node(node.entry_) == &node);
    keys.erase(node.entry_);
    node.slot_ = PostedNode::kNoSlot;
}

PostedNode* PostedList::search_from(PostedNode* node, const Envelope& message) noexcept {
    for (; node != nullptr; node = nodes_.after(*node)) {
        ++visits_;
        if (node->pattern.fits(message)) break;
    }
    return node;
}

PostedNode* PostedList::search(Envelope message) noexcept {
    if (is_indexed() && message == absent_) return search_from(young_, message);
    if (size() <= kHashFrom) {
        starved_ = false;
    } else if (!is_indexed() && !starved_) {
        build_index();
    }
    if (!is_indexed()) return search_from(nodes_.after(*nodes_.head()), message);
    if (PostedNode* const found = search_index(message)) return found;
    absent_ = message;
    return search_from(young_, message);
}

PostedNode* PostedList::search_index(const Envelope& message) noexcept {
    std::uint64_t visits = 0;
    PostedNode* best = nullptr;
    for (unsigned i = 0; i < kClassesMax; ++i) {
        const KeyIndex& keys = index_->keys[i];
        const auto entry = keys.first(index_->class_of[i].key(message), &visits);
        if (entry == KeyIndex::kNone) continue;
        auto* const node = static_cast<PostedNode*>(keys.node(entry));
        if (best == nullptr || node->stamp_ < best->stamp_) best = node;
    }
    const KeyIndex& extra = index_->extra;
    auto entry = extra.first(Index::kExtraKey, &visits);
    for (; entry != KeyIndex::kNone; entry = extra.next(entry)) {
        ++visits;
        auto* const node = static_cast<PostedNode*>(extra.node(entry));
        if (best != nullptr && best->stamp_ < node->stamp_) break;
        if (!node->pattern.fits(message)) continue;
        best = node;
        break;
    }
    visits_ += visits;
    return best;
}

bool PostedList::blocks_offer(const Pattern& pattern) const noexcept {
    if (size() > kLookBack) return true;
    for (PostedNode* node = nodes_.head(); node != nullptr; node = nodes_.after(*node)) {
        if (!node->offer_stands && node->pattern.overlaps(pattern)) return true;
    }
    return false;
}

bool PostedList::lacks_offer(nhi::PeerId source) const noexcept {
    if (size() > kLookBack) return true;
    for (PostedNode* node = nodes_.head(); node != nullptr; node = nodes_.after(*node)) {
        const nhi::PeerId from = node->pattern.source;
        if (!node->offer_stands && (from == source || from == kAnySource)) return true;
    }
    return false;
}

// --- arrived messages ---

namespace {
/// A class that no receive asked for during so many lookups gives its index to another one.
constexpr std::uint64_t kStaleAfter = 64;
}  // namespace

struct ArrivedList::Index {
    MatchClass class_of[kClassesMax];
    std::uint64_t last_used[kClassesMax] = {};
    KeyIndex keys[kClassesMax];
};

ArrivedList::ArrivedList() noexcept = default;
ArrivedList::~ArrivedList() = default;

ArrivedNode* ArrivedList::search_linear(const Pattern& pattern) const noexcept {
    ArrivedNode* node = nodes_.after(*nodes_.head());
    for (; node != nullptr; node = nodes_.after(*node)) {
        ++visits_;
        if (pattern.fits(node->envelope)) break;
    }
    return node;
}

bool ArrivedList::build(unsigned slot) const noexcept {
    KeyIndex& keys = index_->keys[slot];
    FCI_ASSERT(keys.empty() && (classes_ >> slot & 1u) == 0);
    for (ArrivedNode* node = nodes_.head(); node != nullptr; node = nodes_.after(*node)) {
        ++visits_;
        node->entry_[slot] = keys.insert(index_->class_of[slot].key(node->envelope), node);
        if (node->entry_[slot] == KeyIndex::kNone) {
            keys.clear();
            return false;
        }
    }
    FCI_ASSERT(keys.size() == size_);
    classes_ |= 1u << slot;
    return true;
}

unsigned ArrivedList::class_of(const Pattern& pattern) const noexcept {
    unsigned oldest = kClassesMax;
    for (unsigned i = 0; i < kClassesMax; ++i) {
        if ((classes_ >> i & 1u) == 0) {
            if (oldest == kClassesMax || (classes_ >> oldest & 1u) != 0) oldest = i;
        } else if (index_->class_of[i].holds(pattern)) {
            return i;
        } else if (index_->last_used[i] + kStaleAfter < lookups_ &&
                   (oldest == kClassesMax ||
                    ((classes_ >> oldest & 1u) != 0 &&
                     index_->last_used[i] < index_->last_used[oldest]))) {
            oldest = i;
        }
    }
    if (oldest == kClassesMax) return kClassesMax;
    classes_ &= ~(1u << oldest);
    index_->keys[oldest].clear();
    index_->class_of[oldest].assign(pattern);
    return build(oldest) ? oldest : kClassesMax;
}

ArrivedNode* ArrivedList::search(const Pattern& pattern) const noexcept {
    if (classes_ == 0 && size_ <= kHashFrom) return search_linear(pattern);
    if (index_ == nullptr) index_.reset(new (std::nothrow) Index);
    if (index_ == nullptr) return search_linear(pattern);
    ++lookups_;
    const unsigned slot = class_of(pattern);
    if (slot == kClassesMax) return search_linear(pattern);
    FCI_ASSERT((classes_ >> slot & 1u) != 0);
    index_->last_used[slot] = lookups_;
    const KeyIndex& keys = index_->keys[slot];
    const auto entry = keys.first(index_->class_of[slot].key(pattern), &visits_);
    if (entry != KeyIndex::kNone) return static_cast<ArrivedNode*>(keys.node(entry));
    absent_ = pattern;
    absent_known_ = true;
    return nullptr;
}

void ArrivedList::enter(ArrivedNode& node) noexcept {
    for (unsigned i = 0; i < kClassesMax; ++i) {
        if ((classes_ >> i & 1u) == 0) continue;
        node.entry_[i] = index_->keys[i].insert(index_->class_of[i].key(node.envelope), &node);
        if (node.entry_[i] == KeyIndex::kNone) {  // without memory this class is searched linearly
            classes_ &= ~(1u << i);
            index_->keys[i].clear();
        }
    }
}

void ArrivedList::shrunk(ArrivedNode& node) noexcept {
    leave(node);
    if (size_ > kHashUntil) return;
    // One by one: the tables may have grown large, and only a few nodes are left.
    for_each([this](ArrivedNode& each) { leave(each); });
    classes_ = 0;
}

void ArrivedList::leave(ArrivedNode& node) noexcept {
    for (unsigned i = 0; i < kClassesMax; ++i) {
        if ((classes_ >> i & 1u) == 0) continue;
        FCI_ASSERT(index_->keys[i].node(node.entry_[i]) == &node);
        index_->keys[i].erase(node.entry_[i]);
    }
}

}  // namespace fci::mp
