"""Jobs: the panel of the sidebar (progress, outcome, cancel, resume), and the recent jobs that a page reports."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Literal

import streamlit as st

from ragviz.core.digests import new_id
from ragviz.core.errors import RagvizError
from ragviz.core.job import Job, NewJob
from ragviz.jobs import queue
from ragviz.jobs.tasks import KINDS
from ragviz.service import corpus_verbs, job_verbs
from ragviz.text.markup import plain, sentence, shortened
from ragviz.ui import address, cache, presses, wording
from ragviz.ui.kit import acting, notices

IN_VIEW = 2
"""Jobs that stand above the navigation, the others folded, so that it stays in view."""
_DISMISSED = "dismissed"
"""Session state: ids of the jobs whose outcome is not shown any more. In the result of a job that ended badly: when it
was started last when its card was dismissed."""
_ACTIVE = "active-jobs"  # session state: titles of the jobs that were active when last drawn, by id
_LAST_END = "last-end"  # session state: when the last job had ended when last drawn


def submit(button: str, new: NewJob) -> Job:
    """Start a job for this page, and announce it; one that was started already is named instead of started again.

    `button` is the name of the button that was pressed, which was drawn with the key `presses.key(button)`.
    Raises: as `queue.submit_once`.
    """
    with presses.once(button) as press:
        job, is_new = job_verbs.submit(cache.workspace(), new, press)
    if is_new:
        _watch(job)
    else:
        stands = "is waiting or running already"
        if job.status not in queue.ACTIVE:
            stands = f"has ended ({_ending(job)}) since this page was shown"
        elif job.cancel:
            stands = "is being cancelled: start it again when it has ended"
        st.toast(f"{plain(job.title)} {stands}. Nothing was started a second time.")
    return job


def button(
    label: str,
    name: str,
    new: Callable[[], NewJob],
    *,
    active: Job | None = None,
    going: str = "",
    disabled: bool = False,
    kind: Literal["primary", "secondary", "tertiary"] = "secondary",
    explained: str | None = None,
) -> None:
    """Draw the button `name` that starts the job that `new` describes, and draws the page again."""
    words = going if active is not None and going else label
    key, off = presses.key(name), disabled or active is not None or acting.off()
    if st.button(words, type=kind, key=key, disabled=off, help=explained):
        with notices.errors_shown():
            submit(name, new())
            st.rerun(scope="app")


def submit_files(
    button: str, files: Iterable[tuple[str, bytes]], new: Callable[[str, list[tuple[str, str]], str], NewJob]
) -> None:
    """Start a job that reads copies of uploaded files, and draw the page again.

    `new` is called with the folder of the copies, their names and paths, and what names this upload, so that it is
    read once.
    """
    uploads: dict[str, int] = st.session_state.setdefault("uploads", {})
    folder, staged = corpus_verbs.stage(cache.workspace(), files)
    upload = f"{st.session_state.setdefault('upload-session', new_id())}-{button}-{uploads.get(button, 0)}"
    if submit(button, new(str(folder), staged, upload)).arguments["folder"] != str(folder):
        corpus_verbs.discard_staged(cache.workspace(), folder)  # these copies were made by a second press
    uploads[button] = uploads.get(button, 0) + 1
    st.rerun()


def _watch(job: Job) -> None:
    st.session_state.setdefault(_ACTIVE, {})[job.id] = job.title
    st.toast(f"Started: {plain(job.title)}")


def active_jobs() -> list[Job]:
    """Return the jobs that are queued or running."""
    return [job for job in queue.listed(cache.workspace(), 50) if job.status in queue.ACTIVE]


def jobs_of(kind: str, corpus_id: str, **arguments: Any) -> list[Job]:
    """Return the recent jobs of this kind on this corpus with these arguments among their own, the newest first."""
    wanted = json.loads(json.dumps(arguments))  # a job's arguments were JSON too
    return [
        job
        for job in queue.listed(cache.workspace(), 50)
        if (job.kind, job.corpus_id) == (kind, corpus_id) and wanted.items() <= dict(job.arguments).items()
    ]


def active_job(kind: str, corpus_id: str, **arguments: Any) -> Job | None:
    """Return the newest active one of `jobs_of`, None without one."""
    return next((job for job in jobs_of(kind, corpus_id, **arguments) if job.status in queue.ACTIVE), None)


def stops_jobs() -> str:
    """Return what a deletion does to active jobs, as a sentence after a blank; "" when there are none."""
    return " Jobs that work on it are stopped." if active_jobs() else ""


def jobs_panel(corpus_id: str) -> None:
    """Draw the jobs, those of other corpora folded; when one ends, the page is rerun."""
    recent = queue.listed(cache.workspace(), 50)
    active = {job.id: job.title for job in recent if job.status in queue.ACTIVE}
    before = st.session_state.get(_ACTIVE, {})
    for job in recent:
        if job.id in before and job.id not in active:
            st.toast(f"{plain(job.title)}: {_ending(job)}")
    st.session_state[_ACTIVE] = active
    st.session_state[_LAST_END] = _last_end(recent)
    st.fragment(_draw_jobs, run_every=1 if active else 20)(corpus_id)


MARKS = {"failed": ":red[✗]", "cancelled": ":gray[■]", "interrupted": ":orange[▲]"}
AGAIN = {"failed": "Try again", "cancelled": "Resume", "interrupted": "Resume"}


def _ending(job: Job) -> str:
    if job.status == "cancelled" and KINDS[job.kind].pauses:
        return "paused"
    return "finished" if job.status == "done" else job.status


@notices.errors_shown()  # the fragment is also run by itself, not only with the page
def _draw_jobs(corpus_id: str) -> None:
    queue.start_waiting(cache.machine())
    recent = queue.listed(cache.workspace(), 50)
    active = [job for job in recent if job.status in queue.ACTIVE]
    started_or_ended = {job.id for job in active} != st.session_state.get(_ACTIVE, {}).keys()
    if started_or_ended or _last_end(recent) != st.session_state.get(_LAST_END):
        address.rerun_drawn()  # show what a job changed, also of one that began and ended between two polls
    newest = {queue.work_of(job): job for job in reversed(recent)}.values()
    workspace = cache.workspace()
    bad = {"interrupted": float("inf"), "failed": 3600, "cancelled": 3600}  # seconds for which it is told
    ended = [job for job in newest if time.time() - (job.finished or 0) < bad.get(job.status, 0)]
    told = [job for job in ended if job.result.get(_DISMISSED) != job.created]
    unsuccessful = [job for job in told if not queue.is_mended(workspace, job)]
    own = [job for job in (*active, *unsuccessful) if not corpus_id or job.corpus_id in ("", corpus_id)]
    others = [job for job in (*active, *unsuccessful) if job not in own]
    own.sort(key=lambda job: (_helps(job), job.status != "interrupted"))
    places = queue.places(workspace) if any(job.status == "queued" for job in active) else {}
    unserved = queue.without_worker(workspace, active)
    for job in own[:IN_VIEW]:
        _draw(job, places.get(job.id), unserved)
    for rest, noun, of in ((own[IN_VIEW:], "more job", ""), (others, "job", " of other corpora")):
        if rest:
            with st.expander(f"{wording.counted(len(rest), noun)}{of}"):
                for job in rest:
                    _draw(job, places.get(job.id), unserved)


def _last_end(recent: Sequence[Job]) -> float:
    return max((job.finished or 0.0 for job in recent), default=0.0)


def _helps(job: Job) -> bool:
    return "share" in job.arguments


def _draw(job: Job, place: int | None, unserved: Collection[str]) -> None:
    if job.status not in queue.ACTIVE:
        _draw_unsuccessful(job)
        return
    with st.container(border=True, gap="xxsmall", key=f"job-card-{job.id}"):
        where = f" :gray[on {plain(job.host)}]" if cache.workspace().store.is_shared and job.host else ""
        st.markdown(f"**{plain(job.title)}**{where}{by(job)}")
        share, words = _job_words(job, _pace(job), place)
        st.progress(share, text=words)
        if why := queue.waits_for(job, unserved):
            st.caption(plain(why))
        verb = "Cancelling…" if job.cancel else "Pause" if KINDS[job.kind].pauses else "Cancel"
        off = job.cancel or _off(job)
        if st.button(verb, key=f"cancel-{job.id}", disabled=off, type="tertiary"):
            _act(lambda: job_verbs.cancel(cache.workspace(), job))


def by(job: Job) -> str:
    """Return whose job it is, as markdown after a blank; "" for one's own."""
    return f" :gray[by {plain(job.person)}]" if job.person not in ("", cache.workspace().person.name) else ""


