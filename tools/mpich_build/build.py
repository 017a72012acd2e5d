# SPDX-License-Identifier: BSD-3-Clause
"""The steps from a source to an installation."""

import fcntl
import os
import re
import shlex
import shutil
import sys
import time

from mpich_build import names
from mpich_build.debian import DEBIAN, SourcePackage
from mpich_build.fci import Fci
from mpich_build.marks import Marks, digest, listing
from mpich_build.screen import Failure, Screen, Unusable

# Measured with MPICH 4.0.2 and g++ 12: CPU minutes and megabytes of each step, and what the
# languages left out save.
CPU_MINUTES = {"fetch": 0.3, "autogen": 1.5, "configure": 4.0, "make": 36.0, "install": 0.5}
FORTRAN_MINUTES, ROMIO_MINUTES = 4.0, 1.5
MEGABYTES = {"source": 450, "build": 400, "prefix": 100}

# Modules that autogen.sh may leave alone if a release brought their configure script, and where.
SHIPPED = {
    "ucx": ["modules/ucx"], "ofi": ["modules/libfabric"], "izem": ["modules/izem"],
    "yaksa": ["modules/yaksa", "src/mpi/datatype/typerep/yaksa"], "hwloc": ["modules/hwloc"],
    "json": ["modules/json-c"], "hydra": ["src/pm/hydra"], "hydra2": ["src/pm/hydra2"],
    "romio": ["src/mpi/romio"],
}

PACKAGES = {  # Debian package: a command or file that tells that it is there
    "gcc": "gcc", "g++": "g++", "make": "make", "perl": "perl", "patch": "patch",
    "autoconf": "autoconf", "automake": "automake", "libtool": "libtoolize", "m4": "m4",
    "dpkg-dev": "dpkg-source", "xz-utils": "xz",
}

OFI_PACKAGES = {
    "libfabric-dev": "/usr/include/rdma/fabric.h", "libpsm2-dev": "/usr/include/psm2.h",
    "libpsm-infinipath1-dev": "/usr/include/psm.h",
    "librdmacm-dev": "/usr/include/rdma/rdma_cma.h",
}


def without_date(text):
    """What MPICH generates says when."""
    return re.sub(rb"^ \*   (by|on|at): .*$", b"", text, flags=re.MULTILINE)


