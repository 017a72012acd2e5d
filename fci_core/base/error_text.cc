// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/error_text.h"

#include <locale.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace fci {

namespace {

// glibc knows these names since 2.32 only.
struct Named {
    int number;
    const char* name;
};
#define NAME(number) {number, #number},
constexpr Named kNames[] = {
    // clang-format off
    NAME(EPERM) NAME(ENOENT) NAME(ESRCH) NAME(EINTR) NAME(EIO) NAME(ENXIO) NAME(E2BIG)
    NAME(ENOEXEC) NAME(EBADF) NAME(ECHILD) NAME(EAGAIN) NAME(ENOMEM) NAME(EACCES) NAME(EFAULT)
    NAME(ENOTBLK) NAME(EBUSY) NAME(EEXIST) NAME(EXDEV) NAME(ENODEV) NAME(ENOTDIR) NAME(EISDIR)
    NAME(EINVAL) NAME(ENFILE) NAME(EMFILE) NAME(ENOTTY) NAME(ETXTBSY) NAME(EFBIG) NAME(ENOSPC)
    NAME(ESPIPE) NAME(EROFS) NAME(EMLINK) NAME(EPIPE) NAME(EDOM) NAME(ERANGE) NAME(ENAMETOOLONG)
    NAME(EDEADLK) NAME(ENOLCK) NAME(ENOSYS) NAME(ENOTEMPTY) NAME(ELOOP) NAME(ENOMSG) NAME(EIDRM)
    NAME(ECHRNG) NAME(EL2NSYNC) NAME(EL3HLT) NAME(EL3RST) NAME(ELNRNG) NAME(EUNATCH) NAME(ENOCSI)
    NAME(EL2HLT) NAME(EBADE) NAME(EBADR) NAME(EXFULL) NAME(ENOANO) NAME(EBADRQC) NAME(EBADSLT)
    NAME(EBFONT) NAME(ENOSTR) NAME(ENODATA) NAME(ETIME) NAME(ENOSR) NAME(ENONET) NAME(ENOPKG)
    NAME(EREMOTE) NAME(ENOLINK) NAME(EADV) NAME(ESRMNT) NAME(ECOMM) NAME(EPROTO) NAME(EMULTIHOP)
    NAME(EDOTDOT) NAME(EBADMSG) NAME(EOVERFLOW) NAME(ENOTUNIQ) NAME(EBADFD) NAME(EREMCHG)
    NAME(ELIBACC) NAME(ELIBBAD) NAME(ELIBSCN) NAME(ELIBMAX) NAME(ELIBEXEC) NAME(EILSEQ)
    NAME(ERESTART) NAME(ESTRPIPE) NAME(EUSERS) NAME(ENOTSOCK) NAME(EDESTADDRREQ) NAME(EMSGSIZE)
    NAME(EPROTOTYPE) NAME(ENOPROTOOPT) NAME(EPROTONOSUPPORT) NAME(ESOCKTNOSUPPORT)
    NAME(EPFNOSUPPORT) NAME(EOPNOTSUPP) NAME(EAFNOSUPPORT) NAME(EADDRINUSE) NAME(EADDRNOTAVAIL)
    NAME(ENETDOWN) NAME(ENETUNREACH) NAME(ENETRESET) NAME(ECONNABORTED) NAME(ECONNRESET)
    NAME(ENOBUFS) NAME(EISCONN) NAME(ENOTCONN) NAME(ESHUTDOWN) NAME(ETOOMANYREFS) NAME(ETIMEDOUT)
    NAME(ECONNREFUSED) NAME(EHOSTDOWN) NAME(EHOSTUNREACH) NAME(EALREADY) NAME(EINPROGRESS)
    NAME(ESTALE) NAME(EUCLEAN) NAME(ENOTNAM) NAME(ENAVAIL) NAME(EISNAM) NAME(EREMOTEIO)
    NAME(EDQUOT) NAME(ENOMEDIUM) NAME(EMEDIUMTYPE) NAME(ECANCELED) NAME(ENOKEY) NAME(EKEYEXPIRED)
    NAME(EKEYREVOKED) NAME(EKEYREJECTED) NAME(EOWNERDEAD) NAME(ENOTRECOVERABLE) NAME(ERFKILL)
    NAME(EHWPOISON)
    // clang-format on
};
#undef NAME

const char* name_of(int number) noexcept {
    const auto* const found = std::find_if(std::begin(kNames), std::end(kNames),
                                           [&](const Named& one) { return one.number == number; });
    return found != std::end(kNames) ? found->name : nullptr;
}

}  // namespace

std::string errno_text(int number) {
    // The words stay English where the program has chosen another language.
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
    const char* const name = name_of(number);
    if (name == nullptr || plain == nullptr) return "error " + std::to_string(number);
    return std::string(strerror_l(number, plain)) + " (" + name + ")";
}

std::string error_text(const Diagnosis& diagnosis) {
    std::string text = "fci: " + std::string(diagnosis.what);
    if (!diagnosis.where.empty()) text += " (" + std::string(diagnosis.where) + ")";
    if (!diagnosis.cause.empty()) text += ": " + std::string(diagnosis.cause);
    text += ".";
    if (!diagnosis.remedy.empty()) text += " " + std::string(diagnosis.remedy);
    return text;
}

}  // namespace fci
