dnl fci.m4: the checks of configure.ac.

dnl FCI_CXX20: a compiler that does C++20 as we use it, with -std=c++20 where that must be said.
AC_DEFUN([FCI_CXX20], [
AC_CACHE_CHECK([how $CXX does C++20], [fci_cv_cxx20], [
  fci_cv_cxx20=no
  fci_save_CXX=$CXX
  for fci_flag in -std=c++20 -std=c++2a; do
    CXX="$fci_save_CXX $fci_flag"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <atomic>
#include <bit>
#include <concepts>
#include <span>
#include <string_view>
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
#error too old
#endif
template <std::unsigned_integral T> constexpr T up(T n) { return std::bit_ceil(n); }
struct Point { int x = 0, y = 0; };
]], [[
alignas(8) static unsigned long word = 0;
std::atomic_ref<unsigned long>(word).store(up(5ul), std::memory_order_release);
int a[2] = {1, 2};
std::span<int> s(a);
Point p{.x = s[0], .y = 2};
return std::string_view("fci_x").starts_with("fci_") ? p.x - 1 : 1;
]])], [fci_cv_cxx20=$fci_flag; break])
  done
  CXX=$fci_save_CXX])
AS_IF([test "$fci_cv_cxx20" = no],
  [AC_MSG_ERROR([$CXX cannot compile C++20 as FCI uses it. Use g++ 12 or newer (Debian 12: apt-get install g++), or name another compiler with CXX=])])
CXX="$CXX $fci_cv_cxx20"
])

dnl FCI_SANITIZE: --enable-sanitize=address,undefined | thread
AC_DEFUN([FCI_SANITIZE], [
AC_ARG_ENABLE([sanitize], [AS_HELP_STRING([--enable-sanitize=LIST],
  [build with sanitizers: address,undefined or thread])], [fci_sanitize=$enableval], [fci_sanitize=no])
AS_CASE([$fci_sanitize],
  [yes], [fci_sanitize=address,undefined],
  [no|address|undefined|thread|address,undefined|undefined,address|undefined,thread|thread,undefined], [],
  [AC_MSG_ERROR([--enable-sanitize=$fci_sanitize: use address,undefined or thread])])
AS_IF([test "$fci_sanitize" != no], [
  fci_flags="-fsanitize=$fci_sanitize -fno-omit-frame-pointer"
  AS_CASE([$fci_sanitize], [*undefined*], [fci_flags="$fci_flags -fno-sanitize-recover=undefined"])
  dnl The fences order stores against later loads (sleep and wake-up). The sanitizer ignores them, and
  dnl may: what one thread hands to another is ordered by release and acquire.
  AS_CASE([$fci_sanitize], [*thread*], [fci_flags="$fci_flags -Wno-tsan"])
  CXXFLAGS="$CXXFLAGS $fci_flags"
  CFLAGS="$CFLAGS $fci_flags"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [],
    [AC_MSG_ERROR([$CXX cannot link with -fsanitize=$fci_sanitize])])])
AM_CONDITIONAL([SANITIZE], [test "$fci_sanitize" != no])
AC_SUBST([fci_sanitize])
])

AC_DEFUN([FCI_WERROR], [
AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [warnings are errors])], [],
  [enable_werror=no])
dnl psabi: a note about the ABI of 2010, which libfci never shows to anybody.
FCI_WARNINGS="-Wall -Wextra -Wno-psabi"
AS_IF([test "$enable_werror" = yes], [FCI_WARNINGS="$FCI_WARNINGS -Werror"])
AC_SUBST([FCI_WARNINGS])
])

dnl FCI_OPTIONAL(NAME, pkg-config module, Debian package, what is missing without it)
dnl --with-<name>: required when said, left out with --without-<name>.
AC_DEFUN([FCI_OPTIONAL], [
m4_pushdef([fci_lower], m4_tolower([$1]))
AC_ARG_WITH(fci_lower, [AS_HELP_STRING([--without-]fci_lower, [$4])], [],
  [AS_VAR_SET([with_]fci_lower, [check])])
fci_have_$1=no
AS_IF([test "x$with_[]fci_lower" != xno], [
  PKG_CHECK_MODULES([$1], [$2], [fci_have_$1=yes], [
    AS_IF([test "x$with_[]fci_lower" != xcheck],
      [AC_MSG_ERROR([--with-]fci_lower[: $2 was not found by pkg-config (Debian: apt-get install $3)])])
    FCI_MISSING([$3], [$4])])])
AM_CONDITIONAL([HAVE_$1], [test "$fci_have_$1" = yes])
AS_IF([test "$fci_have_$1" = yes], [AC_DEFINE([HAVE_$1], [1], [$2 is there])])
m4_popdef([fci_lower])
])

dnl FCI_OPTIONAL_HEADERS(NAME, headers, Debian packages, what is missing without them)
AC_DEFUN([FCI_OPTIONAL_HEADERS], [
fci_have_$1=yes
AC_CHECK_HEADERS([$2], [], [fci_have_$1=no])
AS_IF([test $fci_have_$1 = no], [FCI_MISSING([$3], [$4])])
AM_CONDITIONAL([HAVE_$1], [test "$fci_have_$1" = yes])
])

dnl FCI_MISSING(Debian package, consequence): one line of the summary at the end.
AC_DEFUN([FCI_MISSING], [fci_missing="$fci_missing
  note: without $1 $2"
AC_MSG_WARN([$1 not found: $2])])

dnl FCI_MPICC: Open MPI's compiler wrapper, for the programs that run over the provider.
AC_DEFUN([FCI_MPICC], [
AC_PATH_PROGS([MPICC_OPENMPI], [mpicc.openmpi mpicc], [no])
AS_IF([test "$MPICC_OPENMPI" != no],
  [AS_IF(["$MPICC_OPENMPI" --showme:version >/dev/null 2>&1], [], [MPICC_OPENMPI=no])])
AM_CONDITIONAL([HAVE_OPENMPI], [test "$MPICC_OPENMPI" != no])
])
