# SPDX-License-Identifier: BSD-3-Clause
"""What a lab is to be: its hosts, networks, addresses and cores."""

import os
from dataclasses import dataclass, field

MOST_HOSTS, MOST_NETWORKS = 250, 8


@dataclass
class Plan:
    name: str
    count: int
    networks: int = 1
    cores: int = 0  # of each host; 0: all
    servers: tuple = ()  # of servers.BY_NAME
    uid: int = field(default_factory=os.geteuid)
    gid: int = field(default_factory=os.getegid)
    available: list = field(default_factory=lambda: sorted(os.sched_getaffinity(0)))

    @property
    def hosts(self):
        return [f"n{number}" for number in range(1, self.count + 1)]

    @property
    def interfaces(self):
        return [f"eth{network}" for network in range(self.networks)]

    @property
    def is_shared(self):
        """Whether there are fewer cores than the hosts want in all."""
        return self.count * self.cores > len(self.available)

    def subnet(self, network):
        return f"10.77.{network}.0/24"

    def address(self, host, network):
        return f"10.77.{network}.{host[1:]}"

    def cores_of(self, host):
        if not self.cores:
            return self.available
        first = (int(host[1:]) - 1) * self.cores
        return sorted({self.available[(first + i) % len(self.available)]
                       for i in range(self.cores)})

    def hosts_file(self):
        lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost"]
        for network in range(self.networks):
            suffix = f"-eth{network}" if network else ""
            lines += [f"{self.address(host, network)} {host}{suffix}" for host in self.hosts]
        return "\n".join(lines) + "\n"

    def described(self):
        """For status and run, which come from another process."""
        return {"name": self.name, "user": self.uid, "servers": self.servers,
                "networks": [self.subnet(network) for network in range(self.networks)],
                "hosts": [{"name": host, "cores": self.cores_of(host),
                           "addresses": {f"eth{network}": self.address(host, network)
                                         for network in range(self.networks)}}
                          for host in self.hosts]}
