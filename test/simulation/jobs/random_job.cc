// SPDX-License-Identifier: BSD-3-Clause
// The run of a random job: what its processes wait for, how they end, and what is checked then.
#include "test/simulation/jobs/random_job.h"

#include <algorithm>

#include "fci_core/base/assert.h"

namespace fci::jobs {

namespace {

constexpr Nanoseconds kMost = 60'000'000'000;        // of virtual time, for all that is not planned
constexpr Nanoseconds kMourning = 300'000'000;       // then nobody waits for what may never come
constexpr Nanoseconds kLongWait = 1'500'000'000;     // is judged
constexpr Nanoseconds kUsedFirst = 30'000'000;       // of a core, until a caller is known to wait
constexpr Nanoseconds kUsedMost = 3;                 // percent; as test/programs/suites/calm.py

}  // namespace

RandomJob::RandomJob(std::uint64_t seed, const mp::Protocol* protocol)
    : plan_(seed, protocol),
      job_(plan_.job),
      sends_(plan_.messages.size()),
      receives_(plan_.messages.size()),
      collectives_(plan_.collectives, plan_.job),
      arrived_(plan_.messages.size()),
      own_sleeps_(plan_.job.processes),
      present_(plan_.job.processes),
      gone_(plan_.job.processes),
      death_(plan_.death),
      resting_(plan_.collectives.size()) {
    for (std::size_t i = 0; i < plan_.messages.size(); ++i) {
        sends_[i].job = receives_[i].job = this;
        sends_[i].number = receives_[i].number = i;
        sends_[i].sends = true;
    }
    Prng prng(seed);
    for (unsigned i = 0; i < plan_.job.processes; ++i) {
        chance_.push_back(prng.fork());
        if (plan_.shared[i]) job_.process(i).loop().sleeper().share();
    }
}

std::string RandomJob::run() {
    std::vector<std::function<void()>> programs;
    for (unsigned at = 0; at < job_.size(); ++at) {
        programs.emplace_back([this, at] { program(at); });
    }
    Nanoseconds most = kMost + plan_.long_wait;
    for (const Collective& one : plan_.collectives) most += one.rest + one.late_by;
    std::string failure = job_.run(std::move(programs), most);
    for (std::size_t i = 0; i < arrived_.size() && failure.empty(); ++i) {
        if (!arrived_[i] && plan_.victim == kNobody) failure = text_of(sends_[i]) + " got lost";
    }
    return failure.empty() ? failure : failure + present();
}

std::string RandomJob::present() const {
    static constexpr const char* kTexts[] = {"sends ", "posts ", "waits for sent ",
                                             "waits for ", "probes for ", "computes ", "looks ",
                                             "meets "};
    std::string text;
    for (unsigned at = 0; at < job_.size(); ++at) {
        text += "; " + std::to_string(at) + ' ';
        const Event* const event = present_[at];
        text += gone_[at]          ? "has ended"
                : event == nullptr ? "waits for all"
                                   : kTexts[static_cast<unsigned>(event->kind)] +
                                         (event->kind == Event::Kind::collective
                                              ? collectives_.describe(event->message)
                                              : text_of(sends_[event->message]));
    }
    return text;
}

Counters RandomJob::counters() const {
    Counters sum;
    auto* const to = reinterpret_cast<std::uint64_t*>(&sum);
    for (unsigned at = 0; at < job_.size(); ++at) {
        const Counters counted = job_.counters(at);
        for (unsigned i = 0; i < kCounters; ++i) to[i] += counter_value(counted, i);
    }
    return sum;
}

void RandomJob::program(unsigned at) {
    for (const Event& event : plan_.programs[at]) {
        if (failed() || ends_here(at)) return;
        present_[at] = &event;
        step(at, event);
    }
    present_[at] = nullptr;
    if (!failed() && !ends_here(at)) finish(at);
}

void RandomJob::step(unsigned at, const Event& event) {
    const Operation& sent = sends_[event.message];
    const Operation& receive = receives_[event.message];
    switch (event.kind) {
        case Event::Kind::send: return send(at, event.message);
        case Event::Kind::post: return post(at, event.message);
        case Event::Kind::probe_and_receive: return probe_and_receive(at, event.message);
        case Event::Kind::wait_for_send: return await(at, [&] { return sent.done; });
        case Event::Kind::wait_for_receive: return await(at, [&] { return receive.done; });
        case Event::Kind::compute: return job_.cores().compute(event.span);
        case Event::Kind::look: return look(at);
        case Event::Kind::collective: return meet(at, event.message);
    }
}

/// All of them do, whether one has failed before or not.
void RandomJob::meet(unsigned at, std::size_t number) {
    const Collective& one = plan_.collectives[number];
    if (one.rest != 0) rest(at, number);
    if (at == one.late) job_.cores().compute(one.late_by);
    die_there(at, number, 0);
    if (failed() || ends_here(at)) return;
    if (collectives_.begin(context(at), at, number)) {
        one.starts ? meet_later(at, number) : take_part(at, number);
    }
    die_there(at, number, plan_.death_looks);
}

/// Where all wait who may wait for each other, so that nobody looks on all the time.
void RandomJob::rest(unsigned at, std::size_t number) {
    ++resting_[number];
    const auto all_are_here = [&] {
        const auto gone = std::count(gone_.begin(), gone_.end(), true);
        return resting_[number] + static_cast<unsigned>(gone) >= job_.size();
    };
    while (!failed() && !ends_here(at) && !all_are_here()) progress(at);
    if (failed()) return;
    if (ends_here(at)) return static_cast<void>(--resting_[number]);
    job_.cores().rest(plan_.collectives[number].rest);
}

void RandomJob::die_there(unsigned at, std::size_t number, unsigned looks) {
    if (at != plan_.victim || number != plan_.death_in || looks != plan_.death_looks) return;
    death_ = std::min(death_, now());
}

void RandomJob::take_part(unsigned at, std::size_t number) {
    const Nanoseconds began = now(), used = job_.cores().used(at);
    bool only_waits = true;
    for (unsigned looks = 0; !failed() && !ends_here(at); die_there(at, number, ++looks)) {
        const int answer = collectives_.call(context(at), at, number);
        if (answer == FCI_ICL_OK || answer == FCI_ICL_EAGAIN) {
            only_waits = only_waits && job_.process(at).messages().drained();
            if (answer == FCI_ICL_EAGAIN) progress(at);
            continue;
        }
        check_collective(at, number, answer);
        break;
    }
    if (only_waits && !gone_[at]) check_calm(at, began, used);
}

void RandomJob::meet_later(unsigned at, std::size_t number) {
    int answer = collectives_.start(context(at), at, number);
    die_there(at, number, 1);
    if (answer == FCI_ICL_OK) {
        await(at, [&] { return collectives_.answer(at) != FCI_ICL_OK; });
        answer = collectives_.answer(at);
    }
    if (answer != FCI_ICL_OK) check_collective(at, number, answer);
}

void RandomJob::check_collective(unsigned at, std::size_t number, int answer) {
    const char* const wrong = collectives_.end(at, number, answer, died_);
    if (wrong == nullptr) return;
    fail("process " + std::to_string(at) + ": " + wrong + " (" + std::to_string(answer) + "): " +
         collectives_.describe(number));
}

// --- waiting ---

/// Whether something was done.
bool RandomJob::progress(unsigned at) {
    const int work = job_.process(at).progress();
    check(work >= 0, at, "progress fails");
    job_.cores().compute(1 + static_cast<Nanoseconds>(
                                 chance_[at].below(static_cast<std::uint64_t>(plan_.look))));
    return work != 0;
}

void RandomJob::wait_once(unsigned at, Manner manner) {
    api::Process& process = job_.process(at);
    Prng& chance = chance_[at];
    const auto some = [&](std::uint64_t most) {
        return static_cast<Nanoseconds>(chance.between(1, most));
    };
    switch (manner) {
        case Manner::looks:
            progress(at);
            return;
        case Manner::looks_between_steps:
            progress(at);
            return job_.cores().compute(some(20'000));
        case Manner::blocks: {
            // A victim comes out now and then, so that it can die between two calls.
            const bool long_one = at != plan_.victim && plan_.victim == kNobody;
            const Nanoseconds timeout = long_one && chance.chance(50) ? -1 : some(5'000'000);
            check(process.loop().wait(timeout) >= 0, at, "wait fails");
            return job_.cores().compute(some(1000));
        }
        case Manner::descriptor:
            if (progress(at) || !process.loop().sleeper().arm()) return;
            ++own_sleeps_[at];
            // What the tap holds back wakes nobody but by its own timeouts, of which a descriptor
            // knows nothing; nor does it know of all who end a collective.
            process.device().sleep(!collectives_.goes_on(at) &&
                                           plan_.job.faults.delay_percent == 0 &&
                                           plan_.job.faults.stall_per_mille == 0 &&
                                           plan_.victim == kNobody
                                       ? -1
                                       : 1'000'000);
            return process.loop().sleeper().disarm();
        case Manner::probes:
            look(at);
            progress(at);
            return;
    }
}

void RandomJob::await(unsigned at, const std::function<bool()>& is_done) {
    static constexpr Manner kManners[] = {Manner::looks, Manner::looks, Manner::blocks,
                                          Manner::blocks, Manner::descriptor, Manner::probes,
                                          Manner::looks_between_steps};
    const Manner manner = kManners[chance_[at].below(std::size(kManners))];
    const Nanoseconds began = now(), used = job_.cores().used(at);
    // Who has something to write that there is no room for asks on for room, and does not sleep.
    bool only_waits = manner != Manner::looks_between_steps;
    while (!failed() && !ends_here(at)) {
        give_up(at);
        if (is_done()) break;
        only_waits = only_waits && job_.process(at).messages().drained();
        wait_once(at, manner);
    }
    if (only_waits && !gone_[at]) check_calm(at, began, used);
}

void RandomJob::check_calm(unsigned at, Nanoseconds began, Nanoseconds used) const {
    const Nanoseconds span = now() - began;
    if (!plan_.must_be_calm() || span < kLongWait) return;
    const Nanoseconds share = job_.cores().used(at) - used;
    if (share <= kUsedFirst + span * kUsedMost / 100) return;
    fail("process " + std::to_string(at) + " used " + std::to_string(share) + " of " +
         std::to_string(span) + " ns in which it waited");
}

// --- ends ---

bool RandomJob::ends_here(unsigned at) {
    if (gone_[at]) return true;
    if (at != plan_.victim || now() < death_) return false;
    gone_[at] = died_ = true;
    job_.kill(at);
    if (plan_.forks) enter_fork_child(at);
    return true;
}

/// The process is gone, and its child goes on with what it had: it must not touch any of it.
void RandomJob::enter_fork_child(unsigned at) {
    job_.cores().detach();
    const sim::World::Statistics before = job_.world().statistics();
    api::Process& child = job_.process(at);
    child.enter_fork_child();
    // What its parent had begun may end before, with an error; it is few.
    int answer = 0;
    for (unsigned i = 0; i < 100 && answer >= 0; ++i) answer = child.progress();
    check(answer == api::Process::kOfParent, at, "a child makes progress");
    check(child.loop().wait(-1) == api::Process::kOfParent, at, "a child waits");
    check(!child.loop().sleeper().arm() && !child.drain(-1), at, "a child sleeps");
    const fci_icl_peer to = Job::id_of(at, (at + 1) % job_.size());
    check(fci_icl_send_bytes(context(at), to, 0, 0, 1, 0, "x", 1, nullptr, nullptr) < 0, at,
          "a child sends");
    check(child.progress() == api::Process::kOfParent, at, "a child makes progress after that");
    const sim::World::Statistics after = job_.world().statistics();
    check(after.transfers == before.transfers && after.events == before.events, at,
          "a child uses the network of its parent");
}

/// Some time after a death what may have to do with it is waited for no more.
bool RandomJob::may_give_up() const {
    return died_ && job_.world().now() > death_ + kMourning;
}

void RandomJob::give_up(unsigned at) {
    if (!may_give_up()) return;
    for (auto* const side : {&sends_, &receives_}) {
        for (Operation& operation : *side) {
            const Message& message = plan_.messages[operation.number];
            if ((operation.sends ? message.from : message.to) != at || !message.any) continue;
            if (!operation.begun || operation.done || operation.given_up) continue;
            operation.given_up = true;
            (void)fci_icl_cancel(context(at), operation.order);
        }
    }
}

void RandomJob::finish(unsigned at) {
    await(at, [&] {
        const auto pending = [](const Operation& operation) {
            return operation.begun && !operation.done;
        };
        for (std::size_t i = 0; i < plan_.messages.size(); ++i) {
            if (plan_.messages[i].from == at && pending(sends_[i])) return false;
            if (plan_.messages[i].to == at && pending(receives_[i])) return false;
        }
        return true;
    });
    if (failed() || gone_[at]) return;
    collectives_.leave(context(at), at);
    // A message of a broadcast may still come whose hint came long ago.
    if (ends_clean()) {
        await(at, [&] { return job_.process(at).messages().engine().orders.used() == 0; });
    }
    const bool drained = job_.process(at).drain(plan_.victim == kNobody ? -1 : kMourning);
    check(drained || plan_.victim != kNobody, at, "not everything can be written out");
    check_accounts(at);
    gone_[at] = true;
    job_.close(at);
}

void RandomJob::check_accounts(unsigned at) {
    const Account& account = job_.cores().account(at);
    const mp::Engine& engine = job_.process(at).messages().engine();
    check(engine.counters.yields == account.yields, at, "yields are counted wrong");
    check(engine.counters.sleeps + own_sleeps_[at] == account.sleeps.size(), at,
          "sleeps are counted wrong");
    check(account.placements <= 1, at, "it moves to its core more than once");
    check(engine.counters.bad_requests == 0, at, "a request failed its checks");
    if (!ends_clean()) return;
    check(engine.orders.used() == 0, at, "orders leak");
    check(engine.arrived.size() == 0, at, "messages leak");
}

/// Nobody dies; and no member that expects another length refuses what nobody waits for, or waits
/// for what nobody refuses.
bool RandomJob::ends_clean() const {
    return plan_.victim == kNobody &&
           std::all_of(plan_.collectives.begin(), plan_.collectives.end(),
                       [](const Collective& one) { return one.odd == kNobody; });
}

void RandomJob::check(bool holds, unsigned at, const char* what) {
    if (!holds) fail("process " + std::to_string(at) + ": " + what);
}

}  // namespace fci::jobs
