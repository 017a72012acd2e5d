# SPDX-License-Identifier: BSD-3-Clause
"""One host's part in the look at all hosts before a first job: it tells about itself, and tries the
ways to the others.

The front (shells.py) sends this text through the remote shell's standard input and lets the host's
Python run it, so nothing has to be installed there. Then each request is a line of JSON on standard
input, and each answer one on standard output behind MARK. The process ends when its standard input
ends, at the latest after LIFE_S. It is alone there: the standard library of Python 3.6 is enough.
"""

import array
import base64
import errno
import fcntl
import hashlib
import json
import os
import platform
import queue
import select
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

MARK = "fci_perf there: "
LIFE_S = 60
CONNECT_S = 3.0   # for a TCP connection: the kernel sends its first packet twice meanwhile
NAMES_S = 5.0     # for all names together, and for each program that is asked for its version
ECHO_S, ECHO_TRIES = 0.15, 2  # for the answer to a datagram
AGAIN_S, AGAIN_TRIES = 0.3, 3  # where a datagram would be said not to pass
LEAST_MTU = 576   # bytes that each host must take (RFC 791)
HEADERS = 28      # bytes of IPv4's and UDP's headers, which the MTU counts
MOST = 65535      # bytes of a packet of IPv4
GIFCONF, GIFFLAGS, GIFMTU = 0x8912, 0x8913, 0x8921  # linux/sockios.h
UP_AND_RUNNING = 0x41  # linux/if.h
IP_MTU_DISCOVER, IP_MTU = 10, 14  # linux/in.h
PROBE = 3  # of the former: nothing is cut, and all that the interface takes is sent


def addresses(sock):
    """Pairs of an interface and an IPv4 address that it has."""
    size = 40 if struct.calcsize("P") == 8 else 32
    buffer = array.array("B", bytes(size * 1024))
    asked = struct.pack("iP", len(buffer), buffer.buffer_info()[0])
    length = struct.unpack_from("i", fcntl.ioctl(sock, GIFCONF, asked))[0]
    for at in range(0, length, size):
        label = bytes(buffer[at:at + 16]).partition(b"\0")[0].decode()
        yield label.partition(":")[0], socket.inet_ntoa(bytes(buffer[at + 20:at + 24]))


def speed(name):
    """Mbit/s, or None where the interface does not say."""
    try:
        with open("/sys/class/net/%s/speed" % name) as file:
            return max(int(file.read()), 0) or None
    except (OSError, ValueError):
        return None


def interfaces():
    """name -> its IPv4 addresses, MTU in bytes, speed in Mbit/s, and whether it is up."""
    found = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _, name in socket.if_nameindex():
            asked = name.encode().ljust(40, b"\0")
            flags = struct.unpack_from("H", fcntl.ioctl(sock, GIFFLAGS, asked), 16)[0]
            mtu = struct.unpack_from("i", fcntl.ioctl(sock, GIFMTU, asked), 16)[0]
            found[name] = {"addresses": [], "mtu": mtu, "speed": speed(name),
                           "up": flags & UP_AND_RUNNING == UP_AND_RUNNING}
        for name, address in addresses(sock):
            found[name]["addresses"].append(address)
    return found


def together(tasks, seconds, late):
    """key -> the result of its task, or `late`; each runs in a thread of its own."""
    found = {}

    def perform(key, task):
        found[key] = task()

    threads = [threading.Thread(target=perform, args=each, daemon=True) for each in tasks.items()]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return {key: found.get(key, late) for key in tasks}


def resolved(name):
    """The IPv4 addresses of a name as a list, or the resolver's reason why there are none."""
    try:
        return sorted({each[4][0] for each in socket.getaddrinfo(name, None, socket.AF_INET)})
    except OSError as error:
        return error.strerror or str(error)


