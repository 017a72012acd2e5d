# SPDX-License-Identifier: BSD-3-Clause
"""Hosts of a lab (fci-lab), for the time of a run."""

import contextlib
import json
import os
import subprocess
import time

MARKS_MOST = 1000  # until a capture shows one


class Lab:
    """Ends with this process, however that ends."""

    def __init__(self, prefix, hosts, networks=1, cores=1, options=()):
        self.tool, self.hosts = str(prefix / "bin/fci-lab"), hosts
        self.name = f"programs-{os.getpid()}-{os.urandom(3).hex()}"
        self.up = subprocess.Popen(
            [self.tool, "up", "--attached", "--name", self.name, str(hosts), "--cores", str(cores),
             "--networks", str(networks), *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = self.up.stdout.readline()
        if "up, " not in said:
            raise RuntimeError("no lab: " + (said + self.up.stdout.read()).strip())

    def run(self, ranks, command):
        """The same command with its ranks on all hosts, in blocks."""
        return self.launch("--per-host", str(-(-ranks // self.hosts)), *command)

    def launch(self, *words):
        return [self.tool, "run", "--name", self.name, *words]

    def on(self, host, command):
        """The same command on a host."""
        return [self.tool, "shell", "--name", self.name, host, "--", *command]

    def shell(self, host, *words, root=False):
        return subprocess.run(
            [self.tool, "shell", "--name", self.name, *["--root"] * root, host, "--", *words],
            capture_output=True, text=True, check=False)

    def status(self):
        """name -> what fci-lab tells of the host."""
        told = subprocess.run([self.tool, "status", "--name", self.name, "--json"], check=True,
                              capture_output=True, text=True)
        return {host["name"]: host for host in json.loads(told.stdout)["hosts"]}

    def traffic(self):
        """Bytes that have come to all hosts."""
        return sum(host["interfaces"]["eth0"]["rx_bytes"] for host in self.status().values())

    @contextlib.contextmanager
    def captured(self, host, path):
        """What comes to the host by eth0 and goes, all of it, is in that file afterwards."""
        with subprocess.Popen(
                [self.tool, "shell", "--name", self.name, "--root", host, "--", "dumpcap", "-q",
                 "-B", "64", "-i", "eth0", "-w", str(path)],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as capture:
            self.await_mark(host, path, "begins", capture)
            yield
            self.await_mark(host, path, "ends", capture)
            self.shell(host, "pkill", "-INT", "dumpcap", root=True)
            capture.communicate()

    def await_mark(self, host, path, mark, capture):
        """A datagram that says it is sent until it is in the file."""
        other = next(name for name in self.status() if name != host)
        for _ in range(MARKS_MOST):
            if capture.poll() is not None:
                break
            self.shell(host, "bash", "-c", f"echo {path.name} {mark} >/dev/udp/{other}/9")
            if path.exists() and f"{path.name} {mark}".encode() in path.read_bytes():
                return
            time.sleep(0.1)
        capture.kill()
        raise RuntimeError(f"dumpcap shows no mark: {capture.stderr.read().strip()}")

    def down(self):
        self.up.stdin.close()
        self.up.wait()


@contextlib.contextmanager
def instead(settings, hosts, **how):
    """Another lab for a case, as Lab makes it, in the place of the run's own; for this thread only, as
    other cases may run beside."""
    settings.of_case.lab = Lab(settings.prefix, hosts, **how)
    try:
        yield settings.lab
    finally:
        settings.lab.down()
        del settings.of_case.lab
