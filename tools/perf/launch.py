# SPDX-License-Identifier: BSD-3-Clause
"""Makes the measuring program with the user's own compiler wrapper, and runs it as a job by
fci-run, which knows the launchers of all MPIs."""

import hashlib
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from perf import results
from perf.trouble import Trouble

HERE = Path(__file__).resolve().parent
SILENCE = {"run": 600}  # seconds without a line, after which the job is ended; of others:
SILENCE_OF_PAIRS = 60   # no pair takes as long, a row of messages of 2 GiB may
ENDING = 5    # seconds for launchers to end their ranks
INTERRUPTED = "it was interrupted"


def compiler(wanted):
    found = shutil.which(wanted or "mpicc")
    if found:
        return found
    raise Trouble(
        f"there is no {wanted}" if wanted else "there is no compiler of an MPI",
        f"{wanted or 'mpicc'} is not in PATH",
        "name another one by --mpicc" if wanted else
        "load the MPI's module, or install it (Debian: libopenmpi-dev, or libmpich-dev), or name "
        "its wrapper: --mpicc PATH")


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "fci/perf"


def digest_of(mpicc, sources):
    """Of the sources, and of all that the wrapper would do: it changes with the MPI's release."""
    digest = hashlib.sha256(os.path.realpath(mpicc).encode())
    for option in ("-show", "-dumpversion"):
        said = subprocess.run([mpicc, option], capture_output=True, check=False)
        digest.update(said.stdout)
    for path in sources:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def program(mpicc=None):
    """Path of the program, which is made once for each MPI."""
    mpicc = compiler(mpicc)
    sources = sorted((HERE / "mpi").glob("*.[ch]"))
    folder = cache() / digest_of(mpicc, sources)
    made = folder / "perf"
    if made.exists():
        return made
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix="new-", delete=False) as new:
            pass
    except OSError as error:
        raise Trouble(f"the measuring program cannot be kept in {folder}", error.strerror,
                      "name a folder that all hosts see: XDG_CACHE_HOME=/a/folder fci_perf ...") \
            from None
    done = subprocess.run(
        [mpicc, "-std=gnu99", "-O2", str(HERE / "mpi/perf.c"), "-o", new.name, "-lpthread"],
        capture_output=True, text=True, check=False)
    if done.returncode:
        os.unlink(new.name)
        said = (done.stderr or done.stdout).strip().splitlines() or ["it says nothing"]
        first = next((line for line in said if "error" in line), said[-1])
        raise Trouble(f"{mpicc} cannot compile the measuring program", first.strip(),
                      "see that it compiles another program; or name another one: --mpicc PATH")
    os.chmod(new.name, 0o755)
    os.rename(new.name, made)
    return made


def fci_run(beside):
    found = beside / "fci-run"
    if not os.access(found, os.X_OK):
        found = shutil.which("fci-run")
    if found:
        return str(found)
    raise Trouble(
        "there is no fci-run", f"it is neither in {beside} nor in PATH",
        "call the fci_perf that was installed; or start the program by a launcher:\n"
        "           mpirun ... $(fci_perf --program) links --lines FILE; fci_perf show FILE")


class Job:
    """One run of the program. Its lines are taken as they come."""

    def __init__(self, launcher, program, words, shows):
        self.command, self.program = [*launcher, program, *words], program
        self.most_silent = SILENCE.get(words[0], SILENCE_OF_PAIRS)
        self.shows = shows
        self.reader, self.begun = results.Reader(), time.monotonic()
        self.said = []  # other than lines of the program, the last ones
        self.silent = self.is_interrupted = False
        self.child = None

    def run(self):
        """The result, whose "complete" says whether the job came to its end."""
        with tempfile.TemporaryFile("w+", errors="replace") as told, subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=told,
                start_new_session=True) as self.child:
            try:
                self.follow()
                code = self.child.wait()
            except KeyboardInterrupt:  # what was measured so far is kept
                self.is_interrupted = True
                if not self.reader.result["hosts"]:
                    raise
            finally:
                self.end()
            told.seek(0)
            self.said += [line.rstrip() for line in told if line.strip()][:40]
        result = self.reader.result
        if not result["hosts"]:
            raise self.not_begun(code)
        result["seconds"] = round(time.monotonic() - self.begun, 3)
        return result

    def follow(self):
        pipe, rest, last = self.child.stdout.fileno(), b"", time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while True:
                if selector.select(0.5):
                    read = os.read(pipe, 1 << 16)
                    if not read:
                        return
                    *whole, rest = (rest + read).split(b"\n")
                    last = time.monotonic()
                    self.take(whole)
                elif time.monotonic() - last > self.most_silent:
                    self.silent = True
                    return self.end()
                self.shows.progress(self.reader, time.monotonic() - self.begun)

    def take(self, whole):
        for line in whole:
            text = line.decode(errors="replace")
            if not self.reader.take(text) and text.strip():
                self.said.append(text.rstrip())

    def end(self):
        """Launchers pass SIGTERM on to ranks on other hosts; then no mercy."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.child.poll() is not None:
                break
            try:
                os.killpg(self.child.pid, number)
                self.child.wait(ENDING)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue

    def reasons(self):
        """The program's own words, where it has some; else the launcher's."""
        own = [line.partition(": ")[2] for line in self.said if line.startswith("fci_perf: ")]
        return own[:1] or [line for line in self.said if not set(line) <= set("-= *")]

    def not_begun(self, code):
        said = self.reasons()
        cause = "\n           ".join(said[:6]) or f"its launcher ended with exit code {code}"
        other = " ".join([*self.command[:self.command.index(self.program)], "hostname"])
        if "run as root" in cause:  # Open MPI refuses
            return Trouble("the job did not start", "Open MPI does not start jobs of root",
                           "call it as another user; or, in a container, with "
                           "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
        return Trouble("the job did not start", cause,
                       f"see whether another one does: {other}; and fci_info --doctor")

    def why_partial(self):
        """Why it ended before all was measured, and between which hosts."""
        names = [host["name"] for host in self.reader.result["hosts"]]
        last = ", ".join(f"{names[a]} - {names[b]}" for a, b in self.reader.step[:3])
        told = [*self.reasons()[-1:], "the job ended by itself"]
        why = (INTERRUPTED if self.is_interrupted else
               f"nothing was heard for {self.most_silent} s" if self.silent else told[0])
        return f"{why}; last was measured: {last}" if last else why
