dnl SPDX-License-Identifier: BSD-3-Clause
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
dnl --with-<name>, --without-<name> as above.
AC_DEFUN([FCI_OPTIONAL_HEADERS], [
m4_pushdef([fci_lower], m4_tolower([$1]))
AC_ARG_WITH(fci_lower, [AS_HELP_STRING([--without-]fci_lower, [$4])], [],
  [AS_VAR_SET([with_]fci_lower, [check])])
fci_have_$1=no
AS_IF([test "x$with_[]fci_lower" != xno], [
  fci_have_$1=yes
  AC_CHECK_HEADERS([$2], [], [fci_have_$1=no])
  AS_CASE([$fci_have_$1:$with_[]fci_lower],
    [yes:*], [],
    [no:check], [FCI_MISSING([$3], [$4])],
    [AC_MSG_ERROR([--with-]fci_lower[: $2 was not found (Debian: apt-get install $3)])])])
m4_popdef([fci_lower])
AM_CONDITIONAL([HAVE_$1], [test "$fci_have_$1" = yes])
])

dnl FCI_MISSING(Debian package, consequence): one line of the summary at the end.
AC_DEFUN([FCI_MISSING], [fci_missing="$fci_missing
  note: without $1 $2"
AC_MSG_WARN([$1 not found: $2])])

