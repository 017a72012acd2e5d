# SPDX-License-Identifier: BSD-3-Clause
"""Debian's kernel and those of its modules that the guest needs: fetched by apt-get, unpacked and not
installed, and kept by version."""

import lzma
import os
import re
import shutil
import subprocess
import tempfile
import zlib
from pathlib import Path

from trouble import Trouble

NEWEST = "linux-image-amd64"  # depends on the newest one's package
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay",  # the host's files
           "veth", "crc32_generic", "ib_uverbs", "rdma_rxe")  # without crc32 rxe does not load


def output_of(*words):
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    return ran.stdout if ran.returncode == 0 else ""


def newest():
    """The package's name and version; empty where apt knows of none."""
    found = re.search(r"^ *Depends: (linux-image-\S+)", output_of("apt-cache", "depends", NEWEST),
                      re.M)
    if not found:
        return "", ""
    version = re.search(r"^Version: (\S+)", output_of("apt-cache", "--no-all-versions", "show",
                                                       found.group(1)), re.M)
    return found.group(1), version.group(1) if version else ""


def name_of(path):
    """As other modules name it: of a file, which may be compressed."""
    return path.name.split(".ko")[0].replace("-", "_")


def content_of(path):
    """Of a module."""
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


def needs_of(content):
    """The names of the modules that a module needs, which stand in it."""
    found = re.search(rb"\0depends=([^\0]*)\0", content)
    names = found.group(1).decode().split(",") if found else []
    return [name.replace("-", "_") for name in names if name]


def in_order(wanted, needs):
    """All that is needed, each after what it needs. `needs`: from a name to names; one for which it
    has None is part of the kernel."""
    order, seen = [], set()

    def add(name):
        if name in seen:
            return
        seen.add(name)
        needed = needs(name)
        if needed is not None:
            for each in needed:
                add(each)
            order.append(name)
    for name in wanted:
        add(name)
    return order


def pick(tree, into):
    """The kernel and the modules, numbered in the order in which they are loaded."""
    kernels = sorted((tree / "boot").glob("vmlinuz-*"))
    folders = [each for at in ("lib", "usr/lib") for each in (tree / at / "modules").glob("*")]
    if not kernels or not folders:
        raise Trouble("Debian's kernel package has another form than expected",
                      f"no /boot/vmlinuz-* or no /lib/modules in {into.name}",
                      "this test has to learn of it (test/rdma/kernel.py)", 2)
    files = {name_of(path): path for path in folders[0].rglob("*.ko*")}
    contents = {}

    def needs(name):
        if name not in files:
            return None
        contents[name] = content_of(files[name])
        return needs_of(contents[name])
    shutil.copyfile(kernels[-1], into / "vmlinuz")
    for number, name in enumerate(in_order(MODULES, needs)):
        (into / f"{number:02}-{name}.ko").write_bytes(contents[name])


def fetch(package, version, into):
    with tempfile.TemporaryDirectory(prefix="fetched-", dir=into.parent) as work:
        tree, made = Path(work, "tree"), Path(work, "made")
        made.mkdir()
        ran = subprocess.run(["apt-get", "-o", "APT::Sandbox::User=", "download",
                              f"{package}={version}"], cwd=work, capture_output=True, text=True,
                             check=False)
        packages = list(Path(work).glob("*.deb"))
        if ran.returncode or not packages:
            raise Trouble(f"{package} {version} cannot be fetched", (ran.stderr or "").strip(),
                          "apt-get update, and call again where the package server is reached", 2)
        subprocess.run(["dpkg-deb", "-x", packages[0], tree], check=True)
        pick(tree, made)
        shutil.rmtree(into, ignore_errors=True)
        made.rename(into)


def kernel(kept, say):
    """The folder with vmlinuz and the modules, in `kept`: the newest that apt knows, or, where it
    knows of none, the one that was used last."""
    for program in ("apt-cache", "apt-get", "dpkg-deb"):
        if not shutil.which(program):
            raise Trouble("the guest's kernel cannot be fetched", f"{program} is not here: it is a "
                          "package of Debian's", "call this on Debian, or in a container of it", 2)
    kept.mkdir(parents=True, exist_ok=True)
    package, version = newest()
    before = sorted(kept.glob("linux-*/vmlinuz"), key=lambda path: path.stat().st_mtime)
    if not version:
        if before:
            return before[-1].parent
        raise Trouble("the guest's kernel cannot be fetched", f"apt knows of no {NEWEST}",
                      "apt-get update (on a Debian for amd64)", 2)
    # Which modules are kept with it belongs to what it is.
    folder = kept / f"{package}_{version}_{zlib.crc32(repr(MODULES).encode()):08x}"
    if not (folder / "vmlinuz").exists():
        say(f"fetching {package} {version}, some 70 MB")
        fetch(package, version, folder)
        for old in before[:-1]:
            shutil.rmtree(old.parent, ignore_errors=True)
    return folder


def cache():
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fci"
