# SPDX-License-Identifier: BSD-3-Clause
"""Instruction counts by room: runs a program under callgrind and reads what it wrote.

Costs go to the source file of the instruction, also where it was inlined elsewhere; headers of the
system go to the room of the function that they were inlined into.
"""
import os
import re
import subprocess

NAME = re.compile(r"\((\d+)\)(?: (.*))?$")
ORDER = ["program", "MPI library", "libfabric", "provider", "api", "mp", "gcs", "progress", "nhi",
         "ddi", "base", "driver", "C library", "other"]


class Unusable(Exception):
    pass


def room_of_file(path):
    """The room of a file of FCI, or None."""
    if "netmod/libfabric/" in path:
        return "provider"
    found = re.search(r"(?:^|/)fci_core/(\w+)/", path)
    if found:
        return found[1]
    if re.search(r"(?:^|/)drivers/", path):
        return "driver"
    return None


def room_of_object(path):
    name = os.path.basename(path)
    if name.startswith(("libmpi", "libopen-", "mca_")):
        return "MPI library"
    if name.startswith("libfabric"):
        return "libfabric"
    if name.startswith("libfci-fi"):
        return "provider"
    if name.startswith("libfci."):
        return "api"  # what the compiler made there for no line
    if name.startswith(("libc.", "libc-", "libpthread", "libm.", "ld-linux", "libstdc++",
                        "libgcc")):
        return "C library"
    if name.startswith("lib"):
        return "other"
    return "program"


class Profile:
    """Costs of one callgrind file."""

    def __init__(self, path):
        self.rooms, self.functions, self.total = {}, {}, 0
        self.names = {"ob": {}, "fl": {}, "fn": {}}
        self.here = {"ob": "", "fl": "", "fn": ""}  # fl: of the function
        self.line_file = ""
        self.skip = False
        with open(path, encoding="utf-8", errors="replace") as text:
            for line in text:
                self.read(line.rstrip("\n"))

    def name(self, kind, text):
        found = NAME.match(text)
        if not found:
            return text
        if found[2] is not None:
            self.names[kind][found[1]] = found[2]
        return self.names[kind].get(found[1], "")

    def read(self, line):
        key, equals, rest = line.partition("=")
        if equals and key in ("ob", "fl", "fn", "fi", "fe", "cob", "cfi", "cfl", "cfn"):
            kind = {"fi": "fl", "fe": "fl", "cob": "ob", "cfi": "fl", "cfl": "fl",
                    "cfn": "fn"}.get(key, key)
            name = self.name(kind, rest)
            if key in ("fi", "fe"):
                self.line_file = name
            elif key in ("ob", "fl", "fn"):
                self.here[key] = name
                if key == "fl":
                    self.line_file = name
        elif key == "calls":
            self.skip = True  # the next line is what the callee and all below it cost
        elif line[:1] in "+-*0123456789" and line[:1]:
            words = line.split()
            if self.skip or len(words) < 2:
                self.skip = False
            else:
                self.add(int(words[1]))

    def add(self, cost):
        # A file of FCI counts only inside FCI: a plug's headers are the plug's.
        room = (room_of_file(self.line_file) or room_of_file(self.here["fl"])
                or room_of_object(self.here["ob"]))
        self.rooms[room] = self.rooms.get(room, 0) + cost
        function = (room, self.here["fn"])
        self.functions[function] = self.functions.get(function, 0) + cost
        self.total += cost


def options(function, out):
    """Collects inside `function` only, and forgets all that came before run_counted."""
    return ["valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={out}",
            "--collect-atstart=no", "--zero-before=run_counted", f"--toggle-collect={function}"]


def count(function, program, out, env=None):
    """Profile of `program` (a list), collected inside `function`."""
    if os.path.exists(out):
        os.unlink(out)
    try:
        done = subprocess.run(options(function, out) + program, env=env, capture_output=True,
                              text=True, timeout=120)
    except FileNotFoundError:
        raise Unusable("valgrind is missing: apt-get install valgrind") from None
    except subprocess.TimeoutExpired:
        raise Unusable(f"no end under callgrind after 120 s: {' '.join(program)}") from None
    if done.returncode != 0 or not os.path.exists(out):
        raise Unusable(f"exit code {done.returncode} under callgrind: {' '.join(program)}\n"
                       + done.stderr.strip())
    return Profile(out)


def messages_program(build):
    """bench/messages of a build directory, without libtool's script around it, and the
    environment that it needs."""
    program = os.path.join(build, "bench/.libs/messages")
    if not os.path.exists(program):
        program = os.path.join(build, "bench/messages")
    if not os.path.exists(program):
        raise Unusable(f"{build}/bench/messages is missing: make -C {build} first")
    env = {key: value for key, value in os.environ.items() if not key.startswith("FCI_")}
    env["LD_LIBRARY_PATH"] = os.path.join(os.path.abspath(build), ".libs")
    env["FCI_WAIT"] = "spin"  # or a busy machine is noticed, and waited for in another way
    return program, env


def least(bound, counted):
    """Of at most three counts: what is done now and then, by the clock, has its share in each, and
    more of it where the machine is slow."""
    best = counted()
    for _ in range(2):
        if best > bound:
            best = min(best, counted())
    return best
