# SPDX-License-Identifier: BSD-3-Clause
"""The network of a lab: one bridge for each of its networks, a pair of interfaces for each host."""

import subprocess

from lab import programs
from lab.trouble import Trouble


def ip(lines):
    command = programs.find("ip")
    done = subprocess.run([command, "-batch", "-"], input="\n".join(lines) + "\n", text=True,
                          capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no word from ip"]
        raise Trouble("the network of the lab cannot be made", f"{command}: {said[0]}",
                      "see whether this kernel has bridge and veth (CONFIG_BRIDGE, CONFIG_VETH)")


def wire_hosts(plan, pids):
    """In the namespace of the bridges. pids: host -> a process in its network namespace."""
    lines = ["link set lo up"]
    for network in range(plan.networks):
        lines += [f"link add br{network} type bridge", f"link set br{network} up"]
        for host in plan.hosts:
            port = f"{host}-eth{network}"
            lines += [f"link add {port} type veth peer name eth{network} netns {pids[host]}",
                      f"link set {port} master br{network} up"]
    ip(lines)


def open_interfaces(plan, host):
    """In the namespace of a host. Congestion control is a matter of the route: the default of the
    computer cannot be changed in a namespace, and a paced one measures itself."""
    lines = ["link set lo up"]
    for network in range(plan.networks):
        address, name = plan.address(host, network), f"eth{network}"
        lines += [
            f"link set {name} up", f"address add {address}/24 brd + dev {name}",
            f"route change {plan.subnet(network)} dev {name} proto kernel scope link src {address} "
            "congctl cubic",
            f"route change table local local {address} dev {name} proto kernel scope host "
            f"src {address} congctl cubic"]
    lines.append("route change table local local 127.0.0.0/8 dev lo proto kernel scope host "
                 "src 127.0.0.1 congctl cubic")
    ip(lines)


def counters():
    """Of the interfaces of this namespace."""
    found = {}
    with open("/proc/net/dev") as file:
        for line in list(file)[2:]:
            name, _, numbers = line.partition(":")
            numbers = [int(number) for number in numbers.split()]
            found[name.strip()] = {"rx_bytes": numbers[0], "rx_packets": numbers[1],
                                   "tx_bytes": numbers[8], "tx_packets": numbers[9]}
    return found
