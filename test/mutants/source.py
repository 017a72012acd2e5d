# SPDX-License-Identifier: BSD-3-Clause
"""Statements and conditions of C and C++, found without a parser: where each begins and ends, so that
another text can stand there as well."""

import re
from dataclasses import dataclass, field

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"'
                   r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S)
DIRECTIVE = re.compile(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*")
NAMESPACE = re.compile(r'^(?:inline\s+)?namespace\b|^extern\b')
CLASS = re.compile(r"^(?:template\b.*>\s*)?(?:typedef\s+)?(?:class|struct|union)\b[^()=]*$", re.S)
ENUM = re.compile(r"\benum\b")
# A type and a name: `Order* const order = ...`, `std::vector<Peer> peers;`
DECLARATION = re.compile(
    r"^(?:(?:const|constexpr|static|auto|unsigned|long|struct|thread_local|mutable)\b"
    r"|[A-Za-z_][\w:]*(?:<.*?>)?(?:::\w+)*(?:\s+const\b)?(?:\s*[*&]+\s*(?:const\s+)?|\s+)"
    r"[A-Za-z_]\w*\s*(?:[=({;,]|\[))", re.S)
INITIAL = re.compile(r"(?<![=!<>+\-*/%&|^])=(?!=)")
NO_STATEMENT = re.compile(r"(?:using|typedef|static_assert|struct|class|union|enum|friend|asm)\b")
JUMP = re.compile(r"(?:break|continue|goto|return)\b")
HEAD = re.compile(r"(if|while|for|switch|catch)\b\s*(?:constexpr\s*)?(?=\()")
LABEL = re.compile(r"(?:case\b(?:[^:]|::)*|default\s*|[A-Za-z_]\w*\s*):(?!:)")
ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\]")


@dataclass
class Site:
    """One place of which the text can be another: an expression, or a statement with its end."""
    kind: str  # condition, loop, value, statement, jump
    begin: int
    end: int
    texts: list = field(default_factory=list)  # those that a mutant puts there


def blank(text):
    """The same length and lines, without comments, literals and directives."""
    def put(found):
        return re.sub(r"[^\n]", " ", found[0])

    def put_literal(found):
        if found[0][0] == "/":
            return put(found)
        return found[0][0] + re.sub(r"[^\n]", " ", found[0][1:-1]) + found[0][-1]
    return DIRECTIVE.sub(put, NOISE.sub(put_literal, text))


