# SPDX-License-Identifier: BSD-3-Clause
"""A job of whose hosts (--hosts) the second has no FCI, or another version of it: somebody says in
a sentence what is wrong, where and what to do, the job ends, and nothing is left of it."""

import re
import shlex
import subprocess
from pathlib import Path

import lab
from harness import ROOT, Case, failed, passed, run
from suites import hosts

LIMIT = 120  # seconds; it ends what hangs
RANKS = 4


def library(settings):
    """The libfci.so that the second host is to have otherwise."""
    if settings.transport != "fci-mpich":
        return (settings.prefix / "lib/libfci.so").resolve()
    said = subprocess.run(["ldd", settings.mpich() / "lib/libmpi.so"], check=True, text=True,
                          capture_output=True).stdout
    return Path(re.search(r"libfci\.so\S* => (\S+)", said).group(1)).resolve()


# What says of which version a library is lies in one object: that is made anew, and the rest is the
# build's.
OTHER_VERSION = r"""
mkdir -p changed/fci_core/gcs &&
sed 's/kRecords = /&1 + /' {root}/fci_core/gcs/layout.h >changed/fci_core/gcs/layout.h &&
! cmp -s changed/fci_core/gcs/layout.h {root}/fci_core/gcs/layout.h &&
c++ -std=c++20 -DHAVE_CONFIG_H -O2 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden \
    -Ichanged -I{build} -I{root} -c -o open_process.o {root}/fci_core/api/open_process.cc &&
cp {build}/.libs/libfci_api.a . && ar r libfci_api.a open_process.o &&
soname=$(readelf -d {build}/.libs/libfci.so | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p') &&
c++ -shared -pthread -Wl,-soname,"$soname" -Wl,-z,defs -Wl,-z,nodelete \
    -Wl,--version-script={root}/libfci.map -o libfci.so \
    -Wl,--whole-archive libfci_api.a {rooms} -Wl,--no-whole-archive
"""
ROOMS = ("group", "mp", "drivers", "node", "ucx", "shm", "tcp", "multicast", "host",
         "progress", "base")


def other_version(settings):
    """libfci.so as another version has it, as far as others can tell."""
    where, build = settings.directory("unequal"), ROOT / "build"
    made = where / "libfci.so"
    if not made.exists():
        rooms = " ".join(str(build / f".libs/libfci_{room}.a") for room in ROOMS)
        script = OTHER_VERSION.format(root=ROOT, build=build, rooms=rooms)
        done = subprocess.run(["sh", "-c", script], cwd=where, capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise RuntimeError("no other version can be made: " + done.stderr.strip()[:200])
    return made


def files(two):
    """What is in the directories of each host that a job could leave something in, but for what the
    computer's /tmp has: it is shown there by mounts, in empty places without rights, and links."""
    listing = "find /dev/shm /tmp -maxdepth 1 ! -type l ! -perm 0 -printf '%D %p\\n'"
    found = set()
    for host in ("n1", "n2"):
        said = two.shell(host, "sh", "-c", listing).stdout
        lines = [line.split(" ", 1) for line in said.splitlines()]
        own = {device for device, path in lines if path in ("/dev/shm", "/tmp")}
        found |= {f"{host}: {path}" for device, path in lines if device in own}
    return found


def ends(settings, change, says, most, begins=()):
    """The job, started by fci-run, after the second host was changed. `says`: what lines of the
    output hold, `most` of them."""
    where, binary = hosts.alltoall(settings)
    with lab.instead(settings, 2) as two:
        done = two.shell("n2", "sh", "-c", change, root=True)
        if done.returncode:
            return failed("n2: " + done.stderr.strip())
        before = files(two)
        command, env = hosts.fci_run(settings)
        ran = run([*command, "--hosts", "n1:2,n2:2", str(binary), "8", "1", *begins], cwd=where,
                  env=env, timeout=LIMIT)
        left = ran.left + sorted(files(two) - before)
    told = [line for line in (ran.err + ran.out).splitlines() if re.search(says, line)]
    if ran.timed_out or not ran.code:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    if left:
        return failed("left behind: " + ", ".join(left))
    if not 0 < len(told) <= most:
        return failed(f"{len(told)} lines hold '{says}': {ran.last_line()}")
    return passed(f"{ran.seconds:.1f} s, exit {ran.code}")


def without(settings):
    """Nothing of FCI is on the second host, and of an MPICH that was built with it neither."""
    hidden = [settings.prefix]
    if settings.transport == "fci-mpich":
        hidden += [settings.mpich(), library(settings).parent]
    hide = " && ".join(f"mount -t tmpfs none {shlex.quote(str(path))}" for path in hidden
                       if not any(path.is_relative_to(other) for other in hidden if other != path))
    says = r"fci-run: (there is no FCI|nothing can be started) on n2$"
    return ends(settings, hide, says, 1)


def other(settings, begins=()):
    """Each rank says one sentence at most."""
    made, there = other_version(settings), library(settings)
    return ends(settings, f"mount --bind {shlex.quote(str(made))} {shlex.quote(str(there))}",
                r"at 10\.77\.0\.\d.* differ in their version of FCI: .*; install the same", RANKS, begins)


def cases(settings):
    if not settings.lab or not settings.over_our_build:
        return
    yield Case("without", lambda: without(settings), load="waits")
    yield Case("other-version", lambda: other(settings))
    yield Case("other-version-collective", lambda: other(settings, ["allreduce"]))
