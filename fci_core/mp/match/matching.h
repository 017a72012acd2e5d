// SPDX-License-Identifier: BSD-3-Clause
// Matching: which posted receive a message goes to, and which waiting message a receive takes
// (§2.6.2). Both answers are the oldest that fits, and cost O(1) however long the lists are.
//
// Nodes are intrusive: the owner embeds them; nothing is allocated for short lists. Once a list
// that holds more than kHashFrom nodes is searched beyond its head, it is indexed by classes: a
// class is (any source or not, ignore mask), and within a class the key (source, space, match &
// ~ignore) is exact, so a hash finds it; the candidates of several classes are merged by stamp.
//
// Messages that wait at their sender (Peer::unasked) are in the same kind of list as those that
// have arrived.
//
// Nodes that come and go on top of a long list pay for none of this: the youngest receives stay
// outside of the index until there are more than kYoungMost of them, and both lists remember the
// last question that nothing in their index answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "fci_core/base/assert.h"
#include "fci_core/nhi/types.h"

namespace fci::mp {

inline constexpr nhi::PeerId kAnySource = nhi::kNoPeer;
inline constexpr std::uint32_t kNoSpace = ~0u;  // no message is of it

struct Envelope {
    nhi::PeerId source;
    std::uint32_t space;
    std::uint64_t match;
    friend bool operator==(const Envelope&, const Envelope&) = default;
};

/// The messages that a receive asks for. Bits of `match` that are ignored are set.
struct Pattern {
    nhi::PeerId source = 0;  // or kAnySource
    std::uint32_t space = 0;
    std::uint64_t match = 0, ignore = 0;

    constexpr Pattern() = default;
    constexpr Pattern(nhi::PeerId from, std::uint32_t its_space, std::uint64_t its_match,
                      std::uint64_t ignored) noexcept
        : source(from), space(its_space), match(its_match | ignored), ignore(ignored) {}
    /// Member by member: where they are in registers they need not go through memory.
    void assign(const Pattern& other) noexcept {
        source = other.source;
        space = other.space;
        match = other.match;
        ignore = other.ignore;
    }
    friend bool operator==(const Pattern&, const Pattern&) = default;

    [[nodiscard]] bool fits(const Envelope& message) const noexcept {
        return fits(message.source, message.space, message.match);
    }
    [[nodiscard]] bool fits(nhi::PeerId from, std::uint32_t its_space,
                            std::uint64_t its_match) const noexcept {
        if (its_space != space || (its_match | ignore) != match) return false;
        if (source != from) [[unlikely]] return source == kAnySource;
        return true;
    }
    /// Some message would fit both.
    [[nodiscard]] bool overlaps(const Pattern& other) const noexcept {
        return space == other.space &&
               ((match ^ other.match) & ~ignore & ~other.ignore) == 0 &&
               (source == other.source || source == kAnySource || other.source == kAnySource);
    }
};

inline constexpr std::size_t kHashFrom = 16;   // longer lists get an index
inline constexpr std::size_t kHashUntil = 8;   // and lose it when as short as this again
inline constexpr unsigned kClassesMax = 4;     // indices of one list; more classes: linear
inline constexpr unsigned kYoungMost = 8;      // receives that are not in the index yet
inline constexpr std::size_t kLookBack = 64;   // blocks_offer() searches no longer lists

/// Place in a list.
struct MatchLink {
    MatchLink *next = nullptr, *previous = nullptr;
};

/// A receive that waits for its message. In one list at most, and not moved meanwhile.
class PostedNode : private MatchLink {
public:
    Pattern pattern{};
    bool offer_stands = false;  // its source knows where the data may go

    void fits_nothing() noexcept { pattern.space = kNoSpace; }

private:
    friend class PostedList;
    template <class Node>
    friend class MatchSequence;
    static constexpr std::uint8_t kNoSlot = 0xff;
    std::uint8_t slot_ = kNoSlot;  // class that indexes it
    std::uint32_t entry_ = 0;      // where in there
    std::uint64_t stamp_ = 0;      // order of posting, of those in the index
};

/// A message that waits for its receive. In one list at most, and not moved meanwhile.
class ArrivedNode : private MatchLink {
public:
    Envelope envelope{};

