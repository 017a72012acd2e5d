// SPDX-License-Identifier: BSD-3-Clause
// Region: mapped memory that another process can map as well (§2.5.2: the windows of the logical
// communication space). An anonymous file stands behind it, so it has no name that could be left
// over or squatted, and its size is sealed, so no access to it can end in SIGBUS.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>

#include "drivers/host/descriptor.h"
#include "fci_core/base/status.h"

namespace fci::shm {

/// Whole pages.
[[nodiscard]] std::size_t page_round(std::size_t bytes) noexcept;

class Region {
public:
    Region() noexcept = default;
    Region(Region&& other) noexcept;
    Region& operator=(Region&& other) noexcept;
    ~Region() { unmap(); }

    static constexpr std::size_t kAll = ~std::size_t{0};

    /// New zeroed memory; *file is what others can adopt. Of it the `first` bytes are there from
    /// the start, all where the kernel cannot provide() more later.
    static Status create(const char* name, std::size_t bytes, Region* region,
                         host::Descriptor* file, std::string* error, std::size_t first = kAll);
    /// Memory of another process. Nothing about `file` is believed: it must be a sealed memory
    /// file of `least` to `most` bytes.
    static Status adopt(int file, std::size_t least, std::size_t most, Region* region,
                        std::string* error, std::size_t first = kAll);
    /// Zeroed memory that no other process can map, there as soon as it is touched.
    static Status create_private(std::size_t bytes, Region* region, std::string* error);
    /// Likewise, at an address that nobody can foresee.
    static Status create_hidden(std::size_t bytes, Region* region, std::string* error);
    /// Whole pages at `address`, in a region, are there from now on; false: they cannot be had. A
    /// write to them without this may end in SIGBUS.
    static bool provide(std::byte* address, std::size_t bytes) noexcept;
    /// Gives whole pages back to the kernel; false: they stay.
    static bool take_back(std::byte* address, std::size_t bytes) noexcept;
    /// The kernel can add pages and take them back; since Linux 5.14.
    [[nodiscard]] static bool provides() noexcept;

    [[nodiscard]] std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
    /// False for what a child of fork() inherited: it may not be there.
    [[nodiscard]] bool is_mapped() const noexcept;
    /// A child of fork() does not get the first `bytes`: it has no business there.
    void hide_from_children(std::size_t bytes) noexcept;

private:
    Status map(int file, std::size_t bytes, std::size_t first, std::string* error);
    void hold(void* data, std::size_t bytes) noexcept;
    void unmap() noexcept;

    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    pid_t owner_ = 0;
};

}  // namespace fci::shm