def version(candidates):
    """The path of the first program that is there, and the first line with a figure that it says of
    its version; None where there is no such program."""
    paths = list(filter(None, map(shutil.which, candidates)))
    if not paths:
        return None
    try:
        said = subprocess.run([paths[0], "--version"], stdin=subprocess.DEVNULL, timeout=NAMES_S,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    except (OSError, subprocess.TimeoutExpired):
        said = b""
    lines = [" ".join(line.split()) for line in said.decode(errors="replace").splitlines()]
    return [paths[0], next((line for line in lines if any(map(str.isdigit, line))), "")]


def is_program(path, digest):
    """Whether this very program lies there and may be run."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest() == digest and os.access(path, os.X_OK)
    except OSError:
        return False


class Ports:
    """A TCP and a UDP port that the other hosts try, served until the process ends."""

    def __init__(self, token, allowed):
        """token: bytes that datagrams of this look begin with; allowed: the first and last TCP port
        that may be taken, or nothing."""
        self.tcp = self.bound(range(allowed[0], allowed[1] + 1) if allowed else [0])
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)  # all come at once
        self.udp.bind(("", 0))
        for serve in (self.accept, lambda: self.answer(token)):
            threading.Thread(target=serve, daemon=True).start()

    @staticmethod
    def bound(ports):
        for port in ports:
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind(("", port))
                sock.listen(1024)
                return sock
            except OSError:
                sock.close()
        raise OSError(errno.EADDRINUSE, "none of these ports is free")

    def accept(self):
        while True:
            self.tcp.accept()[0].close()

    def answer(self, token):
        """The head of each datagram goes back, whatever its length, so only one way is tried."""
        while True:
            data, sender = self.udp.recvfrom(1 << 16)
            if data.startswith(token):
                self.udp.sendto(data[:len(token) + 4], sender)


def connected(peers):
    """host -> "" where a TCP connection came about, "silent" where nothing was heard in CONNECT_S,
    else the kernel's code (ECONNREFUSED)."""
    found, waiting, poll = {}, {}, select.poll()
    for host, address, port, _ in peers:
        sock = socket.socket()
        sock.setblocking(False)
        error = sock.connect_ex((address, port))
        if error in (0, errno.EINPROGRESS):
            waiting[sock.fileno()] = host, sock
            poll.register(sock, select.POLLOUT)
        else:
            found[host] = errno.errorcode.get(error, str(error))
            sock.close()
    deadline = time.monotonic() + CONNECT_S
    while waiting and time.monotonic() < deadline:
        for descriptor, _ in poll.poll(max(0, 1000 * (deadline - time.monotonic()))):
            host, sock = waiting.pop(descriptor)
            error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            found[host] = errno.errorcode.get(error, str(error)) if error else ""
            poll.unregister(descriptor)
            sock.close()
    found.update((host, "silent") for host, _ in waiting.values())
    return found


class Probe:
    """Datagrams that no router may cut, to all peers at the same time."""

    def __init__(self, token, peers):
        self.token, self.number, self.sent = token, 0, {}
        self.to = {host: (address, udp) for host, address, _, udp in peers}
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, PROBE)

    def send(self, host, size):
        """size: bytes with all headers."""
        self.number += 1
        self.sent[self.number] = host, size
        head = self.token + struct.pack("!I", self.number)
        try:
            self.sock.sendto(head.ljust(size - HEADERS, b"\0"), self.to[host])
        except OSError:
            pass  # a firewall of this host, or no way: it does not pass

    def passing(self, sizes, seconds=ECHO_S, tries=ECHO_TRIES):
        """sizes: host -> bytes. Those hosts that answered a datagram of that size."""
        passed = set()
        for _ in range(tries):
            for host, size in sizes.items():
                if host not in passed:
                    self.send(host, size)
            deadline = time.monotonic() + seconds
            while len(passed) < len(sizes):
                self.sock.settimeout(max(0.001, deadline - time.monotonic()))
                try:
                    number = struct.unpack("!I", self.sock.recvfrom(64)[0][len(self.token):])[0]
                except socket.timeout:
                    break
                except (OSError, struct.error):
                    continue
                host, size = self.sent.get(number, (None, 0))
                passed.update({host} if sizes.get(host) == size else ())
        return passed

    def largest(self, wanted):
        """host -> the largest size that passes, up to the one wanted; 0 where not even LEAST_MTU
        does, as where UDP is not let through."""
        passes = {host: wanted[host] for host in self.passing(wanted)}
        left = {host: size for host, size in wanted.items() if host not in passes}
        least = self.passing({host: LEAST_MTU for host in left}, AGAIN_S, AGAIN_TRIES)
        passes.update((host, 0) for host in left if host not in least)
        low, high = {host: LEAST_MTU for host in least}, {host: left[host] for host in least}
        while any(high[host] - low[host] > 1 for host in low):
            middle = {host: (low[host] + high[host]) // 2 for host in low
                      if high[host] - low[host] > 1}
            passed = self.passing(middle)
            for host, size in middle.items():
                (low if host in passed else high)[host] = size
        again = self.passing({host: left[host] for host in low}, AGAIN_S, AGAIN_TRIES)
        passes.update((host, left[host] if host in again else low[host]) for host in low)
        return passes


