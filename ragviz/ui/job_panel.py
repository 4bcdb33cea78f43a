"""Jobs: the panel of the sidebar (progress, outcome, cancel, resume), and the recent jobs that a page reports."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import streamlit as st

from ragviz.core.errors import NotFoundError
from ragviz.core.job import Job, NewJob
from ragviz.index import indexing
from ragviz.jobs import queue, state
from ragviz.store import rates
from ragviz.text.markup import plain, sentence, shortened
from ragviz.ui import address, cache, presses, wording
from ragviz.ui.kit import notices

RUNS = ("sweep", "confirm", "run", "index-run", "again", "rejudge")
"""Kinds of jobs that are paused rather than cancelled: resumed, they repeat nothing."""
_DISMISSED = "dismissed"
"""Session state: ids of the jobs whose outcome is not shown any more. In the result of a job that ended badly: when it
was started last when its card was dismissed."""
_ACTIVE = "active-jobs"  # session state: titles of the jobs that were active when last drawn, by id
_REMOVED = "removed-jobs"  # session state: titles of those that were removed since, by id
_RESUMABLE = "resumable-jobs"  # session state: titles of the jobs for which *Resume* was last drawn, by id
_STARTED = "started-jobs"  # session state: when this session started its jobs, by id
_LAST_END = "last-end"  # session state: when the last job had ended when last drawn


def submit(button: str, new: NewJob) -> Job:
    """Start a job for this page, and announce it; one that was started already is named instead of started again.

    `button` is the name of the button that was pressed, which was drawn with the key `presses.key(button)`.
    Raises: as `queue.submit_once`.
    """
    with presses.once(button) as press:
        job, is_new = queue.submit_once(cache.workspace(), new, press)
    if is_new:
        _watch(job)
    else:
        st.toast(f"{plain(job.title)} {_state(job)}. Nothing was started a second time.")
    return job


def _state(job: Job) -> str:
    """Return how it stands with a job that somebody wanted to start again."""
    if job.status not in queue.ACTIVE:
        return f"has {ENDED.get(job.status, 'ended')} since this page was shown"
    return "is being cancelled: start it again when it has ended" if job.cancel else "is running already"


def _watch(job: Job) -> None:
    """Announce a job that this page has just started, and its end when it comes."""
    st.session_state.setdefault(_ACTIVE, {})[job.id] = job.title
    st.session_state.setdefault(_STARTED, {})[job.id] = time.time()
    st.toast(f"Started: {plain(job.title)}")


def active_jobs() -> list[Job]:
    """Return the jobs that are queued or running."""
    return [job for job in queue.listed(cache.workspace(), 50) if job.status in queue.ACTIVE]


def active_job(kind: str, corpus_id: str, **arguments: Any) -> Job | None:
    """Return the active job of this kind on this corpus that has these arguments among its own, None without one."""
    return _newest(active_jobs(), kind, corpus_id, arguments)


def newest_job(kind: str, corpus_id: str, **arguments: Any) -> Job | None:
    """Return the newest job of this kind on this corpus that has these arguments among its own, None without one."""
    return _newest(queue.listed(cache.workspace(), 50), kind, corpus_id, arguments)


def _newest(listed: Sequence[Job], kind: str, corpus_id: str, arguments: Mapping[str, Any]) -> Job | None:
    wanted = json.loads(json.dumps(arguments))  # a job's arguments were JSON too
    matching = (
        job
        for job in listed
        if (job.kind, job.corpus_id) == (kind, corpus_id) and wanted.items() <= dict(job.arguments).items()
    )
    return next(matching, None)


def stops_jobs() -> str:
    """Return what a deletion does to active jobs, as a sentence after a blank; "" when there are none."""
    return " Jobs that work on it are stopped." if active_jobs() else ""


def jobs_panel(corpus_id: str) -> None:
    """Draw the jobs, those of other corpora folded, polled while one is active; when one ends, the page is rerun."""
    recent = queue.listed(cache.workspace(), 50)
    active = {job.id: job.title for job in recent if job.status in queue.ACTIVE}
    ended = {i: title for i, title in st.session_state.get(_ACTIVE, {}).items() if i not in active}
    _note_removed({i: title for i, title in ended.items() if i not in {job.id for job in recent}})
    for job in recent:
        if job.id in ended:
            st.toast(f"{plain(job.title)}: {_ending(job)}")
    st.session_state[_ACTIVE] = active
    st.session_state[_LAST_END] = _last_end(recent)
    st.fragment(_draw_jobs, run_every=_seconds_between(active))(corpus_id)


def _seconds_between(active: Collection[str]) -> float:
    """Return the seconds between two polls: fewer after this session started a job, as it waits to see it begin."""
    now, started = time.time(), st.session_state.get(_STARTED, {})
    if any(now - started.get(job_id, 0) < 10 for job_id in active):
        return 0.4
    return 1.5 if active else 20


def _note_removed(missing: Mapping[str, str]) -> None:
    """Note which of these jobs were removed: a job's row goes when somebody deletes what it works on."""
    for job_id, title in missing.items():
        try:
            cache.workspace().store.jobs.get(job_id)
        except NotFoundError:
            st.session_state.setdefault(_REMOVED, {})[job_id] = title


