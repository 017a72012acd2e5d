# SPDX-License-Identifier: BSD-3-Clause
"""What the user sees: steps, seconds, and why something failed."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time


class Failure(Exception):
    """Something failed while working: exit code 1."""


class Unusable(Exception):
    """It cannot be started like this: exit code 2."""


TTY = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
RED, PLAIN, CLEAR = ("\033[1m\033[31m", "\033[0m", "\r\033[K") if TTY else ("", "", "")


class Screen:
    """One line for each step: its number, what it is, how long it took."""

    def __init__(self, steps):
        self.step, self.steps, self.child = 0, steps, None

    def title(self, what):
        return f"[{self.step}/{self.steps}] {what:<34}"

    def begin(self, what):
        self.step += 1
        self.what = what
        print(self.title(what), end="", flush=True)

    def end(self, remark):
        print((CLEAR + self.title(self.what) if TTY else "") + f" {remark}", flush=True)

    def skip(self, what, remark="done before"):
        self.begin(what)
        self.end(remark)

    def tick(self, turn, seconds, remark):
        if TTY:
            print(f"{CLEAR}{self.title(self.what)} {'|/-' [turn % 3]} {seconds:.0f} s{remark}",
                  end="", flush=True)

    def run(self, what, command, log, cwd=None, env=None, count=None):
        """Runs command with its output in log. count: a pattern of lines to count while it runs."""
        self.begin(what)
        began, turn, seen = time.monotonic(), 0, 0
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "wb") as output, open(log, "rb") as back:
            where = f"cd {cwd}; " if cwd else ""
            output.write(f"$ {where}{shlex.join(map(str, command))}\n".encode())
            output.flush()
            self.child = subprocess.Popen(command, cwd=cwd, env=env, stdout=output,
                                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                          start_new_session=True)
            while True:
                try:
                    code = self.child.wait(0.2 if TTY else 2)
                    break
                except subprocess.TimeoutExpired:
                    if count:
                        seen += sum(1 for line in back if count.match(line))
                    turn += 1
                    self.tick(turn, time.monotonic() - began, f", {seen} files" if seen else "")
            self.child = None
        seconds = time.monotonic() - began
        if code != 0:
            self.end(f"{RED}failed{PLAIN} after {seconds:.0f} s")
            tail = log.read_text(errors="replace").splitlines()[-25:]
            raise Failure(f"the last lines of {log}:\n\n" + "\n".join("    " + t for t in tail)
                          + f"\n\n{hint_for(log)}")
        self.end(f"{seconds:.0f} s")

    def stop(self):
        if self.child:
            os.killpg(self.child.pid, signal.SIGTERM)


def hint_for(log):
    text = log.read_text(errors="replace")
    for pattern, hint in (
            ("No space left on device",
             "The disk is full: make room, or use --build elsewhere; what is done stays done."),
            (r"Killed|cannot allocate memory|virtual memory exhausted",
             "Memory ran out: call again with --jobs 1."),
            (r"fci/icl.h and libfci were not found|--with-fci is given but not found",
             "The FCI that was named cannot be linked: see config.log; --fci names another."),
            ("C compiler cannot create executables",
             "The C compiler does not work: see config.log."),
            (r"src/mpid/ch4/netmod/fci/.*: error: ",
             "FCI's part does not compile with this MPICH. Please report it with the log."),
            (r"\.mod.*(version|Fatal)",
             "Modules of another gfortran are in the way: call again with --again.")):
        if re.search(pattern, text):
            return hint
    return "The same call goes on where it stopped; with --again it starts from nothing."


