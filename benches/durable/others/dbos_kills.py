"""A queue of DBOS whose worker is killed: effects that happened twice, calls without an effect.

    python kills.py CALLS KILLS     runs the series in a new folder, with SQLite

Each call appends a line to a file, in a step of a workflow. The worker is killed at random moments and started again.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter

from dbos import DBOS

FOLDER = os.environ.get("LEDGER") or tempfile.mkdtemp(prefix="dbos-")
DBOS(config={"name": "ledger", "system_database_url": f"sqlite:///{FOLDER}/calls.sqlite", "application_version": "1", "executor_id": "one"})


@DBOS.step()
def effect(n: int) -> None:
    with open(f"{FOLDER}/effects", "a") as world:
        world.write(f"{n}\n")
    time.sleep(0.02)


@DBOS.workflow()
def call(n: int) -> int:
    effect(n)
    return n


def work() -> None:
    DBOS.launch()
    DBOS.register_queue("calls", concurrency=32)
    while True:
        time.sleep(1)


def submit(count: int) -> None:
    DBOS.launch()
    queue = DBOS.register_queue("calls", concurrency=32)
    for n in range(count):
        queue.enqueue(call, n)
        print(n, flush=True)


def main() -> None:
    count, kills = int(sys.argv[1]), int(sys.argv[2])
    os.environ["LEDGER"] = FOLDER
    start = lambda *role: subprocess.Popen([sys.executable, __file__, *role], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    submitter = start("submit", str(count))
    accepted = submitter.communicate()[0].split()
    random.seed(7)
    worker = start("work")
    time.sleep(4)
    for _ in range(kills):
        time.sleep(random.uniform(2.0, 4.0))
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        worker = start("work")
    done, since = 0, time.time()
    while time.time() - since < 180:
        effects = Counter(open(f"{FOLDER}/effects").read().split())
        if len(effects) >= count:
            break
        time.sleep(1)
    time.sleep(10)
    worker.kill()
    effects = Counter(open(f"{FOLDER}/effects").read().split())
    twice = sum(1 for times in effects.values() if times > 1)
    print(f"{len(accepted)} accepted, {kills} workers killed: {len(accepted) - len(effects)} without an effect, {twice} more than once")


if sys.argv[1] == "work":
    work()
elif sys.argv[1] == "submit":
    submit(int(sys.argv[2]))
else:
    main()
