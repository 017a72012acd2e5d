# SPDX-License-Identifier: BSD-3-Clause
# nhi: the network interface, App. C. Headers only.
noinst_HEADERS += \
	%D%/bookkeeping.h \
	%D%/data.h \
	%D%/forwarding.h \
	%D%/hints.h \
	%D%/index_table.h \
	%D%/link.h \
	%D%/network_interface.h \
	%D%/places.h \
	%D%/transfer.h \
	%D%/types.h \
	%D%/windows.h
