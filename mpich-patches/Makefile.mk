# SPDX-License-Identifier: BSD-3-Clause
# What fci-mpich-build needs once FCI is installed: the netmod's source and the script that puts it
# into a MPICH tree. MPICH compiles it, not this make.
mpichdir = $(datadir)/fci/mpich
mpichnetmoddir = $(mpichdir)/netmod
dist_mpich_SCRIPTS = mpich-patches/apply-fci
dist_mpich_DATA = \
	mpich-patches/4.0.2.patch \
	mpich-patches/4.2.1.patch \
	mpich-patches/4.3.2.patch \
	mpich-patches/5.0.1.patch

mpichbuilddir = $(mpichdir)/mpich_build
dist_mpichbuild_DATA = \
	tools/mpich_build/build.py \
	tools/mpich_build/debian.py \
	tools/mpich_build/fci.py \
	tools/mpich_build/marks.py \
	tools/mpich_build/names.py \
	tools/mpich_build/screen.py

# All of it, so that a new file cannot be forgotten; distdir keeps its place for apply-fci.
EXTRA_DIST += netmod/ch4/fci
install-data-local:
	$(MKDIR_P) '$(DESTDIR)$(mpichnetmoddir)'
	rm -f '$(DESTDIR)$(mpichnetmoddir)'/*
	cd '$(srcdir)/netmod/ch4/fci' && \
	$(INSTALL_DATA) *.c *.h *.m4 *.mk *.txt '$(DESTDIR)$(mpichnetmoddir)'
uninstall-local:
	rm -rf '$(DESTDIR)$(mpichnetmoddir)'