class Source:
    def __init__(self, text):
        self.text, self.code = text, blank(text)
        self.sites, self.runs = [], []  # runs: statements that follow each other
        self.declared(0, len(text))

    # --- what brackets belong together ---

    def close(self, at):
        """Behind the bracket that belongs to the one at `at`."""
        depth = 0
        for i in range(at, len(self.code)):
            depth += (self.code[i] in "([{") - (self.code[i] in ")]}")
            if depth == 0:
                return i + 1
        return len(self.code)

    def semicolon(self, at, end):
        """Behind the next one that is in no brackets."""
        while at < end:
            sign = self.code[at]
            if sign == ";":
                return at + 1
            if sign in ")]}":
                return at
            at = self.close(at) if sign in "([{" else at + 1
        return end

    def skip(self, at, end):
        while at < end and self.code[at].isspace():
            at += 1
        found = ATTRIBUTE.match(self.code, at, end)
        return self.skip(found.end(), end) if found else at

    # --- declarations, down to the bodies of functions ---

    def declared(self, at, end):
        begin = at
        while at < end:
            sign = self.code[at]
            if sign == ";":
                at = begin = at + 1
            elif sign == "{":
                close = self.close(at)
                head = re.sub(r"\b(?:public|private|protected)\s*:(?!:)", "",
                              self.code[begin:at]).strip()
                if NAMESPACE.match(head) or CLASS.match(head) and not ENUM.search(head):
                    self.declared(at + 1, close - 1)
                elif "(" in head and not INITIAL.search(head.split("(")[0]) and \
                        not self.is_initializer(head, close):
                    self.block(at + 1, close - 1)
                else:
                    at = close
                    continue
                at = begin = close
            else:
                at += 1

    def is_initializer(self, head, close):
        """`a{1}` in `C::C() : a{1}, b{2} {}`: the body comes later."""
        return re.search(r"\)[^()]*:(?!:)[^;]*\w\s*$", head) is not None and \
            self.code[close:close + 100].lstrip()[:1] in (",", "{")

    # --- the inside of functions ---

    def block(self, at, end):
        run = []
        while (at := self.skip(at, end)) < end:
            site, at = self.statement(at, end)
            if site and site.kind == "statement":
                run.append(site)
            else:
                self.runs.append(run)
                run = []
        self.runs.append(run)

    def statement(self, at, end):
        """(its site where it has one of its own, behind it)"""
        at = self.skip(at, end)
        if at >= end:
            return None, end
        if self.code[at] == "{":
            close = self.close(at)
            self.block(at + 1, close - 1)
            return None, close
        if self.code[at] == "}":  # of a macro
            return None, at + 1
        head = HEAD.match(self.code, at, end)
        if head:
            return None, self.headed(head[1], head.end(), end)
        word = re.compile(r"(?:else|do|try)\b").match(self.code, at, end)
        if word:
            return None, self.statement(word.end(), end)[1]
        label = LABEL.match(self.code, at, end)
        if label and "?" not in label[0] and "(" not in label[0].split("case")[0]:
            return None, label.end()
        return self.simple(at, self.semicolon(at, end))

    def headed(self, word, at, end):
        close = self.close(at)
        parts = [at + 1]
        while (last := self.semicolon(parts[-1], close - 1)) < close - 1:
            parts.append(last)
        if word in ("if", "while") and not DECLARATION.match(
                self.code[parts[-1]:close - 1].strip() + ";"):
            self.expression("condition" if word == "if" else "loop", parts[-1], close - 1)
        elif word == "for" and len(parts) == 3:
            self.expression("loop", parts[1], parts[2] - 1)
        at = self.skip(close, end)
        return at + 1 if self.code[at:at + 1] == ";" else self.statement(at, end)[1]

    def simple(self, at, end):
        text = self.code[at:end]
        if NO_STATEMENT.match(text) or not text.endswith(";"):
            return None, max(end, at + 1)
        self.inner(at, end)
        jump = JUMP.match(text)
        if jump:
            value = at + jump.end()
            if text[jump.end():-1].strip():
                self.expression("value", value, end - 1)
                return None, end
            return self.put(Site("jump", at, end)), end
        if DECLARATION.match(text):
            initial = INITIAL.search(re.split(r"[({]", text)[0])
            if initial and "constexpr" not in text[:initial.start()] and \
                    self.is_one(at + initial.end(), end - 1):
                self.expression("value", at + initial.end(), end - 1)
            return None, end
        return self.put(Site("statement", at, end)), end

    def is_one(self, at, end):
        """No comma parts it outside of brackets."""
        while at < end and self.code[at] != ",":
            at = self.close(at) if self.code[at] in "([{" else at + 1
        return at >= end

    def inner(self, at, end):
        """The bodies of the lambdas in it."""
        while at < end:
            if self.code[at] == "{" and re.search(
                    r"[)\]]\s*(?:mutable\s*|noexcept\s*)*(?:->\s*[\w:*& ]+)?$",
                    self.code[max(0, at - 60):at]):
                close = self.close(at)
                self.block(at + 1, close - 1)
                at = close
            else:
                at += 1

    def expression(self, kind, begin, end):
        while begin < end and self.code[begin].isspace():
            begin += 1
        if begin < end and "{" not in self.code[begin:end]:
            self.put(Site(kind, begin, end))

    def put(self, site):
        self.sites.append(site)
        return site

    def line(self, at):
        return self.text.count("\n", 0, at) + 1
