"""Jobs: the panel of the sidebar (progress, outcome, cancel, resume), and the recent jobs that a page reports."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import streamlit as st

from ragviz import jobs
from ragviz.errors import NotFoundError
from ragviz.records import Job
from ragviz.text.markup import plain, shortened
from ragviz.ui import cache, widgets, wording

_DISMISSED = "dismissed"  # session state: ids of the jobs whose outcome is not shown any more
_ACTIVE = "active-jobs"  # session state: titles of the jobs that were active when last drawn, by id
_REMOVED = "removed-jobs"  # session state: titles of those that were removed since, by id
_RESUMABLE = "resumable-jobs"  # session state: titles of the jobs for which *Resume* was last drawn, by id
_LAST_END = "last-end"  # session state: when the last job had ended when last drawn
ACTIVE = ("queued", "running")


def watch(job: Job) -> None:
    """Announce a job that this page has just started, and its end when it comes."""
    st.session_state.setdefault(_ACTIVE, {})[job.id] = job.title
    st.toast(f"Started: {plain(job.title)}")


def active_jobs() -> list[Job]:
    """Return the jobs that are queued or running."""
    return [job for job in jobs.jobs(cache.workspace(), 50) if job.status in ACTIVE]


def stops_jobs() -> str:
    """Return what a deletion does to active jobs, as a sentence after a blank; "" when there are none."""
    return " Jobs that work on it are stopped." if active_jobs() else ""


def jobs_panel() -> None:
    """Draw the jobs, polled every 1.5 seconds while one is active; when one ends, the page is rerun."""
    recent = jobs.jobs(cache.workspace(), 50)
    active = {job.id: job.title for job in recent if job.status in ACTIVE}
    ended = {i: title for i, title in st.session_state.get(_ACTIVE, {}).items() if i not in active}
    _note_removed({i: title for i, title in ended.items() if i not in {job.id for job in recent}})
    for job in recent:
        if job.id in ended:
            st.toast(f"{plain(job.title)}: {ENDINGS.get(job.status, job.status)}")
    st.session_state[_ACTIVE] = active
    st.session_state[_LAST_END] = _last_end(recent)
    st.fragment(_draw_jobs, run_every=1.5 if active else 20)()


def _note_removed(missing: Mapping[str, str]) -> None:
    """Note which of these jobs were removed: a job's row goes when somebody deletes what it works on."""
    for job_id, title in missing.items():
        try:
            cache.workspace().store.job(job_id)
        except NotFoundError:
            st.session_state.setdefault(_REMOVED, {})[job_id] = title


ENDINGS = {
    "done": "finished",
    "failed": "failed",
    "cancelled": "stopped",
    "interrupted": "interrupted",
}


def _draw_jobs() -> None:
    with widgets.errors_shown():  # the fragment is also run by itself, not only with the page
        _draw_recent(jobs.jobs(cache.workspace(), 50))


def _draw_recent(recent: Sequence[Job]) -> None:
    _report_late_resume({job.id: job for job in recent if not _is_unsuccessful(job)})
    active = [job for job in recent if job.status in ACTIVE]
    started_or_ended = {job.id for job in active} != st.session_state.get(_ACTIVE, {}).keys()
    if started_or_ended or _last_end(recent) != st.session_state.get(_LAST_END):
        st.rerun(scope="app")  # show what a job changed, also of one that began and ended between two polls
    dismissed = st.session_state.setdefault(_DISMISSED, set())
    newest = {(job.kind, job.title, job.corpus_id): job for job in reversed(recent)}.values()
    unsuccessful = [job for job in newest if job.id not in dismissed and _is_unsuccessful(job)]
    st.session_state[_RESUMABLE] = {job.id: job.title for job in unsuccessful}
    for job in active:
        _draw_active(job)
    for job in unsuccessful:
        _draw_unsuccessful(job)
    for job_id, title in list(st.session_state.get(_REMOVED, {}).items()):
        _draw_removed(job_id, title)


def _last_end(recent: Sequence[Job]) -> float:
    return max((job.finished or 0.0 for job in recent), default=0.0)


def _is_unsuccessful(job: Job) -> bool:
    """Return whether a job was interrupted, or failed or was cancelled within the last hour."""
    recently = time.time() - (job.finished or 0) < 3600
    return job.status == "interrupted" or (job.status in ("failed", "cancelled") and recently)


