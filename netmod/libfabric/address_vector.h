// SPDX-License-Identifier: BSD-3-Clause
// AddressVector: the number that a program uses for a process is its place in the order of
// insertion, for FI_AV_MAP too; repeated addresses get numbers of their own.
#pragma once

#include <rdma/fi_domain.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "netmod/libfabric/address.h"

namespace fci::libfabric {

class Domain;
class EventQueue;
class PeerNumbers;

class AddressVector final : public fid_av {
public:
    static int open(fid_domain* domain, fi_av_attr* attributes, fid_av** vector, void* context);

    [[nodiscard]] static AddressVector& of(fid_av* vector) noexcept {
        return *static_cast<AddressVector*>(vector);
    }
    [[nodiscard]] static AddressVector& of(fid_t object) noexcept {
        return of(reinterpret_cast<fid_av*>(object));
    }

    struct Entry {
        Card card;
        bool present;
    };
    /// Under the lock, all of these. Places are never used twice: a number that a program kept for
    /// too long finds nothing, instead of another process.
    [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
    void add_user(PeerNumbers& user) { users_.push_back(&user); }
    void remove_user(PeerNumbers& user) noexcept { std::erase(users_, &user); }

private:
    AddressVector(Domain& domain, void* context);

    static fi_ops_av operations() noexcept;
    static int close(fid_t object);
    static int bind(fid_t object, fid_t other, std::uint64_t flags);
    static int insert(fid_av* vector, const void* addresses, std::size_t count, fi_addr_t* numbers,
                      std::uint64_t flags, void* context);
    static int insert_service(fid_av* vector, const char* node, const char* service,
                              fi_addr_t* number, std::uint64_t flags, void* context);
    static int remove(fid_av* vector, fi_addr_t* numbers, std::size_t count, std::uint64_t flags);
    static int lookup(fid_av* vector, fi_addr_t number, void* address, std::size_t* bytes);
    static const char* to_text(fid_av* vector, const void* address, char* text,
                               std::size_t* bytes);

    int add(const Card& card, fi_addr_t* number);
    int report(int inserted, std::uint64_t flags, void* context);

    Domain& domain_;
    std::vector<Entry> entries_;
    std::vector<PeerNumbers*> users_;
    EventQueue* events_ = nullptr;
};

}  // namespace fci::libfabric
