"""A job is a subprocess plus a row: start, progress, heartbeat, cancel, resume.

The row outlives the process, the page and the browser. A job whose process has ended is `interrupted`, and `start` on
the same row resumes it: every task in `KINDS` continues after what it had finished. `python -m ragviz.jobs ID` is the
process itself. A task imports the modules that it needs, so that listing the jobs imports none of them.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from ragviz import sample
from ragviz.core import addresses, processes
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.errors import Cancelled, Deleted, NotFoundError, RagvizError, StorageError, UsageError
from ragviz.core.job import Job
from ragviz.core.progress import Progress
from ragviz.core.run_info import Run
from ragviz.core.stopping import SENTENCE, Stopping, following
from ragviz.store import disk
from ragviz.store.named_records import plain_name
from ragviz.store.store import Store
from ragviz.store.transactions import Kind, label
from ragviz.text.keys import without_keys
from ragviz.workspace import Workspace, open_workspace

_log = logging.getLogger("ragviz")
BEAT = 1.0
"""Seconds between two writes of a running job's progress within one stage of its work."""
LOOK = 0.25
"""Seconds between two checks whether a running job should stop."""
UPLOADS_KEPT = 24 * 3600.0
"""Seconds in which an upload that was interrupted, or has files to be confirmed, can be resumed."""
SILENCE = 60.0
"""Seconds without a heartbeat after which a job on another machine counts as interrupted."""

ACTIVE = ("queued", "running")
"""Statuses of jobs that are, or are about to be, done by a process."""
WAITING = ("exists", "password")
"""Outcomes of files whose upload is kept: to be confirmed, or given their password."""
Config = TypeVar("Config", IndexConfig, RunConfig)
Task = Callable[[Workspace, Mapping[str, Any], Progress], dict[str, Any]]


