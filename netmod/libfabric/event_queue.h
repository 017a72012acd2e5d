// SPDX-License-Identifier: BSD-3-Clause
// EventQueue: control events. The provider makes two kinds, FI_AV_COMPLETE and what programs write.
#pragma once

#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "netmod/libfabric/guard.h"

namespace fci::libfabric {

class Fabric;

class EventQueue final : public fid_eq {
public:
    static int open(fid_fabric* fabric, fi_eq_attr* attributes, fid_eq** queue, void* context);
    ~EventQueue();

    [[nodiscard]] static EventQueue& of(fid_eq* queue) noexcept {
        return *static_cast<EventQueue*>(queue);
    }
    [[nodiscard]] static EventQueue& of(fid_t object) noexcept {
        return of(reinterpret_cast<fid_eq*>(object));
    }

    void put(std::uint32_t event, const void* data, std::size_t bytes);
    [[nodiscard]] bool empty() noexcept;
    void use(int by) noexcept;  // objects bound to it

private:
    struct Event {
        std::uint32_t kind = 0;
        std::vector<char> data;
    };

    EventQueue(Fabric& fabric, const fi_eq_attr& attributes, void* context);

    static int close(fid_t object);
    static int control(fid_t object, int command, void* argument);
    static ssize_t read(fid_eq* queue, std::uint32_t* event, void* to, std::size_t bytes,
                        std::uint64_t flags);
    static ssize_t read_error(fid_eq* queue, fi_eq_err_entry* to, std::uint64_t flags);
    static ssize_t write(fid_eq* queue, std::uint32_t event, const void* data, std::size_t bytes,
                         std::uint64_t flags);
    static ssize_t blocking_read(fid_eq* queue, std::uint32_t* event, void* to, std::size_t bytes,
                                 int timeout, std::uint64_t flags);
    static const char* error_text(fid_eq* queue, int provider_error, const void* data, char* text,
                                  std::size_t bytes);

    void remove_first() noexcept;

    Fabric& fabric_;
    Lock lock_{true};
    std::deque<Event> events_;
    const bool writable_;
    const fi_wait_obj wait_object_;
    int bell_ = -1;  // a semaphore: readable while there are events
    unsigned users_ = 0;
};

}  // namespace fci::libfabric
