"""What the Makefile.mk of each room says of a program: its own sources and those of what it is
linked to, so that a mutant is tried with the very files that make check has."""

import re
from pathlib import Path

TOPS = ("fci_core", "drivers", "test")

class Makefiles:
    def __init__(self, root):
        self.lists = {}  # variable -> words
        for path in sorted(path for top in TOPS for path in Path(root, top).rglob("Makefile.mk")):
            text = path.read_text().replace("\\\n", " ")
            text = text.replace("%D%", path.parent.relative_to(root).as_posix())
            for name, words in re.findall(r"(?m)^(\w+)\s*\+?=(.*)$", text):
                self.lists.setdefault(name, []).extend(words.split())

    def sources(self, name):
        """The .cc of a program or library, with those of the libraries that it names."""
        name = re.sub(r"\W", "_", name)
        found = [word for word in self.lists[f"{name}_SOURCES"] if word.endswith(".cc")]
        for word in self.lists.get(f"{name}_LDADD", []):
            if word.startswith("libfci_") and word.endswith(".la"):
                found += self.sources(word)
        return found
