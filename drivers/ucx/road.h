// SPDX-License-Identifier: BSD-3-Clause
// Road: frames from worker to worker, by UCX's active messages. This and Rendezvous are all that
// the driver knows of UCX, so that another library of networks could take its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fci_core/base/status.h"
#include "fci_core/nhi/types.h"

namespace fci::ucx {

struct Library;

class Road {
public:
    /// To one peer. It lives until Road::close(), and as long as UCX still calls for it.
    struct Way;

    /// Hears what comes, from inside progress(), arm() and close() only.
    class Listener {
    public:
        virtual ~Listener() = default;
        /// The bytes are gone on return, and anybody may have sent them.
        virtual void frame_came(std::span<const std::byte> frame) noexcept = 0;
    };

    /// nullptr, a status and a sentence when it cannot be done.
    static std::unique_ptr<Road> open(const Library& library, Listener& listener, Status* status,
                                      std::string* error);
    ~Road();
    Road(const Road&) = delete;
    Road& operator=(const Road&) = delete;

    /// Of this process's worker; by it others open ways.
    [[nodiscard]] std::span<const std::byte> address() const noexcept { return address_; }
    /// A way to the worker of that address; nullptr, and *error. UCX connects when the first frame
    /// is sent, and may need both ends for that. Throws bad_alloc.
    Way* open_way(const std::byte* address, std::string* error);
    /// Nothing is sent by it any more, and the pointer is forgotten; what was not sent yet is given
    /// up.
    void close(Way* way) noexcept;
    /// As close(), in steps. True: UCX uses nothing any more that was given for the way, and the
    /// pointer is forgotten. False: a later call may say so.
    [[nodiscard]] bool end(Way* way) noexcept;

    /// Room for a frame of that many bytes to that peer; nullptr: too many wait there, or memory
    /// is short.
    [[nodiscard]] std::byte* begin(Way* way, std::size_t bytes) noexcept;
    /// Sends what begin() gave last, behind all that was sent by this way before.
    void send(Way* way, std::size_t bytes) noexcept;
    /// The word for what broke the way, mostly UCX's; nullptr: nothing did.
    [[nodiscard]] static const char* broken(const Way* way) noexcept;
    /// The way is of no use any more. `why` lives as long as the program.
    void mark_broken(Way* way, const char* why) noexcept;
    /// Some way that is not closed is broken.
    [[nodiscard]] bool has_broken() const noexcept { return broken_ != 0; }

    /// One turn of UCX. Returns the work done.
    unsigned progress() noexcept;
    /// True: fd() becomes readable when there is work. False: there is some now, or was.
    bool arm() noexcept;
    [[nodiscard]] int fd() const noexcept { return fd_; }

    /// Begins to wait until all that was sent by the way has arrived, for which UCX may need turns
    /// of the peer.
    void begin_flush(Way* way) noexcept;
    /// True: it has, or never will.
    [[nodiscard]] bool is_flushed(Way* way) noexcept;
    /// All that was sent has arrived, or gets there without this process and without turns of the
    /// peer. While is_closing(), only: UCX has taken it all.
    [[nodiscard]] bool is_idle() noexcept;
    [[nodiscard]] std::size_t ways() const noexcept { return ways_.size(); }
    /// Ways that are closed, but which UCX still uses.
    [[nodiscard]] bool is_closing() const noexcept { return closing_ != 0; }

    /// In a child of fork(), which may not use UCX: leaves all to the parent.
    void abandon() noexcept;
    /// For people: "UCX 1.13.1".
    [[nodiscard]] std::string name() const;

    // --- for Rendezvous ---
    struct Worker;
    struct Frame;
    [[nodiscard]] const Library& library() const noexcept { return library_; }
    [[nodiscard]] Worker& worker() const noexcept { return *worker_; }
    /// Something was sent, as by send().
    void note_sent() noexcept { is_dirty_ = true; }

private:
    Road(const Library& library, Listener& listener) noexcept;
    Status start(std::string* error);
    Status make_worker(std::string* error);
    [[nodiscard]] bool is_unused(Way* way) noexcept;
    void put_back(Frame* frame) noexcept;

    // How many frames may wait for UCX at one way: it takes them all, so that what a peer does not
    // take in would grow without bound.
    static constexpr unsigned kWaitingMost = 64;
    static constexpr std::size_t kFrameRoom = 8 * 1024;  // frames up to that are used again
    static constexpr std::size_t kSpareMost = 256;       // of those

    const Library& library_;
    Listener& listener_;
    std::unique_ptr<Worker> worker_;
    std::span<const std::byte> address_;
    int fd_ = -1;
    std::vector<std::unique_ptr<Way>> ways_;
    std::vector<Frame*> spare_;
    unsigned closing_ = 0, broken_ = 0;
    bool is_dirty_ = false;  // something was sent since the last flush of the worker began
    void* flush_ = nullptr;
};

}  // namespace fci::ucx
