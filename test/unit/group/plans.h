// SPDX-License-Identifier: BSD-3-Clause
// The plans of all processes of a group are gone through to their end, without messages or tables:
// a queue for each process stands for its messages, and a few words for the table of each part. So
// each process has to end, and to have the result, or to know that something is lacking.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fci_core/group/plan.h"

namespace fci::group::test {

inline constexpr unsigned kNone = ~0u;

/// One collective, and what goes wrong in it.
struct Case {
    Flow flow;
    std::vector<unsigned> members;      // by part
    unsigned root = 0, root_place = 0;  // the part of the root, and its place there
    Way way = Way::plain;               // of all leaders
    bool by_messages = true;
    // A part: it lacks the group; it has no table; its leader does not know the way.
    unsigned lost = kNone, refused = kNone, unsure = kNone;
    unsigned dead = kNone, dies_after = 0;  // a rank, and how much that process does before

    [[nodiscard]] bool has_root() const { return flow == Flow::to_root || flow == Flow::from_root; }
};

/// The data of a share, as one word; or that they are lacking.
struct Content {
    std::uint64_t word = 0;
    bool lacks = false;

    static Content of(unsigned rank) { return {0x9e3779b97f4a7c15u * (rank + 1), false}; }
    void add(const Content& other) {
        word += other.word;
        lacks = lacks || other.lacks;
    }
};

class Job {
public:
    explicit Job(const Case& its);

    /// All go as far as they come. Returns what went wrong, or "".
    std::string run();
    [[nodiscard]] bool has_died() const { return died_; }

private:
    struct Process {
        unsigned rank, part, place;
        Plan plan;
        unsigned stage = 0, step = 0;
        bool has_sent = false;  // in this step
        Content share{};
    };
    struct Message {
        unsigned from;
        Content what;
    };
    struct Table {
        std::vector<std::optional<Content>> brought;  // by place
        std::optional<Content> told;
    };
    enum class Must : std::uint8_t { have, lack, have_or_lack };

    void begin(Process& it);
    void go_on(Process& it);
    bool act(Process& it);
    bool across(Process& it);
    bool chain(Process& it);
    bool meet(Process& it, Table& table, unsigned place, const std::vector<unsigned>& ranks);
    bool tell(Process& it, bool tells);
    void send(Process& it, unsigned to);
    bool receive(Process& it, unsigned from, bool replaces);
    void wake(const std::vector<unsigned>& ranks) {
        ready_.insert(ready_.end(), ranks.begin(), ranks.end());
    }

    [[nodiscard]] std::string look_at_stages(const Process& it) const;
    [[nodiscard]] bool passes(unsigned by, unsigned to) const;
    [[nodiscard]] Must must(const Process& it) const;
    [[nodiscard]] Must must_with_death(const Process& it) const;
    [[nodiscard]] std::uint64_t result() const;

    [[nodiscard]] bool is_dead(unsigned rank) const { return died_ && rank == case_.dead; }
    [[nodiscard]] bool is_of_root(const Process& it) const {
        return case_.has_root() && it.part == case_.root;
    }
    [[nodiscard]] unsigned source(const Process& it) const {
        return is_of_root(it) ? case_.root_place : 0;
    }
    /// The leader of a part, as a process of another one knows it.
    [[nodiscard]] unsigned leader(const Process& to, unsigned part) const {
        const bool is_first = case_.flow == Flow::from_root && case_.way != Way::plain &&
                              to.part != case_.lost;
        return case_.has_root() && part == case_.root && !is_first ? root_ : ranks_[part][0];
    }

    const Case& case_;
    std::vector<std::vector<unsigned>> ranks_;  // by part
    std::vector<unsigned> first_;
    std::vector<Process> all_;
    std::vector<std::vector<Message>> messages_;  // by rank: those to it
    std::vector<std::vector<unsigned>> ignored_;  // by rank: whose messages it throws away
    std::vector<Table> tables_;                   // by part; the last one is that of the leaders
    std::vector<unsigned> ready_;
    unsigned root_ = kNone;
    unsigned done_ = 0;  // by the process that dies
    bool died_ = false;
};

}  // namespace fci::group::test
