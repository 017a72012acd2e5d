// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/host/aead.h"

#include <climits>
#include <new>

#include "fci_core/base/assert.h"

namespace fci::host {

namespace {

// EVP_CTRL_AEAD_GET_TAG and EVP_CTRL_AEAD_SET_TAG, the same in OpenSSL 1.1 and 3.
constexpr int kGetTag = 0x10, kSetTag = 0x11;
constexpr int kAsBefore = -1;  // the direction

const unsigned char* in_of(const std::byte* bytes) noexcept {
    return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* out_of(std::byte* bytes) noexcept {
    return reinterpret_cast<unsigned char*>(bytes);
}

}  // namespace

Aead::Aead(const Libcrypto& library, const Key& key, Direction direction)
    : library_(library), context_(library.context_new()) {
    FCI_ASSERT(library.cipher() != nullptr);
    if (context_ != nullptr && library_.init(context_, library.cipher(), nullptr, in_of(key.data()),
                                             nullptr, static_cast<int>(direction)) == 1) {
        return;
    }
    library_.context_free(context_);
    throw std::bad_alloc();
}

bool Aead::pass(const Nonce& nonce, std::span<const std::byte> associated,
                std::span<const std::byte> data, std::byte* out) noexcept {
    FCI_ASSERT(associated.size() <= INT_MAX && data.size() <= INT_MAX);
    int bytes = 0;
    if (library_.init(context_, nullptr, nullptr, nullptr, in_of(nonce.data()), kAsBefore) != 1 ||
        library_.update(context_, nullptr, &bytes, in_of(associated.data()),
                        static_cast<int>(associated.size())) != 1) {
        return false;
    }
    return data.empty() || library_.update(context_, out_of(out), &bytes, in_of(data.data()),
                                           static_cast<int>(data.size())) == 1;
}

/// GCM keeps nothing back, so nothing is written here.
bool Aead::end(std::byte* out) noexcept {
    int bytes = 0;
    const bool is_done = library_.final(context_, out_of(out), &bytes) == 1;
    FCI_ASSERT(bytes == 0);
    return is_done;
}

bool Aead::seal(const Nonce& nonce, std::span<const std::byte> associated,
                std::span<const std::byte> data, std::byte* out, Tag* tag) noexcept {
    return pass(nonce, associated, data, out) && end(out + data.size()) &&
           library_.context_ctrl(context_, kGetTag, static_cast<int>(tag->size()), tag->data()) ==
               1;
}

bool Aead::open(const Nonce& nonce, std::span<const std::byte> associated,
                std::span<const std::byte> data, std::byte* out, const Tag& tag) noexcept {
    return pass(nonce, associated, data, out) &&
           library_.context_ctrl(context_, kSetTag, static_cast<int>(tag.size()),
                                 const_cast<std::byte*>(tag.data())) == 1 &&
           end(out + data.size());
}

}  // namespace fci::host