def route(address):
    """(address of this host on the way there, MTU that the kernel has been told of that way)"""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((address, 9))
            return sock.getsockname()[0], sock.getsockopt(socket.IPPROTO_IP, IP_MTU)
        except OSError:
            return "", 0


def mtus(token, peers):
    """host -> bytes: the MTU of the interface there, the largest packet that passes, and the MTU
    that routers have told of."""
    of_address = {address: each["mtu"] for each in interfaces().values()
                  for address in each["addresses"]}
    wanted = {host: min(of_address.get(route(address)[0], 0), MOST)
              for host, address, _, _ in peers}
    passes = Probe(token, peers).largest({host: mtu for host, mtu in wanted.items() if mtu})
    return {host: [wanted[host], passes.get(host, 0), route(address)[1]]
            for host, address, _, _ in peers}


class Here:
    """Answers the requests of the front."""

    def tell(self, request):
        """About this host."""
        self.token = request["token"].encode()
        told = {"name": socket.gethostname(), "interfaces": interfaces(),
                "kernel": platform.release(), "machine": platform.machine(),
                "libc": os.confstr("CS_GNU_LIBC_VERSION") or "",
                "cores": len(os.sched_getaffinity(0))}
        with open("/proc/sys/kernel/random/boot_id") as file:
            told["computer"] = file.read().strip()
        asked = {"fci": lambda: version(request["fci"]), "mpi": lambda: version(request["mpi"])}
        for name in request["names"]:
            asked["name", name] = lambda name=name: resolved(name)
        found = together(asked, NAMES_S, None)
        told["fci"], told["mpi"] = found.pop("fci"), found.pop("mpi")
        told["names"] = {name: found["name", name] or "no answer within %.0f s" % NAMES_S
                         for name in request["names"]}
        told["program"] = is_program(request["program"], request["digest"])
        try:
            ports = Ports(self.token, request["ports"])
            told["tcp"], told["udp"] = (sock.getsockname()[1] for sock in (ports.tcp, ports.udp))
        except OSError as error:
            told["tcp"], told["no_port"] = 0, error.strerror
        return told

    @staticmethod
    def take(request):
        """The program of the front, for this host."""
        path = request["program"]
        new = "%s.%d" % (path, os.getpid())
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            try:
                with open(new, "wb") as file:
                    file.write(base64.b64decode(request["content"]))
                os.chmod(new, 0o755)
                os.rename(new, path)
            finally:
                if os.path.exists(new):
                    os.unlink(new)
        except OSError as error:
            return {"refused": error.strerror}
        return {"refused": ""}

    def reach(self, request):
        """The ways to the others: TCP connections, and the largest packets that pass."""
        peers = request["peers"]
        asked = {"tcp": lambda: connected(peers), "mtu": lambda: mtus(self.token, peers)}
        return together(asked, LIFE_S, {})


def read(requests):
    """Lines of standard input; nothing outlives them."""
    for line in sys.stdin.buffer:
        requests.put(json.loads(line.decode()))
    os._exit(0)


def main():
    end = threading.Timer(LIFE_S, os._exit, (0,))
    end.daemon = True
    end.start()
    requests, here = queue.Queue(), Here()
    threading.Thread(target=read, args=(requests,), daemon=True).start()
    while True:
        request = requests.get()
        answer = getattr(here, request["do"])(request)
        sys.stdout.write("\n" + MARK + json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
