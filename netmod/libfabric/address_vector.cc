// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/address_vector.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "netmod/libfabric/domain.h"
#include "netmod/libfabric/event_queue.h"
#include "netmod/libfabric/peer_numbers.h"
#include "netmod/libfabric/stubs.h"

namespace fci::libfabric {

namespace {

/// Slots that only newer headers have.
template <typename Table>
void fill_newer(Table& table) noexcept {
    if constexpr (requires { table.set_user_id; }) {
        table.insert_auth_key = not_offered;
        table.lookup_auth_key = not_offered;
        table.set_user_id = not_offered;
    }
}

}  // namespace

fi_ops_av AddressVector::operations() noexcept {
    fi_ops_av table{};
    table.size = sizeof table;
    table.insert = insert;
    table.insertsvc = insert_service;
    table.insertsym = not_offered;
    table.remove = remove;
    table.lookup = lookup;
    table.straddr = to_text;
    table.av_set = not_offered;
    fill_newer(table);
    return table;
}

AddressVector::AddressVector(Domain& domain, void* context) : domain_(domain) {
    static fi_ops fid_operations = fid_ops(close, bind);
    static fi_ops_av operations_of_all = operations();
    fid = {FI_CLASS_AV, context, &fid_operations};
    ops = &operations_of_all;
}

int AddressVector::open(fid_domain* domain, fi_av_attr* attributes, fid_av** vector,
                        void* context) {
    const fi_av_attr wanted = attributes == nullptr ? fi_av_attr{} : *attributes;
    if (wanted.name != nullptr) return -FI_ENOSYS;  // shared between processes
    if ((wanted.flags & ~(FI_EVENT | FI_SYMMETRIC)) != 0) return -FI_ENOSYS;
    if (wanted.type > FI_AV_TABLE) return -FI_EINVAL;
    return no_throw([&] {
        Domain& owner = Domain::of(domain);
        Guard guard(owner.lock());
        std::unique_ptr<AddressVector> made(new AddressVector(owner, context));
        made->entries_.reserve(wanted.count);
        ++owner.children;
        // The program learns here what FI_AV_UNSPEC became.
        if (attributes != nullptr && attributes->type == FI_AV_UNSPEC) {
            attributes->type = owner.av_type();
        }
        *vector = made.release();
        return 0;
    });
}

int AddressVector::close(fid_t object) {
    AddressVector* const vector = &of(object);
    Domain& domain = vector->domain_;
    {
        Guard guard(domain.lock());
        if (!vector->users_.empty()) return -FI_EBUSY;
        --domain.children;
    }
    if (vector->events_ != nullptr) vector->events_->use(-1);
    delete vector;
    return 0;
}

int AddressVector::bind(fid_t object, fid_t other, std::uint64_t) {
    AddressVector& vector = of(object);
    if (other->fclass != FI_CLASS_EQ || vector.events_ != nullptr) return -FI_EINVAL;
    vector.events_ = &EventQueue::of(other);
    vector.events_->use(+1);
    return 0;
}

/// 0 or a negative error; the number is FI_ADDR_NOTAVAIL then.
int AddressVector::add(const Card& card, fi_addr_t* number) {
    if (number != nullptr) *number = FI_ADDR_NOTAVAIL;
    if (card.sin_family != AF_INET) return -FI_EINVAL;
    const fi_addr_t place = entries_.size();
    entries_.push_back({card, true});
    for (PeerNumbers* user : users_) {
        const int result = user->learn(place, card);
        if (result != 0) {
            entries_.back().present = false;
            return result;
        }
    }
    if (number != nullptr) *number = place;
    return 0;
}

/// Insertions are done when they return; a program that asked for an event still gets one.
int AddressVector::report(int inserted, std::uint64_t flags, void* context) {
    if (events_ == nullptr || (flags & FI_SYNC_ERR) != 0) return inserted;
    fi_eq_entry entry{};
    entry.fid = &fid;
    entry.context = context;
    entry.data = static_cast<std::uint64_t>(inserted);
    events_->put(FI_AV_COMPLETE, &entry, sizeof entry);
    return 0;
}

int AddressVector::insert(fid_av* fid, const void* addresses, std::size_t count,
                          fi_addr_t* numbers, std::uint64_t flags, void* context) {
    AddressVector& vector = of(fid);
    return no_throw([&] {
        Guard guard(vector.domain_.lock());
        const auto* from = static_cast<const char*>(addresses);
        int inserted = 0;
        for (std::size_t i = 0; i < count; ++i, from += sizeof(Card)) {
            Card card;
            std::memcpy(&card, from, sizeof card);
            const int result = vector.add(card, numbers == nullptr ? nullptr : &numbers[i]);
            inserted += result == 0;
            if ((flags & FI_SYNC_ERR) != 0 && context != nullptr) {
                static_cast<int*>(context)[i] = -result;
            }
        }
        return vector.report(inserted, flags, context);
    });
}

int AddressVector::insert_service(fid_av* fid, const char* node, const char* service,
                                  fi_addr_t* number, std::uint64_t flags, void* context) {
    const auto card = parse_card(node, service);
    if (!card) {
        if (number != nullptr) *number = FI_ADDR_NOTAVAIL;
        return -FI_EINVAL;
    }
    return insert(fid, &*card, 1, number, flags, context);
}

int AddressVector::remove(fid_av* fid, fi_addr_t* numbers, std::size_t count, std::uint64_t) {
    AddressVector& vector = of(fid);
    Guard guard(vector.domain_.lock());
    int result = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const fi_addr_t place = numbers[i];
        if (place >= vector.entries_.size() || !vector.entries_[place].present) {
            result = -FI_EINVAL;
            continue;
        }
        vector.entries_[place].present = false;
        for (PeerNumbers* user : vector.users_) user->forget(place);
    }
    return result;
}

int AddressVector::lookup(fid_av* fid, fi_addr_t number, void* address, std::size_t* bytes) {
    AddressVector& vector = of(fid);
    Guard guard(vector.domain_.lock());
    if (number >= vector.entries_.size() || !vector.entries_[number].present) return -FI_EINVAL;
    std::memcpy(address, &vector.entries_[number].card, std::min(*bytes, sizeof(Card)));
    *bytes = sizeof(Card);
    return 0;
}

const char* AddressVector::to_text(fid_av*, const void* address, char* text,
                                   std::size_t* bytes) {
    Card card;
    std::memcpy(&card, address, sizeof card);
    const int length = format_card(card, text, *bytes);
    *bytes = static_cast<std::size_t>(length) + 1;
    return text;
}

}  // namespace fci::libfabric
