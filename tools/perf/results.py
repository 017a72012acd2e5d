# SPDX-License-Identifier: BSD-3-Clause
"""What was measured, as one object of JSON: schema 1. It is made of the lines that the program
writes (mpi/job.h), and read again from a file; each number is checked on both ways. Units are
s, B and B/s.

  schema, tool, command, complete, started, seconds, mpi, over, ranks, tick, seed
  hosts    [{name, computer, cores, interface, line_rate (null: unknown), still, waited}]; still:
           the longest pause, s; waited: share of the time without a core
  links    [[from, to, latency, rate, rate_low, rate_high]], one for each direction
  again    as links: those that were measured a second time
  together, barrier    [median, low, high]: B/s of all hosts at once; s
  rows     [{case, bytes, ranks, seconds: one figure for each sample}]; of poly3 also order, the
           operations for each word
  wrong    [{case, from, to, messages, message, bytes, offset, expected, got}]
"""

import json
import math

from perf.trouble import Trouble

SCHEMA = 1
LINE = '{"perf": 1, "is": '
MOST = 1 << 30  # of a file, in bytes
LEAST = 1e-12   # of a latency and of a rate: none is 0


def damaged(where, reason):
    return Trouble(f"{where} is no result of fci_perf", reason,
                   "name a file that fci_perf --json or --lines wrote")


class Checked:
    """Numbers of a record, each looked at before it is used."""

    def __init__(self, record, where):
        self.record, self.where = record, where

    def value(self, name):
        if not isinstance(self.record, dict) or name not in self.record:
            raise damaged(self.where, f"it has no '{name}' where one belongs")
        return self.record[name]

    def number(self, name, least=0, most=math.inf):
        value = self.value(name)
        if not is_number(value) or not least <= value <= most:
            raise damaged(self.where, f"its '{name}' is {value!r}")
        return value

    def whole(self, name, least=0, most=1 << 53):
        value = self.number(name, least, most)
        if value != int(value):
            raise damaged(self.where, f"its '{name}' is {value!r}")
        return int(value)

    def text(self, name):
        value = self.value(name)
        if not isinstance(value, str) or len(value) > 500:
            raise damaged(self.where, f"its '{name}' is {value!r}")
        return value

    def figures(self, name, count, least=0):
        value = self.value(name)
        good = isinstance(value, list) and (count is None or len(value) == count)
        if not good or not all(is_number(each) and each >= least for each in value):
            raise damaged(self.where, f"its '{name}' is {value!r}")
        return value


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