ENDINGS = {
    "done": "finished",
    "failed": "failed",
    "cancelled": "cancelled",
    "interrupted": "interrupted",
}

ENDED = {"done": "finished", "failed": "failed", "cancelled": "been cancelled", "interrupted": "been interrupted"}

MARKS = {"failed": ":red[✗]", "cancelled": ":gray[■]", "interrupted": ":orange[▲]"}
"""A card's mark: a failure needs a person, a cancelled job was ended by one, an interrupted one waits."""
AGAIN = {"failed": "Try again", "cancelled": "Resume", "interrupted": "Resume"}
PAGES = {
    "documents": "documents",
    "index": "index",
    "questions": "questions",
    "verify": "questions",
    "import": "questions",
    "asked": "questions",
    "run": "run",
    "rejudge": "results",
    "replay": "results",
    "sweep": "experiment",
    "confirm": "experiment",
    "again": "results",
    "drill": "health",
    "health": "health",
    "search": "results",
}
"""Kind of job → the page of its choices."""


def _ending(job: Job) -> str:
    return "paused" if job.status == "cancelled" and job.kind in RUNS else ENDINGS.get(job.status, job.status)


def _draw_jobs(corpus_id: str) -> None:
    with notices.errors_shown():  # the fragment is also run by itself, not only with the page
        _draw_recent(queue.listed(cache.workspace(), 50), corpus_id)


def _draw_recent(recent: Sequence[Job], corpus_id: str) -> None:
    _report_late_resume({job.id: job for job in recent if not _is_unsuccessful(job)})
    active = [job for job in recent if job.status in queue.ACTIVE]
    started_or_ended = {job.id for job in active} != st.session_state.get(_ACTIVE, {}).keys()
    if started_or_ended or _last_end(recent) != st.session_state.get(_LAST_END):
        address.rerun_drawn()  # show what a job changed, also of one that began and ended between two polls
    newest = {state.work_of(job): job for job in reversed(recent)}.values()
    workspace = cache.workspace()
    ended = [job for job in newest if not _is_dismissed(job) and _is_unsuccessful(job)]
    unsuccessful = [job for job in ended if not state.is_mended(workspace, job)]
    st.session_state[_RESUMABLE] = {job.id: job.title for job in unsuccessful}
    shown = [*active, *unsuccessful]
    elsewhere = [job for job in shown if corpus_id and job.corpus_id not in ("", corpus_id)]
    for job in (each for each in shown if each not in elsewhere):
        _draw(job)
    if elsewhere:
        with st.expander(f"{wording.counted(len(elsewhere), 'job')} of other corpora"):
            for job in elsewhere:
                _draw(job)
    for job_id, title in list(st.session_state.get(_REMOVED, {}).items()):
        _draw_removed(job_id, title)


def _last_end(recent: Sequence[Job]) -> float:
    return max((job.finished or 0.0 for job in recent), default=0.0)


def _is_unsuccessful(job: Job) -> bool:
    """Return whether a job was interrupted, or failed or was cancelled within the last hour."""
    recently = time.time() - (job.finished or 0) < 3600
    return job.status == "interrupted" or (job.status in ("failed", "cancelled") and recently)


def _draw(job: Job) -> None:
    _draw_active(job) if job.status in queue.ACTIVE else _draw_unsuccessful(job)