def _off(job: Job) -> bool:
    """Return whether the person may not cancel or resume a job: that of somebody else takes an admin."""
    return acting.off("editor" if job.person == cache.workspace().person.name else "admin")


def _act(act: Callable[[], object]) -> None:
    """Do what was pressed in the panel, and draw the page again; the panel's next poll leaves a refusal in view."""
    try:
        act()
    except RagvizError as error:
        st.toast(sentence(str(error)), duration=30)
        return
    st.rerun(scope="app")


def _draw_unsuccessful(job: Job) -> None:
    """Draw a job that ended badly as one line, which unfolds; one that was interrupted is open."""
    line = f"{MARKS[job.status]} **{plain(job.title)}**{by(job)} {_ending(job)}"
    interrupted = job.status == "interrupted"
    with st.container(key=f"job-card-{job.id}"), st.expander(line, expanded=interrupted and not _helps(job)):
        when = f"Last heard of {wording.ago(job.heartbeat or job.created)}. " if interrupted else ""
        said = sentence(job.error) if job.status == "failed" else plain(f"{when}{job.error} {queue.kept(job)}")
        st.caption(said)
        if job.status == "failed" and (log := queue.log_to_read(cache.workspace(), job)):
            st.caption(f"Log: {plain(str(log))}")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if queue.can_resume(job) and st.button(
                AGAIN[job.status], key=f"resume-{job.id}", type="tertiary", disabled=_off(job)
            ):
                _act(lambda: _watch(job_verbs.resume(cache.workspace(), job)))
            page = "settings" if "settings page" in job.error or "OPENAI_" in job.error else KINDS[job.kind].page
            if job.status == "failed" and page and not (st.context.url or "").endswith(f"/{page}"):
                address.link(page, f"Open {page}")
            if st.button("Dismiss", key=f"dismiss-{job.id}", type="tertiary", disabled=acting.off()):
                _act(lambda: job_verbs.note(cache.workspace(), job, {_DISMISSED: job.created}))