    void fits_nothing() noexcept { envelope.space = kNoSpace; }

private:
    friend class ArrivedList;
    template <class Node>
    friend class MatchSequence;
    std::uint32_t entry_[kClassesMax];  // where in each class that has an index
};

static_assert(sizeof(PostedNode) <= 64 && sizeof(ArrivedNode) <= 64);

/// Nodes in the order in which they were appended.
template <class Node>
class MatchSequence {
public:
    MatchSequence() noexcept {
        end().next = end().previous = &end();
        end_.fits_nothing();
    }
    MatchSequence(const MatchSequence&) = delete;
    MatchSequence& operator=(const MatchSequence&) = delete;

    /// The oldest, or a node that fits nothing.
    [[nodiscard]] Node& first() const noexcept { return *static_cast<Node*>(end().next); }
    [[nodiscard]] bool is_end(const Node& node) const noexcept { return &node == &end_; }
    [[nodiscard]] Node* head() const noexcept { return node(end().next); }
    [[nodiscard]] Node* after(const Node& of) const noexcept {
        return node(static_cast<const MatchLink&>(of).next);
    }

    void append(Node& added) noexcept {
        MatchLink& link = added;
        MatchLink* const last = end().previous;
        link.next = &end();
        link.previous = last;
        last->next = &link;
        end().previous = &link;
    }
    void remove(Node& removed) noexcept {
        const MatchLink& link = removed;
        MatchLink *const next = link.next, *const previous = link.previous;
        next->previous = previous;
        previous->next = next;
    }

private:
    [[nodiscard]] MatchLink& end() noexcept { return end_; }
    [[nodiscard]] const MatchLink& end() const noexcept { return end_; }
    [[nodiscard]] Node* node(MatchLink* link) const noexcept {
        return link == &end() ? nullptr : static_cast<Node*>(link);
    }

    Node end_;
};

/// Receives in the order in which they were posted.
class PostedList {
public:
    PostedList() noexcept;
    ~PostedList();

    void append(PostedNode& node) noexcept {
        nodes_.append(node);
        if (++size_ >= 0) [[likely]] return;
        if (young_ == nullptr) young_ = &node;
        if (++young_count_ > kYoungMost) settle();
    }
    void remove(PostedNode& node) noexcept {
        if (--size_ < 0) [[unlikely]] {
            if (&node == young_) {
                young_ = nodes_.after(node);
                --young_count_;
            } else {
                leaving(node);
            }
        }
        nodes_.remove(node);
    }
    /// The oldest receive that the message fits, or nullptr.
    [[nodiscard]] PostedNode* find(const Envelope& message) noexcept {
        PostedNode& first = nodes_.first();
        if (first.pattern.fits(message)) return &first;
        return nodes_.is_end(first) ? nullptr : search(message);
    }
    /// Constant time: checks only the head and, where nothing in the index fits, the oldest receive
    /// outside the index. nullptr does not mean that none fits: find() knows.
    [[nodiscard]] PostedNode* find_head(nhi::PeerId source, std::uint32_t space,
                                        std::uint64_t match) const noexcept {
        PostedNode& first = nodes_.first();
        if (first.pattern.fits(source, space, match)) [[likely]] return &first;
        const bool young = match == absent_.match && source == absent_.source &&
                           space == absent_.space && young_ != nullptr &&
                           young_->pattern.fits(source, space, match);
        return young ? young_ : nullptr;
    }
    /// As find(), and removes the receive.
    [[nodiscard]] PostedNode* take(const Envelope& message) noexcept {
        PostedNode* const node = find(message);
        if (node != nullptr) remove(*node);
        return node;
    }

    /// To be asked before the receive is appended: some receive in the list that was not offered
    /// might take a message meant for `pattern`. True also when that takes too long to find out.
    [[nodiscard]] bool blocks_offer(const Pattern& pattern) const noexcept;
    /// Some receive in the list that was not offered might take a message of this source. True also
    /// when that takes too long to find out.
    [[nodiscard]] bool lacks_offer(nhi::PeerId source) const noexcept;

    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] std::size_t size() const noexcept {
        return static_cast<std::size_t>(size_ & ~kIndexed);
    }

    [[nodiscard]] const PostedNode* oldest() const noexcept { return nodes_.head(); }
    [[nodiscard]] const PostedNode* after(const PostedNode& of) const noexcept {
        return nodes_.after(of);
    }
    /// In order of posting; f(PostedNode&) may remove the node that it is given.
    template <class F>
    void for_each(F f) {
        for (PostedNode* node = nodes_.head(); node != nullptr;) {
            PostedNode* const next = nodes_.after(*node);
            f(*node);
            node = next;
        }
    }

