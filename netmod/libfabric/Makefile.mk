# SPDX-License-Identifier: BSD-3-Clause
# libfabric: the loadable provider libfci-fi.so.
if HAVE_LIBFABRIC

provider_LTLIBRARIES += libfci-fi.la
libfci_fi_la_SOURCES = \
	%D%/address.cc \
	%D%/address.h \
	%D%/address_vector.cc \
	%D%/address_vector.h \
	%D%/atomic.h \
	%D%/atomic_calls.cc \
	%D%/atomic_functions.cc \
	%D%/atomic_functions.h \
	%D%/calls.h \
	%D%/channel.h \
	%D%/claims.cc \
	%D%/claims.h \
	%D%/completion_queue.cc \
	%D%/completion_queue.h \
	%D%/completions.cc \
	%D%/completions.h \
	%D%/counter.cc \
	%D%/counter.h \
	%D%/domain.cc \
	%D%/domain.h \
	%D%/endpoint.cc \
	%D%/endpoint.h \
	%D%/errors.h \
	%D%/event_queue.cc \
	%D%/event_queue.h \
	%D%/fabric.cc \
	%D%/fabric.h \
	%D%/fork.cc \
	%D%/fork.h \
	%D%/guard.h \
	%D%/info.cc \
	%D%/info.h \
	%D%/log.h \
	%D%/memory_region.cc \
	%D%/memory_region.h \
	%D%/message_calls.cc \
	%D%/multi_receives.cc \
	%D%/multi_receives.h \
	%D%/option_calls.cc \
	%D%/peer_numbers.cc \
	%D%/peer_numbers.h \
	%D%/provider.cc \
	%D%/ranges.h \
	%D%/receive_records.h \
	%D%/receives.cc \
	%D%/receives.h \
	%D%/region_server.cc \
	%D%/region_server.h \
	%D%/region_table.h \
	%D%/remote_operations.cc \
	%D%/remote_operations.h \
	%D%/remote_request.h \
	%D%/rma_calls.cc \
	%D%/sends.cc \
	%D%/sends.h \
	%D%/sheet.h \
	%D%/space.h \
	%D%/stubs.cc \
	%D%/stubs.h \
	%D%/waiter.cc \
	%D%/waiter.h
libfci_fi_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBFABRIC_CFLAGS)
libfci_fi_la_LIBADD = libfci.la $(LIBFABRIC_LIBS)
# libfabric takes it by its file name, and finds libfci beside the directory that it lies in.
libfci_fi_la_LDFLAGS = -module -avoid-version -shared $(no_undefined) \
	-Wl,--version-script=$(srcdir)/%D%/libfci-fi.map -Wl,-z,nodelete \
	'-Wl,-rpath,$$ORIGIN/..' -pthread
EXTRA_libfci_fi_la_DEPENDENCIES = %D%/libfci-fi.map

endif HAVE_LIBFABRIC

dist_noinst_DATA += %D%/libfci-fi.map
