# SPDX-License-Identifier: BSD-3-Clause
# ddi: the device behind the interface, section 3.2.3. Headers only.
noinst_HEADERS += \
	%D%/agreement.h \
	%D%/card.h \
	%D%/crossing.h \
	%D%/device.h \
	%D%/driver.h \
	%D%/forwarding.h \
	%D%/networks.h \
	%D%/notices.h \
	%D%/patience.h \
	%D%/peer_table.h
