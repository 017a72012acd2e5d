# SPDX-License-Identifier: BSD-3-Clause
"""A process on each host, through the remote shell that the launchers use, to ask it things.

The text of there.py goes through the standard input of `SHELL HOST python3 -c ...`, which stays
open for requests: the process there ends with it, however this one ends.
"""

import json
import os
import pathlib
import re
import select
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from perf import there

SOURCE = pathlib.Path(there.__file__).read_bytes()
STARTS = f"import sys; exec(sys.stdin.buffer.read({len(SOURCE)}))"
SSH_OPTIONS = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=5")
SRUN = ("srun", "-N1", "-n1", "--overlap", "--quiet")
VARIABLES = ("OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "HYDRA_LAUNCHER_EXEC")

# A pattern in the words of a remote shell or its exit code; kind, cause, remedy. {shell} is the
# command, with the host's name, that a person can try.
REASONS = (
    (r"SyntaxError|ImportError|ModuleNotFoundError", "python",
     "its python3 is older than 3.6", "install a newer python3 there"),
    (r"python3.*not found|No such file or directory.*python3|python3.*No such file|exit 127",
     "python", "it has no python3", "install python3 there"),
    (r"[Cc]ould not resolve|Name or service not known|no host '|Invalid node name", "name",
     "no host of this name is known here",
     "look for a slip in the name, or give it an address in /etc/hosts or in DNS"),
    (r"Permission denied|authentication fail", "shell",
     "it asks for a password, or does not take this user's key",
     "put this user's key there (ssh-copy-id {host}) and see that this asks nothing: {shell} true"),
    (r"Host key verification failed", "shell", "its key is not known here, or has changed",
     "call it once by hand, look at the key and accept it: {shell} true"),
    (r"Connection refused", "shell", "it is up, and has no server for the remote shell",
     "start sshd there"),
    (r"no answer within", "shell", "it gives no answer in time",
     "see that this comes back at once, without a question: {shell} true"),
    (r"timed out|No route to host|does not answer|unreachable", "shell",
     "it does not answer",
     "see whether it is up and its cable is in (ping {host}), or leave it out"),
)


class Silent(Exception):
    """A host gave no answer. kind: python, name or shell."""

    def __init__(self, kind, cause, remedy, said=""):
        super().__init__(cause)
        self.kind, self.cause, self.remedy, self.said = kind, cause, remedy, said


@dataclass
class RemoteShell:
    words: tuple  # before the name of the host
    is_srun: bool = False

    @property
    def name(self):
        return os.path.basename(self.words[0])

    def command(self, host):
        """Slurm hands words over as they are; all others give one line to a shell there."""
        if self.is_srun:
            return [*self.words, "-w", host, "python3", "-c", STARTS]
        return [*self.words, host, f"python3 -c '{STARTS}'"]

    def shown(self, host):
        """For a person: all that stands before the command."""
        return " ".join([*self.words, *["-w"] * self.is_srun, host])


def remote_shells(environment=os.environ):
    """Those to try, in this order: the one that the first of VARIABLES names to the launchers; else
    ssh where there is one, and in an allocation of Slurm its own, as nodes often let no ssh in."""
    for variable in VARIABLES:
        for agent in environment.get(variable, "").split(":"):
            words = shlex.split(agent)
            is_other = variable.startswith("HYDRA") and not re.search(
                "[rs]sh", os.path.basename(words[0]) if words else "")
            if words and shutil.which(words[0]) and not is_other:
                return [RemoteShell((*words, *SSH_OPTIONS * (os.path.basename(words[0]) == "ssh")))]
    srun = [RemoteShell(SRUN, True)] if "SLURM_JOB_ID" in environment else []
    ssh = [RemoteShell(("ssh", *SSH_OPTIONS))] if shutil.which("ssh") or not srun else []
    return ssh + srun


def is_own(name):
    """Whether a name is that of this computer: no shell is needed for that. A name of another one
    that leads here, as by a wrong line in /etc/hosts, is not."""
    def short(each):
        return each.partition(".")[0].lower()

    if short(name) in (short(socket.gethostname()), "localhost"):
        return True
    try:
        addresses = {each[4][0] for each in socket.getaddrinfo(name, None, socket.AF_INET)}
    except OSError:
        return False
    return any(not address.startswith("127.") and can_bind(address) for address in addresses)


def can_bind(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.bind((address, 0))
            return True
        except OSError:
            return False


class Call:
    """there.py on a host."""

    def __init__(self, host, shell):
        self.host, self.shell = host, shell
        self.is_own = is_own(host)
        self.command = ([sys.executable, "-c", STARTS] if self.is_own else
                        shell.command(host))
        self.words, self.unread, self.process = tempfile.TemporaryFile(), b"", None
        try:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=self.words, bufsize=0)
        except OSError as error:
            raise Silent("shell", f"{self.command[0]} cannot be started here: {error.strerror}",
                         "install it (Debian: apt-get install openssh-client)") from None
        os.set_blocking(self.process.stdin.fileno(), False)

    def ask(self, request, seconds, before=b""):
        """The answer to a request; raises Silent where none comes in time. before: bytes that go
        first."""
        deadline = time.monotonic() + seconds
        try:
            self.write(before + json.dumps(request).encode() + b"\n", deadline)
            while True:
                line = self.line(deadline)
                if line.startswith(there.MARK):
                    return json.loads(line[len(there.MARK):])
        except (OSError, EOFError, ValueError):  # the last: it was closed, or is no JSON
            raise self.reason(seconds) from None

    def write(self, data, deadline):
        while data:
            self.wait(self.process.stdin.fileno(), select.POLLOUT, deadline)
            data = data[os.write(self.process.stdin.fileno(), data):]

    def line(self, deadline):
        while b"\n" not in self.unread:
            self.wait(self.process.stdout.fileno(), select.POLLIN, deadline)
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                raise EOFError
            self.unread += more
        line, _, self.unread = self.unread.partition(b"\n")
        return line.decode(errors="replace")

    @staticmethod
    def wait(descriptor, event, deadline):
        poll = select.poll()
        poll.register(descriptor, event)
        if not poll.poll(max(0, 1000 * (deadline - time.monotonic()))):
            raise TimeoutError

    def reason(self, seconds):
        """Why no answer came: by the words of the remote shell, or its exit code."""
        try:
            code = self.process.wait(1)
        except subprocess.TimeoutExpired:
            code = None
        self.end()
        self.words.seek(0)
        said = self.words.read().decode(errors="replace").strip()
        looked = said + (f"\nno answer within {seconds:.0f} s" if code is None else
                         f"\nexit {code}")
        lines = [line.strip() for line in said.splitlines()]
        last = lines[-1] if lines else ""
        shown = self.shell.shown(self.host)
        for pattern, kind, cause, remedy in REASONS:
            if re.search(pattern, looked):
                line = next((line for line in lines if re.search(pattern, line)), last)
                return Silent(kind, cause, remedy.format(host=self.host, shell=shown), line)
        return Silent("shell", f"{self.command[0]} ended with exit code {code}",
                      f"see that this works, without a question: {shown} true", last)

    def end(self):
        """The process there ends with its standard input; the shell here is not waited for long."""
        if self.process.stdin:
            self.process.stdin.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
