# SPDX-License-Identifier: BSD-3-Clause
"""A step of continuous integration: one command, whose log says how many cases passed."""

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "build/log"
COUNT = re.compile(r"^(\d+) passed, (\d+) failed\b", re.M)
BEFORE = re.compile(r"^ *(\d+) more passed before with the same content$", re.M)
NOT_OURS = re.compile(r"^([1-9]\d*) fail on the stock transport too\b", re.M)
NOTE = re.compile(r"^note: (.*)", re.M)
COMPLAINT = re.compile(r"^[ |]*(?:not ok|fail |FAIL:? +\D|ERROR:|\[  FAILED  \]|seed \d)|: Failure$|error: "
                       r"|ERROR: +\D|runtime error: |WARNING: ThreadSanitizer|could not|Traceback")
LIMIT = 3600  # seconds; it ends what hangs
ENDING = 10  # seconds for what can end in order
LESS = "5"  # niceness, to the kernel, of the sessions of steps that do not lead


@dataclass
class Step:
    name: str  # for --only, and of its log
    title: str
    command: list
    # How many it keeps busy; one that has more than one runs beside none but those with 0, which
    # wait for most of their time.
    cores: int = 2
    needs: tuple = ()  # names of steps that make what it uses
    has_chance: bool = False  # runs again, with other dice, where the rest of the tree is recalled
    is_alone: bool = False  # nothing runs beside it
    leads: bool = False  # of the longest chain: the others leave it the processor


@dataclass
class Outcome:
    passed: int = 0
    failed: int = 0
    before: int = 0  # cases that passed before with the same content, and were left out
    seconds: float = 0.0
    processor: float = 0.0
    notes: list = field(default_factory=list)
    complaints: list = field(default_factory=list)


def marked(mark):
    """All other processes that have it in their environment, whoever their parents are now."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


class Running:
    """The commands that run now, so that all that they started can be ended."""

    def __init__(self):
        self.lock, self.groups, self.is_ended = threading.Lock(), set(), False
        name = os.environ.setdefault("CI_RUN", f"{os.getpid()}-{time.time_ns()}")
        self.mark = f"CI_RUN={name}".encode()

    def start(self, command, log, leads=False):
        with self.lock:
            if self.is_ended:
                raise RuntimeError("ended")
            child = subprocess.Popen(
                [str(word) for word in command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True)
            self.groups.add(child.pid)
        if not leads:
            with contextlib.suppress(OSError):  # a kernel that does not group by sessions
                Path(f"/proc/{child.pid}/autogroup").write_text(LESS, encoding="ascii")
        return child

    def gone(self, child):
        with self.lock:
            self.groups.discard(child.pid)

    def end(self):
        """In order, as far as they do within some seconds."""
        with self.lock:
            self.is_ended = True
            for group in self.groups:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGTERM)
        ends = time.monotonic() + ENDING
        while below := list(marked(self.mark)):
            for process in below if time.monotonic() > ends else []:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.1)


running = Running()


def counted(text, code):
    """What a log says: its last count, or one case."""
    counts = COUNT.findall(text)
    passed, failed = map(int, counts[-1]) if counts else (int(code == 0), 0)
    before = sum(map(int, BEFORE.findall(text)))
    nothing_ran = passed + failed + before == 0 and not NOT_OURS.search(text)
    if code != 0 or nothing_ran:
        failed = max(failed, 1)
    return Outcome(passed, failed, before, notes=NOTE.findall(text))


def complaints_of(text):
    lines = text.splitlines()
    found = []
    for number, line in enumerate(lines):
        if COMPLAINT.search(line):
            found += [each for each in range(number, min(number + 4, len(lines)))
                      if each not in found]
    return [lines[each][:300] for each in found[:60]] + ["| " + line[:300] for line in lines[-8:]]


def run(step):
    LOGS.mkdir(parents=True, exist_ok=True)
    path, began = LOGS / f"{step.name}.log", time.monotonic()
    with open(path, "wb") as log:
        child = running.start(step.command, log, step.leads)
        clock = threading.Timer(LIMIT, os.killpg, (child.pid, signal.SIGKILL))
        clock.start()
        # Processor time of all that it started and waited for; other work does not add to it.
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        clock.cancel()
        running.gone(child)
    text = path.read_text(errors="replace")
    outcome = counted(text, child.returncode)
    outcome.seconds = time.monotonic() - began
    outcome.processor = usage.ru_utime + usage.ru_stime
    if outcome.failed:
        outcome.complaints = [*complaints_of(text), f"see {path.relative_to(ROOT)}"]
    return outcome