    /// Nodes looked at so far, beyond those found at the head.
    [[nodiscard]] std::uint64_t visits() const noexcept { return visits_; }

private:
    struct Index;

    [[nodiscard]] PostedNode* search(Envelope message) noexcept;
    [[nodiscard]] PostedNode* search_index(const Envelope& message) noexcept;
    [[nodiscard]] PostedNode* search_from(PostedNode* node, const Envelope& message) noexcept;
    void settle() noexcept;
    void build_index() noexcept;
    void leave(PostedNode& node) noexcept;
    [[nodiscard]] bool enter(PostedNode& node) noexcept;
    void leave_index() noexcept;
    void leaving(PostedNode& node) noexcept;
    [[nodiscard]] bool is_indexed() const noexcept { return size_ < 0; }

    MatchSequence<PostedNode> nodes_;
    // The sign bit says that an index exists, so append and remove need one test for both.
    static constexpr std::int64_t kIndexed = INT64_MIN;
    std::int64_t size_ = 0;
    std::uint64_t stamp_ = 0;
    mutable std::uint64_t visits_ = 0;
    bool starved_ = false;  // no memory for an index: linear until the list is short again
    unsigned young_count_ = 0;
    PostedNode* young_ = nullptr;         // the oldest of those that the index does not have
    Envelope absent_{kAnySource, 0, 0};   // nothing in the index fits it; no source: not known
    std::unique_ptr<Index> index_;
};

/// Messages in the order in which they arrived.
class ArrivedList {
public:
    ArrivedList() noexcept;
    ~ArrivedList();

    void append(ArrivedNode& node) noexcept {
        nodes_.append(node);
        ++size_;
        if (classes_ != 0) enter(node);
        if (absent_known_ && absent_.fits(node.envelope)) absent_known_ = false;
    }
    void remove(ArrivedNode& node) noexcept {
        nodes_.remove(node);
        --size_;
        if (classes_ != 0) shrunk(node);
    }
    /// The oldest message that fits the receive, or nullptr.
    [[nodiscard]] ArrivedNode* find(const Pattern& pattern) const noexcept {
        ArrivedNode& first = nodes_.first();
        if (pattern.fits(first.envelope)) return &first;
        if (known_absent(pattern)) return nullptr;
        return search(pattern);
    }
    /// No message fits, and that is known without a search.
    [[nodiscard]] bool known_absent(const Pattern& pattern) const noexcept {
        return size_ == 0 || (absent_known_ && pattern == absent_);
    }

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] ArrivedNode* oldest() const noexcept { return nodes_.head(); }

    /// In order of arrival; f(ArrivedNode&) may remove the node that it is given.
    template <class F>
    void for_each(F f) {
        for (ArrivedNode* node = nodes_.head(); node != nullptr;) {
            ArrivedNode* const next = nodes_.after(*node);
            f(*node);
            node = next;
        }
    }

    /// Nodes looked at so far, beyond those found at the head; building an index counts too.
    [[nodiscard]] std::uint64_t visits() const noexcept { return visits_; }

private:
    struct Index;

    [[nodiscard]] ArrivedNode* search(const Pattern& pattern) const noexcept;
    [[nodiscard]] ArrivedNode* search_linear(const Pattern& pattern) const noexcept;
    [[nodiscard]] unsigned class_of(const Pattern& pattern) const noexcept;
    [[nodiscard]] bool build(unsigned slot) const noexcept;
    void enter(ArrivedNode& node) noexcept;
    void shrunk(ArrivedNode& node) noexcept;
    void leave(ArrivedNode& node) noexcept;

    MatchSequence<ArrivedNode> nodes_;
    std::size_t size_ = 0;
    // Lookups make the indices that they need, so these change in find().
    mutable std::uint64_t visits_ = 0;
    mutable std::uint64_t lookups_ = 0;
    mutable unsigned classes_ = 0;  // bit i: class i is indexed
    mutable bool absent_known_ = false;
    mutable Pattern absent_{};      // no message fits it
    mutable std::unique_ptr<Index> index_;
};

}  // namespace fci::mp