def _draw_active(job: Job) -> None:
    with st.container(border=True, gap="xxsmall"):
        st.markdown(f"**{plain(job.title)}**")
        share, words = job_words(job, time.time(), _pace(job))
        st.progress(share, text=words)
        stopping = job.cancel
        verb = "Pause" if job.kind in ("run", "rejudge") else "Cancel"
        if st.button("Stopping…" if stopping else verb, key=f"cancel-{job.id}", disabled=stopping, type="tertiary"):
            jobs.cancel(cache.workspace(), job)
            st.rerun(scope="app")


def _report_late_resume(others: Mapping[str, Job]) -> None:
    """Report *Resume* pressed on an outdated screen: `others` are the jobs, by id, that cannot be resumed now."""
    resumable: dict[str, str] = st.session_state.get(_RESUMABLE, {})
    pressed = {i: title for i, title in resumable.items() if st.session_state.get(f"resume-{i}")}
    _note_removed(pressed)
    for job_id in pressed.keys() & others.keys():
        job = others[job_id]
        state = "has finished" if job.status == "done" else "is running again"
        st.toast(f"{plain(job.title)} {state} since it was shown here: it was not resumed a second time.")


def _draw_unsuccessful(job: Job) -> None:
    with st.container(border=True, gap="xxsmall"):
        st.markdown(f"**{plain(job.title)}** {ENDINGS[job.status]}")
        st.caption(plain(job.error))
        with st.container(horizontal=True, gap="small"):
            if st.button("Resume", key=f"resume-{job.id}", type="tertiary"):
                watch(jobs.start(cache.workspace(), job))
                st.rerun(scope="app")
            if st.button("Dismiss", key=f"dismiss-{job.id}", type="tertiary"):
                dismiss(job)
                if job.status == "interrupted":
                    jobs.cancel(cache.workspace(), job)
                st.rerun(scope="app")


def _draw_removed(job_id: str, title: str) -> None:
    with st.container(border=True, gap="xxsmall"):
        st.markdown(f"**{plain(title)}** was removed")
        st.caption("What it worked on was deleted, or its command was refused: nothing is left of the job.")
        if st.button("Dismiss", key=f"dismiss-{job_id}", type="tertiary"):
            del st.session_state[_REMOVED][job_id]
            st.rerun(scope="app")


def _pace(job: Job) -> float | None:
    """Return units a second since this session first saw the job in its present phase, None until it is known."""
    starts = st.session_state.setdefault("phase-starts", {})
    now = time.time()
    start = starts.get(job.id)
    if start is None or start[0] != (job.unit, job.total) or job.done < start[2]:
        starts[job.id] = start = ((job.unit, job.total), now, job.done)
    elapsed = now - start[1]
    return (job.done - start[2]) / elapsed if elapsed > 2 and job.done > start[2] else None


def job_words(job: Job, now: float, pace: float | None) -> tuple[float, str]:
    """Return the share done (0 to 1) and the line under a job's bar: activity, progress, rate and time left.

    `pace` is in units a second, None when it is not known yet.
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
    """Return the newest job of this kind on this corpus if it is done, recent and not dismissed, else None."""
    newest = next(iter(_jobs_on(kind, corpus_id)), None)
    return newest if newest is not None and _is_recent(newest, minutes) else None


def finished_jobs(kind: str, corpus_id: str, minutes: float = 60) -> list[Job]:
    """Return the jobs of this kind on this corpus that are done, recent and not dismissed, the newest first."""
    return [job for job in _jobs_on(kind, corpus_id) if _is_recent(job, minutes)]


def _jobs_on(kind: str, corpus_id: str) -> list[Job]:
    return [job for job in jobs.jobs(cache.workspace(), 50) if job.kind == kind and job.corpus_id == corpus_id]


def _is_recent(job: Job, minutes: float) -> bool:
    recent = time.time() - (job.finished or 0) < 60 * minutes
    return job.status == "done" and recent and job.id not in st.session_state.get(_DISMISSED, set())


def dismiss(job: Job) -> None:
    """Stop showing the outcome of a job."""
    st.session_state.setdefault(_DISMISSED, set()).add(job.id)
