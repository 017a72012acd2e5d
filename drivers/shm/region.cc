// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/shm/region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include <utility>

#include "drivers/host/draw.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/memory_file.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace fci::shm {

namespace {

constexpr unsigned kPlacesTried = 1000;  // almost all are free
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// The kernel would kill this process, or others, before it says that this is too much.
bool beyond_limits(std::size_t bytes) noexcept {
    rlimit file{};
    struct sysinfo machine {};
    return (getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur != RLIM_INFINITY &&
            bytes > file.rlim_cur) ||
           (sysinfo(&machine) == 0 &&
            bytes / machine.mem_unit > machine.totalram + machine.totalswap);
}

bool is_page(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address) % page_round(1) == 0;
}

}  // namespace

std::size_t page_round(std::size_t bytes) noexcept {
    static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

Region::Region(Region&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      owner_(other.owner_) {}

Region& Region::operator=(Region&& other) noexcept {
    if (this != &other) {
        unmap();
        data_ = std::exchange(other.data_, nullptr);
        bytes_ = std::exchange(other.bytes_, 0);
        owner_ = other.owner_;
    }
    return *this;
}

Status Region::create(const char* name, std::size_t bytes, Region* region, host::Descriptor* file,
                      std::string* error, std::size_t first) {
    bytes = page_round(bytes);
    first = first < bytes && provides() ? page_round(first) : bytes;
    if (beyond_limits(bytes)) {
        *error = "cannot get " + std::to_string(bytes) + " bytes of shared memory for " + name +
                 ": more than this machine has, or than the limit of file sizes (ulimit -f); "
                 "make FCI_RING_BYTES smaller";
        return Status::exhausted;
    }
    host::Descriptor made(open_memory_file(name));
    if (!made) {
        *error = host::system_text("cannot make shared memory (memfd_create)");
        return errno == ENOSYS || errno == EPERM || errno == EACCES ? Status::unsupported
                                                                    : Status::exhausted;
    }
    int failed;
    do {
        failed = posix_fallocate(made.get(), 0, static_cast<off_t>(first));
    } while (failed == EINTR);
    if (failed == 0 && ftruncate(made.get(), static_cast<off_t>(bytes)) != 0) failed = errno;
    if (failed != 0) {
        *error = host::system_text("cannot get " + std::to_string(first) +
                                       " bytes of shared memory for " + name +
                                       "; free some, raise the limit of the container, or make "
                                       "FCI_SLOTS and FCI_RING_BYTES smaller",
                                   failed);
        return Status::exhausted;
    }
    if (fcntl(made.get(), F_ADD_SEALS, kSeals) != 0) {
        *error = host::system_text("cannot seal shared memory");
        return Status::unsupported;
    }
    FCI_ASSERT(first <= bytes && bytes == page_round(bytes));
    const Status mapped = region->map(made.get(), bytes, first, error);
    if (mapped == Status::ok) *file = std::move(made);
    return mapped;
}

Status Region::adopt(int file, std::size_t least, std::size_t most, Region* region,
                     std::string* error, std::size_t first) {
    struct stat about {};
    const int seals = fcntl(file, F_GET_SEALS);
    if (seals < 0 || (seals & kSeals) != kSeals || fstat(file, &about) != 0) {
        *error = "the peer sent a descriptor that is no sealed memory file";
        return Status::mismatch;
    }
    const auto bytes = static_cast<std::size_t>(about.st_size);
    if (about.st_size < 0 || bytes < least || bytes > most) {
        *error = "the peer sent shared memory of " + std::to_string(about.st_size) +
                 " bytes where " + std::to_string(least) +
                 (most == least ? "" : " or more") + " were expected";
        return Status::mismatch;
    }
    return region->map(file, bytes, provides() ? first : kAll, error);
}

Status Region::create_private(std::size_t bytes, Region* region, std::string* error) {
    return region->map(-1, page_round(bytes), 0, error);
}

Status Region::create_hidden(std::size_t bytes, Region* region, std::string* error) {
    bytes = page_round(bytes);
    // Stacks lie above all that programs map.
    const auto top = reinterpret_cast<std::uintptr_t>(&bytes) / bytes - 1;
#ifdef __SANITIZE_THREAD__  // which ends programs that map memory far away from others
    const std::uintptr_t first = top - (std::uintptr_t{1} << 40) / bytes;
#else
    const std::uintptr_t first = 1;
#endif
    for (unsigned i = 0; i < kPlacesTried; ++i) {
        std::uint64_t number;
        if (!host::draw(&number)) {
            *error = host::system_text("no random numbers (getrandom)");
            return Status::unsupported;
        }
        void* const place = reinterpret_cast<void*>((first + number % (top - first)) * bytes);
        void* const data = mmap(place, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (data == place) {
            region->hold(data, bytes);
            return Status::ok;
        }
        // Before Linux 4.17 the address is a wish only.
        if (data != MAP_FAILED) munmap(data, bytes);
    }
    *error = host::system_text("cannot map memory at any of " + std::to_string(kPlacesTried) +
                               " random addresses");
    return Status::exhausted;
}

bool Region::provide(std::byte* address, std::size_t bytes) noexcept {
    FCI_ASSERT(is_page(address));
    int failed;
    do {
        failed = madvise(address, page_round(bytes), MADV_POPULATE_WRITE);
    } while (failed != 0 && errno == EINTR);
    return failed == 0;
}

bool Region::take_back(std::byte* address, std::size_t bytes) noexcept {
    FCI_ASSERT(is_page(address));
    return madvise(address, page_round(bytes), MADV_REMOVE) == 0;
}

bool Region::provides() noexcept {
    // An empty range says whether the advice is known.
    static const bool known = madvise(nullptr, 0, MADV_POPULATE_WRITE) == 0;
    return known;
}

/// `file` < 0: none. The first bytes are mapped at once, the rest when it is touched.
Status Region::map(int file, std::size_t bytes, std::size_t first, std::string* error) {
    const int flags = (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) |
                      (first >= bytes ? MAP_POPULATE : 0);
    void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (data == MAP_FAILED) {
        *error =
            host::system_text("cannot map " + std::to_string(bytes) + " bytes of shared memory");
        return Status::exhausted;
    }
    if (first != 0 && first < bytes) (void)provide(static_cast<std::byte*>(data), first);
    hold(data, bytes);
    return Status::ok;
}

void Region::hold(void* data, std::size_t bytes) noexcept {
    FCI_ASSERT(is_page(data) && bytes != 0);
    unmap();
    data_ = static_cast<std::byte*>(data);
    bytes_ = bytes;
    owner_ = getpid();
}

bool Region::is_mapped() const noexcept { return data_ != nullptr && owner_ == getpid(); }

void Region::hide_from_children(std::size_t bytes) noexcept {
    FCI_ASSERT(data_ != nullptr && bytes <= page_round(bytes_));
    // Failure would only leave the child a view that it does not use.
    (void)madvise(data_, page_round(bytes), MADV_DONTFORK);
}

void Region::unmap() noexcept {
    // In a child of fork() the addresses may belong to somebody else by now.
    if (is_mapped()) munmap(data_, bytes_);
    data_ = nullptr;
    bytes_ = 0;
}

}  // namespace fci::shm
