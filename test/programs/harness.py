# SPDX-License-Identifier: BSD-3-Clause
"""Starts programs over a chosen transport, with time limits, and looks for what they leave behind."""

import contextlib
import functools
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import wheels

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TAG = "PROGRAMS_RUN"  # marks every process of a run in its environment
running = set()  # the marks of what runs now
ending = False   # nothing more is started
# How many times slower than usual the processor is where it is emulated (test/rdma/inside).
SLOWNESS = float(os.environ.get("FCI_TEST_SLOWNESS") or 1)
building = threading.Lock()

# The provider, the component, Open MPI's own shared memory, and its own provider.
OPEN_MPI = ("fci", "fci-openmpi", "stock", "tcp-rxm")
MPICH = ("fci-mpich", "mpich")  # built with FCI as its device, and Debian's own
# From wheels (test/programs/mpis): over FCI, and over tcp, a provider of their own libfabric.
WHEELS = {prefix + name: mpi for name, mpi in (("openmpi5", "openmpi"), ("mpich5", "mpich"),
                                               ("intel", "intel")) for prefix in ("fci-", "")}
TRANSPORTS = OPEN_MPI + MPICH + tuple(WHEELS)
STOCK = {"fci": "stock", "fci-openmpi": "stock", "fci-mpich": "mpich"}  # what results are compared with


@dataclass
class Verdict:
    status: str  # pass, fail, known (fails on the stock transport too), skip
    detail: str = ""


def passed(detail=""):
    return Verdict("pass", detail)


def failed(detail):
    return Verdict("fail", detail)


def known(detail):
    return Verdict("known", detail)


def skipped(detail):
    return Verdict("skip", detail)


@dataclass
class Case:
    name: str
    run: object  # () -> Verdict
    ci: bool = True  # part of the selection that continuous integration runs
    load: str = "computes"  # or "waits", mostly, or "alone": others would disturb what it counts


@dataclass
class Ran:
    code: int  # as a shell would say it; 128 + n after signal n
    out: str
    err: str
    seconds: float
    timed_out: bool = False
    left: list = field(default_factory=list)  # processes that were still there afterwards

    def ended(self):
        if self.timed_out:
            return f"no end after {self.seconds:.0f} s"
        left = f", still running afterwards: {', '.join(self.left)}" if self.left else ""
        return f"exit {self.code}{left}"

    def last_line(self):
        """The first in which FCI says something, since launchers say much after it; else the last."""
        lines = [line for line in (self.err + self.out).splitlines() if line.strip(" -*")]
        own = [line for line in lines if line.startswith("fci: ")]
        return (own or lines)[0 if own else -1].strip()[:160] if lines else "no output"


@functools.cache
def open_mpi_release():
    """4.1 or 5.0: which one Debian's is."""
    try:
        said = subprocess.run(["mpirun.openmpi", "--version"], capture_output=True, text=True,
                              check=False).stdout
    except OSError:
        said = ""
    found = re.search(r"\((?:Open MPI|OpenRTE)\) (\d+\.\d+)", said)
    return found.group(1) if found else "unknown"


