// SPDX-License-Identifier: BSD-3-Clause
// How the ConnectionManager meets: the steps that calls from here and calls from peers share.
#include <utility>

#include "drivers/shm/connection_manager.h"
#include "fci_core/base/log.h"

namespace fci::shm {

namespace {

constexpr int kRecordsPerLook = 8;
constexpr std::size_t kSharedHeaderMost = std::size_t{1} << 46;
static_assert(kHelloFiles <= Received::kFilesMax);
static_assert(sizeof(Hello) <= sizeof(Received::bytes) && sizeof(Refusal) <= sizeof(Hello));

}  // namespace

/// The block in which the peer will write, once.
Status ConnectionManager::prepare(Entry& entry, std::string* error) {
    Peer& peer = peer_of(entry);
    if (peer.own_block.data() != nullptr) return Status::ok;
    const Status status = Region::create("fci-block", own_.settings.block_bytes, &peer.own_block,
                                         &peer.own_block_fd, error, block_first_bytes());
    if (status != Status::ok) return status;
    peer.own_block.hide_from_children(peer.own_block.size());
    peers_memory_.shared_peers += block_first_bytes();
    FCI_ASSERT(peer.own_block_fd && peer.own_block.size() >= own_.settings.block_bytes);
    return status;
}

/// False, and errno: it was not sent.
bool ConnectionManager::send_hello(int fd, Entry& entry, bool with_files) {
    const Hello hello = make_hello(own_.settings, own_.card, entry.card.incarnation,
                                   own_.guard.data(), entry.peer->call.tries);
    if (!with_files) return send_record(fd, &hello, sizeof hello, {});
    FCI_ASSERT(own_.header_file && own_.waker && entry.peer->own_block_fd);
    const int files[kHelloFiles] = {own_.header_file.get(), entry.peer->own_block_fd.get(),
                                    own_.waker.get()};
    if (send_record(fd, &hello, sizeof hello, files)) return true;
    const int error = errno;
    if (!is_shortage(error)) return false;
    if (send_shortage_.lasts(clock_.now())) {
        log::hint_once(
            true,
            host::system_text("cannot connect to a peer yet, and goes on trying: the kernel passes "
                              "on no more open files",
                              error) +
                ". It lets as many be under way, for all processes of a user together, as "
                "one of them may have open; too many processes start at once, or another "
                "program of this user holds some back. Raise the limit of open files "
                "(ulimit -n), or start fewer processes on this host");
    }
    errno = error;
    return false;
}

bool ConnectionManager::send_word(int fd, Kind kind) noexcept {
    const Word word = make_word(kind);
    return send_record(fd, &word, sizeof word, {});
}

void ConnectionManager::on_link(int fd) {
    for (int i = 0; i < kRecordsPerLook; ++i) {
        if (static_cast<std::size_t>(fd) >= links_.size() || !link_of(fd).open) return;
        Received received;
        switch (receive_record(fd, &received)) {
            case Reception::nothing: return on_silence(fd);
            case Reception::closed: return on_closed(fd);
            case Reception::record: on_record(fd, received); break;
        }
    }
}

/// Reads all that the peer has said so far, on each of its links. A peer that met this process,
/// transferred and closed may have its last word on the link that is read first.
void ConnectionManager::hear(nhi::PeerId id) {
    std::vector<int> links = peers_[id].peer->links;
    for (const auto& [fd, visitor] : answered_) {
        if (visitor.id == id) links.push_back(fd);
    }
    for (const int fd : links) on_link(fd);
}

/// The link is read empty. If the peer's process has ended, nothing more comes, even while a child
/// of it keeps the socket open.
void ConnectionManager::on_silence(int fd) {
    const nhi::PeerId id = link_of(fd).id;
    if (id != nhi::kNoPeer && peers_[id].peer->ended) on_closed(fd);
}

void ConnectionManager::on_record(int fd, Received& received) {
    Link& link = link_of(fd);
    link.read_at = 0;
    Prologue prologue{};
    const bool ours = read_prologue(received.bytes.data(), received.length, &prologue);
    if (ours && prologue.kind == Kind::hello) return on_hello(fd, received);
    if (ours && prologue.kind == Kind::welcome && link.step == Step::knocked) {
        return on_welcome(fd);
    }
    if (ours && prologue.kind == Kind::crossed && link.step == Step::knocked) {
        return await_call(fd);
    }
    if (ours && prologue.kind == Kind::met && link.step == Step::answered) return on_met(fd);
    if (link.id == nhi::kNoPeer) {
        if (link.step == Step::silent) note_stranger();
        return ours && prologue.kind == Kind::bye ? on_left(fd) : drop(fd);
    }
    if (ours && prologue.kind == Kind::refusal) return on_refusal(fd, received);
    if (ours && prologue.kind == Kind::bye) return on_closed(fd, true);
    lose({link.id, Status::mismatch,
         describe(link.id) +
              " does not speak the protocol of this driver; is it another program?"});
}

void ConnectionManager::on_hello(int fd, Received& received) {
    const Step step = link_of(fd).step;
    if (step == Step::met || step == Step::answered) return;  // said twice
    Hello hello{};
    Objection objection = check_hello(received.bytes.data(), received.length, own_.settings,
                                      own_.card, &hello);
    if (objection == Objection::none && received.files_cut) objection = Objection::resources;
    const unsigned files = step == Step::silent ? 0 : kHelloFiles;
    const bool due = step == Step::silent || step == Step::asked || step == Step::awaiting;
    if (objection == Objection::none && (received.file_count != files || !due)) {
        objection = Objection::malformed;
    }
    if (link_of(fd).outgoing) return on_reply(fd, received, hello, objection);
    if (step == Step::silent) return on_knock(fd, hello, objection);
    on_visitor(fd, received, hello, objection);
}

void ConnectionManager::on_refusal(int fd, const Received& received) {
    const nhi::PeerId id = link_of(fd).id;
    Refusal refusal{};
    if (peers_[id].peer->connected ||
        !read_refusal(received.bytes.data(), received.length, &refusal)) {
        return;
    }
    lose({id, objection_status(refusal.objection),
         objection_text(refusal, own_.settings, describe(id))});
}

void ConnectionManager::refuse(int fd, Objection objection) {
    // A peer that is only dropped calls again.
    if (objection != Objection::resources || shortage_.lasts(clock_.now())) {
        const Refusal refusal = make_refusal(own_.settings, objection);
        (void)send_record(fd, &refusal, sizeof refusal, {});
    }
    drop(fd);
}

/// Checks everything that the peer has sent before any of it is used.
Status ConnectionManager::examine(const Hello& hello, Received& received, Arrival* arrival,
                                  std::string* error) {
    const std::size_t block = page_round(hello.block_bytes);
    Status status = Region::adopt(received.files[0].get(), kSharedHeaderBytes, kSharedHeaderMost,
                                  &arrival->header, error, kSharedHeaderBytes);
    if (status == Status::ok) {
        status = Region::adopt(received.files[1].get(), block, block, &arrival->block, error,
                               block_first_bytes());
    }
    if (status != Status::ok) return status;
    const auto& header = *reinterpret_cast<const SharedHeader*>(arrival->header.data());
    if (header.magic != kSharedHeaderMagic || header.incarnation != hello.card.incarnation ||
        !is_waker(received.files[2].get(), own_.waker.get())) {
        *error = "the peer sent memory that does not look like this driver's";
        return Status::mismatch;
    }
    arrival->header.hide_from_children(arrival->header.size());
    arrival->block.hide_from_children(block);
    arrival->wake = std::move(received.files[2]);
    return Status::ok;
}

/// The peer's memory is here. It counts as attached once the listener has been told.
void ConnectionManager::attach(nhi::PeerId id, const Hello& hello, Arrival arrival,
                               const Identity& identity) {
    Peer& peer = *peers_[id].peer;
    FCI_ASSERT(!peer.connected && !peer.gone && peer.own_block.data() != nullptr);
    // examine() has checked these.
    FCI_ASSERT(arrival.header.size() >= kSharedHeaderBytes &&
               arrival.block.size() >= hello.block_bytes);
    FCI_ASSERT(arrival.wake && hello.card.incarnation != 0);
    peer.its_header = std::move(arrival.header);
    peer.its_block = std::move(arrival.block);
    peer.wake = std::move(arrival.wake);
    peers_memory_.mapped += peer.its_header.size() + peer.its_block.size();
    peer.block = peer.its_block.data();
    peer.block_bytes = hello.block_bytes;
    peer.said = {hello.sizes, static_cast<int>(hello.rank)};
    peer.header = reinterpret_cast<SharedHeader*>(peer.its_header.data());
    peer.communication = peer.its_header.data() + kSharedHeaderBytes;
    peer.communication_bytes = peer.its_header.size() - kSharedHeaderBytes;
    peer.wake_fd = peer.wake.get();
    peer.fence = peer.header->senders_fence != 0 || peers_[nhi::kSelf].peer->fence;
    peer.copies.incarnation = hello.card.incarnation;
    peer.copies.guard_address = hello.guard_address;
    peer.connected = true;
    settle(peer);
    // Other meetings with this peer are not needed, and each costs a descriptor at either end.
    for (const int link : std::vector<int>(peer.links)) {
        if (link_of(link).step != Step::met) drop(link);
    }
    FCI_ASSERT(!peer.links.empty());  // its end is noticed there
    peer.own_block_fd.close();
    peer.ended = !watch_process_of(id, identity.pid);
    notices_.add({id, Status::ok, {}});
}

}  // namespace fci::shm
