# SPDX-License-Identifier: BSD-3-Clause
"""What passed, when, and with which tree: a file that all clones of this computer share. Where it is
not there, as on a new machine, nothing has passed before."""

import contextlib
import fcntl
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/harness"))

import memory  # noqa: E402

KEPT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fci/ci"
DAY = 24 * 3600
TREES_MOST = 50


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True,
                          check=False).stdout.strip()


class Commit:
    """The one that is tested. `number` counts those before it; `seed` is the same for the same
    commit on every machine."""

    def __init__(self):
        self.name = git("rev-parse", "--short=7", "HEAD") or "1000000"
        self.number = int(git("rev-list", "--count", "HEAD") or int(self.name, 16))
        self.seed = int(self.name, 16)
        self.tree = "" if git("status", "--porcelain") else git("rev-parse", "HEAD^{tree}")


class Ledger:
    """`runs`: how many there were of this tree before this one; `number`: of all trees."""

    def __init__(self, commit, counts=True, path=KEPT / "ledger.json"):
        """`counts`: this is a run."""
        self.commit, self.path = commit, path
        around = "\0".join((commit.tree, *memory.surroundings()))
        self.tree = hashlib.sha256(around.encode()).hexdigest()[:16] if commit.tree else ""
        with self.opened() as kept:
            own = kept["trees"].setdefault(self.tree, {"runs": 0, "steps": {}})
            self.runs, self.number = own["runs"], kept["number"]
            self.steps = {name: each["passed"] for name, each in own["steps"].items()
                          if self.tree and time.time() - each["when"] < DAY}
            # Another clone may have passed with a commit that is not here.
            is_here = git("cat-file", "-t", kept["green"] or "0") == "commit"
            self.units, self.green = kept["units"], kept["green"] if is_here else ""
            own["runs"] += counts
            kept["number"] += counts

    @contextlib.contextmanager
    def opened(self):
        """All that is kept, to be changed; another run waits meanwhile."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path.with_suffix(".lock"), "a", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = {"number": 0, "green": "", "trees": {}, "units": {}}
            with contextlib.suppress(OSError, ValueError):
                kept.update(json.loads(self.path.read_text(encoding="ascii")))
            yield kept
            kept["trees"] = dict(list(kept["trees"].items())[-TREES_MOST:])
            fresh = self.path.with_suffix(f".{os.getpid()}")
            fresh.write_text(json.dumps(kept, indent=1) + "\n", encoding="ascii")
            fresh.rename(self.path)

    def keep_step(self, name, cases):
        """It passed, and is recalled for a day where the tree is the same."""
        with self.opened() as kept:
            own = kept["trees"].setdefault(self.tree, {"runs": 1, "steps": {}})
            own["steps"][name] = {"passed": cases, "when": time.time()}

    def keep_unit(self, unit, passed, seconds=0.0, content=""):
        """One that failed is as one that was never run, so that it comes first the next time."""
        with self.opened() as kept:
            kept["units"].pop(unit, None)
            if passed:
                kept["units"][unit] = {"number": self.number, "when": time.time(),
                                       "seconds": round(seconds, 1), "commit": self.commit.name,
                                       "content": content}
            self.units = kept["units"]

    def keep_green(self):
        with self.opened() as kept:
            kept["green"] = self.commit.name

    def oldest(self, units):
        """Those that were not run for longest first; of those never run the commit chooses."""
        drawn = random.Random(self.commit.seed).sample(units, len(units))
        return sorted(drawn, key=lambda unit: self.units.get(unit, {}).get("when", 0))

    def runs_since(self, unit):
        """None: it never ran, or failed."""
        known = self.units.get(unit)
        return self.number - known["number"] if known else None
