"""Jobs in the sidebar: progress, troubles, cancelled and resumed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import streamlit as st

from ragviz import jobs
from ragviz.errors import NotFoundError
from ragviz.records import Job, Run
from ragviz.text.markup import plain, shortened
from ragviz.ui import cache, widgets, wording

_PUT_AWAY = "put-away"  # session state: ids of the jobs whose outcome was read, or dismissed
_WATCHED = "watched"  # session state: titles of the jobs that were going on at the last look, by id
_VANISHED = "vanished"  # session state: titles of those that are gone since, by id
_OFFERED = "offered"  # session state: titles of the jobs that can be resumed, as they were last drawn, by id
_ENDED = "ended"  # session state: when the last job ended, as it was at the last look


def budget_field(key: str, run: Run | None = None, *, explained: str) -> float | None:
    """Ask for the most dollars that may be paid, at first the last budget of `run`; None is no limit."""
    with st.container(width=180):
        given = st.number_input(
            "Budget in dollars", 0.0, None, last_budget(run) if run else None, step=1.0, format="%.2f",
            placeholder="no limit", key=key, help=explained,
        )  # fmt: skip
    return None if given is None else float(given)


def last_budget(run: Run) -> float | None:
    """Return the budget that was given last for a run, None when it had none."""
    mine = (job for job in jobs.jobs(cache.workspace()) if run.name == job.arguments.get(RUN_OF.get(job.kind, "")))
    newest = next(mine, None)
    return None if newest is None else newest.arguments.get("budget")


RUN_OF = {"run": "name", "rejudge": "run"}
"""Kind of job → the argument that names its run."""


def watch(job: Job) -> None:
    """Look after a job that this page has just started."""
    st.session_state.setdefault(_WATCHED, {})[job.id] = job.title
    st.toast(f"Started: {plain(job.title)}")


def active_jobs() -> list[Job]:
    """Jobs that wait or run."""
    return [job for job in jobs.jobs(cache.workspace(), 50) if job.status in ("queued", "running")]


def stops_jobs() -> str:
    """What a person confirms besides, where something is deleted while jobs go on: a sentence, after a blank."""
    return " Jobs that work on it are stopped." if active_jobs() else ""


def jobs_panel() -> None:
    """Draw the running jobs, looked at again every second or two; when one ends, the page is drawn anew."""
    recent = jobs.jobs(cache.workspace(), 50)
    going = {job.id: job.title for job in recent if job.status in ("queued", "running")}
    watched = {i: title for i, title in st.session_state.get(_WATCHED, {}).items() if i not in going}
    _note_vanished({i: title for i, title in watched.items() if i not in {job.id for job in recent}})
    for job in recent:
        if job.id in watched:
            st.toast(f"{plain(job.title)}: {ENDINGS.get(job.status, job.status)}")
    st.session_state[_WATCHED] = going
    st.session_state[_ENDED] = _last_end(recent)
    st.fragment(_draw_jobs, run_every=1.5 if going else 20)()


def _note_vanished(missing: Mapping[str, str]) -> None:
    """Note which of these jobs are gone: nothing is left of one when somebody deletes what it works on."""
    for job_id, title in missing.items():
        try:
            cache.workspace().store.job(job_id)
        except NotFoundError:
            st.session_state.setdefault(_VANISHED, {})[job_id] = title


ENDINGS = {
    "done": "finished",
    "failed": "failed",
    "cancelled": "stopped",
    "interrupted": "interrupted",
}


def _draw_jobs() -> None:
    with widgets.errors_shown():  # it is drawn by itself too, not only with the page
        _draw_recent(jobs.jobs(cache.workspace(), 50))


def _draw_recent(recent: Sequence[Job]) -> None:
    _tell_overtaken({job.id: job for job in recent if not _is_trouble(job)})
    going = [job for job in recent if job.status in ("queued", "running")]
    if {job.id for job in going} != st.session_state.get(_WATCHED, {}).keys() or _last_end(
        recent
    ) != st.session_state.get(_ENDED):
        st.rerun(scope="app")  # what a job changed is shown, also of one that took less than the time between two looks
    dismissed = st.session_state.setdefault(_PUT_AWAY, set())
    newest = {(job.kind, job.title, job.corpus_id): job for job in reversed(recent)}.values()  # what came last counts
    troubled = [job for job in newest if job.id not in dismissed and _is_trouble(job)]
    st.session_state[_OFFERED] = {job.id: job.title for job in troubled}
    for job in going:
        _draw_going(job)
    for job in troubled:
        _draw_troubled(job)
    for job_id, title in list(st.session_state.get(_VANISHED, {}).items()):
        _draw_vanished(job_id, title)


def _last_end(recent: Sequence[Job]) -> float:
    return max((job.finished or 0.0 for job in recent), default=0.0)


def _is_trouble(job: Job) -> bool:
    """Whether a job ended in a way that is worth a word: interrupted, or lately failed or stopped."""
    lately = time.time() - (job.finished or 0) < 3600
    return job.status == "interrupted" or (job.status in ("failed", "cancelled") and lately)


def _draw_going(job: Job) -> None:
    with st.container(border=True, gap="xxsmall"):
        st.markdown(f"**{plain(job.title)}**")
        share, words = job_words(job, time.time(), _pace(job))
        st.progress(share, text=words)
        stopping = job.cancel
        verb = "Pause" if job.kind in ("run", "rejudge") else "Cancel"
        if st.button("Stopping…" if stopping else verb, key=f"cancel-{job.id}", disabled=stopping, type="tertiary"):
            jobs.cancel(cache.workspace(), job)
            st.rerun(scope="app")


def _tell_overtaken(others: Mapping[str, Job]) -> None:
    """Answer *Resume* pressed on a late screen: `others` are the jobs, by id, for which it is not offered now."""
    offered: dict[str, str] = st.session_state.get(_OFFERED, {})
    pressed = {i: title for i, title in offered.items() if st.session_state.get(f"resume-{i}")}
    _note_vanished(pressed)
    for job_id in pressed.keys() & others.keys():
        job = others[job_id]
        state = "finished" if job.status == "done" else "going on"
        st.toast(f"{plain(job.title)} is {state} since it was shown here: it was not resumed a second time.")


def _draw_troubled(job: Job) -> None:
    with st.container(border=True, gap="xxsmall"):
        st.markdown(f"**{plain(job.title)}** {ENDINGS[job.status]}")
        st.caption(plain(job.error))
        with st.container(horizontal=True, gap="small"):
            if st.button("Resume", key=f"resume-{job.id}", type="tertiary"):
                watch(jobs.start(cache.workspace(), job))
                st.rerun(scope="app")
            if st.button("Dismiss", key=f"dismiss-{job.id}", type="tertiary"):
                put_away(job)
                if job.status == "interrupted":
                    jobs.cancel(cache.workspace(), job)
                st.rerun(scope="app")


def _draw_vanished(job_id: str, title: str) -> None:
    with st.container(border=True, gap="xxsmall"):
        st.markdown(f"**{plain(title)}** is gone")
        st.caption("What it worked on was deleted, or its command was refused: nothing is left of the job.")
        if st.button("Dismiss", key=f"dismiss-{job_id}", type="tertiary"):
            del st.session_state[_VANISHED][job_id]
            st.rerun(scope="app")


def _pace(job: Job) -> float | None:
    """Units a second since this session first saw the job in its present phase; None while nothing can be told."""
    seen = st.session_state.setdefault("paces", {})
    now = time.time()
    first = seen.get(job.id)
    if first is None or first[0] != (job.unit, job.total) or job.done < first[2]:
        seen[job.id] = first = ((job.unit, job.total), now, job.done)
    elapsed = now - first[1]
    return (job.done - first[2]) / elapsed if elapsed > 2 and job.done > first[2] else None


def job_words(job: Job, now: float, pace: float | None) -> tuple[float, str]:
    """Share done (0 to 1) and the line under a job's bar: what, how far, how fast, how long still.

    `pace` is in units a second.
    """
    if job.status == "queued":
        return 0.0, "Waiting to start"
    what = f"{plain(shortened(job.message, 200))} · " if job.message else ""
    if job.total is None:
        return 0.0, f"{what}{job.done:,} {job.unit}".strip() if job.unit else f"{what}starting"
    share = min(1.0, job.done / job.total) if job.total else 1.0
    words = [f"{what}{job.done:,} of {job.total:,} {job.unit}"]
    if pace:
        words.append(f"{pace:,.0f}/s" if pace >= 3 else f"{pace:.1f}/s")
        words.append(f"{wording.duration((job.total - job.done) / pace)} left")
    elif job.started is not None:
        words.append(f"{wording.duration(now - job.started)} so far")
    return share, " · ".join(words)


def finished_job(kind: str, corpus_id: str, minutes: float = 60) -> Job | None:
    """Return the newest job of this kind about this corpus if it is done, not long ago, and was not put away."""
    newest = next(iter(_jobs_about(kind, corpus_id)), None)
    return newest if newest is not None and _is_news(newest, minutes) else None


def finished_jobs(kind: str, corpus_id: str, minutes: float = 60) -> list[Job]:
    """Return the jobs of this kind about this corpus that were done lately and not put away, the newest first."""
    return [job for job in _jobs_about(kind, corpus_id) if _is_news(job, minutes)]


def _jobs_about(kind: str, corpus_id: str) -> list[Job]:
    return [job for job in jobs.jobs(cache.workspace(), 50) if job.kind == kind and job.corpus_id == corpus_id]


def _is_news(job: Job, minutes: float) -> bool:
    """Whether a job was done lately and was not put away."""
    lately = time.time() - (job.finished or 0) < 60 * minutes
    return job.status == "done" and lately and job.id not in st.session_state.get(_PUT_AWAY, set())


def put_away(job: Job) -> None:
    """Show no more what became of a job."""
    st.session_state.setdefault(_PUT_AWAY, set()).add(job.id)
