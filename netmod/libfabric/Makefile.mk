# libfabric: the loadable provider libfci-fi.so.
if HAVE_LIBFABRIC

provider_LTLIBRARIES += libfci-fi.la
libfci_fi_la_SOURCES = \
	%D%/address.cc \
	%D%/address.h \
	%D%/address_vector.cc \
	%D%/address_vector.h \
	%D%/atomic.cc \
	%D%/atomic.h \
	%D%/atomic_functions.cc \
	%D%/atomic_functions.h \
	%D%/calls.h \
	%D%/completion.cc \
	%D%/completion_queue.cc \
	%D%/completion_queue.h \
	%D%/counter.cc \
	%D%/counter.h \
	%D%/domain.cc \
	%D%/domain.h \
	%D%/endpoint.cc \
	%D%/endpoint.h \
	%D%/endpoint_names.cc \
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
	%D%/memory_region.cc \
	%D%/memory_region.h \
	%D%/multi_receive.cc \
	%D%/multi_receive.h \
	%D%/operations.cc \
	%D%/peek.cc \
	%D%/provider.cc \
	%D%/provider.h \
	%D%/ranges.h \
	%D%/receive.cc \
	%D%/receive_records.h \
	%D%/region_server.cc \
	%D%/region_server.h \
	%D%/remote_operations.cc \
	%D%/remote_operations.h \
	%D%/remote_request.h \
	%D%/rma.cc \
	%D%/send.cc \
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
