# SPDX-License-Identifier: BSD-3-Clause
"""As root of a host, that is on the path: recorder.py SECONDS FILE writes the hellos that come to it
and leave it over TCP, each behind its length."""

import socket
import struct
import sys
import time

MAGIC = b"FCItcp"
ETH_P_ALL = 3
HEADER = 14  # of Ethernet


def hello_in(frame):
    if frame[12:14] != b"\x08\x00" or frame[HEADER + 9] != socket.IPPROTO_TCP:
        return b""
    tcp = HEADER + 4 * (frame[HEADER] & 15)
    end = HEADER + int.from_bytes(frame[HEADER + 2:HEADER + 4], "big")
    payload = frame[tcp + 4 * (frame[tcp + 12] >> 4):end]
    return payload if payload.startswith(MAGIC) and len(payload) <= 256 else b""


def main():
    ear = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    ear.settimeout(0.2)
    limit = time.monotonic() + float(sys.argv[1])
    hellos = []
    print("listening", flush=True)
    while time.monotonic() < limit and len(hellos) < 64:
        try:
            hello = hello_in(ear.recv(65536))
        except TimeoutError:
            if hellos:
                break
            continue
        if hello and hello not in hellos:
            hellos.append(hello)
    with open(sys.argv[2], "wb") as file:
        for hello in hellos:
            file.write(struct.pack("<I", len(hello)) + hello)


main()
