# SPDX-License-Identifier: BSD-3-Clause
"""What passed before with the same content, and need not be run again by those in a hurry.

Records lie in the directory that CI_MEMORY names; without it nothing is remembered. With
CI_AGAIN=yes nothing is recalled, but what passes is still recorded.
"""

import hashlib
import json
import os
import platform
import subprocess
import time
from pathlib import Path

import cxx

ROOT = Path(__file__).resolve().parent.parent.parent
# What all that is built depends on, whatever is built on it.
CORE = ("configure.ac", "Makefile.am", "m4", "libfci.map", "fci_core", "drivers")
SOURCES = {".cc", ".c", ".h"}  # what a comment says changes nothing of them
PAGES = {".md", ".1", ".5", ".7", ".pyc"}
# Variables that change what is compiled or run.
VARIABLES = ("CXXFLAGS", "CFLAGS", "CPPFLAGS", "LDFLAGS", "CONFIGURE_ARGS")


def output_of(*command):
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True,
                              check=False).stdout
    except OSError:
        return ""


def processor():
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line
    return platform.machine()


def surroundings():
    """Compiler, Debian packages, kernel, processor: with others the same files are another test."""
    packages = output_of("./bootstrap", "packages", "build", "check", "mpich").split()
    return [output_of("g++", "--version"), output_of("dpkg-query", "-W", "libc6", *packages),
            platform.release(), processor(), str(len(os.sched_getaffinity(0))),
            *(f"{name}={os.environ.get(name, '')}" for name in VARIABLES),
            *(f"{name}={value}" for name, value in sorted(os.environ.items())
              if name.startswith("FCI_") and name != "FCI_TEST_SEED")]


def files(paths):
    for path in paths:
        if not (ROOT / path).exists():
            raise FileNotFoundError(f"{path}: covered by a suite, but not there")
        inside = [ROOT / path] if (ROOT / path).is_file() else (ROOT / path).rglob("*")
        yield from (each for each in inside if each.is_file() and each.suffix not in PAGES)


def built(path):
    """Of a file what is built: of a source neither comments, nor empty lines, nor how it is indented."""
    text = path.read_bytes()
    if path.suffix not in SOURCES:
        return text
    code = cxx.without_comments(text.decode(errors="replace"))
    return "\n".join(filter(None, map(str.strip, code.split("\n")))).encode()


def content(covers, more=()):
    """A hash of what is built of the files below `covers`, of their names and modes, and of the
    surroundings."""
    total = hashlib.sha256()
    for text in (*surroundings(), *more):
        total.update(text.encode() + b"\0")
    for path in sorted(set(files(covers))):
        total.update(f"{path.relative_to(ROOT)} {path.stat().st_mode & 0o111}\0".encode())
        total.update(built(path) + b"\0")
    return total.hexdigest()[:16]


class Record:
    """Of one suite with one content."""

    def __init__(self, name, covers, more=()):
        place = os.environ.get("CI_MEMORY")
        self.path = Path(place, f"{name}-{content(covers, more)}") if place else None

    def recall(self):
        """How many cases passed then, and in how many seconds; None if that is not known."""
        if self.path is None or os.environ.get("CI_AGAIN") == "yes":
            return None
        try:
            kept = json.loads(self.path.read_text(encoding="ascii"))
            return int(kept["passed"]), float(kept["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, passed, seconds):
        """Only for a suite of which nothing failed."""
        if self.path is None or passed == 0:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        fresh.write_text(json.dumps({"passed": passed, "seconds": round(seconds, 1),
                                     "date": time.strftime("%Y-%m-%d")}) + "\n", encoding="ascii")
        fresh.rename(self.path)


def sentence(passed):
    """What a run says of cases that it left out; .ci/run adds these lines up."""
    return f"{passed} more passed before with the same content"
