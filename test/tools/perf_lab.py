# SPDX-License-Identifier: BSD-3-Clause
"""Hosts of a lab for the tests of fci_perf, and the lines that these print."""

import json
import os
import pathlib
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = f"perf{os.getpid()}"
USER = 61900 + os.getpid() % 90  # nobody's
PATH = "/usr/bin:/bin:/usr/sbin:/sbin"


def verdict(what, good, output=""):
    verdict.failures += not good
    if not good and output:
        print("".join(f"    {line}\n" for line in str(output).splitlines()), end="")
    print(("ok - " if good else "not ok - ") + what, flush=True)


verdict.failures = 0


def install(work):
    """The tools as if they were installed, readable to anybody."""
    (work / "bin").mkdir()
    shutil.copy(ROOT / "tools/fci-lab", work / "bin")
    for package in ("lab", "perf"):
        shutil.copytree(ROOT / "tools" / package, work / "share/fci" / package)
    for path in [work, *work.rglob("*")]:
        path.chmod(0o755)


class Lab:
    """As one user; it ends with this process, however that ends."""

    def __init__(self, title, uid, work, count, *options):
        self.title, self.uid, self.work = title, uid, work
        self.before = [] if uid == os.geteuid() else [
            "setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--bounding-set=-all",
            "--inh-caps=-all"]
        self.env = {"PATH": PATH, "HOME": str(work), "SHELL": "/bin/sh"}
        self.up = self.start("up", "--attached", count, *options, stdin=subprocess.PIPE)
        said = self.up.stdout.readline()
        self.is_up = "up, " in said
        self.at_rest = self.processes() if self.is_up else {}
        if not self.is_up:
            print(f"{title}: not tried, as there is no lab here: {said}{self.up.stdout.read()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.up.communicate()

    def start(self, command, *words, stdin=subprocess.DEVNULL):
        return subprocess.Popen(
            [*self.before, "/usr/bin/python3", str(self.work / "bin/fci-lab"), command, "--name",
             NAME, *map(str, words)], env=self.env, cwd=self.work, stdin=stdin,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def shell(self, host, command, root=True):
        """A failure of the test's own means is one of the test."""
        ran = self.start("shell", *["--root"] * root, host, "--", "sh", "-c", command)
        output = ran.communicate(timeout=60)[0]
        if ran.returncode:
            verdict(f"{self.title}: {host}: {command}", False, output)

    def status(self):
        told = self.start("status", "--json").communicate(timeout=30)[0]
        return json.loads(told)["hosts"]

    def processes(self):
        """host -> how many; servers of the lab are some."""
        return {host["name"]: host["processes"] for host in self.status()}

    def nothing_left(self, after):
        end = time.monotonic() + 10
        while time.monotonic() < end and self.processes() != self.at_rest:
            time.sleep(0.1)
        left = self.processes()
        verdict(f"{self.title}: after {after} no process is left on a host",
                left == self.at_rest, left)
