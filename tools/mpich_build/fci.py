# SPDX-License-Identifier: BSD-3-Clause
"""FCI itself: installed, or in its source tree."""

import importlib.machinery
import importlib.util
import pathlib
import re

from mpich_build.screen import Unusable


class Fci:
    """Below `prefix`, or where this program itself is installed."""

    def __init__(self, prefix):
        shared = pathlib.Path(__file__).resolve().parents[1]
        if (shared / "apply-fci").exists():  # PREFIX/share/fci/mpich
            self.apply_fci, self.netmod = shared / "apply-fci", shared / "netmod"
            default = shared.parents[2]
        else:
            root = shared.parent
            self.apply_fci, self.netmod = root / "mpich-patches/apply-fci", root / "netmod/ch4/fci"
            default = root / "build/prefix"
        self.prefix = (prefix or default).resolve()

    def find(self):
        """Where libfci and its headers are, and which version it is."""
        for library in sorted(self.prefix.glob("lib*/**/libfci.so")):
            header = self.prefix / "include/fci/icl.h"
            if not header.exists():
                continue
            self.headers = sorted(header.parent.rglob("*.h"))
            self.libdir = library.parent
            self.version = "unknown"
            for pc in library.parent.glob("pkgconfig/fci.pc"):
                found = re.search(r"^Version: *(\S+)", pc.read_text(), re.MULTILINE)
                self.version = found.group(1) if found else self.version
            return
        raise Unusable(
            f"{self.prefix} holds no FCI: lib/libfci.so or include/fci/icl.h is missing.\n"
            "  cause    FCI was not installed yet, or elsewhere\n"
            "  remedy   ./bootstrap build in FCI's source, or name its prefix with --fci DIR")

    def edits(self):
        """What apply-fci inserts: a new wording of its messages changes nothing in a tree."""
        loader = importlib.machinery.SourceFileLoader("apply_fci", str(self.apply_fci))
        spec = importlib.util.spec_from_loader("apply_fci", loader)
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        return "".join(f"{e.path} {e.anchor.pattern} {e.before}\n{e.text}" for e in module.EDITS)

    def files(self):
        return sorted(p for p in self.netmod.iterdir()
                      if p.suffix in (".c", ".h", ".m4", ".mk", ".txt"))
