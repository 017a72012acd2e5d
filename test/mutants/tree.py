# SPDX-License-Identifier: BSD-3-Clause
"""A copy of the tree with mutants in it, and what is compiled of it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import switches

FLAGS = "-O1 -g0 -w"
MADE = ("test/conformance/loopback.h",)  # sources that the tree has not
ROUNDS = 10  # of compiling: those that do not compile are taken out after each


class Copy:
    def __init__(self, root, home, mutants, jobs):
        self.root, self.tree, self.jobs = Path(root), Path(home) / "tree", jobs
        self.mutants = dict(enumerate(mutants, 1))
        self.out = {}  # number -> why it is not there
        self.env = dict(os.environ, CXXFLAGS=FLAGS, CFLAGS=FLAGS, CCACHE_BASEDIR=str(self.tree),
                        CCACHE_NOHASHDIR="1", LC_ALL="C.UTF-8")
        if shutil.which("ccache"):
            self.env.update(CXX="ccache g++", CC="ccache gcc")

    @property
    def build(self):
        return self.tree / "build"

    def make(self, programs):
        shutil.copytree(self.root, self.tree, symlinks=True, ignore=shutil.ignore_patterns(
            "build", "build-asan", "build-tsan", ".git", "*.pyc", "autom4te.cache"))
        self.build.mkdir()
        self.write(set(self.mutants))
        if not (self.tree / "configure").exists():
            self.call(["autoreconf", "-i"], self.tree)
        self.call(["../configure", "-q"], self.build)
        self.call(["make", *MADE], self.build)
        for _ in range(ROUNDS):
            said = self.compile(programs)
            if said is None:
                return
            bad = self.blamed(said)
            if not bad:
                raise RuntimeError(said[-3000:])
            self.out.update((number, "not compiled") for number in bad)
            self.write(bad)
        raise RuntimeError("it does not compile")

    def call(self, words, where):
        done = subprocess.run(words, cwd=where, env=self.env, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-3000:])

    def compile(self, programs):
        """What the compiler said, or None."""
        done = subprocess.run(["make", "-k", f"-j{self.jobs}", *programs], cwd=self.build,
                              env=self.env, capture_output=True, text=True, check=False)
        return None if done.returncode == 0 else done.stderr

    def write(self, numbers):
        """The files of these, with all that are not out."""
        for path in {self.mutants[number].path for number in numbers}:
            own = [(number, mutant) for number, mutant in self.mutants.items()
                   if mutant.path == path and number not in self.out]
            text, left_out = switches.written((self.root / path).read_text(), own)
            self.out.update((number, "no place beside another") for number in left_out)
            (self.tree / path).write_text(text)

    def blamed(self, said):
        """Those in the lines that the compiler complains of."""
        lines = {(os.path.normpath(self.build / path), int(line)) for path, line in
                 re.findall(r"(?m)^(\S+?):(\d+):\d+: +(?:error|required from here)", said)}
        return {number for number, mutant in self.mutants.items() if number not in self.out and any(
            (str(self.tree / mutant.path), line) in lines for line in mutant.lines)}

    def there(self):
        return {number: mutant for number, mutant in self.mutants.items() if number not in self.out}
