"""Mutants: one small change of one line of C++, made without a parser. What is in comments and
strings is never touched; lines of `equivalent.txt` are left out."""

import random
import re
from dataclasses import dataclass
from pathlib import Path

SWAPS = [  # operator, its replacement; all with blanks around, so that templates are not met
    ("==", "!="), ("!=", "=="), ("<", "<="), ("<=", "<"), (">", ">="), (">=", ">"),
    ("+", "-"), ("-", "+"), ("+=", "-="), ("-=", "+="), ("*", "/"), ("%", "/"),
    ("&&", "||"), ("||", "&&"), ("&", "|"), ("|", "&"), ("|=", "&="), ("<<", ">>"),
]
WORDS = [("true", "false"), ("false", "true"), ("break;", "continue;"), ("std::min", "std::max"),
         ("std::max", "std::min"), ("push_back", "push_front")]
# Lines that declare, include or promise: a change there is another program or none.
NOT_CODE = re.compile(r"^\s*(#|//|namespace|template|using|typedef|static_assert|FCI_ASSERT|friend|"
                      r"class|struct|enum|public:|private:|explicit|operator)|\boperator\b|"
                      r"= delete|= default")
STATEMENT = re.compile(r"^(\s+)(?!return|break|continue|case|default|else|if|for|while|do|switch|"
                       r"const |auto |static |std::\w+<|[\w:]+[&*]? (?:const )?\w+[ ;({]|[\w:]+\* )"
                       r"[\w(*+\-][^{}]*;\s*$")


@dataclass(frozen=True)
class Rule:
    """Lines of a file, or of all (`*`), that are left out."""
    file: str
    part: str    # of the line
    number: int  # of the row

    def is_about(self, path, line):
        return self.file in ("*", path.rsplit("/", 1)[1]) and self.part in line


@dataclass(frozen=True)
class Mutant:
    path: str   # from the root of the tree
    line: int   # from 1 on
    before: str
    after: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.before.strip()}  ->  {self.after.strip()}"


def blank(text):
    """The same length, with comments and literals of characters blanked."""
    pattern = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", re.S)
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def closing(text, at):
    """Where the parenthesis that opens at `at` closes in this line, or -1."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    return -1


def changes(line, code):
    """All lines that differ from this one by one change. `code` is it without its comments."""
    for old, new in SWAPS:
        for found in re.finditer(rf"(?<= ){re.escape(old)}(?= )", code):
            yield line[:found.start()] + new + line[found.end():]
    for old, new in WORDS:
        for found in re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", code):
            yield line[:found.start()] + new + line[found.end():]
    for found in re.finditer(r"(?<![\w.>])(\+\+|--)(?=\w)", code):
        yield line[:found.start()] + ("--" if found[1] == "++" else "++") + line[found.end():]
    for found in re.finditer(r"(?<![\w.'])(\d+)(?=u?\b)(?![\w.'])", code):
        yield line[:found.start()] + str(int(found[1]) + 1) + line[found.end():]
    for found in re.finditer(r"\b(?:if|while) \(", code):
        end = closing(code, found.end() - 1)
        if end > 0 and ";" not in code[found.end():end]:
            yield (line[:found.end()] + "!(" + line[found.end():end] + ")" + line[end:])
    whole = STATEMENT.match(code)
    if whole and code.count("(") == code.count(")"):
        yield whole[1] + ";"


def starts_statement(previous):
    """Whether a new statement may begin after this line."""
    return not previous or previous.endswith((";", "{", "}", ")", ":", "else", "[[likely]]",
                                              "[[unlikely]]"))


def left_out(lines):
    """The rules of equivalent.txt, each with its reason, which must be there."""
    rules = []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            words = [word.strip() for word in line.split(" | ")]
            if len(words) != 3 or not all(words):
                raise ValueError(f"equivalent.txt: not 'file | part of a line | reason': {line}")
            rules.append(Rule(words[0], words[1], number))
    return rules


def all_of(root, path, rules):
    text = (Path(root) / path).read_text()
    lines, codes = text.split("\n"), blank(text).split("\n")
    found, previous = [], ""
    for number, (line, code) in enumerate(zip(lines, codes), 1):
        skip = NOT_CODE.search(code) or any(rule.is_about(path, line) for rule in rules)
        if not skip and code.strip():
            for changed in dict.fromkeys(changes(line, code)):
                dropped = changed.strip() == ";"
                if not dropped or starts_statement(previous):
                    found.append(Mutant(path, number, line, changed))
        previous = code.strip() or previous
    return found


def sample(mutants, count, seed):
    """In an order of chance: however many are done, they are a fair sample."""
    return random.Random(seed).sample(mutants, min(count, len(mutants)))
