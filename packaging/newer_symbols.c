/* SPDX-License-Identifier: BSD-3-Clause */
/* What libstdc++ and headers of today ask of glibc, and glibc 2.28 does not have as a symbol
 * (older-glibc). Each object that is linked has its own, and shows it to nobody. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 2.32: false, so that counters are always counted as among threads. */
char __libc_single_threaded;

/* 2.33: until then a header made them out of other functions. */
int fstatat(int folder, const char *restrict path, struct stat *restrict found, int flags)
{
    return (int)syscall(SYS_newfstatat, folder, path, found, flags);
}
int stat(const char *restrict path, struct stat *restrict found)
{
    return fstatat(AT_FDCWD, path, found, 0);
}
int lstat(const char *restrict path, struct stat *restrict found)
{
    return fstatat(AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW);
}
int fstat(int fd, struct stat *found)
{
    return fstatat(fd, "", found, AT_EMPTY_PATH);
}
/* On 64 bits a struct stat64 is a struct stat. */
int fstat64(int fd, struct stat64 *found)
{
    return fstat(fd, (struct stat *)found);
}

/* 2.36 */
uint32_t arc4random(void)
{
    uint32_t drawn = 0;
    while (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) {
    }
    return drawn;
}

/* 2.38: as before, but for numbers that begin with 0b. A header of then calls them by the names of
 * those before, and so does this file by words of its own. */
#define AS_BEFORE(type, name)                                                              \
    type before_##name(const char *restrict text, char **restrict end, int base) __asm__(#name); \
    type __isoc23_##name(const char *restrict text, char **restrict end, int base);        \
    type __isoc23_##name(const char *restrict text, char **restrict end, int base)         \
    {                                                                                      \
        return before_##name(text, end, base);                                             \
    }
AS_BEFORE(long, strtol)
AS_BEFORE(long long, strtoll)
AS_BEFORE(unsigned long, strtoul)
AS_BEFORE(unsigned long long, strtoull)

int __isoc99_vfscanf(FILE *, const char *, va_list);
int __isoc23_fscanf(FILE *restrict file, const char *restrict format, ...);
int __isoc23_fscanf(FILE *restrict file, const char *restrict format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int read = __isoc99_vfscanf(file, format, arguments);
    va_end(arguments);
    return read;
}

/* Until 2.34 a program's own start called its constructors; since then glibc does, where the
 * program does not. Linked with --wrap=__libc_start_main. */
typedef void initializer(int, char **, char **);
extern initializer *__init_array_start[], *__init_array_end[];
#pragma weak __init_array_start
#pragma weak __init_array_end
typedef int program(int, char **, char **);
int __real___libc_start_main(program *, int, char **, initializer *, void (*)(void),
                             void (*)(void), void *);

static void initialize(int count, char **arguments, char **environment)
{
    const ptrdiff_t all = __init_array_end - __init_array_start;
    for (ptrdiff_t i = 0; i < all; ++i)
        __init_array_start[i](count, arguments, environment);
}

int __wrap___libc_start_main(program *main, int count, char **arguments, initializer *init,
                             void (*fini)(void), void (*rtld_fini)(void), void *stack)
{
    return __real___libc_start_main(main, count, arguments, init != NULL ? init : initialize, fini,
                                    rtld_fini, stack);
}