class Reader:
    """Takes the program's lines, one by one, as they come."""

    def __init__(self, where="what was measured"):
        self.where, self.pairs, self.pairs_in_all, self.step = where, 0, 0, []
        # A launcher of the user's own leaves no more than the lines.
        self.result = {"schema": SCHEMA, "tool": "fci_perf", "command": "", "complete": False,
                       "started": "", "seconds": 0, "over": "unknown", "hosts": [], "links": [],
                       "rows": [], "wrong": []}

    def take(self, line):
        """True: it was one of the program's."""
        if not line.startswith(LINE):
            return False
        try:
            record = json.loads(line)
        except ValueError:
            raise damaged(self.where, f"one of its lines is {line.strip()[:80]!r}") from None
        take = getattr(self, "take_" + str(record.get("is")), None)
        if take is None:
            raise damaged(self.where, f"a line in it is {record.get('is')!r}")
        take(Checked(record, self.where))
        return True

    def host(self, number):
        if not 0 <= number < len(self.result["hosts"]):
            raise damaged(self.where, f"it names host {number} of {len(self.result['hosts'])}")
        return number

    def take_begin(self, line):
        if line.whole("schema") != SCHEMA:
            raise damaged(self.where, f"its schema is {line.whole('schema')}, this fci_perf "
                          f"reads {SCHEMA}")
        self.pairs_in_all = line.whole("pairs")
        self.result.update(
            command=line.text("command"), mpi=line.text("mpi"), ranks=line.whole("ranks", 1),
            tick=line.number("tick"), seed=line.whole("seed", most=1 << 64))

    def take_host(self, line):
        if line.whole("index") != len(self.result["hosts"]):
            raise damaged(self.where, "a host is missing in it")
        self.result["hosts"].append(
            {"name": line.text("name"), "computer": line.text("computer"),
             "cores": line.whole("cores"), "interface": "", "line_rate": None, "still": 0,
             "waited": 0})

    def take_step(self, line):
        self.step = line.value("pairs")

    def take_pair(self, line):
        a, b = (self.host(int(each)) for each in line.figures("at", 2))
        latency = line.figures("latency", 3, LEAST)
        for one, other, name in ((a, b, "there"), (b, a, "back")):
            rate = line.figures(name, 3, LEAST)
            self.result["links"].append([one, other, latency[0], *rate])
        self.pairs += 1

    def take_together(self, line):
        self.result["together"] = line.figures("rate", 3)

    def take_barrier(self, line):
        self.result["barrier"] = line.figures("seconds", 3)

    def take_row(self, line):
        row = {"case": line.text("case"), "bytes": line.whole("bytes"),
               "ranks": line.whole("ranks", 1), "seconds": line.figures("seconds", None)}
        if "order" in line.record:
            row["order"] = line.whole("order", 1)
        self.result["rows"].append(row)

    def take_wrong(self, line):
        for end in ("from", "to"):
            self.host(line.whole(end))
        self.result["wrong"].append({
            "case": line.text("case"), **{name: line.whole(name) for name in (
                "from", "to", "messages", "message", "bytes", "offset", "expected", "got")}})

    def take_network(self, line):
        host = self.result["hosts"][self.host(line.whole("host"))]
        host["interface"], host["still"] = line.text("interface"), line.number("still")
        host["waited"] = line.number("waited")
        host["line_rate"] = line.number("speed") / 8 or None
        host["bytes"] = line.number("bytes")

    def take_end(self, line):
        self.result["complete"] = True


def of_lines(text, where):
    reader = Reader(where)
    for line in text.splitlines():
        reader.take(line)
    if not reader.result["hosts"]:
        raise damaged(where, "it names no hosts")
    return reader.result


def checked(result, where):
    """The same object, if all that others use of it is there."""
    if not isinstance(result, dict) or result.get("schema") != SCHEMA:
        raise damaged(where, f"its schema is not {SCHEMA}")
    whole = Checked(result, where)
    hosts = whole.value("hosts")
    for name in ("links", "rows", "wrong", "hosts"):
        if not isinstance(whole.value(name), list):
            raise damaged(where, f"its '{name}' is no list")
    for host in hosts:
        each = Checked(host, where)
        each.text("name"), each.text("computer"), each.text("interface")
        each.number("still"), each.number("waited"), each.whole("cores")
        if each.value("line_rate") is not None:
            each.number("line_rate")
    for link in [*result["links"], *result.get("again", [])]:
        figures = Checked({"link": link}, where).figures("link", 6)
        ends = figures[:2]
        are_hosts = max(ends) < len(hosts) and ends == [int(each) for each in ends]
        if not are_hosts or min(figures[2:]) < LEAST:
            raise damaged(where, f"it has a link {link!r}")
    for row in result["rows"]:
        each = Checked(row, where)
        each.text("case"), each.whole("bytes"), each.whole("ranks", 1)
        each.figures("seconds", None)
    return result


def read(path):
    """A file of --json, or one of the program's --lines."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST)
    except OSError as error:
        raise Trouble(f"{path} cannot be read", error.strerror,
                      "name a file that is there") from None
    except UnicodeDecodeError:
        raise damaged(path, "it is no text") from None
    if text.startswith(LINE):
        return of_lines(text, path)
    try:
        return checked(json.loads(text), path)
    except ValueError:
        raise damaged(path, "it is no JSON") from None


def write(result, path):
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(written(result))
    except OSError as error:
        raise Trouble(f"{path} cannot be written", error.strerror, "name another file") from None


def written(result):
    """One link a line, so that people can read it and diff it."""
    parts = []
    for name, value in result.items():
        if name in ("links", "again", "rows", "hosts", "wrong") and value:
            lines = ",\n  ".join(json.dumps(each) for each in value)
            parts.append(f' "{name}": [\n  {lines}]')
        else:
            parts.append(f' "{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"
