"""Which waiting jobs may start: as many as the machine has memory and cores for, and people take turns."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ragviz.core.job import Job
from ragviz.core.settings import Settings
from ragviz.jobs.tasks import KINDS

SHARE = 0.75
"""Of the memory, for jobs: the rest is for the dashboard, its visitors and other programs."""
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


class Room(NamedTuple):
    """What jobs may take at once: memory in MB, and cores."""

    memory: float
    cores: float


def room(settings: Settings) -> Room:
    """Return what jobs may take on this machine, or in this container; RAGVIZ_JOBS is a number of cores."""
    if settings.jobs is not None:
        return Room(math.inf, settings.jobs)
    import psutil

    limits = [int(file.read_text()) for file in _LIMITS if file.exists() and file.read_text().strip().isdecimal()]
    memory = min([psutil.virtual_memory().total, *limits])
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Room(SHARE * memory / 2**20, cores)


def in_turn(active: Sequence[Job]) -> list[Job]:
    """Return the jobs of one machine that wait, in the order in which they start.

    Whoever has fewer jobs that run, or stand before this one, comes first; among equals, the job that waits longest.
    """
    theirs = Counter(job.person for job in active if job.status != "queued")
    order: list[tuple[int, int, Job]] = []
    for job in sorted((job for job in active if job.status == "queued"), key=lambda job: (job.created, job.id)):
        order.append((theirs[job.person], len(order), job))
        theirs[job.person] += 1
    return [job for *_, job in sorted(order, key=lambda each: each[:2])]


def startable(active: Sequence[Job], free: Room) -> list[Job]:
    """Return the jobs of one machine that wait and may start now; at least one where none runs.

    A job whose turn has come, but which does not fit yet, is passed only by those that need no core.
    """
    memory, cores = free
    begun = [KINDS[job.kind] for job in active if job.status != "queued"]
    memory -= sum(kind.memory for kind in begun)
    cores -= sum(kind.cores for kind in begun)
    found: list[Job] = []
    passed = False
    for job in in_turn(active):
        kind = KINDS[job.kind]
        fits = kind.memory <= memory and kind.cores <= cores and not (passed and kind.cores)
        if fits or not (begun or found):
            found.append(job)
            memory -= kind.memory
            cores -= kind.cores
        else:
            passed = True
    return found
