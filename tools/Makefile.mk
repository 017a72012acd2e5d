# SPDX-License-Identifier: BSD-3-Clause
# tools: fci_info, which asks through icl.h only, fci-env, fci-run, fci-lab, fci_perf,
# fci-ucx-report and fci-mpich-build.
bin_PROGRAMS += fci-env fci-run
dist_bin_SCRIPTS += %D%/fci-lab %D%/fci-mpich-build %D%/fci_perf %D%/fci-ucx-report

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

# fci_perf; its program is compiled by users, with the compiler wrapper of their MPI.
perfdir = $(pkgdatadir)/perf
dist_perf_DATA = \
	%D%/perf/__init__.py \
	%D%/perf/both.py \
	%D%/perf/compare.py \
	%D%/perf/finding.py \
	%D%/perf/fit.py \
	%D%/perf/hosts.py \
	%D%/perf/intervals.py \
	%D%/perf/launch.py \
	%D%/perf/lines.py \
	%D%/perf/machines.json \
	%D%/perf/machines.py \
	%D%/perf/matvec.py \
	%D%/perf/measure.py \
	%D%/perf/models.py \
	%D%/perf/names.py \
	%D%/perf/plot.py \
	%D%/perf/ready.py \
	%D%/perf/results.py \
	%D%/perf/sci.py \
	%D%/perf/shells.py \
	%D%/perf/show.py \
	%D%/perf/stats.py \
	%D%/perf/there.py \
	%D%/perf/told.py \
	%D%/perf/trouble.py \
	%D%/perf/units.py \
	%D%/perf/verdict.py \
	%D%/perf/versions.py \
	%D%/perf/ways.py
perfmpidir = $(perfdir)/mpi
dist_perfmpi_DATA = \
	%D%/perf/mpi/contents.h \
	%D%/perf/mpi/crowd.h \
	%D%/perf/mpi/interface.h \
	%D%/perf/mpi/job.h \
	%D%/perf/mpi/links.h \
	%D%/perf/mpi/pair.h \
	%D%/perf/mpi/perf.c \
	%D%/perf/mpi/rows.h \
	%D%/perf/mpi/sample.h \
	%D%/perf/mpi/still.h \
	%D%/perf/mpi/together.h \
	%D%/perf/mpi/waited.h \
	%D%/perf/mpi/ways.h

# Read by Wireshark.
wiresharkdir = $(pkgdatadir)/wireshark
dist_wireshark_DATA = %D%/wireshark/fci.lua

# Called by launchers that fci-run started.
remoteshelldir = $(pkgdatadir)
dist_remoteshell_SCRIPTS = %D%/remote-shell
shelldir = $(pkgdatadir)/shell
dist_shell_SCRIPTS = %D%/shell/ssh

# Which MPI a program uses, and what that needs for FCI: known once, for all tools.
noinst_LTLIBRARIES += libfci_launch.la
libfci_launch_la_SOURCES = \
	%D%/launch/binary.cc \
	%D%/launch/binary.h \
	%D%/launch/choice.cc \
	%D%/launch/choice.h \
	%D%/launch/hosts.cc \
	%D%/launch/hosts.h \
	%D%/launch/installation.cc \
	%D%/launch/installation.h \
	%D%/launch/mpi.cc \
	%D%/launch/mpi.h \
	%D%/launch/mpirun.cc \
	%D%/launch/mpirun.h \
	%D%/launch/open_mpi_files.cc \
	%D%/launch/open_mpi_files.h \
	%D%/launch/options.cc \
	%D%/launch/options.h \
	%D%/launch/program.cc \
	%D%/launch/program.h \
	%D%/launch/settings.cc \
	%D%/launch/settings.h \
	%D%/launch/surroundings.cc \
	%D%/launch/surroundings.h \
	%D%/launch/refusal.h
libfci_launch_la_CPPFLAGS = $(AM_CPPFLAGS) -DFCI_PROVIDER_DIRECTORY='"$(providerdir)"' \
	-DFCI_COMPONENT_DIRECTORY='"$(own_componentdir)"' -DFCI_COMPONENT_RELEASE='"$(OPENMPI_RELEASE)"' \
	-DFCI_BIN_DIRECTORY='"$(bindir)"'
