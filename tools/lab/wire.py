# SPDX-License-Identifier: BSD-3-Clause
"""How the parts of a lab talk: a frame is a length and JSON, its first bytes may carry descriptors.

Outside, a host has a name of the abstract namespace, which goes when its holder goes, so that
nothing can be left of it. Inside, where each host has a network namespace and thus its own names,
it has a path in a directory that all hosts share.
"""

import json
import os
import socket
import struct

SHARED = "/run/fci-lab"  # in the mount namespaces of a lab only
SWITCH = "switch"        # the namespace of the bridges, where the holder of the lab lives
MOST = 64 << 20


def inside():
    return os.path.exists(f"{SHARED}/{SWITCH}")


def outside_address(lab, host, uid):
    return f"\0fci-lab/{uid}/{lab}/{host}"


def peer(sock):
    """(pid, uid) of who is at the other end, or listens there."""
    size = struct.calcsize("3i")
    pid, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return pid, uid


def connect(lab, host):
    """Raises OSError where nobody is, PermissionError where somebody else has the name."""
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(f"{SHARED}/{host}" if inside() else outside_address(lab, host, os.geteuid()))
        if peer(sock)[1] != os.geteuid():
            raise PermissionError(1, f"user {peer(sock)[1]} has taken the name", host)
    except OSError:
        sock.close()
        raise
    return sock


def send(sock, message, descriptors=()):
    body = json.dumps(message).encode()
    frame = struct.pack("!I", len(body)) + body
    sent = socket.send_fds(sock, [frame], descriptors) if descriptors else 0
    if sent < len(frame):  # to send nothing would fail where the other end has what it wanted
        sock.sendall(frame[sent:])


def receive(sock):
    """The next message, or None where the other end is gone."""
    return receive_with(sock, 0)[0]


def receive_with(sock, most):
    """(message, descriptors)"""
    try:
        head, descriptors, _, _ = socket.recv_fds(sock, 4, most)
        head += exactly(sock, 4 - len(head))
        length = struct.unpack("!I", head)[0]
        return (json.loads(exactly(sock, length)) if length < MOST else None), descriptors
    except (ConnectionError, EOFError):
        return None, []


def exactly(sock, length):
    data = bytearray()
    while len(data) < length:
        more = sock.recv(length - len(data))
        if not more:
            raise EOFError
        data += more
    return bytes(data)
