// SPDX-License-Identifier: BSD-3-Clause
// From options and environment to a running process: driver, sizes, job cookie.
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>

#include "fci_core/api/choose_driver.h"
#include "fci_core/api/process.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/launcher.h"
#include "fci_core/base/log.h"
#include "fci_core/progress/surroundings.h"

namespace fci::api {

namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kSilenceLeastMs = 1000, kSilenceMostMs = 3'600'000;

std::uint64_t hash(std::string_view text) noexcept {
    std::uint64_t h = 0xcbf29ce484222325ull;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    return h;
}

/// One number for all processes of a job: what the user says, what the launcher says, or one for
/// all of this user's processes without a launcher. A job that another one spawned counts as part
/// of it.
std::uint64_t job_cookie(const OpenOptions& options, const Parameters& parameters) {
    if (!parameters.job.empty()) return hash(parameters.job);
    if (options.job != 0) return options.job;
    const std::string job = job_name(own_variable);
    return hash(!job.empty() ? job : "user " + std::to_string(geteuid()));
}

/// Of what is sent to all hosts. One netmod has the same cookie in all its jobs, so that they can
/// meet; what one of them sends by multicast is nothing to the others.
std::uint64_t launch_of(const OpenOptions& options) {
    return hash(!options.launch.empty() ? options.launch : job_name(own_variable));
}

/// Appends to `list`.
void add_name(const char* name, const std::string& note, std::string* list) {
    *list += (list->empty() ? "" : ", ") + std::string(name);
    if (!note.empty()) *list += " (" + note + ")";
}

const ddi::Driver* find_driver(const std::string& name, Status* status, std::string* error) {
    std::string known;
    for (unsigned i = 0; const ddi::Driver* driver = ddi::driver(i); ++i) {
        if (name == driver->name) return driver;
        add_name(driver->name, {}, &known);
    }
    *status = Status::not_found;
    *error = "there is no driver '" + name + "' (FCI_DRIVER). This build has: " + known +
             ". Unset FCI_DRIVER to get the best one that works.";
    return nullptr;
}

const ddi::Driver* choose_driver(const Preference& preference, Status* status,
                                 std::string* error) {
    std::string tried;
    for (const char* const name : preference.drivers) {
        const ddi::Driver* const driver = find_driver(name, status, error);
        std::string note;
        if (driver != nullptr && driver->probe(&note)) return driver;
        add_name(name, note, &tried);
    }
    *status = Status::unsupported;
    *error = "no driver can be used here (" + preference.why + "). Tried: " + tried +
             ". fci_info tells more.";
    return nullptr;
}

/// Of a process among so many on its host. A few have pools in which one peer goes round in more
/// than an L2; many share what is there.
std::uint64_t pool_bytes_for(std::uint32_t local_ranks, const progress::Caches& caches) noexcept {
    if (local_ranks > 64) return kMiB;
    if (local_ranks > 16) return 2 * kMiB;
    if (local_ranks > 4) return 4 * kMiB;
    const std::uint64_t most = std::max(caches.third / 4, kMiB);
    return 4 * std::bit_ceil(std::clamp(2 * caches.second, kMiB, most));
}

}  // namespace

