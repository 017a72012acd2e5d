// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/host/libcrypto.h"

#include <dlfcn.h>

#include "fci_core/base/assert.h"

namespace fci::host {

namespace {

template <class Function>
bool find_one(void* library, const char* name, Function** function) noexcept {
    *function = reinterpret_cast<Function*>(dlsym(library, name));
    return *function != nullptr;
}

}  // namespace

/// The library stays open, as OpenSSL expects to be there until the process ends.
std::unique_ptr<Libcrypto> Libcrypto::open(std::string* why, std::span<const char* const> names) {
    FCI_ASSERT(!names.empty());
    for (const char* const name : names) {
        void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            const char* const text = dlerror();
            *why = text != nullptr ? text : name;
            continue;
        }
        std::unique_ptr<Libcrypto> made(new Libcrypto);
        if (made->find(library)) return made;
        *why = std::string(name) + " has no AES-128-GCM";
    }
    return nullptr;
}

bool Libcrypto::find(void* library) {
    if (!find_one(library, "EVP_CIPHER_CTX_new", &context_new) ||
        !find_one(library, "EVP_CIPHER_CTX_free", &context_free) ||
        !find_one(library, "EVP_CIPHER_CTX_ctrl", &context_ctrl) ||
        !find_one(library, "EVP_CipherInit_ex", &init) ||
        !find_one(library, "EVP_CipherUpdate", &update) ||
        !find_one(library, "EVP_CipherFinal_ex", &final)) {
        return false;
    }
    Library* (*own_new)() = nullptr;
    Cipher* (*fetch)(Library*, const char*, const char*) = nullptr;
    const Cipher* (*aes_128_gcm)() = nullptr;
    if (find_one(library, "OSSL_LIB_CTX_new", &own_new) &&
        find_one(library, "OSSL_LIB_CTX_free", &own_free_) &&
        find_one(library, "EVP_CIPHER_fetch", &fetch) &&
        find_one(library, "EVP_CIPHER_free", &cipher_free_)) {
        own_ = own_new();
        if (own_ != nullptr) cipher_ = fetch(own_, "AES-128-GCM", nullptr);
    } else if (find_one(library, "EVP_aes_128_gcm", &aes_128_gcm)) {  // 1.1
        cipher_ = aes_128_gcm();
    }
    return cipher_ != nullptr;
}

Libcrypto::~Libcrypto() {
    if (own_ == nullptr) return;
    if (cipher_ != nullptr) cipher_free_(const_cast<Cipher*>(cipher_));
    own_free_(own_);
}

}  // namespace fci::host