def _pace(job: Job) -> float | None:
    """Return units a second since this session first saw the job in its present phase, None until it is known."""
    starts = st.session_state.setdefault("phase-starts", {})
    now = time.time()
    start = starts.get(job.id)
    if start is None or start[0] != (job.unit, job.total) or job.done < start[2]:
        starts[job.id] = start = ((job.unit, job.total), now, job.done)
    elapsed = now - start[1]
    return (job.done - start[2]) / elapsed if elapsed > 2 and job.done > start[2] else None


def _job_words(job: Job, pace: float | None, place: int | None) -> tuple[float, str]:
    """Return the share done (0 to 1) and the line under a job's bar: activity, progress, rate and time left.

    `pace` is in units a second, None when it is not known yet; `place` is the place in the queue of one that waits.
    """
    if place is not None:
        return 0.0, queue.place_words(place)
    if job.status != "running":
        return 0.0, "Starting its process"
    now, message = time.time(), plain(shortened(job.message, 200))
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


def finished_job(kind: str, corpus_id: str) -> Job | None:
    """Return the newest one of `finished_jobs`, None without one."""
    return next(iter(finished_jobs(kind, corpus_id)), None)


def finished_jobs(kind: str, corpus_id: str) -> list[Job]:
    """Return those of `jobs_of` that were done within the hour and not dismissed."""
    dismissed, an_hour_ago = st.session_state.get(_DISMISSED, set()), time.time() - 3600
    return [
        job
        for job in jobs_of(kind, corpus_id)
        if job.status == "done" and (job.finished or 0) > an_hour_ago and job.id not in dismissed
    ]


def dismiss(job: Job) -> None:
    """Stop showing the outcome of a job."""
    st.session_state.setdefault(_DISMISSED, set()).add(job.id)
