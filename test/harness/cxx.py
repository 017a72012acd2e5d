# SPDX-License-Identifier: BSD-3-Clause
"""C and C++ by simple rules of text: the classes and functions of a file, which of its functions
others can use, and which words it uses. What a macro hides is not seen."""

import re
from dataclasses import dataclass

TOKENS = re.compile(r'R"(?P<mark>[^()\s]*)\(.*?\)(?P=mark)"|//[^\n]*|/\*.*?\*/'
                    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)


def blank(text):
    """Without comments and the contents of literals; line ends stay."""
    def put(match):
        found = match.group(0)
        lines = "\n" * found.count("\n")
        return ('""' + lines) if found[0] in "\"R" else lines if found[0] == "/" else "0"
    return TOKENS.sub(put, text)


def without_comments(text):
    """Literals stay; line ends inside comments do not."""
    return TOKENS.sub(lambda match: match.group(0) if match.group(0)[0] != "/" else " ", text)


def without_directives(text):
    """Of an #if only the first branch, so that the braces pair."""
    lines, dropping, continued = [], [], False
    for line in text.split("\n"):
        word = re.match(r"\s*#\s*(\w+)", line)
        part_of_one, continued = continued, line.endswith("\\") and (continued or bool(word))
        if word is None or part_of_one:
            lines.append("" if any(dropping) or part_of_one else line)
            continue
        lines.append("")
        if word.group(1) in ("if", "ifdef", "ifndef"):
            dropping.append(False)
        elif word.group(1) in ("else", "elif") and dropping:
            dropping[-1] = True
        elif word.group(1) == "endif" and dropping:
            dropping.pop()
    return "\n".join(lines)


