# SPDX-License-Identifier: BSD-3-Clause
# progress: what a waiting process does, sections 2.6.10 and 2.7.4.
noinst_LTLIBRARIES += libfci_progress.la
libfci_progress_la_SOURCES = \
	%D%/alert.h \
	%D%/asking.cc \
	%D%/asking.h \
	%D%/blocking.cc \
	%D%/blocking.h \
	%D%/busy_polls.h \
	%D%/core_share.cc \
	%D%/core_share.h \
	%D%/countdown.h \
	%D%/cpu_set.h \
	%D%/host.cc \
	%D%/host.h \
	%D%/idle_loop.cc \
	%D%/idle_loop.h \
	%D%/losses.cc \
	%D%/losses.h \
	%D%/placement.cc \
	%D%/placement.h \
	%D%/slice.cc \
	%D%/slice.h \
	%D%/sleeper.cc \
	%D%/sleeper.h \
	%D%/surroundings.cc \
	%D%/surroundings.h \
	%D%/wait.h \
	%D%/wait_step.h \
	%D%/worker.h
