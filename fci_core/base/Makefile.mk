# SPDX-License-Identifier: BSD-3-Clause
# base: what every room needs.
noinst_LTLIBRARIES += libfci_base.la
libfci_base_la_SOURCES = \
	%D%/assert.h \
	%D%/clock.h \
	%D%/counters.def \
	%D%/counters.h \
	%D%/environment.cc \
	%D%/environment.h \
	%D%/error_text.cc \
	%D%/error_text.h \
	%D%/flag.h \
	%D%/fork_watch.cc \
	%D%/fork_watch.h \
	%D%/handle_pool.h \
	%D%/intrusive_list.h \
	%D%/launcher.cc \
	%D%/launcher.h \
	%D%/log.cc \
	%D%/log.h \
	%D%/memory_file.cc \
	%D%/memory_file.h \
	%D%/memory_use.h \
	%D%/parameters.cc \
	%D%/parameters.def \
	%D%/parameters.h \
	%D%/parse.cc \
	%D%/parse.h \
	%D%/peer_rows.cc \
	%D%/peer_rows.h \
	%D%/port_range.h \
	%D%/prng.h \
	%D%/report.h \
	%D%/report_page.cc \
	%D%/report_page.h \
	%D%/result.h \
	%D%/status.h