def close_of(text, at):
    """The place of the brace that belongs to the one at `at`."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if match.group(0) == "{" else -1
        if depth == 0:
            return match.start()
    return len(text) - 1


BREAK = re.compile(r"[;{}]")
ANY_CLASS = "@class "  # stands for the definition of one
UNNAMED = re.compile(r"unnamed\d+$")
CLASS = re.compile(r"^(?:typedef\s+)?(?:class|struct|union)\b\s*([\w:]*)[^(=]*$")
FORWARD = re.compile(r"^(?:class|struct|union)\s+\w+$")
NO_MEMBER = re.compile(r"^(?:using|typedef|friend|static_assert|enum)\b")
NO_FUNCTION = re.compile(r"::|_$|^(?:catch|__attribute__)$")  # members, initializers, words of C++
NAMESPACE = re.compile(r'^(?:inline\s+)?namespace\b|^extern\s+""$')
INITIALIZED = re.compile(r"\)[^()]*:(?!:)[^()]*(?:\([^()]*\)[^()]*)*[\w>]\s*$")


def plain(head):
    """Without attributes, access words and what is between < and >; operators have no signs."""
    text = re.sub(r"\[\[.*?\]\]|\b(?:alignas|explicit|noexcept|decltype)\s*\([^()]*\)", " ", head,
                  flags=re.DOTALL)
    text = re.sub(r"\b(?:public|private|protected)\s*:(?!:)", " ", text)
    text = re.sub(r"operator\s*(?:\(\s*\)|[^\s\w(]+)", "operator_ ", text)
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>;]*>", " ", text)
    return " ".join(re.sub(r"\btemplate\b", " ", text).split())


def is_function(text):
    first = text.find("(")
    value = min((at for at in (text.find("="), text.find("{")) if at >= 0), default=len(text))
    return 0 <= first < value and not text[first + 1:].lstrip().startswith("*")


def count_names(text):
    """Declarators, at the commas that are in no brackets."""
    depth, names = 0, 1
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        names += sign == "," and depth == 0
    return names


def name_of(function):
    return re.sub(r"\s*\(.*", "", function).split(" ")[-1].lstrip("*&")


def bases_of(text):
    """Of the head of a class, as they are written there."""
    after = re.split(r"(?<!:):(?!:)", text, maxsplit=1)[1:]
    return [base.split()[-1] for base in after[0].split(",") if base.split()] if after else []


@dataclass(eq=False)
class Class:
    """As it is written: without what it has of its bases, and of classes that lie in it."""
    name: str        # one that lies in another is Outer::Inner
    file: str
    functions: list  # their names
    members: int     # data members of an object
    types: set       # words of what the data members are declared as; not of references
    bases: list


class Reader:
    """Classes and functions of one file."""

    def __init__(self, name, text):
        self.name = name
        self.text = without_directives(blank(text))
        self.classes = []
        self.nameless = 0
        self.functions = []  # (lines, name, file, line)
        self.offered = set()  # functions that other files can use; members are not among them
        self.heads = []      # (begin, end): where functions are declared, also those defined here
        self.scope(0, len(self.text), None)
        self.macros(text)

    def line(self, at):
        return self.text.count("\n", 0, at) + 1

    def macros(self, text):
        """Those with parameters are functions, too."""
        defines = re.findall(r"(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)(\()?((?:.*\\\n)*.*)$",
                             blank(text))
        if self.name.endswith(".h"):
            self.offered.update(name for name, parameters, _ in defines if parameters)
        self.replacements = "\n".join(replacement for _, _, replacement in defines)

    def uses(self):
        """All words but those of declarations, and those of members (`a.word`, `a->word`)."""
        rest, at = [], 0
        for begin, end in sorted(self.heads):
            rest.append(self.text[at:begin])
            at = max(at, end)
        text = "\n".join([*rest, self.text[at:], self.replacements])
        return set(re.findall(r"(?<![\w.])(?<!->)[A-Za-z_]\w*", text))

    def offer(self, text, owner, hidden):
        name = name_of(text)
        own = re.search(r"\bstatic\b", text) and not self.name.endswith(".h")
        if owner is None and not hidden and not own and not NO_FUNCTION.search(name):
            self.offered.add(name)

    def scope(self, at, end, owner, hidden=False):
        """What a file, a namespace or the class `owner` declares goes into `owner`, or self."""
        head, begin, inner_class = "", None, None
        while match := BREAK.search(self.text, at, end):
            segment = self.text[at:match.start()]
            if begin is None and segment.strip():
                begin = at + len(segment) - len(segment.lstrip())
            head += segment
            at = match.end()
            text = plain(head)
            if match.group(0) != "{":
                if owner is not None:
                    self.declare(owner, text, head, inner_class)
                if begin is not None and self.declares_function(text):
                    self.heads.append((begin, at))
                head, begin, inner_class = "", None, None
                continue
            inner, close = at, close_of(self.text, match.start())
            at = close + 1
            named = CLASS.match(text)
            if NAMESPACE.match(text):
                self.scope(inner, close, None, hidden or text.endswith("namespace"))
            elif named:
                name = named.group(1) or f"unnamed{self.unnamed()}"
                inner_class = Class(name if owner is None else owner.name + "::" + name,
                                    self.name, [], 0, set(), bases_of(text))
                self.scope(inner, close, inner_class)
                self.classes.append(inner_class)
                head = ANY_CLASS  # a declarator may follow
                continue
            elif is_function(text) and not self.goes_on(head, close):
                if owner is not None:
                    owner.functions.append(name_of(text))
                self.functions.append((self.line(close) - self.line(begin) + 1,
                                       re.sub(r"\s*\(.*", "", text).split(" ")[-1],
                                       self.name, self.line(begin)))
                self.heads.append((begin, match.start()))
                self.offer(text, owner, hidden)
            else:
                head += "{}"
                continue
            head, begin = "", None

    def unnamed(self):
        """The next number for one: its place among those of the file."""
        self.nameless += 1
        return self.nameless

    def declare(self, owner, text, head, inner_class):
        """A declaration of a class; `inner_class`: the one that was defined in it."""
        if self.declares_function(text):
            owner.functions.append(name_of(text))
        members = self.declares_data(text)
        owner.members += members
        if members:
            owner.types.update(re.findall(r"\w+", re.sub(r"\w+\s*&", " ", head)))
        unnamed = inner_class is not None and UNNAMED.search(inner_class.name)
        if inner_class is not None and (members or unnamed):
            owner.types.add(inner_class.name.split("::")[-1])

    def goes_on(self, head, close):
        """This was no body but one of a constructor's initializers."""
        after = self.text[close + 1:close + 200].lstrip()[:1]
        return after in (",", "{") and INITIALIZED.search(head) is not None

    @staticmethod
    def declares_function(text):
        return is_function(text) and not NO_MEMBER.match(text) and not text.endswith("delete")

    @staticmethod
    def declares_data(text):
        if not text or NO_MEMBER.match(text) or FORWARD.match(text) or is_function(text):
            return 0
        if text == ANY_CLASS.strip() or re.match(r"(?:inline )?static\b", text):
            return 0
        return count_names(text)
