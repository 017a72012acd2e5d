# SPDX-License-Identifier: BSD-3-Clause
# group: collectives by flag tables, section 2.6.11.
noinst_LTLIBRARIES += libfci_group.la
libfci_group_la_SOURCES = \
	%D%/gathering.cc \
	%D%/gathering.h \
	%D%/group.cc \
	%D%/group.h \
	%D%/groups.cc \
	%D%/groups.h \
	%D%/levels.h \
	%D%/outstanding.cc \
	%D%/outstanding.h \
	%D%/plan.cc \
	%D%/plan.h \
	%D%/run.cc \
	%D%/run.h \
	%D%/hints/bulk_member.cc \
	%D%/hints/bulk_member.h \
	%D%/hints/bulk_root.cc \
	%D%/hints/bulk_root.h \
	%D%/hints/chain.cc \
	%D%/hints/chain.h \
	%D%/hints/hint_slots.h \
	%D%/hints/hinting.cc \
	%D%/hints/hinting.h \
	%D%/hints/long_broadcast.cc \
	%D%/hints/long_broadcast.h \
	%D%/hints/pieces.h \
	%D%/hosts/exchange.cc \
	%D%/hosts/exchange.h \
	%D%/hosts/handover.cc \
	%D%/hosts/handover.h \
	%D%/hosts/match.h \
	%D%/hosts/messenger.cc \
	%D%/hosts/messenger.h \
	%D%/hosts/network_wait.h \
	%D%/hosts/notes.cc \
	%D%/hosts/notes.h \
	%D%/hosts/parts.h \
	%D%/hosts/send_nothing.h \
	%D%/hosts/share.h \
	%D%/hosts/steps.h \
	%D%/table/board.cc \
	%D%/table/board.h \
	%D%/table/flag_table.h \
	%D%/table/offers.h \
	%D%/table/reduction.h \
	%D%/table/table_group.cc \
	%D%/table/table_group.h \
	%D%/table/table_wait.cc \
	%D%/table/table_wait.h
