/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch of each mutant that is written into a program (test/mutants/run). FCI_TEST_MUTANT, in
   the environment, is the number of the one that is on; in the file FCI_TEST_MUTANTS_SEEN the byte
   of each that the program came to becomes 1. */
#ifndef FCI_TEST_MUTANTS_SWITCH_H
#define FCI_TEST_MUTANTS_SWITCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FCI_MUTANTS_MOST = 65536 };

static unsigned fci_mutant_on __attribute__((unused));
static unsigned char* fci_mutants_seen __attribute__((unused));

__attribute__((constructor(101))) static void fci_mutants_begin(void) {
    const char* const on = getenv("FCI_TEST_MUTANT");
    const char* const seen = getenv("FCI_TEST_MUTANTS_SEEN");
    if (on != NULL) fci_mutant_on = (unsigned)atoi(on);
    if (seen == NULL) return;
    const int file = open(seen, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void* const mapped = mmap(NULL, FCI_MUTANTS_MOST, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) fci_mutants_seen = (unsigned char*)mapped;
    close(file);
}

static inline int fci_mutant_is_on(unsigned number) {
    if (fci_mutants_seen != NULL) fci_mutants_seen[number] = 1;
    return __builtin_expect(fci_mutant_on == number, 0);
}

#ifdef __cplusplus
constexpr bool fci_mutant(unsigned number) {
    return !__builtin_is_constant_evaluated() && fci_mutant_is_on(number) != 0;
}
#else
#define fci_mutant(number) fci_mutant_is_on(number)
#endif

#endif