@dataclass(eq=False)
class Settings:
    prefix: Path
    transport: str = "fci"
    full: bool = False
    seed: int = 1
    record: bool = False  # write the expected results instead of only comparing
    scratch: Path = None
    lab_of_run: object = None  # hosts to run over (lab.Lab); None: this one
    of_case: object = field(default_factory=threading.local)  # `lab`, of a case that has its own
    mpich_prefix: Path = None  # where fci-mpich-build installed; default: mpich in FCI's prefix
    starting: object = None  # ranks, program -> command, environment; instead of the MPI's launcher

    @property
    def lab(self):
        return getattr(self.of_case, "lab", self.lab_of_run)

    def directory(self, name):
        path = self.scratch / re.sub(r"[^\w.-]", "_", name)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def provider(self):
        return self.prefix / "lib" / "fci" / "libfci-fi.so"

    def component(self):
        """Of Debian's Open MPI, without libfabric in between."""
        return self.prefix / "lib/fci" / f"openmpi-{open_mpi_release()}" / "mca_pml_fci.so"

    @property
    def mpi(self):
        """The MPI whose programs run: Debian's name for its own, else that of the transport."""
        if self.wheel:
            return self.transport.removeprefix("fci-")
        return "mpich" if self.transport in MPICH else "openmpi"

    @property
    def wheel(self):
        """The MPI of a wheel that runs, or None."""
        return wheels.MPIS[WHEELS[self.transport]] if self.transport in WHEELS else None

    @property
    def over_fci(self):
        return self.transport.startswith("fci")

    @property
    def over_our_build(self):
        """Over FCI by a plug that was built here against the MPI: everything is tested there."""
        return self.over_fci and not self.wheel

    def mpich(self):
        return self.mpich_prefix or self.prefix / "mpich"

    def missing(self):
        """What the chosen transport needs and does not find: a sentence, or nothing."""
        if self.wheel and not self.wheel.installed():
            return (f"{self.wheel.title} {self.wheel.version} is not installed: "
                    f"test/programs/mpis install {self.wheel.name}")
        needs_provider = self.transport == "fci" or (self.wheel and self.over_fci)
        plug = self.component() if self.transport == "fci-openmpi" else self.provider()
        if (needs_provider or self.transport == "fci-openmpi") and not plug.exists():
            return (f"{plug} is missing: build and install first (./bootstrap build), "
                    "or give --prefix")
        if self.transport == "fci-mpich" and not (self.mpich() / "bin/mpiexec.hydra").exists():
            return f"{self.mpich()} holds no MPICH: run fci-mpich-build first, or give --mpich"
        return ""

    def mpirun(self, ranks, program, transport=None, options=(), env=None):
        """The command line, and the environment it needs on top of the present one."""
        if self.starting and transport in (None, self.transport):
            command, extra = self.starting(ranks, program)
            return command, {**extra, **(env or {})}
        command, extra = self.on_this_host(ranks, program, transport or self.transport, options, env)
        return (self.lab.run(ranks, command) if self.lab else command), extra

    def on_this_host(self, ranks, program, transport, options, env):
        extra = dict(env or {})
        if transport in WHEELS:
            fci_run = self.prefix / "bin/fci-run" if transport.startswith("fci-") else None
            words, more = wheels.MPIS[WHEELS[transport]].command(ranks, fci_run)
            return [str(word) for word in (*words, *options, *program)], {**more, **extra}
        if transport in MPICH:
            launcher = "mpiexec.mpich"
            if transport == "fci-mpich":
                launcher = self.mpich() / "bin/mpiexec.hydra"
                extra["LD_LIBRARY_PATH"] = str(self.mpich() / "lib")
            elif ranks > len(os.sched_getaffinity(0)):
                extra["LD_PRELOAD"] = self.yielding()
            return [str(word) for word in (launcher, "-np", ranks, *options, *program)], extra
        if os.geteuid() == 0:
            extra.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        command = ["mpirun.openmpi", "--oversubscribe", "-np", str(ranks)]
        if transport == "stock":
            command += ["--mca", "pml", "ob1", "--mca", "btl", "vader,self"]
        elif transport == "fci-openmpi":
            command += ["--mca", "pml", "fci"]
            extra["OMPI_MCA_opal_mca_base_component_path"] = \
                f"{self.component().parent}:SYS_DEFAULT:USER_DEFAULT"
        elif transport == "fci-windows":  # messages as over stock, windows through the provider
            command += ["--mca", "pml", "ob1", "--mca", "btl", "ofi,self,vader"]
            command += ["--mca", "btl_ofi_provider_include", "fci"]
            command += ["--mca", "osc", "rdma", "--mca", "osc_rdma_btls", "ofi"]
        else:  # Debian's file switches mtl ofi off
            chosen = {"pml": "cm", "mtl": "ofi", "mtl_ofi_provider_include":
                      "fci" if transport == "fci" else "tcp;ofi_rxm"}
            for name, value in chosen.items():
                command += ["--mca", name, value]  # fci-run, in a lab, sets variables of its own
                extra[f"OMPI_MCA_{name}"] = value  # 5.0 tells spawned ranks of no --mca
        if transport in ("fci", "fci-windows"):
            command += ["-x", "FI_PROVIDER=fci", "-x", f"FI_PROVIDER_PATH={self.prefix}/lib/fci"]
        return command + list(options) + [str(word) for word in program], extra

    def yielding(self):
        """Without it stock MPICH takes minutes for what takes it a second (yielding.c)."""
        made = self.scratch / "yielding.so"
        if not made.exists():
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", made,
                            ROOT / "test/harness/yielding.c"], check=True)
        return str(made)

    def exporting(self, name):
        """Options that hand a variable to the ranks; MPICH's launcher hands on all."""
        return ["-x", name] if self.mpi == "openmpi" else []


def processes_of(tag, variable=TAG):
    """Processes, except this one, that carry the tag in their environment."""
    found = []
    needle = f"{variable}={tag}".encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as environ:
                if needle in environ.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            pass  # ended meanwhile, or not ours
    return found


def processes_of_user(number):
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.stat(f"/proc/{entry}").st_uid == number:
                found.append(int(entry))
        except OSError:
            pass  # ended meanwhile
    return found


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "?"


