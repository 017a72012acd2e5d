# SPDX-License-Identifier: BSD-3-Clause
"""Which cases run beside which: those that mostly wait beside one that computes, or two where the
suite allows it, and those that count what others would disturb alone. What comes out is in order."""

import threading

WAITING_MOST = 3  # at a time


class Schedule:
    """Cases in order, as (name, case). `run`: case -> result. `at_once`: name -> how many such cases
    that compute may run at a time."""

    def __init__(self, named, run, at_once):
        self.named, self.run, self.at_once = named, run, at_once
        self.changed = threading.Condition()
        self.begun, self.results = set(), {}
        self.error = None

    def running(self, load):
        return [at for at in self.begun - self.results.keys() if self.named[at][1].load == load]

    def may_begin(self, at):
        """Waiting ones are taken from anywhere; the others in order, so that one that is to run alone
        has its turn, before which nothing else begins."""
        load = self.named[at][1].load
        ahead = [i for i in range(at) if i not in self.begun and self.named[i][1].load != "waits"]
        if self.running("alone") or (load != "waits" and ahead):
            return False
        if load == "alone":
            return not self.begun - self.results.keys()
        next_ones = [i for i in range(len(self.named)) if i not in self.begun and
                     self.named[i][1].load != "waits"]
        if load == "waits":
            blocked = next_ones and self.named[next_ones[0]][1].load == "alone"
            return not blocked and len(self.running("waits")) < WAITING_MOST
        others = self.running("computes")
        return len(others) < min(self.at_once(self.named[i][0]) for i in [at, *others])

    def work(self):
        with self.changed:
            while True:
                left = [at for at in range(len(self.named)) if at not in self.begun]
                if not left or self.error:
                    return
                at = next(filter(self.may_begin, left), None)
                if at is None:
                    self.changed.wait()
                    continue
                self.begun.add(at)
                self.changed.release()
                try:
                    result = self.run(self.named[at][1])
                finally:
                    self.changed.acquire()
                self.results[at] = result
                self.changed.notify_all()

    def __iter__(self):
        """(name, result) of all cases, in order."""
        workers = [threading.Thread(target=self.work, daemon=True) for _ in range(WAITING_MOST + 2)]
        for worker in workers:
            worker.start()
        try:
            for at, (name, _) in enumerate(self.named):
                with self.changed:
                    self.changed.wait_for(lambda: at in self.results)
                yield name, self.results[at]
        finally:  # also when the run is ended: those that wait for their turn have none
            with self.changed:
                self.error = True
                self.changed.notify_all()
            for worker in workers:
                worker.join()