# Debian's names of MPICH's libraries, for programs that are linked to them: each has nothing but a
# need of the library that other MPICHs have under its usual name.
mpichnamesdir = $(providerdir)/mpich-names
mpichnames_DATA = tools/libmpich.so.12 tools/libmpichcxx.so.12 tools/libmpichfort.so.12
CLEANFILES += $(mpichnames_DATA) tools/names/libmpi.so.12 tools/names/libmpicxx.so.12 \
	tools/names/libmpifort.so.12
an_empty_library = $(AM_V_GEN)$(MKDIR_P) tools/names && $(CC) $(CFLAGS) -shared -nostdlib -x c \
	/dev/null -x none -Wl,-soname,$(@F) -Wl,--no-as-needed -o $@
tools/names/libmpi.so.12 tools/names/libmpicxx.so.12 tools/names/libmpifort.so.12:
	$(an_empty_library)
tools/libmpich.so.12: tools/names/libmpi.so.12
	$(an_empty_library) tools/names/libmpi.so.12
tools/libmpichcxx.so.12: tools/names/libmpicxx.so.12
	$(an_empty_library) tools/names/libmpicxx.so.12
tools/libmpichfort.so.12: tools/names/libmpifort.so.12
	$(an_empty_library) tools/names/libmpifort.so.12

# An installation that was moved as a whole, or copied to another machine, still works.
rpath_of_moved = '-Wl,-rpath,$$ORIGIN/../lib'

fci_run_SOURCES = \
	%D%/fci_run/call.cc \
	%D%/fci_run/call.h \
	%D%/fci_run/launch.cc \
	%D%/fci_run/launch.h \
	%D%/fci_run/main.cc
fci_run_LDADD = libfci_launch.la libfci_base.la libfci.la
fci_run_LDFLAGS = $(rpath_of_moved)

fci_env_SOURCES = %D%/fci_env/main.cc
fci_env_LDADD = libfci_launch.la libfci_base.la libfci.la
fci_env_LDFLAGS = $(rpath_of_moved)

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
	%D%/fci_info/open_mpi.cc \
	%D%/fci_info/open_mpi.h \
	%D%/fci_info/output.cc \
	%D%/fci_info/output.h \
	%D%/fci_info/survey.cc \
	%D%/fci_info/survey.h \
	%D%/fci_info/uses.cc \
	%D%/fci_info/uses.h \
	%D%/fci_info/which.cc \
	%D%/fci_info/which.h
fci_info_CPPFLAGS = $(AM_CPPFLAGS) -DFCI_PROVIDER_DIRECTORY='"$(providerdir)"'
fci_info_LDADD = libfci_launch.la libfci_base.la libfci.la -ldl
fci_info_LDFLAGS = $(rpath_of_moved)

man1_MANS = tools/fci_info.1
endif
dist_man_MANS += %D%/fci-env.1 %D%/fci-run.1 %D%/fci-lab.1 %D%/fci-mpich-build.1 \
	%D%/fci_perf.1 %D%/fci-ucx-report.1

# The options of the man page are those of parameters.def.
EXTRA_DIST += %D%/fci_info.1.in %D%/options.awk
tools/fci_info.1: $(srcdir)/tools/fci_info.1.in $(srcdir)/tools/options.awk \
		$(srcdir)/fci_core/base/parameters.def
	$(AM_V_GEN)$(MKDIR_P) tools && \
	$(AWK) -f $(srcdir)/tools/options.awk $(srcdir)/fci_core/base/parameters.def >$@.options && \
	$(SED) -e 's/@VERSION@/$(PACKAGE_VERSION)/' -e '/^@OPTIONS@/{' -e 'r $@.options' -e d -e '}' \
		$(srcdir)/tools/fci_info.1.in >$@.tmp && \
	rm -f $@.options && mv $@.tmp $@