def open_mpi_job(pid):
    """As Open MPI writes it into the names of its files in /dev/shm; "" for no rank of it."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ:
            found = re.search(rb"(?:^|\0)PMIX_NAMESPACE=(\d+)\0", environ.read())
    except OSError:
        return ""
    return f"{int(found.group(1)):x}" if found else ""


def remove_segments(jobs):
    """What killed ranks of Open MPI leave behind, which uses such files beside FCI, too."""
    for path in Path("/dev/shm").glob("vader_segment.*.*.*"):
        if path.name.split(".")[-2] in jobs:
            path.unlink(missing_ok=True)


def kill_all(tag):
    """Ends everything that a run started, and removes its memory; says what there was."""
    names, jobs = [], set()
    for _ in range(50):
        pids = processes_of(tag)
        if not pids:
            break
        for pid in pids:
            names.append(name_of(pid))
            jobs.add(open_mpi_job(pid))
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.02)
    if jobs:
        remove_segments(jobs)
    return sorted(set(names))


def await_end(tag, most=10):
    """A launcher does not wait for its daemons on other hosts, which end by themselves."""
    limit = time.monotonic() + most
    while processes_of(tag) and time.monotonic() < limit:
        time.sleep(0.02)


def patience(seconds):
    """A limit that ends what hangs, and no more than that: on a busy machine it is longer."""
    return seconds * SLOWNESS * max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))


def await_exit(child, start, timeout, is_enough):
    """Its exit code; None once the time is over, or it is enough."""
    while time.monotonic() - start < patience(timeout) and not is_enough():
        try:
            return child.wait(0.2)
        except subprocess.TimeoutExpired:
            pass
    return child.poll()


def run(command, *, cwd, timeout, env=None, during=None, until=lambda err: False):
    """Runs a command to its end, or to the time limit, and ends what it left running.
    `during`, if given, is called with the process and its tag while it runs; `until`, with what is
    on standard error so far: where that is enough, the time is over."""
    if ending:
        raise RuntimeError("not started: the whole run was ended")
    tag = uuid.uuid4().hex
    # A short TMPDIR of its own: Open MPI puts sockets there, whose paths must stay short.
    with tempfile.TemporaryDirectory(prefix="fci-", ignore_cleanup_errors=True) as temporary, \
            tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        full_env = {**os.environ, "TMPDIR": temporary, TAG: tag, **(env or {})}
        start = time.monotonic()
        running.add(tag)
        child = subprocess.Popen(command, cwd=cwd, env=full_env, stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=err, start_new_session=True)
        timed_out = False
        try:
            if during:
                during(child, tag)
            code = await_exit(child, start, timeout, lambda: until(
                os.pread(err.fileno(), 1 << 20, 0).decode(errors="replace")))
            if code is None:
                timed_out, code = True, 124
        finally:
            seconds = time.monotonic() - start
            if not timed_out and Path(command[0]).name == "fci-lab":
                await_end(tag)
            left = kill_all(tag)
            child.wait()
            running.discard(tag)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    code = 128 - code if code < 0 else code
    return Ran(code, *texts, seconds, timed_out, [] if timed_out else left)


# Never shown by a program that is well, whatever its exit code says.
SIGNAL_TRACES = re.compile(r"Signal: (\S.*)|Signal code: .*|\bBus error\b|Segmentation fault")


def signal_named(text):
    found = SIGNAL_TRACES.search(text)
    return found.group(0) if found else ""


def abstract_sockets():
    """FCI's names in the abstract space, each with the inode of its socket."""
    with open("/proc/net/unix") as table:
        words = [line.split() for line in table]
    return {w[7]: w[6] for w in words if len(w) == 8 and w[7].startswith("@fci/")}


def snapshot(temporary):
    """What a run could leave on this host: names in /dev/shm and TMPDIR, abstract sockets. FCI
    uses no other kind of name. Other MPIs are not among what runs here, but may run beside."""
    seen = {f"/dev/shm/{name}" for name in os.listdir("/dev/shm")
            if not name.startswith(("vader_segment.", "sm_segment.", "ucx_shm_posix",
                                     "mpich_shm_", "mpich_shar_tmp", "Intel_MPI"))}
    for folder, folders, files in os.walk(temporary):
        seen.update(os.path.join(folder, name) for name in folders + files)
    return seen | set(abstract_sockets())


def owned_sockets():
    """The inodes of those that a living process has."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with contextlib.suppress(OSError):  # the process ended
            for descriptor in os.listdir(folder):
                with contextlib.suppress(OSError):  # it was closed
                    found.add(os.readlink(folder / descriptor))
    return {link[8:-1] for link in found if link.startswith("socket:[")}


LOOKS = 3  # between two of them a process may come, go, or hand a socket on


def left_over(before, temporary):
    """What is new since `before`, without the sockets of other people's living processes."""
    new = snapshot(temporary) - before
    sockets = {name: inode for name, inode in abstract_sockets().items() if name in new}
    for _ in range(LOOKS if sockets else 0):
        owned, there = owned_sockets(), abstract_sockets()
        sockets = {name: inode for name, inode in sockets.items()
                   if inode not in owned and there.get(name) == inode}
    return sorted([name for name in new if not name.startswith("@")] + list(sockets))


def cache_directory():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "fci"


def built(settings, source, output, mpi=False, against_fci=True, options=()):
    """A C program of ours, built once for a run; raises with the compiler's words."""
    with building:
        return output if output.exists() else build(settings, source, output, mpi, against_fci,
                                                    options)


def build(settings, source, output, mpi, against_fci, options):
    command = [f"mpicc.{settings.mpi}" if mpi else "cc", "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra",
               f"-I{ROOT}", *options, "-o", str(output), str(source)]
    if against_fci:
        lib = settings.prefix / "lib"
        command += [f"-L{lib}", f"-Wl,-rpath,{lib}", "-lfci"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{source.name} does not build: {done.stderr.strip().splitlines()[0]}")
    return output


def write_json(path, document):
    with open(path, "w") as file:
        json.dump(document, file, indent=2)
        file.write("\n")
