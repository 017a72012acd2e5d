# SPDX-License-Identifier: BSD-3-Clause
# progress: what a waiting process does, sections 2.6.10 and 2.7.4.
noinst_LTLIBRARIES += libfci_progress.la
libfci_progress_la_SOURCES = \
	%D%/cpu_set.h \
	%D%/busy_polls.h \
	%D%/host.cc \
	%D%/host.h \
	%D%/losses.cc \
	%D%/losses.h \
	%D%/placement.cc \
	%D%/placement.h \
	%D%/slice.cc \
	%D%/slice.h \
	%D%/surroundings.cc \
	%D%/surroundings.h \
	%D%/wait.h \
	%D%/wait_policy.cc \
	%D%/wait_policy.h
