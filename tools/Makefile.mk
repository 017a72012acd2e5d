# SPDX-License-Identifier: BSD-3-Clause
# tools: fci_info, which asks through icl.h only, fci-env, fci-run, fci-lab and fci-mpich-build.
bin_SCRIPTS += tools/fci-env tools/fci-run
dist_bin_SCRIPTS += %D%/fci-lab %D%/fci-mpich-build

labdir = $(pkgdatadir)/lab
dist_lab_DATA = \
	%D%/lab/caller.py \
	%D%/lab/files.py \
	%D%/lab/holder.py \
	%D%/lab/host.py \
	%D%/lab/job.py \
	%D%/lab/kernel.py \
	%D%/lab/network.py \
	%D%/lab/plan.py \
	%D%/lab/programs.py \
	%D%/lab/rsh.py \
	%D%/lab/server.py \
	%D%/lab/servers.py \
	%D%/lab/session.py \
	%D%/lab/slurm.py \
	%D%/lab/ssh.py \
	%D%/lab/start.py \
	%D%/lab/terminal.py \
	%D%/lab/trouble.py \
	%D%/lab/wire.py
CLEANFILES += tools/fci_info.1

# Read by Wireshark.
wiresharkdir = $(pkgdatadir)/wireshark
dist_wireshark_DATA = %D%/wireshark/fci.lua

# Called by Hydra.
hydradir = $(pkgdatadir)
dist_hydra_SCRIPTS = %D%/hydra-ssh

if HAVE_TOOLS
bin_PROGRAMS += fci_info
fci_info_SOURCES = \
	%D%/fci_info/doctor.cc \
	%D%/fci_info/doctor.h \
	%D%/fci_info/doctor_component.cc \
	%D%/fci_info/doctor_host.cc \
	%D%/fci_info/doctor_mpich.cc \
	%D%/fci_info/doctor_open_mpi.cc \
	%D%/fci_info/doctor_provider.cc \
	%D%/fci_info/finding.h \
	%D%/fci_info/job.cc \
	%D%/fci_info/job.h \
	%D%/fci_info/job_json.cc \
	%D%/fci_info/job_output.cc \
	%D%/fci_info/job_output.h \
	%D%/fci_info/job_page.cc \
	%D%/fci_info/job_page.h \
	%D%/fci_info/json.cc \
	%D%/fci_info/main.cc \
	%D%/fci_info/mpirun.cc \
	%D%/fci_info/mpirun.h \
	%D%/fci_info/open_mpi.cc \
	%D%/fci_info/open_mpi.h \
	%D%/fci_info/output.cc \
	%D%/fci_info/output.h \
	%D%/fci_info/surroundings.cc \
	%D%/fci_info/surroundings.h \
	%D%/fci_info/survey.cc \
	%D%/fci_info/survey.h \
	%D%/fci_info/uses.cc \
	%D%/fci_info/uses.h
fci_info_CPPFLAGS = $(AM_CPPFLAGS) -DFCI_PROVIDER_DIRECTORY='"$(providerdir)"'
fci_info_LDADD = libfci_base.la libfci.la -ldl
# An installation that was moved as a whole, or copied to another machine, still works.
fci_info_LDFLAGS = '-Wl,-rpath,$$ORIGIN/../lib'

man1_MANS = tools/fci_info.1
endif
dist_man_MANS += %D%/fci-env.1 %D%/fci-run.1 %D%/fci-lab.1 %D%/fci-mpich-build.1

# The options of the man page are those of parameters.def.
EXTRA_DIST += %D%/fci_info.1.in %D%/options.awk
tools/fci_info.1: $(srcdir)/tools/fci_info.1.in $(srcdir)/tools/options.awk \
		$(srcdir)/fci_core/base/parameters.def
	$(AM_V_GEN)$(MKDIR_P) tools && \
	$(AWK) -f $(srcdir)/tools/options.awk $(srcdir)/fci_core/base/parameters.def >$@.options && \
	$(SED) -e 's/@VERSION@/$(PACKAGE_VERSION)/' -e '/^@OPTIONS@/{' -e 'r $@.options' -e d -e '}' \
		$(srcdir)/tools/fci_info.1.in >$@.tmp && \
	rm -f $@.options && mv $@.tmp $@