class Build:
    def __init__(self, options):
        self.options = options
        self.stock = options.device != "fci"
        self.short = "fci" if not self.stock else options.device.split(":")[-1].split(",")[0]
        self.fci = Fci(options.fci)
        self.room = options.build
        self.version = options.version
        self.jobs = options.jobs

    # where things are

    def settle(self):
        options = self.options
        if options.source:
            path = options.source / "maint/version.m4"
            found = path.exists() and re.search(r"MPICH_VERSION_m4\],\[([^\]]+)\]",
                                                path.read_text())
            if not found:
                raise Unusable(
                    f"{options.source} is no MPICH source tree: no maint/version.m4 in it.\n"
                    "  remedy   name the directory that holds MPICH's autogen.sh, or leave --source"
                    " out:\n           then Debian's source package is fetched")
            self.version = found.group(1)
            self.source_key = digest(self.version, str(options.source), listing(options.source))
        else:
            if self.version not in DEBIAN:
                raise Unusable(f"MPICH {self.version} is not known here.\n  remedy   take one of "
                               f"{', '.join(DEBIAN)}, or give its source with --source TREE")
            self.source_key = digest(*DEBIAN[self.version])
        if not self.stock:
            self.fci.find()
        # Source and objects lie to each other as in every other build, so that the compiler cache
        # knows again what two builds have in common.
        name = f"{self.version}-{self.short}"
        self.place = self.room / f"{self.version}-{'stock' if self.stock else 'fci'}"
        self.source = self.place / "source"
        for word, is_set in (("debug", options.debug), ("table", options.inline == "no"),
                             ("c-only", options.no_fortran), ("no-romio", options.no_romio),
                             (digest(*options.configure)[:6], options.configure)):
            name += f"-{word}" if is_set else ""
        self.build = self.place / f"build-{name}"
        self.log = self.room / "log" / name
        self.prefix = (options.prefix or (self.fci.prefix / "mpich" if not self.stock
                                          else self.room / f"prefix-{name}")).absolute()
        self.marks = Marks(self.build)
        self.source_marks = Marks(self.source)

    def environment(self):
        """Other names than Debian's programs know would not replace its library."""
        environment = dict(os.environ, MPILIBNAME="mpich", LC_ALL="C.UTF-8",
                           CCACHE_BASEDIR=str(self.place), CCACHE_NOHASHDIR="1")
        for name in ("CC", "CXX", "FC", "F77", "MPICH_CC"):
            environment.pop(name, None)
        if os.path.isdir("/usr/lib/ccache"):
            environment["PATH"] = "/usr/lib/ccache:" + environment.get("PATH", "")
        return environment

    def configure_line(self):
        options = self.options
        line = [f"--prefix={self.prefix}", f"--with-device={options.device}",
                "--disable-maintainer-mode", "--enable-shared", "--disable-static",
                # Nothing that only this machine happens to have.
                "--without-cuda", "--without-hip", "--without-ze"]
        if os.path.exists("/usr/include/hwloc.h"):
            line += ["--with-hwloc=/usr"]
        if self.stock:
            line += [f"--with-{library}=/usr" for library, header in
                     (("libfabric", "rdma/fabric.h"), ("ucx", "ucp/api/ucp.h"))
                     if os.path.exists(f"/usr/include/{header}") and
                     library == {"ofi": "libfabric"}.get(self.short, self.short)]
        else:
            line += [f"--with-fci={self.fci.prefix}",
                     f"--with-custom-version-string=FCI {self.fci.version}",
                     f"LDFLAGS=-L{self.fci.libdir} -Wl,-rpath,{self.fci.libdir}"]
        line += ["--enable-g=dbg,mem" if options.debug else
                 "--enable-fast=O2,ndebug,alwaysinline"]
        if options.no_fortran:
            line += ["--disable-fortran"]
        else:
            line += ["--enable-fortran=all", "FFLAGS=-fallow-argument-mismatch",
                     "FCFLAGS=-fallow-argument-mismatch"]
        line += ["--disable-romio"] if options.no_romio else []
        line += ["--enable-ch4-netmod-inline=no"] if options.inline == "no" else []
        return line + options.configure

    # the keys: what a step's result depends on

    def keys(self):
        netmod = [] if self.stock else self.fci.files()
        by_name = {p.name: p for p in netmod}
        edits = "" if self.stock else self.fci.edits()
        structure = digest(*(by_name[n] for n in ("subconfigure.m4", "Makefile.mk")
                             if n in by_name))
        cvars = "".join("".join(re.findall(r"=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===.*?"
                                           r"=== END_MPI_T_CVAR_INFO_BLOCK ===",
                                           p.read_text(), re.DOTALL)) for p in netmod)
        messages = by_name["errnames.txt"].read_text() if "errnames.txt" in by_name else ""
        headers = [] if self.stock else self.fci.headers
        # Other edits want an untouched tree.
        key = {"source": digest(self.source_key, edits)}
        key["autogen"] = digest(key["source"], structure)
        key["texts"] = digest(key["autogen"], cvars, messages)
        key["configure"] = digest(key["autogen"], *self.configure_line())
        key["make"] = digest(key["configure"], key["texts"], *(p.name for p in netmod), *netmod,
                             *headers)
        key["install"] = digest(key["make"], str(self.prefix))
        return key

    # the steps

    def packages(self, screen):
        wanted = dict(PACKAGES)
        if not self.options.no_fortran:
            wanted["gfortran"] = "gfortran"
        missing = [p for p, command in wanted.items() if not shutil.which(command)]
        if self.short == "ofi":  # MPICH links it with all that it would need when linked statically
            missing += [package for package, file in OFI_PACKAGES.items()
                        if not os.path.exists(file)]
        if self.short == "ucx" and not os.path.exists("/usr/include/ucp/api/ucp.h"):
            missing.append("libucx-dev")
        if not missing:
            return screen.skip("what building needs", "all there")
        command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
        if os.getuid() != 0 or not shutil.which("apt-get"):
            screen.skip("what building needs", "missing, and this is not root. Run:")
            raise Unusable("commands are missing: " + ", ".join(missing) + "\n  remedy   sudo "
                           + shlex.join(command).replace(" -y", ""))
        screen.run(f"installing {len(missing)} Debian packages",
                   ["sh", "-c", f"{shlex.join(command)} || {{ apt-get update && "
                                f"{shlex.join(command)}; }}"],
                   self.log / "packages.log",
                   env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"))

    def unpack(self, screen, key):
        """A fresh copy of the source. All at once, so that half a tree is never taken for one."""
        if self.source_marks.done("source", key):
            return screen.skip(f"source of MPICH {self.version}")
        if self.source.exists():
            shutil.rmtree(self.source)
        self.place.mkdir(parents=True, exist_ok=True)
        fresh = self.source.with_name(self.source.name + ".new")
        if fresh.exists():
            shutil.rmtree(fresh)
        if self.options.source:
            command = ["cp", "-a", "--reflink=auto", str(self.options.source), str(fresh)]
        else:
            package = SourcePackage(self.version, self.room / "download", self.options.mirror)
            description = package.download(screen)
            command = ["dpkg-source", "--no-check", "--no-copy", "-x", str(description), str(fresh)]
        screen.run(f"unpacking MPICH {self.version}", command, self.log / "unpack.log")
        fresh.rename(self.source)
        self.source_marks.mark("source", key)

    def apply(self, screen):
        """Always: that is also how a changed source of the netmod gets there."""
        screen.run("adding FCI to it", [sys.executable, str(self.fci.apply_fci), "--netmod",
                                        str(self.fci.netmod), str(self.source)],
                   self.log / "apply.log")

    def needs_autogen(self):
        """A release of MPICH brings its configure; with FCI in it, it must be made again."""
        source = self.options.source
        return not self.stock or bool(source and not (source / "configure").exists())

    def autogen(self, screen, key):
        if self.source_marks.done("autogen", key):
            return screen.skip("autogen")
        # A release brings the configure scripts of what it contains; making them again takes long.
        words = [f"-without-{word}" for word, places in SHIPPED.items()
                 if any((self.source / place / "configure").exists() for place in places)
                 or not any((self.source / place / "configure.ac").exists() for place in places)]
        screen.run("autogen", ["./autogen.sh", *words], self.log / "autogen.log", self.source,
                   self.environment())
        if not (self.source / "src/mpid/ch4/netmod/fci/func_table.c").exists() and not self.stock:
            raise Failure("autogen.sh ended well but made no func_table.c for FCI:\n"
                          f"  remedy   see {self.log / 'autogen.log'}, and report it")
        self.source_marks.mark("autogen", key)

    def texts(self, screen, key, autogen_ran):
        """MPICH collects error messages and control variables in autogen.sh; alone it is quick."""
        if self.stock or autogen_ran or self.source_marks.done("texts", key):
            self.source_marks.mark("texts", key)
            return
        made = ["src/include/mpir_cvars.h", "src/util/mpir_cvars.c", "src/mpi/errhan/defmsg.h"]
        before = {name: ((self.source / name).read_bytes(), (self.source / name).stat())
                  for name in made if (self.source / name).exists()}
        screen.run("messages and variables", ["sh", "-ec", (
            "maint/extractcvars --dirs=\"$(cat maint/cvardirs)\"\n"
            "maint/extracterrmsgs -careful=unusederr.txt -skip=src/util/multichannel/mpi.c "
            "$(cat maint/errmsgdirs) >defmsg.new && test -s defmsg.new && "
            "mv defmsg.new src/mpi/errhan/defmsg.h")], self.log / "texts.log", self.source,
            self.environment())
        for name, (content, status) in before.items():  # all of MPICH includes the first one
            path = self.source / name
            if without_date(path.read_bytes()) == without_date(content):
                path.write_bytes(content)
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        self.source_marks.mark("texts", key)

    def configure(self, screen, key):
        if self.marks.done("configure", key):
            return screen.skip("configuring")
        if self.build.exists():
            shutil.rmtree(self.build)
        self.build.mkdir(parents=True)
        screen.run(f"configuring for {self.options.device}",
                   [str(self.source / "configure"), *self.configure_line()],
                   self.log / "configure.log", self.build, self.environment())
        self.marks.mark("configure", key)

    def make(self, screen, key):
        if self.marks.done("make", key):
            return screen.skip("building")
        # The netmod's files come first, as they may be wrong: MPICH's own take many minutes.
        first = sorted(set(re.findall(r"^(src/mpid/ch4/netmod/fci/lib_libmpich_la-\w+\.lo):",
                                      (self.build / "Makefile").read_text(), re.MULTILINE)))
        make = f"make -j{self.jobs}"
        screen.run(f"building with {self.jobs} processes",
                   ["sh", "-c", f"{make} -k {shlex.join(first)} && {make}" if first else make],
                   self.log / "make.log", self.build, self.environment(),
                   re.compile(rb"  (CC|CXX|FC|F77|PPFC|MOD) "))
        self.marks.mark("make", key)

    def install(self, screen, key):
        if self.marks.done("install", key) and names.are_there(self.prefix, self.short):
            return screen.skip("installing")
        screen.run("installing", ["make", "install"], self.log / "install.log", self.build,
                   self.environment())
        names.library_names(self.prefix)
        names.wrappers(self.prefix, self.short, self.options.device)
        self.marks.mark("install", key)

    def try_out(self, screen):
        log = self.log / "try.log"
        screen.run("trying it with 2 ranks", [
            "sh", "-c", names.try_command(self.prefix, self.short, self.build)], log)
        wanted = "ch4:fci" if not self.stock else self.options.device
        if not re.search(rf"^MPICH Device:\s*{wanted}$", log.read_text(), re.MULTILINE):
            raise Failure(f"the program that was just compiled ran over another MPICH: see {log}\n"
                          "  cause    LD_PRELOAD, or a launcher that changes LD_LIBRARY_PATH")

    # all together

    def announce(self, key):
        options = self.options
        todo, minutes = [], 0.0
        if not self.source_marks.done("source", key["source"]):
            todo += ["source"]
            minutes += CPU_MINUTES["fetch"]
        if self.needs_autogen() and not self.source_marks.done("autogen", key["autogen"]):
            minutes += CPU_MINUTES["autogen"]
        if not self.marks.done("configure", key["configure"]):
            todo += ["build", "prefix"]
            minutes += CPU_MINUTES["configure"]
        if not self.marks.done("make", key["make"]):
            make = CPU_MINUTES["make"] - (FORTRAN_MINUTES if options.no_fortran else 0) \
                - (ROMIO_MINUTES if options.no_romio else 0)
            minutes += make / self.jobs
        if not self.marks.done("install", key["install"]):
            minutes += CPU_MINUTES["install"]
        need = sum(MEGABYTES[t] for t in todo)
        print(f"MPICH {self.version} with device {options.device} into {self.prefix}")
        if minutes < 0.1:
            print("all done before; only looking whether it still works")
        else:
            print(f"at most {max(1, round(minutes))} minutes with {self.jobs} "
                  f"process{'es' if self.jobs > 1 else ''}"
                  + (f", {need} MB in {self.room}" if need else "")
                  + ("; less where the compiler cache knows it" if shutil.which("ccache") else ""))
        place = self.room
        while not place.exists():
            place = place.parent
        free = shutil.disk_usage(place).free >> 20
        if free < need * 1.1:
            raise Unusable(f"{place} has {free} MB free, {need} are needed.\n"
                           "  remedy   make room, or name another place with --build DIR")

    def run(self):
        self.settle()
        key = self.keys()
        self.announce(key)
        if self.options.dry_run:
            print("configure " + shlex.join(self.configure_line()))
            return
        self.room.mkdir(parents=True, exist_ok=True)
        lock = open(self.room / ".lock", "w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Unusable(f"another fci-mpich-build is at work in {self.room}.\n"
                           "  remedy   wait for it, or use another --build DIR") from None
        if self.options.again:
            for tree in (self.source, self.build):
                shutil.rmtree(tree, ignore_errors=True)
        began = time.monotonic()
        fetches = not self.options.source and not self.source_marks.done("source", key["source"])
        rewords = not self.stock and self.source_marks.done("autogen", key["autogen"]) and \
            not self.source_marks.done("texts", key["texts"])
        screen = self.screen = Screen((7 if self.stock else 8) + fetches + rewords)
        self.packages(screen)
        self.unpack(screen, key["source"])
        ran = False
        if not self.stock:
            self.apply(screen)
        if self.needs_autogen():
            ran = not self.source_marks.done("autogen", key["autogen"])
            self.autogen(screen, key["autogen"])
        else:
            screen.skip("autogen", "not needed")
        self.texts(screen, key["texts"], ran)
        self.configure(screen, key["configure"])
        if self.options.configure_only:
            print(f"\nConfigured in {self.build}, {time.monotonic() - began:.0f} s.")
            return
        self.make(screen, key["make"])
        self.install(screen, key["install"])
        self.try_out(screen)
        print(f"\nDone in {time.monotonic() - began:.0f} s. Your MPICH programs, as they are:\n"
              f"    {self.prefix}/bin/mpirun.{self.short} -np 2 ./program\n"
              "or with your own launcher of MPICH's:\n"
              f"    LD_LIBRARY_PATH={self.prefix}/lib mpiexec -np 2 ./program\n"
              f"To compile: {self.prefix}/bin/mpicc.{self.short}. The sources and objects in\n"
              f"{self.room} are only needed to build again.")
