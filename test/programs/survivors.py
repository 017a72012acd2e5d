# SPDX-License-Identifier: BSD-3-Clause
"""Starts processes of survivor.c, hands their cards around, and watches how they end."""

import contextlib
import os
import re
import select
import signal
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass, field

import harness
from harness import HERE, TAG, built, kill_all, left_over, processes_of, snapshot

LOST = re.compile(r"^rank (\d+): lost rank (\d+) at (\d+), ran (\d+): (.*)$", re.M)


def program(settings):
    return built(settings, HERE / "survivor.c", settings.scratch / "survivor",
                 options=["-rdynamic"])


def schedule(pid="self"):
    """Seconds for which a process has run, and for which it stood in a run queue, as far as the
    kernel counts that."""
    try:
        with open(f"/proc/{pid}/schedstat") as file:
            ran, waited = file.read().split()[:2]
    except (OSError, ValueError):
        return 0.0, 0.0
    return int(ran) / 1e9, int(waited) / 1e9


class Stops:
    """How long this process did not go on though it had a core to run on: somebody stopped it, and
    then the others of its job most likely, too, or the whole machine stood."""
    LEAST = 0.05  # less is no stop

    def __init__(self):
        self.seconds = 0.0
        self.begin()

    def begin(self):
        """What went before was no look."""
        self.seen = time.monotonic(), sum(schedule())

    def look(self, slept):
        """To be called again and again, after sleeps of at most so many seconds each. What has
        been found since the last time."""
        before, self.seen = self.seen, (time.monotonic(), sum(schedule()))
        stood = self.seen[0] - before[0] - (self.seen[1] - before[1]) - slept
        if stood < self.LEAST:
            return 0.0
        self.seconds += stood
        return stood


@dataclass
class Crowd:
    """N processes without a launcher, in an environment of their own."""
    settings: object
    size: int
    rounds: int = 0
    mode: str = ""   # what they do besides: fork, exec
    user: int = None  # who they run as; only root may choose
    envs: dict = field(default_factory=dict)  # rank (or None for all) -> environment on top
    only: list = None  # the ranks to start, from 0 on; others are played by the test

    def __enter__(self):
        self.tag = uuid.uuid4().hex
        harness.running.add(self.tag)
        self.home = tempfile.TemporaryDirectory(prefix="fci-", ignore_cleanup_errors=True)
        self.before = snapshot(self.home.name)
        self.processes, self.outputs, self.ends, self.struck = [], {}, {}, set()
        self.stops = Stops()
        binary = program(self.settings)
        for rank in self.only or range(self.size):
            words = [binary, str(rank), str(self.size), str(self.rounds)]
            env = {**os.environ, "TMPDIR": self.home.name, TAG: self.tag,
                   "FCI_LOCAL_RANKS": str(self.size),
                   **self.envs.get(None, {}), **self.envs.get(rank, {})}
            self.processes.append(subprocess.Popen(
                words + ([self.mode] if self.mode else []), env=env, cwd=self.home.name,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                **self.as_user()))
            self.outputs[rank] = b""
        return self

    def __exit__(self, *_):
        kill_all(self.tag)
        harness.running.discard(self.tag)
        self.let_go()
        for process in self.processes:
            process.wait()
            process.stdout.close()
        self.home.cleanup()

    def as_user(self):
        if self.user is None:
            return {}
        os.chmod(self.settings.scratch, 0o711)  # the program is there
        os.chown(self.home.name, self.user, self.user)
        return {"user": self.user, "group": self.user, "extra_groups": []}

    def cards(self, timeout=60):
        """Each process's card. Empty where it ended, or said something else, instead."""
        found = []
        limit = time.monotonic() + harness.patience(timeout)
        for rank, process in enumerate(self.processes):
            line = b""
            while not line.endswith(b"\n") and time.monotonic() < limit:
                if select.select([process.stdout], [], [], 0.2)[0]:
                    piece = os.read(process.stdout.fileno(), 1)
                    if not piece:
                        break
                    line += piece
            card = line.decode(errors="replace").strip()
            if not re.fullmatch(r"[0-9a-f]{32}", card):
                self.outputs[rank] += line
                card = ""
            found.append(card)
        return found

    def hand_out(self, cards):
        for process in self.processes:
            try:
                process.stdin.write("".join(card + "\n" for card in cards).encode())
                process.stdin.flush()
            except BrokenPipeError:
                pass  # it ended already; its output says why

    def watch(self, seconds, until=lambda: False):
        """Collects output and ends, until all have ended, `until` says so, or time is over."""
        limit = time.monotonic() + seconds
        self.stops.begin()
        while len(self.ends) < len(self.processes) and time.monotonic() < limit and not until():
            streams = {p.stdout: r for r, p in enumerate(self.processes) if r not in self.ends}
            for stream in select.select(list(streams), [], [], 0.01)[0]:
                rank = streams[stream]
                piece = os.read(stream.fileno(), 65536)
                self.outputs[rank] += piece
                if not piece and self.processes[rank].poll() is not None:
                    self.ends[rank] = time.monotonic()
            for rank, process in enumerate(self.processes):  # a child may hold the pipe open
                if rank not in self.ends and process.poll() is not None:
                    self.ends[rank] = time.monotonic()
                    os.set_blocking(process.stdout.fileno(), False)
                    self.outputs[rank] += process.stdout.read() or b""
            limit += self.stops.look(0.01)
            lost = {rank for rank in self.outputs if LOST.search(self.text(rank))}
            if lost and not self.outputs.keys() - lost - self.ends.keys() - self.struck:
                self.let_go()

    def let_go(self):
        """All that could hear of a loss have: they may end."""
        for process in self.processes:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()

    def kill(self, rank, number=signal.SIGKILL):
        self.struck.add(rank)
        self.processes[rank].send_signal(number)
        return time.monotonic()

    def schedules(self):
        """Of all that are there, by rank. Also of who has died and was not waited for."""
        return {rank: schedule(process.pid) for rank, process in enumerate(self.processes)}

    def text(self, rank):
        return self.outputs[rank].decode(errors="replace")

    def code(self, rank):
        return self.processes[rank].returncode

    def left_behind(self, patience=60.0):
        """What is there now and was not before: processes, files, sockets."""
        limit = time.monotonic() + patience
        while True:
            new = left_over(self.before, self.home.name)
            new += [f"process {pid}" for pid in processes_of(self.tag)]
            if not new or time.monotonic() > limit:
                return new
            time.sleep(0.02)
