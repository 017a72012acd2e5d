# SPDX-License-Identifier: BSD-3-Clause
"""Programs of the computer that a lab calls, and those that serve on its hosts."""

import os
import shutil
import subprocess
import time

from lab.trouble import Trouble

READY_S = 30  # of a server: far more than it takes on a busy computer


def find(name):
    """Ordinary users often have no sbin in their PATH."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def require(plan, option, programs):
    """Before anything is made. programs: name -> Debian's package."""
    if plan.uid:
        raise Trouble(f"{option} is not possible for this user", "its servers change to the user "
                      "that they start something for: they need root",
                      f"call fci-lab as root; or leave {option} out, run needs none of it", 2)
    for name, package in programs.items():
        if find(name) is None:
            raise Trouble(f"{option} is not possible here", f"there is no command {name}",
                          f"apt-get install --no-install-recommends {package}", 2)


def call(*words):
    """Ends with the program. Returns what it printed."""
    try:
        done = subprocess.run([find(words[0]), *words[1:]], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, check=False, timeout=READY_S)
    except subprocess.TimeoutExpired:
        raise Trouble(f"{words[0]} does not end", f"it was called {READY_S} s ago",
                      "see whether its package is complete") from None
    if done.returncode:
        said = (done.stderr + done.stdout).strip().splitlines() or [f"exit {done.returncode}"]
        raise Trouble(f"{words[0]} failed", said[-1], "see whether its package is complete")
    return done.stdout


def serve(words, log, ready):
    """Starts a server that goes to the background by itself, and waits until `ready` is true. It
    ends with the process namespace that it is in."""
    call(*words)
    wait_until(ready, words[0], log)


def wait_until(ready, server, log):
    limit = time.monotonic() + READY_S
    while not ready():
        if time.monotonic() > limit:
            raise Trouble(f"{server} does not get ready", last_line(log) or f"no word in {log}",
                          "see whether its package is complete")
        time.sleep(0.02)


def last_line(path):
    try:
        with open(path, errors="replace") as file:
            return (file.read().strip().splitlines() or [""])[-1]
    except OSError:
        return ""