def _add_documents(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.documents import corpora
    from ragviz.questions import staleness

    folder = Path(arguments["folder"])
    files = [(name, Path(path)) for name, path in arguments["files"]]
    if not folder.is_dir():
        raise UsageError(
            "The uploaded files are kept for a day, and deleted when the upload is cancelled: add them again."
        )
    try:
        corpus = workspace.store.corpora.get(arguments["corpus"])
        with staleness.refreshing(workspace.store, corpus, workspace.settings.person):
            outcomes = corpora.add_files(workspace, corpus, files, replace=arguments["replace"], progress=progress)
    except (Cancelled, Deleted, KeyboardInterrupt, NotFoundError):
        corpora.discard_staged(workspace, folder)
        raise
    return {"files": [asdict(outcome) for outcome in outcomes]}


def files_of(job: Job) -> list[tuple[str, dict[str, Any]]]:
    """Return the path and the outcome of each file of a finished upload."""
    paths = [path for _, path in job.arguments["files"]]
    return list(zip(paths, job.result["files"], strict=True))


def _discard_read(workspace: Workspace, job: Job) -> None:
    """Delete the files that an upload has read; those that can still be confirmed, or given a password, stay.

    That comes after the job is marked as done: a job killed before it finds its files when it is resumed.
    """
    from ragviz.documents import corpora

    waiting = [Path(path) for path, outcome in files_of(job) if outcome["status"] in WAITING]
    corpora.discard_staged(workspace, Path(job.arguments["folder"]), keep=waiting)


def _discard_imported(workspace: Workspace, job: Job) -> None:
    """Delete the uploaded files of an import that is done; of others they are kept for a day, to be resumed."""
    from ragviz.documents import corpora

    corpora.discard_staged(workspace, Path(job.arguments["folder"]))


def _build_index(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.index import indexing

    corpus = workspace.store.corpora.get(arguments["corpus"])
    config = _config(IndexConfig, arguments["config"])
    fresh = arguments.get("fresh", False)
    return asdict(indexing.build_index(workspace, corpus, arguments["name"], config, fresh=fresh, progress=progress))


def _config(record: type[Config], choices: Mapping[str, Any]) -> Config:
    """Read the choices of a job; UsageError for choices of another version, which would be ignored otherwise."""
    if unknown := sorted(choices.keys() - {field.name for field in fields(record)}):
        raise UsageError(
            f"This job was created by another version of ragviz, with {', '.join(unknown)}, which this one does not "
            "know: start a new one, or upgrade ragviz."
        )
    return record(**choices)


def _generate(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.generation import pipeline

    return asdict(pipeline.generate_questions(workspace, **arguments, progress=progress))


def _import(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.questions import exchange
    from ragviz.questions.formats import files

    named = [(name, Path(path)) for name, path in arguments["files"]]
    if any(not path.exists() for _, path in named):
        raise UsageError("The files to import are gone: uploads are kept for a day. Import them again.")
    brought = files.from_paths(named)
    corpus, choices = workspace.store.corpora.get(arguments["corpus"]), exchange.choices_of(arguments)
    outcome = exchange.import_files(
        workspace, corpus, brought, arguments["name"], arguments["format"], choices, progress
    )
    return exchange.as_json(outcome)


def _verify(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.generation import verifying

    return asdict(verifying.verify_questions(workspace, **arguments, progress=progress))


def _asked(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.health import demand
    from ragviz.questions.formats import files

    [(name, path)] = arguments["files"]
    if not Path(path).exists():
        raise UsageError("The log is gone: uploads are kept for a day. Import it again.")
    question_set = workspace.store.sets.get(arguments["questions"])
    index = workspace.store.indexes.get(arguments["index"]) if arguments["index"] else None
    chosen = {"alike": arguments["alike"], "apply": arguments["apply"], "author": arguments["author"]}
    [file] = files.from_paths([(name, Path(path))])
    read = demand.read_into(workspace, question_set, file, index, **chosen, progress=progress)
    return {"questions": question_set.name, "texts": read.texts, "asked": read.asked, "clusters": len(read.clusters)}


def _run(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.runs import running

    config = _config(RunConfig, arguments["config"])
    run = running.run(workspace, arguments["name"], config, budget=arguments.get("budget"), progress=progress)
    return _result_of(workspace, run)


def _index_and_run(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Build an index and make a run on it; resumed, what was built is found up to date."""
    from ragviz.index import indexing
    from ragviz.runs import running

    corpus, cut = workspace.store.corpora.get(arguments["corpus"]), _config(IndexConfig, arguments["cut"])
    built = indexing.build_index(workspace, corpus, arguments["index"], cut, progress=progress)
    config = _config(RunConfig, {**arguments["config"], "index": workspace.store.indexes.get(built.index).id})
    run = running.run(workspace, arguments["name"], config, progress=progress)
    return _result_of(workspace, run) | {"index": built.index}


def _result_of(workspace: Workspace, run: Run) -> dict[str, Any]:
    return {"run": run.name, "fingerprint": run.fingerprint, "failed": _failed(workspace, run)}


def _failed(workspace: Workspace, run: Run) -> int:
    """Return how many questions of a run were not reranked, answered and judged completely."""
    from ragviz.runs import provenance

    judged = {question_id for question_id, failed in workspace.store.judgements.failed(run.id).items() if failed}
    return len(judged | provenance.not_reranked(workspace.store.runs.get(run.id)).keys())


def _rejudge(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.runs import running

    run = workspace.store.runs.get(arguments["run"])
    paying: dict[str, Any] = {"budget": arguments.get("budget"), "progress": progress}
    if metrics := arguments.get("metrics"):
        judged_ids = running.judge(workspace, run, metrics, arguments.get("judge", ""), **paying)
    else:
        judged_ids = running.rejudge(workspace, run, **paying)
    return {"run": run.name, "asked": len(judged_ids), "failed": _failed(workspace, run)}


def _replay(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.runs import replays

    run = workspace.store.runs.get(arguments["run"])
    return replays.replay(
        workspace,
        run,
        build=arguments.get("build", False),
        combine=arguments.get("combine"),
        named=arguments.get("rerankers", ()),
        budget=arguments.get("budget"),
        progress=progress,
    )


def _search(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.runs import searched_again

    run = workspace.store.runs.get(arguments["run"])
    return searched_again.search_again(workspace, run, arguments["part"], progress=progress)


def _sweep(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.experiments import sweeping

    experiment = workspace.store.experiments.get(arguments["experiment"])
    return sweeping.sweep(workspace, experiment, budget=arguments.get("budget"), progress=progress)


def _confirm(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.experiments import confirming

    experiment = workspace.store.experiments.get(arguments["experiment"])
    return confirming.confirm(workspace, experiment, budget=arguments.get("budget"), progress=progress)


def _again(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.health import competition

    earlier = workspace.store.runs.get(arguments["run"])
    return _result_of(workspace, competition.run_again(workspace, earlier, arguments["name"], progress))


def _drill(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.health import drill

    chosen, store = dict(arguments), workspace.store
    question_set, info = store.sets.get(chosen.pop("questions")), store.indexes.get(chosen.pop("index"))
    drill.drill(workspace, question_set, info, **chosen, progress=progress)
    return {"questions": question_set.name, "index": info.name}


def _health(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.health import examination

    question_set, index = workspace.store.sets.get(arguments["questions"]), arguments.get("index")
    info = workspace.store.indexes.get(index) if index else None
    made = examination.examine(workspace, question_set, info, progress)
    return {"questions": question_set.name, "found": {key: len(found.findings) for key, found in made.found.items()}}


def _sample(workspace: Workspace, _arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.experiments import sample_experiment

    return sample_experiment.load_sample(workspace, progress=progress)


def _subjects(job: Job) -> list[tuple[Kind, str]]:
    """Return what a job works on, by name or id; some of it may be created by the job."""
    arguments = job.arguments
    config = arguments.get("config", {})
    named: dict[str, list[tuple[Kind, Any]]] = {
        "index": [("index", arguments.get("name"))],
        "questions": [("index", arguments.get("index")), ("questions", arguments.get("name"))],
        "verify": [("index", arguments.get("index")), ("questions", arguments.get("questions"))],
        "run": [("index", config.get("index")), ("questions", config.get("questions")), ("run", arguments.get("name"))],
        "rejudge": [("run", arguments.get("run"))],
        "index-run": [("questions", config.get("questions")), ("run", arguments.get("name"))],
        "replay": [("run", arguments.get("run"))],
        "search": [("run", arguments.get("run"))],
        "again": [("run", arguments.get("run")), ("run", arguments.get("name"))],
        "drill": [("questions", arguments.get("questions")), ("index", arguments.get("index"))],
        "sweep": [("experiment", arguments.get("experiment"))],
        "confirm": [("experiment", arguments.get("experiment"))],
        "health": [("questions", arguments.get("questions")), ("index", arguments.get("index"))],
        "sample": [("corpus", sample.NAME), *(("run", name) for name in sample.RUNS)],
    }
    corpus: list[tuple[Kind, Any]] = [("corpus", job.corpus_id)]
    return [(kind, str(name)) for kind, name in corpus + named.get(job.kind, []) if name]


KINDS: dict[str, Task] = {
    "documents": _add_documents,
    "index": _build_index,
    "questions": _generate,
    "verify": _verify,
    "import": _import,
    "asked": _asked,
    "run": _run,
    "index-run": _index_and_run,
    "rejudge": _rejudge,
    "replay": _replay,
    "search": _search,
    "sweep": _sweep,
    "confirm": _confirm,
    "again": _again,
    "drill": _drill,
    "health": _health,
    "sample": _sample,
}


FIRST: dict[str, str] = {
    "documents": "Opening the files",
    "index": "Reading documents",
    "questions": "Reading chunks",
    "verify": "Reading questions",
    "import": "Opening the files",
    "asked": "Reading the log",
    "run": "Opening the index",
    "index-run": "Reading documents",
    "rejudge": "Reading the run",
    "replay": "Reading the run",
    "search": "Reading the run",
    "sweep": "Reading the experiment",
    "confirm": "Reading the experiment",
    "again": "Reading documents",
    "drill": "Reading the chunks",
    "health": "Reading the questions",
    "sample": "Reading the sample",
}
"""What a job does first, shown until its task reports something itself."""


@dataclass(frozen=True, slots=True)
class Press:
    """A press of a button: `key` names the button as it was drawn, `shown` is when it was last drawn before the press.

    All presses of one drawing have the same key, however late they arrive: it is an idempotency key.
    """

    key: str
    shown: float


def submit_once(
    workspace: Workspace,
    kind: str,
    title: str,
    corpus_id: str,
    arguments: Mapping[str, Any],
    press: Press | None = None,
) -> tuple[Job, bool]:
    """Create a job and start its process, unless it was started already: a button was pressed twice.

    That is a job, active or ended, that a press with this key started, whatever its arguments; one with the same
    arguments that is active; and one with the same arguments that was created since the button was shown: whoever
    pressed it could not see that job. Returns the job, and whether it was started now. Two processes that submit at
    once start one.

    Raises:
        UsageError: an active job makes the same index or run with other choices.
        StorageError: as `start`.

    """
    wanted, key = _identity(arguments), press.key if press else ""
    since = press.shown if press else None

    def duplicate(seen: Sequence[Job]) -> Job | None:
        if key and (pressed := next((job for job in seen if job.press == key), None)):
            return refreshed(pressed)
        current = [refreshed(job) for job in seen]
        alive = [job for job in current if job.status in ACTIVE]
        unseen = [job for job in current if since is not None and job.created >= since]
        same = next((job for job in (*alive, *unseen) if _identity(job.arguments) == wanted), None)
        if same is None:
            _refuse_other_choices(kind, arguments, alive)
        return same

    job, is_new = workspace.store.jobs.add_once(kind, title, corpus_id, arguments, duplicate, key, since)
    return (start(workspace, job) if is_new else job), is_new


def _identity(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that tell a job from another, as JSON gives them back; of an upload, its own name for it."""
    copies = ("folder", "files") if "upload" in arguments else ()  # a second press copies the files a second time
    told = {name: value for name, value in arguments.items() if name not in copies}
    return cast(dict[str, Any], json.loads(json.dumps(told)))


def _refuse_other_choices(kind: str, arguments: Mapping[str, Any], active: Sequence[Job]) -> None:
    """Raise UsageError when an active job of this kind makes what is named here, with other choices."""
    keys = {"index": "name", "run": "name", "index-run": "name", "rejudge": "run"}
    named = (keys | {"sweep": "experiment", "confirm": "experiment"}).get(kind)
    for job in active:
        if named and plain_name(str(job.arguments.get(named))) == plain_name(str(arguments.get(named))):
            raise UsageError(f"“{job.title}” is active already, with other choices: wait for its end, or cancel it.")


def start(workspace: Workspace, job: Job) -> Job:
    """Start the process of a job that is queued, interrupted, failed or cancelled.

    The process reads the environment of this one, including keys, and the `.env` that the workspace was opened with.
    It outlives this one, and prints to `Workspace.log_of`.

    Raises:
        UsageError: the job is done, or another process is doing it.
        StorageError: its log cannot be written; the job has failed, and can be started again.

    """
    _note_interrupted(workspace.store, workspace.store.jobs.get(job.id))
    if not workspace.store.jobs.queue(job.id):
        raise _not_free(workspace.store.jobs.get(job.id))
    try:
        process = _process(job, workspace)
    except OSError as error:
        refused = disk.explained(error) or StorageError(f"No process could be started for a job ({error.strerror}).")
        workspace.store.jobs.update(job.id, status="failed", error=str(refused), finished=time.time())
        raise refused from None
    threading.Thread(target=process.wait, daemon=True).start()  # no zombies while the starter lives
    return workspace.store.jobs.get(job.id)


def _process(job: Job, workspace: Workspace) -> subprocess.Popen[bytes]:
    log = workspace.log_of(job.id)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own module, by id
            [sys.executable, "-P", "-m", "ragviz.jobs", job.id],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=workspace.opened_in,  # whose `.env` it reads
            env=os.environ | {"RAGVIZ_HOME": str(workspace.settings.home)},
        )


def _note_interrupted(store: Store, job: Job) -> None:
    """Record that the process of a job has ended, so that another can do it."""
    if refreshed(job).status == "interrupted":
        store.jobs.update(job.id, status="interrupted")


def _not_free(job: Job) -> UsageError:
    """Return the error that says why a job cannot be started."""
    if job.status == "done":
        return UsageError(f"Job {job.id} ({job.title}) is done already: start a new one.")
    return UsageError(f"Job {job.id} is being done already (process {job.pid}).")


def cancel(workspace: Workspace, job: Job) -> None:
    """Ask a job to stop; it stops at its next step, and what it finished is kept."""
    from ragviz.documents import corpora

    if refreshed(job).status in ("queued", "interrupted"):
        workspace.store.jobs.update(job.id, status="cancelled", cancel=True, finished=time.time())
        if job.kind == "documents":
            corpora.discard_staged(workspace, Path(job.arguments["folder"]))
    else:
        workspace.store.jobs.update(job.id, cancel=True)


def jobs(workspace: Workspace, limit: int = 100) -> list[Job]:
    """Return the newest jobs first, with their current status, and delete old uploads. The store is only read."""
    from ragviz.documents import corpora

    newest = [refreshed(job) for job in workspace.store.jobs.all(limit)]
    folders_in_use = {str(job.arguments.get("folder")) for job in newest if job.status in ACTIVE}
    corpora.discard_old_staged(workspace, UPLOADS_KEPT, folders_in_use)
    return newest


def active_runs(workspace: Workspace) -> set[str]:
    """Return the names of runs with a queued or running job; a run without one that is not done is interrupted."""
    active = [job for job in jobs(workspace) if job.status in ACTIVE]
    swept = [workspace.store.experiments.find(_experiment_of(job)) for job in active if _experiment_of(job)]
    names = {e.run_name(cell.name, side) for e in swept if e is not None for cell in e.cells for side in ("", "test")}
    return names | {_run_of(job) for job in active} - {""}


def run_statuses(workspace: Workspace, runs: Sequence[Run]) -> dict[str, str]:
    """Return the status of runs by id; one that is not done and that no job is making is "interrupted"."""
    active = active_runs(workspace)
    return {r.id: "interrupted" if r.status == "running" and r.name not in active else r.status for r in runs}


def refreshed(job: Job) -> Job:
    """Return the job with its current status: interrupted when its row says running and its process has ended."""
    never_started = job.status == "queued" and time.time() - job.created > SILENCE
    if not never_started and (job.status != "running" or _alive(job)):
        return job
    message = (
        "Its process ended unexpectedly (a crash, a restart or a lack of memory). Resume it: nothing is done twice."
    )
    return Job(**asdict(job) | {"status": "interrupted", "error": message})


def progress_words(job: Job) -> str:
    """Return how far a job is: its stage while what there is to do is not known yet, "" before it began."""
    if job.total is None:
        return job.message if job.status == "running" else ""
    return f"{job.done:,} of {job.total:,} {job.unit}"


def note(workspace: Workspace, job: Job) -> str:
    """Return what a person should know of a job beside its progress: its stage, what is kept of it, why it failed."""
    if job.status == "running" and job.total is not None:
        return job.message
    if job.status == "cancelled":
        return kept(job)
    log = log_to_read(workspace, job)
    return f"{job.error} Log: {log}" if log else job.error


def log_to_read(workspace: Workspace, job: Job) -> Path | None:
    """Return the log of a failed job; None when its process printed nothing, or the error names it."""
    log = workspace.log_of(job.id)
    unnamed = job.status == "failed" and str(log) not in job.error
    return log if unnamed and log.exists() and log.stat().st_size else None


def kept(job: Job) -> str:
    """Say what is left of a job that was cancelled or interrupted, as a sentence.

    >>> from ragviz.core.job import Job
    >>> run = Job("", "run", "Run r", "", {}, "cancelled", 34, 90, "questions", "", 0, 0, 0, 0, "", 0, 0, True, {}, "")
    >>> kept(run)
    '34 of 90 questions are retrieved and kept.'
    """
    done = f"{job.done:,} of {job.total:,}" if job.total and job.done else ""
    if job.kind == "sample":
        return "What was loaded of the sample is kept."
    if job.kind == "index":
        added = f"{done} chunks were added, and their vectors are kept: nothing is embedded twice. "
        return f"{added if done and job.unit == 'chunks' else ''}The index is as it was before."
    if job.kind == "documents":
        read = f"{done} files are read and stay in the corpus." if done else "No file was read yet."
        return read if can_resume(job) else f"{read} Add the others again to read them."
    if job.kind == "asked":
        return "Nothing of the log was kept: it is stored at its end."
    if job.kind in ("health", "search"):
        return "Nothing of it was kept: its result is stored at its end."
    if job.kind == "import":
        return "Nothing was imported: an import is stored whole, at its end."
    if job.kind == "replay":
        return "The changes that were replayed to the end are kept."
    if not done:
        return "Nothing was finished yet."
    words = {
        ("questions", "questions"): "questions are written and kept.",
        ("run", "questions"): "questions are retrieved and kept.",
        ("index-run", "questions"): "questions are retrieved and kept.",
        ("index-run", "chunks"): "chunks were added, and their vectors are kept.",
    }
    return f"{done} {words.get((job.kind, job.unit), f'{job.unit} are done and kept.')}"


def work_of(job: Job) -> str:
    """Return a key of the work of a job, the same for every job that does this work, also with another budget.

    The work is told by the name of the index or run that it makes, by the names of the files that it reads, else by
    its arguments.
    """
    names: dict[str, Callable[[], object]] = {
        "documents": lambda: sorted(name for name, _ in job.arguments.get("files", ())),
        "index": lambda: plain_name(str(job.arguments.get("name"))),
        "run": lambda: _run_of(job),
        "index-run": lambda: _run_of(job),
        "again": lambda: _run_of(job),
        "rejudge": lambda: _run_of(job),
        "sweep": lambda: _experiment_of(job),
        "confirm": lambda: _experiment_of(job),
    }
    others = {name: value for name, value in job.arguments.items() if name != "budget"}
    made = names.get(job.kind, lambda: others)()
    return json.dumps([job.kind, job.corpus_id, made], sort_keys=True)


def is_mended(workspace: Workspace, job: Job) -> bool:
    """Return whether what a job failed to do was done since, by any job or command, or has lost its subject."""
    store, ended = workspace.store, job.finished or job.heartbeat or job.created
    if job.corpus_id and store.ids_of([("corpus", job.corpus_id)]) == [None]:
        return True
    if job.kind == "index":
        info = store.indexes.find(str(job.arguments.get("name")))
        return info is not None and info.corpus_id == job.corpus_id and bool(info.build) and (info.built or 0) > ended
    if job.kind in ("run", "index-run", "again", "rejudge"):
        run = store.runs.find(_run_of(job))
        if run is None:
            return job.kind == "rejudge"
        return run.corpus_id == job.corpus_id and run.status == "done" and (run.finished or 0) > ended
    if job.kind in ("sweep", "confirm"):
        experiment = store.experiments.find(_experiment_of(job))
        if experiment is None:
            return True
        return experiment.confirmation is not None or (
            job.kind == "sweep" and len(experiment.finished) == len(experiment.cells)
        )
    return False


def can_resume(job: Job) -> bool:
    """Return whether a job that failed, was cancelled or interrupted can go on: a cancelled upload's files are gone."""
    return not (job.kind == "documents" and job.status == "cancelled")


def _alive(job: Job) -> bool:
    alive = processes.is_alive(job.host, job.pid, job.pid_started)
    return time.time() - (job.heartbeat or 0) < SILENCE if alive is None else alive


def perform(workspace: Workspace, job_id: str, watch: Progress | None = None) -> Job:
    """Do a job in this process, with its row; `watch` gets the progress too.

    Its end is recorded in the row (`done`, `failed` with the sentence, `cancelled`) before an error is raised; what
    ends a job that was stopped says what is kept of it.

    Raises:
        UsageError: another process is doing it, or it is done.
        Deleted: what it works on was deleted meanwhile; the job's row is deleted too.
        RagvizError: whatever the task raised.

    """
    store = workspace.store
    job = store.jobs.get(job_id)
    me = processes.this_process()
    place = {"host": me["host"], "pid": me["pid"], "pid_started": me["started"]}
    clock = {"started": time.time(), "heartbeat": time.time()}
    _note_interrupted(store, job)
    first = {"done": 0, "total": None, "unit": "", "message": FIRST[job.kind]}
    if not store.jobs.claim(job_id, error="", **place, **clock, **first):
        raise _not_free(store.jobs.get(job_id))
    with _Heartbeat(store, job, watch) as beat, following(beat.stopping):
        try:
            _refuse_second(workspace, store.jobs.get(job_id))
            result = _result_before_kill(workspace, job) or KINDS[job.kind](workspace, job.arguments, beat)
            beat.refuse_deleted()
        except BaseException as error:
            if beat.deleted or isinstance(error, Deleted):  # the error is a consequence
                store.jobs.delete(job_id)
                workspace.log_of(job.id).unlink(missing_ok=True)
                raise Deleted(beat.deleted or str(error)) from error
            reached = beat.values()
            end = _end_of(error, replace(job, **reached), workspace.log_of(job.id), workspace.settings.keys)
            with suppress(RagvizError):  # when the disk is full, this fails too, and the job will be interrupted
                store.jobs.update(job_id, **end, **reached, finished=time.time())
            if isinstance(error, Cancelled | KeyboardInterrupt):
                raise type(error)(end["error"]) from error
            raise
    store.jobs.update(job_id, status="done", result=result, **beat.values(), finished=time.time())
    job = store.jobs.get(job_id)
    if job.kind == "documents":
        _discard_read(workspace, job)
    if job.kind in ("import", "asked") and job.arguments.get("folder"):
        _discard_imported(workspace, job)
    return job


def perform_new(
    workspace: Workspace,
    kind: str,
    title: str,
    corpus_id: str,
    arguments: Mapping[str, Any],
    watch: Progress | None = None,
) -> Job:
    """Create a job and do it in this process, so that the pages see it and a killed one can be resumed.

    After a usage error, which changed nothing and is raised to the caller, the row is deleted. Raises as `perform`.
    """
    job = workspace.store.jobs.add(kind, title, corpus_id, arguments)
    try:
        return perform(workspace, job.id, watch)
    except UsageError:
        workspace.store.jobs.delete(job.id)
        raise


def _result_before_kill(workspace: Workspace, job: Job) -> dict[str, Any] | None:
    """Return the result of a job that was killed between the end of its run and its own; else None."""
    from ragviz.runs import running

    if job.kind != "run" or job.started is None:
        return None
    run = workspace.store.runs.find(_run_of(job))
    if run is None or run.status != "done" or (run.finished or 0) < job.started:
        return None
    config = _config(RunConfig, job.arguments["config"])
    return _result_of(workspace, run) if running.is_made_as(workspace, run, config) else None


def _refuse_second(workspace: Workspace, job: Job) -> None:
    """Let only the first of two processes make a run, judge it again, or make those of an experiment.

    Raises:
        UsageError: another process is doing so.

    """
    made = _run_of(job), _experiment_of(job)
    if not any(made):
        return
    for other in map(refreshed, workspace.store.jobs.all()):
        earlier = (other.started or 0, other.id) < (job.started or 0, job.id)
        same = (_run_of(other), _experiment_of(other)) == made
        if other.status == "running" and other.id != job.id and same and earlier:
            what = f"Run '{made[0]}' is" if made[0] else "The runs of this experiment are"
            raise UsageError(f"{what} being made already (process {other.pid}): wait for it, or stop that.")


def _run_of(job: Job) -> str:
    """Return the name of the run that a job makes or judges again; "" of other jobs."""
    key = {"run": "name", "index-run": "name", "again": "name", "rejudge": "run"}.get(job.kind, "")
    return plain_name(str(job.arguments.get(key, "")))


def _experiment_of(job: Job) -> str:
    """Return the id of the experiment that a job works on; "" of other jobs."""
    return str(job.arguments["experiment"]) if job.kind in ("sweep", "confirm") else ""


def _end_of(error: BaseException, job: Job, log: Path, keys: Sequence[str]) -> dict[str, str]:
    """Return how a job ended, as columns of its row; the traceback of a defect is added to its log.

    `job` is as far as it has come.
    """
    if isinstance(error, Cancelled | KeyboardInterrupt):
        return {"status": "cancelled", "error": f"{SENTENCE} {kept(replace(job, status='cancelled'))}"}
    if isinstance(error, OSError) and (refused := disk.explained(error)) is not None:
        return {"status": "failed", "error": str(refused)}
    if isinstance(error, RagvizError):
        return {"status": "failed", "error": str(error)}
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8", errors="backslashreplace") as output:
        output.write(_unsecret("".join(traceback.format_exception(error)), keys))
    report = f"Try again; if it fails again, report it with the traceback in {log}."
    return {"status": "failed", "error": f"A defect in ragviz: {type(error).__name__}. {report}"}


def _unsecret(text: str, keys: Sequence[str]) -> str:
    """Remove keys, and the secrets in addresses, from a traceback."""
    return without_keys(addresses.within(text), keys)


class _Heartbeat:
    """Receives the progress of a job, and writes it to its row once a second from a thread.

    Whether to stop is checked more often, and at each new step of the work, so that nothing is published after a
    cancellation. The job's thread follows `stopping` in whatever it waits for. A job stops when it is cancelled, and
    when something that it works on is deleted.
    """

    def __init__(self, store: Store, job: Job, watch: Progress | None) -> None:
        self._store, self._job_id, self._watch = store, job.id, watch
        self._subjects = _subjects(job)
        self._ids: dict[tuple[Kind, str], str] = {}
        self.deleted = ""  # the sentence, when something that the job works on was deleted
        self._latest: tuple[int, int | None, str, str] = (0, None, "", FIRST[job.kind])
        self.stopping, self._ended = Stopping(), threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> _Heartbeat:
        with suppress(RagvizError):  # the thread tries again
            self._look()  # notes the ids, so that an early deletion is noticed
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def __call__(self, done: int, total: int | None, unit: str, message: str = "") -> None:
        if message != self._latest[3] and self._store.jobs.is_cancelled(self._job_id):
            self.stopping.drop(0)
        self._latest = (done, total, unit, message)
        if self.deleted:
            raise Deleted(self.deleted)
        if self.stopping.is_set():
            raise Cancelled(SENTENCE)
        if self._watch is not None:
            self._watch(done, total, unit, message)

    def refuse_deleted(self) -> None:
        """Check a last time: work whose subject was deleted before its next step may have ended with nothing to do.

        Raises:
            Deleted: something that the job works on was deleted.

        """
        self._look()
        if self.deleted:
            raise Deleted(self.deleted)

    def values(self) -> dict[str, Any]:
        """The latest progress as columns of the row."""
        return dict(zip(("done", "total", "unit", "message"), self._latest, strict=True))

    @property
    def _stage(self) -> tuple[object, ...]:
        """What changes with the stage of the work, but not with each of its steps."""
        _, total, unit, message = self._latest
        return (total, unit, message if total is None else "")

    def _write(self) -> None:
        written, stage = time.monotonic(), self._stage
        while not self._ended.wait(LOOK):
            try:
                if time.monotonic() - written >= BEAT or stage != self._stage:  # a new stage is shown at once
                    stage = self._stage
                    self._store.jobs.update(self._job_id, **self.values(), heartbeat=time.time())
                    written = time.monotonic()
                self._look()
            except RagvizError as error:  # a store that cannot be reached now may be reachable at the next check
                _log.warning("Job %s: %s", self._job_id, error)

    def _look(self) -> None:
        """Check whether to stop, in two queries."""
        stops = self._store.jobs.is_cancelled(self._job_id)
        ids = self._store.ids_of([(kind, self._ids.get((kind, name), name)) for kind, name in self._subjects])
        for (kind, name), current in zip(self._subjects, ids, strict=True):
            noted_id = self._ids.get((kind, name))
            if current is not None:
                self._ids[kind, name] = current
            elif noted_id is not None:
                self.deleted = f"Stopped: {label(kind)} '{name}' that was worked on was deleted."
                stops = True
        if stops:
            self.stopping.drop(0)


def main() -> None:
    """Do the job named on the command line; its end is recorded in its row."""
    os.umask(0o077)
    try:
        workspace = open_workspace()
    except RagvizError as error:
        sys.exit(str(error))
    try:
        perform(workspace, sys.argv[1])
    except RagvizError as error:
        sys.exit(str(error))
    except Exception:
        sys.exit(_unsecret(traceback.format_exc(), workspace.settings.keys))


if __name__ == "__main__":
    main()
