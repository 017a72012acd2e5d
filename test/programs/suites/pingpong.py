# SPDX-License-Identifier: BSD-3-Clause
"""libfabric's own fi_pingpong over the provider, two processes of this host, data checked."""

import os
import re
import socket
import subprocess
import time

from harness import TAG, Case, failed, passed, run

LIMIT = 60
SIZES = ["64", "256", "1k", "4k", "64k", "1m"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def one(settings, mode):
    port = free_port()
    words = ["fi_pingpong", "-p", "fci", "-e", "rdm", "-m", mode, "-c", "-I", "200"]
    env = {"FI_PROVIDER": "fci", "FI_PROVIDER_PATH": f"{settings.prefix}/lib/fci"}
    where = settings.directory("pingpong")
    listener = []

    def listens():
        wanted = f":{int(port):04X} "
        with open("/proc/net/tcp") as table:
            return any(wanted in line.split(" 00000000:0000 ")[0] + " " for line in table)

    def start_listener(tag):
        listener.append(subprocess.Popen(
            words + ["-B", port], cwd=where, env={**os.environ, **env, TAG: tag},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        limit = time.monotonic() + LIMIT
        while not listens() and listener[0].poll() is None and time.monotonic() < limit:
            time.sleep(0.02)

    start_listener("pingpong")
    try:
        ran = run(words + ["-P", port, "127.0.0.1"], cwd=where, env=env, timeout=LIMIT)
        said = listener[0].communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        return failed("the listening side does not end")
    finally:
        listener[0].kill()
        listener[0].wait()
    if ran.code or listener[0].returncode:
        return failed(f"{ran.ended()}, the other side {listener[0].returncode}: "
                      f"{ran.last_line()}; {said.strip()[-160:]}")
    rows = re.findall(r"^(\w+)\s+200\s+=200\s", ran.out, re.M)
    if rows != SIZES:
        return failed(f"sizes {', '.join(rows) or 'none'}, expected {', '.join(SIZES)}")
    return passed("64 B to 1 MiB, 200 round trips each, data checked")


def cases(settings):
    for mode in ("msg", "tagged"):
        yield Case(mode, lambda mode=mode: one(settings, mode))
