# SPDX-License-Identifier: BSD-3-Clause
"""Wrong input of every kind: a message with the cause and what to do, never silence or a crash."""

import os
import re
import socket
import struct
import threading

from harness import Case, failed, passed, patience, run, signal_named
from survivors import Crowd

LIMIT = 60
PROGRAM = ["NPopenmpi", "-i", "-n", "1", "-u", "64"]
WRONG = {  # variable -> value, and what the message must hold besides both
    "FCI_WAIT": ("sometimes", ["auto", "spin", "yield", "sleep"]),
    "FCI_PROTOCOL": ("telepathy", ["enhanced-mixed", "two-sided"]),
    "FCI_DRIVER": ("pigeon", ["shm"]),
    "FCI_COPY": ("twice", ["auto", "ring", "pull", "shared"]),
    "FCI_RING_BYTES": ("12Q", []),
    "FCI_SLOTS": ("-3", []),
    "FCI_LOCAL_RANKS": ("many", []),
    "FCI_REPORT": ("1", ["file"]),
}
# Else no problem of the provider matters, where the component is.
BY_PROVIDER = {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi"}


def said(ran):
    """The text without the line breaks that layout puts in."""
    return " ".join((ran.err + ran.out).split())


def tool(settings, *words, env=None):
    return run([settings.prefix / "bin" / "fci_info", *words], cwd=settings.directory("badinput"),
               env=env, timeout=LIMIT)


def launch(settings, env, ranks=2):
    """Options by the environment: what is set for mpirun, its local processes have too."""
    command, more = settings.mpirun(ranks, PROGRAM)
    return run(command, cwd=settings.directory("badinput"), env={**env, **more}, timeout=LIMIT)


def missing(text, words):
    return [word for word in words if word not in text]


def wrong_value(settings, name):
    value, choices = WRONG[name]
    for who, ran in (("fci_info", tool(settings, env={name: value})),
                     ("an MPI program", launch(settings, {name: value}))):
        if ran.code == 0 or ran.timed_out or signal_named(ran.err):
            return failed(f"{who}: {ran.ended()} {signal_named(ran.err)}")
        lacks = missing(said(ran), [name, value, *choices])
        if lacks:
            return failed(f"{who} does not say {', '.join(lacks)}: {ran.last_line()}")
    # Open MPI puts host and process in front of what a component of its own says.
    line = re.search(rf"^(?:\[\S+\] )?fci: .*{name}.*", ran.err + ran.out, re.M)
    return passed(line.group(0)) if line else failed("no line of FCI's own")


def unknown_variable(settings):
    """A hint, once for the job, and the program runs."""
    ran = launch(settings, {"FCI_WIAT": "spin"})
    if ran.code:
        return failed(f"{ran.ended()}: {ran.last_line()}")
    lines = [line for line in (ran.err + ran.out).splitlines() if "FCI_WIAT" in line]
    if len(lines) != 1:
        return failed(f"{len(lines)} lines about FCI_WIAT, expected one")
    return passed(lines[0]) if "FCI_WAIT" in lines[0] else failed("no better name: " + lines[0])


def loss(crowd, words):
    """Judges the first process that gave up: it must say all the words."""
    crowd.watch(patience(LIMIT), until=lambda: bool(crowd.ends))
    if not crowd.ends:
        return failed("nobody gives up")
    rank = min(crowd.ends, key=crowd.ends.get)
    text = crowd.text(rank).strip()
    if crowd.code(rank) not in (2, 3):
        return failed(f"exit {crowd.code(rank)}: {text}")
    lacks = missing(text, words)
    return failed(f"does not say {', '.join(lacks)}: {text}") if lacks else passed(text)


def different_jobs(settings):
    with Crowd(settings, 2, envs={0: {"FCI_JOB": "blue"}, 1: {"FCI_JOB": "red"}}) as crowd:
        crowd.hand_out(crowd.cards())
        return loss(crowd, ["another job", "FCI_JOB", "pid"])


def different_settings(settings):
    envs = {0: {"FCI_EAGER_BYTES": "4K"}, 1: {"FCI_EAGER_BYTES": "8K"}}
    with Crowd(settings, 2, envs=envs) as crowd:
        crowd.hand_out(crowd.cards())
        return loss(crowd, ["FCI_ options", "same values", "pid"])


def different_protocols(settings):
    with Crowd(settings, 2, envs={1: {"FCI_PROTOCOL": "two-sided"}}) as crowd:
        crowd.hand_out(crowd.cards())
        return loss(crowd, ["same", "pid"])


# The start of every record of every version of the shm driver, and a refusal (handshake.h).
PROLOGUE = struct.Struct("<QIHH")
REFUSAL_TAIL = struct.Struct("<IIQQ")
MAGIC = 0x4D48532049434631
KIND_REFUSAL, OBJECTION_VERSION, THEIR_VERSION = 2, 2, 77


class Stranger:
    """A peer of a later version: listens where its card says, and refuses whoever comes."""

    def __enter__(self):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        port = 40000 + os.getpid() % 20000
        name = f"\0fci/{os.geteuid()}/7f000001/{port}"
        self.listener.bind(name)
        self.listener.listen()
        self.card = (struct.pack("<H", 2) + struct.pack(">HI", port, 0x7F000001)
                     + struct.pack("<Q", 4711)).hex()
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def serve(self):
        try:
            while True:
                visitor = self.listener.accept()[0]
                with visitor:
                    visitor.recv(4096)
                    size = PROLOGUE.size + REFUSAL_TAIL.size
                    visitor.send(PROLOGUE.pack(MAGIC, THEIR_VERSION, KIND_REFUSAL, size)
                                 + REFUSAL_TAIL.pack(OBJECTION_VERSION, THEIR_VERSION, 0, 0))
        except OSError:
            pass  # closed: it is over

    def __exit__(self, *_):
        self.listener.close()


def different_versions(settings):
    with Stranger() as stranger, Crowd(settings, 2, only=[0]) as crowd:
        crowd.hand_out([crowd.cards()[0], stranger.card])
        return loss(crowd, [f"version {THEIR_VERSION}", "this process version", "same FCI library"])


def broken_provider(settings):
    """A file that is no library: libfabric is silent, the doctor is not."""
    where = settings.directory("broken-provider")
    (where / "libfci-fi.so").write_text("this is no library\n")
    ran = tool(settings, "--doctor", env={"FI_PROVIDER_PATH": str(where), **BY_PROVIDER})
    text = said(ran)
    lacks = missing(text, ["PROBLEM", str(where / "libfci-fi.so"), "->"])
    if ran.code != 1 or lacks:
        return failed(f"exit {ran.code}, does not say {', '.join(lacks)}: {ran.last_line()}")
    return passed(re.search(r"provider loads (.*?) ->", text).group(1))


def missing_provider(settings):
    env = {"FI_PROVIDER_PATH": "/nowhere", "FI_PROVIDER": "fci", **BY_PROVIDER}
    ran = tool(settings, "--doctor", env=env)
    lacks = missing(said(ran), ["PROBLEM", "/nowhere", f"FI_PROVIDER_PATH={settings.prefix}"])
    if ran.code != 1 or lacks:
        return failed(f"exit {ran.code}, does not say {', '.join(lacks)}: {ran.last_line()}")
    return passed("the doctor says what to set")


def filtered_provider(settings):
    env = {"FI_PROVIDER": "tcp", "FI_PROVIDER_PATH": f"{settings.prefix}/lib/fci", **BY_PROVIDER}
    ran = tool(settings, "--doctor", env=env)
    text = said(ran)
    found = re.search(r"PROBLEM FI_PROVIDER (.*?->.*?)(?:ok|note|PROBLEM|$)", text)
    if ran.code != 1 or not found:
        return failed(f"exit {ran.code}, nothing about FI_PROVIDER=tcp: {ran.last_line()}")
    return passed(found.group(1).strip()[:120])


def wrong_use(settings):
    ran = tool(settings, "--no-such-option")
    if ran.code != 2 or "no-such-option" not in said(ran):
        return failed(f"exit {ran.code}: {ran.last_line()}")
    return passed("exit 2")


def cases(settings):
    for name in WRONG:
        yield Case(name, lambda name=name: wrong_value(settings, name))
    yield Case("unknown-variable", lambda: unknown_variable(settings))
    if settings.transport != "fci":
        return  # the others are of the provider, or without MPI
    for case in (different_jobs, different_settings, different_protocols, different_versions,
                 broken_provider, missing_provider, filtered_provider, wrong_use):
        yield Case(case.__name__.replace("_", "-"), lambda case=case: case(settings))
