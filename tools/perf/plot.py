# SPDX-License-Identifier: BSD-3-Clause
"""A picture of a result by gnuplot: the map of the pairs' rates, and the times of rows."""

import os
import shutil
import subprocess

from perf import show, stats
from perf.trouble import Trouble

TERMINALS = {".png": "pngcairo", ".svg": "svg"}
MAP = """set terminal {terminal} size {size},{size} font ",10"
set output {path}
set title {title} noenhanced
set xlabel "receives"
set ylabel "sends"
set cblabel "share of the median rate"
set cbrange [0:{top}]
set palette defined (0 "#7f0000", 0.5 "#fc8d59", 0.85 "#fee8c8", 1 "#f7fcf5", {top} "#41ab5d")
set xrange [-0.5:{last}]
set yrange [{last}:-0.5]
set xtics rotate {tics}
set ytics {tics}
set size ratio 1
plot "-" matrix using 1:2:3 with image pixels notitle
{data}
e
"""
ROWS = """set terminal {terminal} size 900,600 font ",10"
set output {path}
set title {title} noenhanced
set logscale xy
set xlabel "bytes"
set ylabel "us"
set key left top
set grid
plot {plots}
{data}
"""


def quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


def title_of(result):
    """The heading, without pairs and seconds, in two lines."""
    text = show.heading(result).partition(";")[0]
    return '"' + text.replace('"', "'").replace(", ", "\\n", 1) + '"'


def terminal_for(path):
    suffix = os.path.splitext(path)[1]
    if suffix not in TERMINALS:
        raise Trouble(f"{path} is no kind of picture that is known",
                      f"its name ends in {suffix or 'nothing'}",
                      "end it in one of " + ", ".join(TERMINALS))
    return TERMINALS[suffix]


def of_links(result, path):
    values = show.rates_of(result["links"])
    median = stats.median(values.values())
    names, count = [host["name"] for host in result["hosts"]], len(result["hosts"])
    shares = [[values[s, d] / median if (s, d) in values else "NaN" for d in range(count)]
              for s in range(count)]
    top = max(1.2, max(each for row in shares for each in row if each != "NaN"))
    every = max(1, count // 32)
    tics = ", ".join(f"{quoted(names[at])} {at}" for at in range(0, count, every))
    return MAP.format(
        terminal=terminal_for(path), size=max(480, min(1600, 240 + 40 * count)),
        path=quoted(path), top=top, last=count - 0.5, title=title_of(result), tics=f"({tics})",
        data="\n".join(" ".join(str(each) for each in row) for row in shares))


def of_rows(result, path):
    timed = [row for row in result["rows"] if row["bytes"] and "order" not in row]
    cases = sorted({row["case"] for row in timed})
    plots, data = [], []
    for case in cases:
        plots.append(f'"-" using 1:2:3:4 with yerrorlines title {quoted(case)}')
        for row in timed:
            if row["case"] == case:
                figures = sorted(row["seconds"])
                data.append(f"{row['bytes']} " + " ".join(
                    f"{each * 1e6:.6g}" for each in (
                        stats.median(figures), figures[0], figures[-1])))
        data.append("e")
    return ROWS.format(terminal=terminal_for(path), path=quoted(path), title=title_of(result),
                       plots=", ".join(plots), data="\n".join(data))


def drawn(result, path):
    """The picture is in that file; without links or rows there is none."""
    gnuplot = shutil.which("gnuplot")
    if not gnuplot:
        raise Trouble("there is no gnuplot", "it is not in PATH",
                      "Debian: gnuplot-nox; without it: fci_perf show FILE has the map as text")
    if not result["links"] and not result["rows"]:
        raise Trouble("there is nothing to draw", "the result has neither links nor rows",
                      "name one of check, links or run")
    script = of_links(result, path) if result["links"] else of_rows(result, path)
    done = subprocess.run([gnuplot], input=script, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it says nothing"]
        raise Trouble(f"gnuplot cannot write {path}", said[-1].strip(), "name another file")
