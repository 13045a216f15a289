"""Keeps the clients' core busy with nothing, whenever nobody else wants it, until it is killed.

python -m benchmarks.awake        also ends when its parent has
"""

import os

from benchmarks.machine import pin

if __name__ == "__main__":
    pin(1)
    if hasattr(os, "SCHED_IDLE"):  # elsewhere it would take a share of the core
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        parent = os.getppid()
        while os.getppid() == parent:
            for _ in range(1_000_000):
                pass
