# SPDX-License-Identifier: BSD-3-Clause
"""Debian's source package of MPICH, fetched from the archive and checked."""

import re
import subprocess
import time
import urllib.error
import urllib.request

from mpich_build.marks import digest_of_file
from mpich_build.screen import Failure

# The source packages in Debian's archive, by MPICH's version: description and its SHA-256. The
# description names the other files with theirs. 4.0.2 is Debian 12's.
DEBIAN = {
    "4.0.2": ("mpich_4.0.2-3.dsc",
              "67036921ec09db4da04568546691fe05d3118ac7e4a37020bc7b74a43de36cd0"),
    "4.2.1": ("mpich_4.3.0+really4.2.1-1.dsc",
              "4ee05e305abaf9d3c7109c4f5797067ce1dbd551832bd1cf96bc9e01a1f3feaf"),
    "5.0.2": ("mpich_5.0.2-2.dsc",
              "def6b113b2181d21652e09603f541c2189cead964221dae96af969ce49f9d024"),
}
MIRROR = "http://deb.debian.org/debian"
POOL = "pool/main/m/mpich"


class SourcePackage:
    """Of one version of MPICH; its files are kept in `store`."""

    def __init__(self, version, store, mirror):
        self.version, self.store, self.mirror = version, store, mirror

    def mirrors(self):
        """The archive; then what apt uses here, which may be a site's own."""
        yield self.mirror or MIRROR
        if not self.mirror:
            try:
                text = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)"],
                                      capture_output=True, text=True, check=False).stdout
            except OSError:
                text = ""
            yield from (url.rstrip("/") for url in dict.fromkeys(text.split())
                        if url.startswith("http") and "/debian" in url and "security" not in url)

    def download(self, screen):
        """The files of Debian's source package, each checked. Returns the description's path."""
        name, checksum = DEBIAN[self.version]
        self.store.mkdir(parents=True, exist_ok=True)
        wanted, at = [(name, checksum)], 0
        screen.begin("fetching Debian's source package")
        began, got = time.monotonic(), 0
        while at < len(wanted):
            name, checksum = wanted[at]
            at += 1
            path = self.store / name
            if not path.exists() or digest_of_file(path) != checksum:
                got += self.fetch(name, path, checksum,
                                  lambda n: screen.tick(int(time.monotonic() * 5),
                                                        time.monotonic() - began,
                                                        f", {n >> 20} MiB"))
            if name.endswith(".dsc"):
                section = re.search(r"^Checksums-Sha256:\n((?: .*\n)+)", path.read_text(),
                                    re.MULTILINE).group(1)
                wanted += [(line.split()[2], line.split()[0]) for line in section.splitlines()]
        screen.end(f"{time.monotonic() - began:.0f} s, {got >> 20} MiB" if got else "there already")
        return self.store / DEBIAN[self.version][0]

    def fetch(self, name, path, checksum, progress):
        """Goes on where an interrupted call stopped. Returns the number of bytes."""
        part, reasons = path.with_name(name + ".part"), []
        for mirror in dict.fromkeys(self.mirrors()):
            url = f"{mirror}/{POOL}/{urllib.request.quote(name)}"
            try:
                have = part.stat().st_size if part.exists() else 0
                request = urllib.request.Request(url)
                if have:
                    request.add_header("Range", f"bytes={have}-")
                with urllib.request.urlopen(request, timeout=60) as answer:
                    if answer.status != 206:
                        have = 0
                    with open(part, "ab" if have else "wb") as output:
                        while block := answer.read(1 << 18):
                            output.write(block)
                            progress(output.tell())
                if digest_of_file(part) == checksum:
                    part.rename(path)
                    return path.stat().st_size
                part.unlink()
                reasons.append(f"{url}: another content than expected")
            except (OSError, urllib.error.URLError) as error:
                if getattr(error, "code", None) == 416:  # all of it is there, and it is not right
                    part.unlink(missing_ok=True)
                reasons.append(f"{url}: {error}")
        raise Failure("Debian's source package could not be fetched:\n"
                      + "\n".join("    " + r for r in reasons)
                      + "\n  cause    no network, a proxy, or the archive moved on\n"
                      "  remedy   set http_proxy, name a mirror with --mirror URL, or put the files"
                      f" of\n           {DEBIAN[self.version][0]} into {self.store}, or"
                      " use --source TREE")