dnl FCI_OPENMPI: the Open MPI whose component is built, with its internal headers: 4.1 or 5.0.
dnl OPENMPI_RELEASE says which; fci_have_OPENMPI says it in a sentence, or why there is none.
AC_DEFUN([FCI_OPENMPI], [
AC_ARG_WITH([openmpi], [AS_HELP_STRING([--with-openmpi=MPICC],
  [the mpicc of the Open MPI that its component is built for])], [], [with_openmpi=check])
AC_ARG_WITH([openmpi-source], [AS_HELP_STRING([--with-openmpi-source=DIR],
  [its unpacked source, for headers that were not installed, as some of Debian's 5.0])],
  [], [with_openmpi_source=no])
OPENMPI_RELEASE= OPENMPI_CPPFLAGS= OPENMPI_LIBS=
AS_CASE([$with_openmpi],
  [no], [fci_have_OPENMPI=no],
  [yes|check], [AC_PATH_PROGS([MPICC_OPENMPI], [mpicc.openmpi mpicc], [mpicc])],
  [MPICC_OPENMPI=$with_openmpi])
AS_IF([test "$with_openmpi" != no], [FCI_OPENMPI_HEADERS])
AS_CASE([$with_openmpi:$with_openmpi_source:$OPENMPI_RELEASE],
  [no:*|check:no:*|*:4.1|*:5.0], [],
  [AC_MSG_ERROR([--with-openmpi: $fci_have_OPENMPI])])
AM_CONDITIONAL([HAVE_OPENMPI], [test -n "$OPENMPI_RELEASE"])
AM_CONDITIONAL([HAVE_OPENMPI_4], [test "$OPENMPI_RELEASE" = 4.1])
AC_SUBST([OPENMPI_RELEASE])
AC_SUBST([OPENMPI_CPPFLAGS])
AC_SUBST([OPENMPI_LIBS])
])

dnl Warnings in Open MPI's headers are not ours, so they are a system's.
AC_DEFUN([FCI_OPENMPI_HEADERS], [
AC_MSG_CHECKING([which Open MPI the component can be built for])
fci_version_h=
for fci_directory in `"$MPICC_OPENMPI" --showme:incdirs 2>/dev/null`; do
  OPENMPI_CPPFLAGS="$OPENMPI_CPPFLAGS -isystem $fci_directory"
  AS_IF([test -e "$fci_directory/ompi/mca/pml/pml.h"],
    [fci_version_h=$fci_directory/ompi/version.h])
done
for fci_directory in `"$MPICC_OPENMPI" --showme:libdirs 2>/dev/null`; do
  OPENMPI_LIBS="$OPENMPI_LIBS -L$fci_directory"
done
OPENMPI_LIBS="$OPENMPI_LIBS -lmpi -lopen-pal"
AS_IF([test -z "$OPENMPI_CPPFLAGS"],
  [fci_have_OPENMPI="no: $MPICC_OPENMPI is no mpicc of Open MPI (Debian: libopenmpi-dev)"],
  [test -z "$fci_version_h"],
  [fci_have_OPENMPI="no: $MPICC_OPENMPI came without Open MPI's internal headers (Debian: libopenmpi-dev)"],
  [OPENMPI_RELEASE=`$SED -n 's/^#define OMPI_MAJOR_VERSION //p' "$fci_version_h"`.`$SED -n \
    's/^#define OMPI_MINOR_VERSION //p' "$fci_version_h"`
  AS_CASE([$OPENMPI_RELEASE], [4.1|5.0], [FCI_OPENMPI_OTHERS
    FCI_OPENMPI_LINK], [
    fci_have_OPENMPI="no: $MPICC_OPENMPI is of Open MPI $OPENMPI_RELEASE, not of 4.1 or 5.0"
    OPENMPI_RELEASE=])])
AC_MSG_RESULT([$fci_have_OPENMPI])
])

dnl What 5.0 needs besides: PMIx, and headers that only its source may have. That comes last, and has
dnl to be of the very same version.
AC_DEFUN([FCI_OPENMPI_OTHERS], [
fci_full_version=$OPENMPI_RELEASE.`$SED -n 's/^#define OMPI_RELEASE_VERSION //p' "$fci_version_h"`
AS_CASE([$OPENMPI_RELEASE], [5.0], [
  for fci_flag in `$PKG_CONFIG --cflags-only-I pmix 2>/dev/null`; do
    OPENMPI_CPPFLAGS="$OPENMPI_CPPFLAGS -isystem ${fci_flag@%:@-I}"
  done
  OPENMPI_LIBS="$OPENMPI_LIBS `$PKG_CONFIG --libs-only-L pmix 2>/dev/null` -lpmix"])
AS_IF([test "$with_openmpi_source" != no], [
  fci_source=`cd "$with_openmpi_source" 2>/dev/null && pwd`
  fci_found=`$SED -n -e 's/^major=//p' -e 's/^minor=/./p' -e 's/^release=/./p' \
    "$fci_source/VERSION" 2>/dev/null | tr -d '\n'`
  AS_IF([test "$fci_found" = "$fci_full_version"],
    [OPENMPI_CPPFLAGS="$OPENMPI_CPPFLAGS -isystem $fci_source"],
    [AC_MSG_ERROR([--with-openmpi-source=$with_openmpi_source is not the unpacked source of Open MPI $fci_full_version, which $MPICC_OPENMPI is of])])])
])

AC_DEFUN([FCI_OPENMPI_LINK], [
AC_LANG_PUSH([C])
fci_save_CPPFLAGS=$CPPFLAGS fci_save_LIBS=$LIBS
CPPFLAGS="$CPPFLAGS $OPENMPI_CPPFLAGS -I$srcdir"
LIBS="$OPENMPI_LIBS $LIBS"
AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <ompi_config.h>
#include <ompi/mca/pml/pml.h>
#include <ompi/proc/proc.h>
#include <opal/runtime/opal_progress.h>
#include "netmod/openmpi/compat.h"
]], [[
int error;
opal_progress();
OPAL_MODEX_SEND(error, PML_FCI_GLOBAL, (mca_base_component_t *) 0, "", 1);
return error + (ompi_proc_local() == 0);
]])],
  [fci_have_OPENMPI="for Open MPI $OPENMPI_RELEASE ($MPICC_OPENMPI)"],
  [FCI_OPENMPI_WHY
  OPENMPI_RELEASE=])
CPPFLAGS=$fci_save_CPPFLAGS LIBS=$fci_save_LIBS
AC_LANG_POP([C])
])

dnl Why it did not compile. Which header has the threads is decided where Open MPI is configured.
AC_DEFUN([FCI_OPENMPI_WHY], [
fci_have_OPENMPI="no: against $MPICC_OPENMPI nothing compiles and links, see config.log"
AS_CASE([$OPENMPI_RELEASE], [5.0], [
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <opal_config.h>
#include MCA_threads_base_include_HEADER
]], [])], [],
    [fci_have_OPENMPI="no: headers of Open MPI $fci_full_version are missing here. Unpack its source (Debian: apt-get source openmpi) and add --with-openmpi-source=DIR"])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <pmix.h>]], [])], [],
    [fci_have_OPENMPI="no: Open MPI $fci_full_version needs pmix.h, which is missing (Debian: libpmix-dev)"])])
])
