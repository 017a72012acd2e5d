# SPDX-License-Identifier: BSD-3-Clause
"""ssh between the hosts of a lab, as a cluster has it: a server on each, keys of this lab only.

The /etc/ssh of a host is a directory of the lab, which is in memory and ends with it, and the names
of the files there are those that client and server look for by themselves.
"""

import os

from lab import kernel, programs, wire

DIRECTORY = f"{wire.SHARED}/ssh"
PROGRAMS = {"sshd": "openssh-server", "ssh": "openssh-client", "ssh-keygen": "openssh-client"}
LOG = "/run/sshd.log"

SERVER = """HostKey /etc/ssh/ssh_host_ed25519_key
AuthorizedKeysFile /etc/ssh/lab_key.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM yes
AcceptEnv LANG LC_*
PidFile /run/sshd.pid
Subsystem sftp internal-sftp
"""
# Instead of the computer's (pam), by which root's account may be locked: it has no password here.
LOGIN_RULES = """auth required pam_deny.so
account required pam_permit.so
session required pam_permit.so
"""
CLIENT = """Host *
    IdentityFile /etc/ssh/lab_key
    IdentitiesOnly yes
    StrictHostKeyChecking yes
    UserKnownHostsFile /dev/null
    SendEnv LANG LC_*
"""
# Run by the server before each command.
AT_LOGIN = f"""# What lay in the computer's /tmp when a program is started is there.
{wire.SHARED}/rsh "$(uname -n)" true </dev/null >/dev/null 2>&1
"""


def write_shared(_):
    """The hosts have the same key, so that one line makes all of them known."""
    os.mkdir(DIRECTORY, 0o755)
    for key in ("ssh_host_ed25519_key", "lab_key"):
        programs.call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "fci-lab",
                      "-f", f"{DIRECTORY}/{key}")
    with open(f"{DIRECTORY}/ssh_host_ed25519_key.pub") as file:
        known = f"* {file.read()}"
    for name, text in (("sshd_config", SERVER), ("ssh_config", CLIENT), ("sshrc", AT_LOGIN),
                       ("ssh_known_hosts", known), ("login_rules", LOGIN_RULES)):
        with open(f"{DIRECTORY}/{name}", "w") as file:
            file.write(text)


def serve(*_):
    """On a host, with its directories and addresses."""
    kernel.bind(DIRECTORY, "/etc/ssh")
    if os.path.exists("/etc/pam.d/sshd"):
        kernel.bind(f"{DIRECTORY}/login_rules", "/etc/pam.d/sshd")
    os.mkdir("/run/sshd", 0o755)
    programs.serve(["sshd", "-E", LOG], LOG, lambda: os.path.exists("/run/sshd.pid"))