mp::Limits limits_for(const Parameters& parameters, const mp::Protocol& protocol,
                      std::uint32_t local_ranks, const Machine& machine) {
    const bool many = local_ranks > 16, crowd = local_ranks > 64;
    mp::Limits limits;
    limits.layout.slots = static_cast<std::uint32_t>(
        std::bit_ceil(std::clamp<std::uint64_t>(parameters.slots != 0 ? parameters.slots
                                                : crowd              ? 64
                                                                     : 128,
                                                8, 32768)));
    const std::uint64_t eager_bytes =
        std::min(parameters.eager_bytes != 0 ? parameters.eager_bytes
                 : protocol.sends_data()     ? protocol.data_most
                                             : 8 * kKiB,
                 mp::kEagerMost);
    // A ring serves one pair, and what it has no room for finds it in the pool. That is slower, so
    // a few ranks get rings for a whole window of messages, where they are used as such. But ranks
    // that take turns on their cores write through all rings before any of them comes round again:
    // these must fit into a cache together, or each message waits for memory.
    std::uint64_t ring_bytes = many ? 64 * kKiB : kMiB;
    if (local_ranks > machine.cores) {
        const std::uint64_t pairs = std::uint64_t{local_ranks} * (local_ranks - 1);
        ring_bytes = std::clamp(std::bit_floor(4 * kMiB / pairs), 64 * kKiB, ring_bytes);
    }
    limits.layout.ring_bytes = std::bit_ceil(std::clamp<std::uint64_t>(
        parameters.ring_bytes != 0 ? parameters.ring_bytes
                                   : std::max(ring_bytes, 4 * (eager_bytes + mp::kHeaderMost)),
        16 * kKiB, 256 * kMiB));
    limits.eager_bytes =
        std::min(eager_bytes, limits.layout.ring_bytes / 4 - mp::kHeaderMost);
    limits.far_eager_bytes = parameters.eager_bytes != 0 ? eager_bytes
                             : protocol.sends_data()     ? mp::kEagerMost
                                                         : 0;
    const std::uint64_t pool_bytes = std::clamp<std::uint64_t>(
        parameters.pool_bytes != 0 ? parameters.pool_bytes
                                   : pool_bytes_for(local_ranks, machine.caches),
        8 * gcs::Layout::kPieceBytes, 256 * kMiB);
    limits.layout.pool_bytes =
        pool_bytes / gcs::Layout::kPieceBytes * gcs::Layout::kPieceBytes;
    FCI_ASSERT(std::has_single_bit(limits.layout.ring_bytes) &&
               limits.eager_bytes < limits.layout.ring_bytes / 4);
    FCI_ASSERT(limits.layout.pool_bytes % gcs::Layout::kPieceBytes == 0);
    const std::uint64_t offered_least =
        protocol.offers_receives() ? protocol.offered_least : 32 * kKiB;
    limits.offer_bytes =
        std::max(parameters.offer_bytes != 0 ? parameters.offer_bytes : offered_least,
                 protocol.sends_data() ? limits.eager_bytes + 1 : 1);
    limits.unexpected_bytes = std::max(parameters.unexpected_bytes, 4 * kKiB);
    limits.unexpected_bytes = std::max(limits.unexpected_bytes, 4 * limits.eager_bytes);
    // Where ranks take turns on their cores, what was read of a cell is in no cache any more when
    // it is written, and all cells together need more of one than pools that are gone round in. A
    // peer that has no core seems to lag, too, and short laps would only be told of more often.
    if (local_ranks > machine.cores) {
        limits.lend_after.fill(mp::Limits::kNever);
        limits.laps = gcs::Laps::long_;
    }
    limits.copy = parameters.copy == "ring"     ? mp::CopyPath::Policy::ring
                  : parameters.copy == "pull"   ? mp::CopyPath::Policy::pull
                  : parameters.copy == "shared" ? mp::CopyPath::Policy::shared
                                                : mp::CopyPath::Policy::measure;
    return limits;
}

namespace {

ddi::Far far_of(const std::string& word) {
    if (word == "ucx") return ddi::Far::ucx;
    return word == "tcp" ? ddi::Far::tcp : ddi::Far::automatic;
}

ddi::Settings settings_for(const OpenOptions& options, const Parameters& parameters,
                           const mp::Protocol& protocol, const mp::Limits& limits) {
    ddi::Settings settings;
    settings.block_bytes = limits.layout.block_bytes();
    settings.block_first_bytes = limits.layout.block_first_bytes();
    settings.communication_bytes = limits.layout.pool_bytes + gcs::Layout::kBoardLeast;
    settings.communication_spare = gcs::Layout::kBoardMost - gcs::Layout::kBoardLeast;
    settings.communication_later = true;
    settings.sizes = limits.layout.sizes();
    settings.layout_digest =
        gcs::Layout::digest((limits.far_eager_bytes << 32) + limits.eager_bytes * 4 +
                            protocol.announces * 2u + protocol.offers_receives());
    settings.job = job_cookie(options, parameters);
    settings.launch = launch_of(options);
    settings.wanted = options.card;
    settings.network = {parameters.net, launcher_addresses(own_variable), far_of(parameters.far)};
    settings.ports = parameters.ports;
    settings.multicast = parameters.multicast == "auto";
    settings.connect_ms =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(parameters.connect_ms, 0x7fffffff));
    settings.silence_ms = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(parameters.silence_ms, kSilenceLeastMs, kSilenceMostMs));
    settings.answers_typed = parameters.answer == "typed";
    settings.rank = rank_in_job(own_variable);
    return settings;
}

