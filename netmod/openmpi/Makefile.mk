# SPDX-License-Identifier: BSD-3-Clause
# Open MPI: the component mca_pml_fci.so, for the release whose headers configure found. It lies in
# a directory of that name, because Open MPI loads all that a directory on its path has.
if HAVE_OPENMPI

openmpi_LTLIBRARIES = mca_pml_fci.la
mca_pml_fci_la_SOURCES = \
	%D%/coll.c \
	%D%/coll_fci.h \
	%D%/collectives.c \
	%D%/compat.h \
	%D%/component.c \
	%D%/counters.c \
	%D%/data.c \
	%D%/fork.c \
	%D%/looks.c \
	%D%/nonblocking.c \
	%D%/pml_fci.h \
	%D%/probe.c \
	%D%/receive.c \
	%D%/request.c \
	%D%/send.c \
	%D%/form.c \
	%D%/unlike.c \
	%D%/world.c
openmpi_defines = -DFCI_MAJOR=$(FCI_MAJOR) -DFCI_MINOR=$(FCI_MINOR) -DFCI_RELEASE=$(FCI_RELEASE)
mca_pml_fci_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENMPI_CPPFLAGS) $(openmpi_defines)
# What Open MPI calls has parameters that it does not need.
mca_pml_fci_la_CFLAGS = $(AM_CFLAGS) -std=gnu11 -Wno-unused-parameter
mca_pml_fci_la_LIBADD = libfci.la $(OPENMPI_LIBS)
# libfci is found beside the directory that it lies in.
mca_pml_fci_la_LDFLAGS = -module -avoid-version -shared $(no_undefined) \
	-Wl,--version-script=$(srcdir)/%D%/mca_pml_fci.map \
	'-Wl,-rpath,$$ORIGIN/../..' -pthread
EXTRA_mca_pml_fci_la_DEPENDENCIES = %D%/mca_pml_fci.map
# The same file, as the component for collectives: what lies in it shares one context.
install-exec-hook: openmpi-link
openmpi-link: install-openmpiLTLIBRARIES
	cd '$(DESTDIR)$(openmpidir)' && rm -f mca_coll_fci.so && $(LN_S) mca_pml_fci.so mca_coll_fci.so
uninstall-hook: openmpi-unlink
openmpi-unlink:
	rm -f '$(DESTDIR)$(openmpidir)/mca_coll_fci.so'

endif HAVE_OPENMPI

dist_noinst_DATA += %D%/mca_pml_fci.map
