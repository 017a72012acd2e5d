# SPDX-License-Identifier: BSD-3-Clause
"""Trials: what can be run of the tests alone, in a second or some. Each is limited by its own
processor time, so that it does not matter what else the machine does."""

import contextlib
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

MOST = 65536    # bytes of the file of what was seen: FCI_MUTANTS_MOST
PATIENCE = 20   # seconds on the wall for what may only wait, and ten times its own


@dataclass
class Trial:
    words: tuple
    seconds: float = 0.0   # of processor, without a mutant
    waited: float = 0.0    # on the wall
    seen: bytes = b""      # a byte for each mutant

    def __str__(self):
        return " ".join(self.words).replace("--gtest_filter=", "")


class Trials:
    def __init__(self, build, root):
        self.build, self.env = Path(build), dict(
            os.environ, srcdir=str(root), FCI_TEST_PROVIDER_DIR=str(Path(build) / ".libs"),
            LC_ALL="C.UTF-8")

    def of(self, room):
        """Each suite of its programs, and its random programs."""
        for program in room.units:
            said = subprocess.run([f"./{program}", "--gtest_list_tests"], cwd=self.build, env=self.env,
                                  capture_output=True, text=True, check=True).stdout
            for suite in re.findall(r"(?m)^(\S+\.)(?:  #.*)?$", said):
                yield Trial((program, f"--gtest_filter={suite}*"))
        for words in room.random:
            yield Trial(words)

    def limit(self, seconds):
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (3 << 31, 3 << 31))  # a test has blocks of 4 GiB

    def run(self, trial, mutant=0, seen=None, seconds=120, patience=600):
        """(its exit code, or None where it was still there; processor time; time on the wall)"""
        env = dict(self.env, FCI_TEST_MUTANT=str(mutant),
                   **({"FCI_TEST_MUTANTS_SEEN": seen} if seen else {}))
        words = [f"./{trial.words[0]}", *trial.words[1:]]
        if "gtest" in trial.words[1]:
            words += ["--gtest_fail_fast", "--gtest_brief=1"]
        began = time.monotonic()
        with tempfile.TemporaryFile() as out:
            child = subprocess.Popen(words, cwd=self.build, env=env, stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=out, start_new_session=True,
                                     preexec_fn=lambda: self.limit(seconds))
            ended = self.awaited(child, began + patience)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        return (child.returncode if ended else None, usage.ru_utime + usage.ru_stime,
                time.monotonic() - began)

    @staticmethod
    def awaited(child, end):
        """Whether it ended in time; its status stays with the kernel."""
        pause = 0.005
        while not os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
            if time.monotonic() > end:
                return False
            time.sleep(pause)
            pause = min(0.1, pause * 1.5)
        return True

    def try_out(self, trial):
        """Without a mutant: how long it takes, and which switches it comes to."""
        with tempfile.NamedTemporaryFile() as seen:
            seen.truncate(MOST)
            code, trial.seconds, trial.waited = self.run(trial, seen=seen.name)
            trial.seen = Path(seen.name).read_bytes()
        return code == 0

    def kills(self, trial, number):
        limit = int(5 + 3 * trial.seconds)
        patience = PATIENCE + 10 * trial.waited
        code, *_ = self.run(trial, number, seconds=limit, patience=patience)
        if code == 0:
            return False
        # It may be the machine that has no time: then it takes as long without the mutant.
        return code is not None or self.run(trial, 0, patience=patience)[0] is not None