def _draw_active(job: Job) -> None:
    with st.container(border=True, gap="xxsmall", key=f"job-card-{job.id}"):
        st.markdown(f"**{plain(job.title)}**")
        share, words = job_words(job, time.time(), _pace(job) or _learnt_pace(job))
        st.progress(share, text=words)
        stopping = job.cancel
        verb = "Pause" if job.kind in RUNS else "Cancel"
        if st.button("Cancelling…" if stopping else verb, key=f"cancel-{job.id}", disabled=stopping, type="tertiary"):
            queue.cancel(cache.workspace(), job)
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
    with st.container(border=True, gap="xxsmall", key=f"job-card-{job.id}"):
        st.markdown(f"{MARKS[job.status]} **{plain(job.title)}** {_ending(job)}")
        st.caption(sentence(job.error) if job.status == "failed" else plain(state.kept(job)))
        if job.status == "interrupted":
            st.caption(plain(job.error))
        if job.status == "failed":
            _draw_log(job)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if state.can_resume(job) and st.button(AGAIN[job.status], key=f"resume-{job.id}", type="tertiary"):
                _watch(queue.start(cache.workspace(), job))
                st.rerun(scope="app")
            if job.status == "failed" and (page := _page_to_mend(job)):
                address.link(page, f"Open {page}")
            if st.button("Dismiss", key=f"dismiss-{job.id}", type="tertiary"):
                cache.workspace().store.jobs.update(job.id, result=dict(job.result) | {_DISMISSED: job.created})
                st.rerun(scope="app")


def _is_dismissed(job: Job) -> bool:
    """Return whether the card of a job was dismissed, in any session, since the job was started last."""
    return job.result.get(_DISMISSED) == job.created


def _draw_log(job: Job) -> None:
    """Draw the path of the log of a failed job, where there is something to read in it."""
    if log := state.log_to_read(cache.workspace(), job):
        st.caption(f"Log: {plain(str(log))}")


def _page_to_mend(job: Job) -> str:
    """Return the page on which the reason of a failure can be mended, "" for none, and when it is the one shown."""
    page = "settings" if "settings page" in job.error or "OPENAI_" in job.error else PAGES.get(job.kind, "")
    return "" if (st.context.url or "").endswith(f"/{page}") else page


def _draw_removed(job_id: str, title: str) -> None:
    with st.container(border=True, gap="xxsmall", key=f"job-card-{job_id}"):
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


def _learnt_pace(job: Job) -> float | None:
    """Return the units a second of earlier jobs on this machine at the same work, None where there were none."""
    cache_of_rates = cache.workspace().store.cache("rate")
    config = job.arguments.get("config", {})
    if job.kind == "index" and job.message == "Embedding":
        return rates.rate(cache_of_rates, indexing.chunks_by(config.get("embedder", "")))
    return None


def job_words(job: Job, now: float, pace: float | None) -> tuple[float, str]:
    """Return the share done (0 to 1) and the line under a job's bar: activity, progress, rate and time left.

    `pace` is in units a second, None when it is not known yet.
    """
    if job.status == "queued":
        return 0.0, "Starting its process"
    message = plain(shortened(job.message, 200))
    what = f"{message} · " if message else ""
    if job.total is None:
        waits = message or "Starting"
        elapsed = now - (job.started or now)
        so_far = f" · {wording.duration(elapsed)} so far" if elapsed >= 10 else ""
        return 0.0, f"{what}{job.done:,} {job.unit}" if job.unit else f"{waits}{so_far}"
    share = min(1.0, job.done / job.total) if job.total else 1.0
    words = [f"{what}{job.done:,} of {job.total:,} {job.unit}"]
    if pace and job.done < job.total:
        words.append(f"{pace:,.0f}/s" if pace >= 3 else f"{pace:.1f}/s")
        words.append(f"about {wording.duration((job.total - job.done) / pace)} left")
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
    return [job for job in queue.listed(cache.workspace(), 50) if job.kind == kind and job.corpus_id == corpus_id]


def _is_recent(job: Job, minutes: float) -> bool:
    recent = time.time() - (job.finished or 0) < 60 * minutes
    return job.status == "done" and recent and job.id not in st.session_state.get(_DISMISSED, set())


def dismiss(job: Job) -> None:
    """Stop showing the outcome of a job."""
    st.session_state.setdefault(_DISMISSED, set()).add(job.id)