/// Nothing where one cannot be used; *status and *error say why.
std::optional<Parameters> usable_parameters(Status* status, std::string* error) {
    FCI_ASSERT(status != nullptr && error != nullptr);
    std::vector<std::string> complaints;
    Parameters parameters = Parameters::from_environment(&complaints);
    if (complaints.empty()) return parameters;
    *status = Status::invalid;
    *error = complaints.front();
    return {};
}

}  // namespace

bool check_environment(Status* status, std::string* error) {
    const std::optional<Parameters> parameters = usable_parameters(status, error);
    if (!parameters) return false;
    return parameters->driver.empty() || find_driver(parameters->driver, status, error) != nullptr;
}

std::unique_ptr<Process> open_process(const OpenOptions& options, Status* status,
                                      std::string* error) {
    const std::optional<Parameters> usable = usable_parameters(status, error);
    if (!usable) return nullptr;
    const Parameters& parameters = *usable;
    const Ranks ranks = Ranks::of(own_variable, options.job_ranks);
    const Preference preference = prefer_drivers(ranks);
    const std::string& wanted = options.driver.empty() ? parameters.driver : options.driver;
    const ddi::Driver* const driver = wanted.empty() ? choose_driver(preference, status, error)
                                                     : find_driver(wanted, status, error);
    if (driver == nullptr) return nullptr;
    const std::string& name = options.protocol.empty() ? parameters.protocol : options.protocol;
    const mp::Protocol* const protocol = mp::find_protocol(name);
    if (protocol == nullptr) {
        *status = Status::not_found;
        *error = "there is no protocol '" + name + "'. Known:";
        for (const mp::Protocol* known : mp::kProtocols) *error += std::string(" ") + known->name;
        return nullptr;
    }
    std::uint32_t local_ranks = options.local_ranks;
    if (local_ranks == 0) local_ranks = static_cast<std::uint32_t>(parameters.local_ranks);
    if (local_ranks == 0) local_ranks = ranks.here;

    const Machine machine{progress::usable_cores(), progress::caches()};
    const mp::Limits limits = limits_for(parameters, *protocol, local_ranks, machine);
    const ddi::Settings settings = settings_for(options, parameters, *protocol, limits);
    std::unique_ptr<ddi::Device> device = driver->open(settings, status, error);
    if (device == nullptr) return nullptr;
    const ddi::NetworkChoice& network = device->network_choice();
    auto process = Process::make(
        std::move(device), driver->name, *protocol, limits,
        progress::CoreShare(parameters.wait, local_ranks, machine.cores), progress::own_host(),
        {std::max(ranks.job, local_ranks), local_ranks, rank_on_host(own_variable),
         wanted.empty() ? preference.why : "asked for"});
    process->set_linger(static_cast<Nanoseconds>(parameters.linger_ms) * 1'000'000);
    process->show(settings.job);
    const bool speaks = settings.rank <= 0;  // one process of a job, so that one line is one line
    // An MPI may open several processes in one of the system's, and the line is the same for each.
    const std::string& agent = options.user_agent;
    log::hint_once(parameters.info == "on" && speaks,
                   process->kept().summary + (agent.empty() ? "" : ", for " + agent));
    log::hint_once(parameters.info == "on" && speaks && network.host != 0,
                   network.place + ": " + network.reason);
    for (const std::string& hint : unknown_variables()) log::hint_once(speaks, hint);
    FinalReport report;
    report.as_line = parameters.stats == "on";
    report.file = parameters.report;
    report.rank = settings.rank;
    report.ranks = ranks.job;
    report.user_agent = options.user_agent;
    process->set_final_report(std::move(report));
    return process;
}

}  // namespace fci::api
