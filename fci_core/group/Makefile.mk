# SPDX-License-Identifier: BSD-3-Clause
# group: collectives by flag tables, section 2.6.11.
noinst_LTLIBRARIES += libfci_group.la
libfci_group_la_SOURCES = \
	%D%/any_group.cc \
	%D%/any_group.h \
	%D%/board.cc \
	%D%/board.h \
	%D%/bulk_member.cc \
	%D%/bulk_member.h \
	%D%/bulk_root.cc \
	%D%/bulk_root.h \
	%D%/early.h \
	%D%/early_wait.h \
	%D%/exchange.cc \
	%D%/exchange.h \
	%D%/flag_table.h \
	%D%/gathering.cc \
	%D%/gathering.h \
	%D%/group.cc \
	%D%/group.h \
	%D%/groups.cc \
	%D%/groups.h \
	%D%/handover.cc \
	%D%/handover.h \
	%D%/hinting.cc \
	%D%/hinting.h \
	%D%/levels.cc \
	%D%/levels.h \
	%D%/long_broadcast.cc \
	%D%/long_broadcast.h \
	%D%/match.h \
	%D%/note.h \
	%D%/offers.h \
	%D%/outstanding.cc \
	%D%/outstanding.h \
	%D%/parts.h \
	%D%/pieces.h \
	%D%/reduction.h \
	%D%/steps.h
