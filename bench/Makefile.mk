# SPDX-License-Identifier: BSD-3-Clause
# bench: figures, and what they are compared with. Nothing of it is installed or part of make check.
noinst_PROGRAMS += bench/messages
bench_messages_SOURCES = %D%/messages.cc
bench_messages_LDADD = libfci.la

if HAVE_TOOLS
noinst_PROGRAMS += bench/calibrate bench/fci_pingpong

bench_common = \
	%D%/bare_ring.h \
	%D%/process_group.cc \
	%D%/process_group.h \
	%D%/floor.cc \
	%D%/floor.h \
	%D%/handoff.h \
	%D%/report.cc \
	%D%/report.h

bench_calibrate_SOURCES = %D%/calibrate.cc $(bench_common)
bench_calibrate_LDADD = -lpthread

bench_fci_pingpong_SOURCES = \
	%D%/fci_pingpong.cc \
	%D%/icl_side.cc \
	%D%/icl_side.h \
	$(bench_common)
bench_fci_pingpong_LDADD = libfci.la -lpthread
endif

# Run from the source tree; the MPI program is compiled by whatever mpicc a peer asks for.
dist_noinst_SCRIPTS += \
	%D%/applications \
	%D%/compare \
	%D%/startup \
	%D%/demo \
	%D%/profile \
	test/instructions/calls \
	test/instructions/run
EXTRA_DIST += \
	%D%/callgrind.py \
	%D%/marks.py \
	%D%/mpi/collectives.h \
	%D%/mpi/contents.h \
	%D%/mpi/hello.c \
	%D%/mpi/messages.c \
	%D%/mpi/pile.h \
	%D%/mpi/probe.c \
	%D%/mpi/shared_page.h \
	%D%/mpi/window.h \
	%D%/mpi/wire.h \
	%D%/peers.py \
	%D%/samples.py \
	test/instructions/bounds-mpich.txt \
	test/instructions/bounds-openmpi.txt \
	test/instructions/bounds.txt
