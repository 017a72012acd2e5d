# SPDX-License-Identifier: BSD-3-Clause
"""The steps of .ci/run, in order and side by side, and what came of them."""

import argparse
import fcntl
import os
import signal
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import step as steps  # noqa: E402
from lanes import Lanes  # noqa: E402
from ledger import KEPT, Commit, Ledger  # noqa: E402
from plan import MAKERS, Plan  # noqa: E402
from step import LOGS, ROOT, Outcome  # noqa: E402

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
FAILED = LOGS / "failed"  # the names of the steps that did in the last run here


def arguments():
    parser = argparse.ArgumentParser(
        prog=".ci/run", description="What must hold for every change. The last line is \"N passed, "
        "N failed\".", epilog="What passed with exactly this tree within a day is recalled; what has "
        "chance in it runs again with other dice. Exit code: 0 all passed, 1 something failed, 2 it "
        "could not be started.")
    parser.add_argument("--full", action="store_true", help="everything, and nothing is recalled")
    parser.add_argument("--list", action="store_true", help="name the steps and stop")
    parser.add_argument("--only", nargs="+", metavar="STEP", help="these, and what makes what they use")
    parser.add_argument("--failed", action="store_true", help="those that failed in the last run here")
    return parser.parse_args()


def chosen(all_steps, names):
    """These steps, and those that make what they use."""
    by_name = {step.name: step for step in all_steps}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        sys.exit(f".ci/run: no step {unknown[0]!r}; --list names them")
    wanted, more = set(), list(names)
    while more:
        name = more.pop()
        wanted.add(name)
        more += [need for need in by_name[name].needs if need in MAKERS and need not in wanted]
    return [step for step in all_steps if step.name in wanted]


class Report:
    """What came of the steps: a line for each as it ends, and a table at the end."""

    def __init__(self, plan):
        self.plan, self.outcomes, self.recalled, self.began = plan, {}, {}, time.monotonic()

    def recall(self, step):
        self.recalled[step.name] = self.plan.ledger.steps[step.name]

    def run(self, step):
        """Not without what makes what it uses."""
        missing = [need for need in step.needs
                   if need in MAKERS and need in self.outcomes and self.outcomes[need][1].failed]
        if missing:
            return Outcome(failed=1, complaints=[f"not run, as {missing[0]} failed"])
        return steps.run(step)

    def tell(self, step, outcome):
        self.outcomes[step.name] = (step, outcome)
        before = f", {outcome.before} passed before" if outcome.before else ""
        print(f"{step.title:50} {outcome.seconds:5.0f} s, {outcome.processor:5.0f} of processor   "
              f"{outcome.passed} passed, {outcome.failed} failed{before}", flush=True)
        for line in [*outcome.notes, *outcome.complaints]:
            print("    " + line, flush=True)
        if not outcome.failed and step.name not in MAKERS and not step.has_chance:
            self.plan.ledger.keep_step(step.name, outcome.passed + outcome.before)

    def keep_parts(self):
        for unit, content, names in self.plan.parts:
            ran = [self.outcomes[name][1] for name in names if name in self.outcomes]
            if len(ran) == len(names):
                self.plan.ledger.keep_unit(unit, not any(each.failed for each in ran),
                                           content=content)

    def table(self):
        rows = [f"| {step.title} | {out.seconds:.0f} | {out.processor:.0f} | "
                f"{out.passed + out.failed} | {out.before or ''} |"
                for step, out in self.outcomes.values()]
        total = sum(out.processor for _, out in self.outcomes.values())
        return "\n".join(["| step | seconds | of processor | cases | passed before |",
                          "|---|---:|---:|---:|---:|", *rows,
                          f"| **all** | {self.seconds():.0f} | {total:.0f} | | |", ""])

    def seconds(self):
        return time.monotonic() - self.began

    def end(self):
        """The last lines; whether nothing failed."""
        failed = [name for name, (_, outcome) in self.outcomes.items() if outcome.failed]
        FAILED.write_text("".join(f"{name}\n" for name in failed))
        (LOGS / "seconds.md").write_text(self.table())
        before = sum(outcome.before for _, outcome in self.outcomes.values())
        print(f"\n{self.seconds():.0f} s in all; a table of them is in build/log/seconds.md")
        print(f"{sum(self.recalled.values())} cases of {len(self.recalled)} steps were recalled, as "
              f"they passed with this tree: {', '.join(self.recalled) or 'none'}")
        print(f"{before} more passed before with the same content (.ci/run --full runs all)")
        if failed:
            print("failed: .ci/run --only " + " ".join(failed))
        passed = sum(outcome.passed for _, outcome in self.outcomes.values())
        print(f"{passed} passed, {sum(o.failed for _, o in self.outcomes.values())} failed")
        return not failed


def place():
    """Where MPICH is built: one place for all clones, unless another run is at work there."""
    KEPT.mkdir(parents=True, exist_ok=True)
    lock = open(KEPT / "lock", "a", encoding="ascii")  # until this process ends
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return ROOT / "build/own/mpich", lock
    return KEPT / "mpich", lock


def prepare(plan, options):
    os.environ.update(CI="true", CI_MPICH=str(plan.mpich), CI_MEMORY=str(KEPT / "passed"),
                      CI_THIRD=plan.third, FCI_TEST_SEED=str(plan.seed))
    if options.full:
        os.environ["CI_AGAIN"] = "yes"
    LOGS.mkdir(parents=True, exist_ok=True)

    def end(number, _):
        for each in ENDING:
            signal.signal(each, signal.SIG_IGN)
        print(f"ended by {signal.Signals(number).name}", flush=True)
        steps.running.end()
        os._exit(128 + number)  # threads wait for steps that are no more
    for number in ENDING:
        signal.signal(number, end)


def main():
    options = arguments()
    mpich, _lock = place()
    plan = Plan(Ledger(Commit(), counts=not options.list), options.full, mpich)
    found = plan.steps()
    names = options.only
    if options.failed:
        names = FAILED.read_text().split() if FAILED.exists() else []
        if not names:
            print("nothing failed in the last run here")
            return 0
    if names:
        found = chosen(found, names)
    if options.list:
        for step in found:
            print(f"{step.name:22} {step.title}{'  (recalled)' * plan.is_recalled(step)}")
        return 0
    prepare(plan, options)
    report, left = Report(plan), []
    for step in found:
        if not names and plan.is_recalled(step):
            report.recall(step)
        else:
            left.append(step)
    Lanes(left).run(report.run, report.tell)
    report.keep_parts()
    is_good = report.end()
    if is_good and not names:
        plan.ledger.keep_green()
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
