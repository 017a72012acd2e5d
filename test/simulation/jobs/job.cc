// SPDX-License-Identifier: BSD-3-Clause
#include "test/simulation/jobs/job.h"

#include <netinet/in.h>

#include <algorithm>
#include <utility>

#include "fci_core/base/assert.h"

namespace fci::jobs {

Job::Job(const JobOptions& options)
    : options_(options),
      world_(options.world),
      cores_(std::make_unique<Cores>(world_, options.host)),
      programs_(options.processes),
      ends_(options.processes) {
    const mp::Limits& limits = options.limits;
    ddi::Settings settings;
    settings.block_bytes = limits.layout.block_bytes();
    settings.sizes = limits.layout.sizes();
    settings.layout_digest = gcs::Layout::digest(limits.eager_bytes);
    settings.job = 1;
    settings.communication_bytes = limits.layout.pool_bytes + gcs::Layout::kBoardLeast;
    const progress::CoreShare core(
        options.wait, options.told_ranks,
        options.told_cores != 0 ? options.told_cores : options.host.cores);
    for (unsigned i = 0; i < options.processes; ++i) {
        cores_->add([this, i] { programs_[i](); }, [this, i] { return has_work(i); });
        const unsigned per_host = options.world.per_host;
        settings.wanted.host = htonl(INADDR_LOOPBACK + (per_host != 0 ? i / per_host : 0));
        auto device = std::make_unique<tap::FaultDevice>(world_.open(settings), options.faults);
        ends_[i].tap = device.get();
        ends_[i].card = device->card();
        ends_[i].process = api::Process::make(std::move(device), "sim", *options.protocol, limits,
                                              core, cores_->host(i),
                                              {options.processes, options.processes,
                                               static_cast<int>(i), {}});
        ends_[i].process->set_linger(10'000'000'000);
    }
    for (unsigned at = 0; at < options.processes; ++at) {
        for (unsigned other = 0; other < options.processes; ++other) {
            nhi::PeerId id = nhi::kNoPeer;
            FCI_ASSERT(ends_[at].process->add_peer(ends_[other].card, &id) == Status::ok);
            FCI_ASSERT(id == id_of(at, other));
        }
    }
}

Job::~Job() {
    for (unsigned i = 0; i < options_.processes; ++i) close(i);
}

mp::Limits Job::small_limits() {
    mp::Limits limits;
    limits.layout.slots = 16;
    limits.layout.ring_bytes = 16 * 1024;
    limits.layout.pool_bytes = 4 * gcs::Layout::kPieceBytes;
    limits.eager_bytes = 1024;
    limits.offer_bytes = 8192;
    limits.unexpected_bytes = 16 * 1024;
    return limits;
}

/// The process itself comes first (nhi::kSelf), then the others in order.
nhi::PeerId Job::id_of(unsigned at, unsigned process) noexcept {
    return process == at ? nhi::kSelf : process < at ? process + 1 : process;
}

unsigned Job::process_of(unsigned at, nhi::PeerId id) noexcept {
    return id == nhi::kSelf ? at : id <= at ? id - 1 : id;
}

void Job::close(unsigned number) {
    End& end = ends_.at(number);
    if (end.process == nullptr) return;
    end.counters = end.process->messages().engine().counters;
    end.process.reset();
    end.tap = nullptr;
}

/// That nobody told it of, or is about to: what a tap still holds may be the event of what is here.
bool Job::has_work(unsigned number) {
    for (const End& end : ends_) {
        if (end.tap != nullptr && end.tap->due() != tap::FaultInterface::kNever) return false;
    }
    return is_open(number) && process(number).messages().ready();
}

void Job::kill(unsigned number) {
    world_.kill(number);
}

Counters Job::counters(unsigned number) const {
    const End& end = ends_.at(number);
    return end.process == nullptr ? end.counters : end.process->messages().engine().counters;
}

std::string Job::run(std::vector<std::function<void()>> programs, Nanoseconds most) {
    FCI_ASSERT(programs.size() == programs_.size());
    programs_ = std::move(programs);
    return cores_->run(most);
}

std::uint64_t Job::digest() const {
    std::uint64_t digest = cores_->digest() ^ world_.digest() * 0x9e3779b97f4a7c15ull;
    for (unsigned at = 0; at < options_.processes; ++at) {
        const Counters counted = counters(at);
        for (unsigned i = 0; i < kCounters; ++i) {
            digest = (digest ^ counter_value(counted, i)) * 0x9e3779b97f4a7c15ull;
            digest ^= digest >> 29;
        }
    }
    return digest;
}

}  // namespace fci::jobs
