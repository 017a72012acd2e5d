# SPDX-License-Identifier: BSD-3-Clause
# api: the faces of the core, and libfci.so itself.
noinst_LTLIBRARIES += libfci_api.la
libfci_api_la_SOURCES = \
	%D%/choose_driver.cc \
	%D%/choose_driver.h \
	%D%/duties.cc \
	%D%/duties.h \
	%D%/final_report.cc \
	%D%/final_report.h \
	%D%/fork_child.h \
	%D%/icl.cc \
	%D%/icl_context.h \
	%D%/icl_groups.cc \
	%D%/icl_observation.cc \
	%D%/icl.h \
	%D%/job_place.h \
	%D%/open_process.cc \
	%D%/process.cc \
	%D%/process.h \
	%D%/shown.cc \
	%D%/shown.h \
	%D%/version.h

# Each room before those that it uses.
libfci_rooms = \
	libfci_api.la \
	libfci_group.la \
	libfci_mp.la \
	libfci_drivers.la \
	libfci_node.la \
	libfci_ucx.la \
	libfci_shm.la \
	libfci_tcp.la \
	libfci_multicast.la \
	libfci_host.la \
	libfci_progress.la \
	libfci_base.la

lib_LTLIBRARIES += libfci.la
libfci_la_SOURCES =
# Names no file: it only tells automake that this is C++.
nodist_EXTRA_libfci_la_SOURCES = %D%/cxx.cc
libfci_la_LIBADD = $(libfci_rooms)
libfci_la_LDFLAGS = -version-info $(FCI_ICL_VERSION):0:0 $(no_undefined) \
	-Wl,--version-script=$(srcdir)/libfci.map -Wl,-z,nodelete -pthread
EXTRA_libfci_la_DEPENDENCIES = libfci.map
