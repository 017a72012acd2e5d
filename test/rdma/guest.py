# SPDX-License-Identifier: BSD-3-Clause
"""A guest under QEMU whose processor is emulated: it needs neither KVM nor root. It has this machine's
files, to read only, and says what it says by a serial line."""

import ctypes
import gzip
import os
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import cpio
from trouble import Trouble

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
QEMU = "qemu-system-x86_64"
PACKAGES = {QEMU: "qemu-system-x86", "busybox": "busybox-static", "rdma": "iproute2"}
FOLDERS = ("bin", "modules", "proc", "sys", "dev", "host", "own", "root")
MEMORY = 3072  # MiB
CORES = 2
FROM_HOME = ("HOME", "XDG_CACHE_HOME", "FCI_TEST_SEED", "MPI4PY_SOURCE")
PR_SET_PDEATHSIG = 1


def need_programs():
    missing = [name for name in PACKAGES if not shutil.which(name)]
    if missing:
        packages = " ".join(dict.fromkeys(PACKAGES[name] for name in missing))
        raise Trouble("no guest can be started", f"there is no {', no '.join(missing)}",
                      f"apt-get install --no-install-recommends {packages}", 2)
    if b"/ld-linux" in Path(shutil.which("busybox")).read_bytes():
        raise Trouble("no guest can be started", "the busybox here needs libraries, which a guest's "
                      "first files do not have",
                      "apt-get install --no-install-recommends busybox-static", 2)


def job(parts):
    """The script that the guest runs. parts: name, seconds, command."""
    lines = [f"root={shlex.quote(str(ROOT))}", "export PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
    lines += [f"export {name}={shlex.quote(os.environ[name])}" for name in FROM_HOME
              if name in os.environ]
    lines.append(f". {shlex.quote(str(HERE / 'inside'))}")
    lines += [f"part {name} {seconds} {shlex.join(command)}" for name, seconds, command in parts]
    return "\n".join(lines) + "\n"


def first_files(kernel, parts):
    files = {"bin/busybox": (cpio.PROGRAM, Path(shutil.which("busybox")).read_bytes()),
             "init": (cpio.PROGRAM, (HERE / "init").read_bytes()),
             "job": (cpio.FILE, job(parts).encode())}
    for module in sorted(kernel.glob("*.ko")):
        files[f"modules/{module.name}"] = (cpio.FILE, module.read_bytes())
    return gzip.compress(cpio.archive(FOLDERS, files), 1)


def command_of(kernel, first, console):
    return [QEMU, "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(CORES), "-m", str(MEMORY),
            "-nodefaults", "-no-user-config", "-nographic", "-no-reboot",
            "-serial", f"file:{console}", "-serial", "stdio",
            "-kernel", str(kernel / "vmlinuz"), "-initrd", first,
            "-append", "console=ttyS0 quiet panic=-1 rdinit=/init mitigations=off nokaslr",
            "-fsdev", "local,id=host,multidevs=remap,path=/,security_model=none,readonly=on",
            "-device", "virtio-9p-pci,fsdev=host,mount_tag=host"]


def die_with_parent():
    """In the child: QEMU has no reason to live longer than the call that started it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Guest:
    def __init__(self, kernel, parts, console):
        # It lies in memory: a call that is killed leaves no file behind.
        descriptor = os.memfd_create("first-files")
        with open(descriptor, "wb", closefd=False) as file:
            file.write(first_files(kernel, parts))
        self.process = subprocess.Popen(
            command_of(kernel, f"/proc/self/fd/{descriptor}", console), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=[descriptor],
            start_new_session=True, preexec_fn=die_with_parent)
        os.close(descriptor)

    def lines(self):
        """What it says, until it has ended."""
        for line in self.process.stdout:
            yield line.decode(errors="replace").rstrip("\r\n")
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
