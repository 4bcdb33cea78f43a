"""The kinds of jobs, in one registry; a task imports what it needs, so that listing the jobs imports none of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from ragviz import sample
from ragviz.core.configuration import IndexConfig, Run, RunConfig
from ragviz.core.errors import Cancelled, Deleted, NotFoundError, UsageError
from ragviz.core.job import Job
from ragviz.core.share import Share
from ragviz.core.stopping import Progress
from ragviz.store.transactions import Kind as Noun
from ragviz.store.transactions import plain_name
from ragviz.workspace import Workspace

Task = Callable[[Workspace, Mapping[str, Any], Progress], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of job.

    `run` does it from its arguments, and continues after what was finished; `first` is what it does first, shown until
    it reports something itself. `works_on` are nouns with the dotted name of the argument that names one of them by
    name or id, which the job may create; beside them `always`, and the job's corpus. `makes` is the noun of what it
    makes, and the argument that names it: two jobs never make the same at once.

    `kept` says what is left of one that was stopped: a sentence, or by unit of progress what became of the units that
    are done. `pauses` holds where nothing is done twice when it is resumed. `cancelled` is called for one that is
    cancelled before it began, and `done` at its end; `made_before` returns the result of one that was killed between
    the end of its work and its own. `page` is where its choices are.

    `memory` (MB) and `cores` are what it needs, so that no more run at once than the machine has room for; one without
    a core reads files, without a model. `queue` names the workers that may do it on other machines, "" where it reads
    files of this one.
    """

    run: Task
    first: str
    page: str = ""
    works_on: tuple[tuple[Noun, str], ...] = ()
    always: tuple[tuple[Noun, str], ...] = ()
    makes: tuple[Literal["index", "run", "experiment"], str] | None = None
    kept: str | Mapping[str, str] = ""
    pauses: bool = False
    resumes_cancelled: bool = True
    cancelled: Callable[[Workspace, Job], None] | None = None
    done: Callable[[Workspace, Job], None] | None = None
    made_before: Callable[[Workspace, Job], dict[str, Any] | None] | None = None
    memory: int = 1300
    cores: int = 1
    queue: Literal["", "embed", "run"] = "run"

    def subjects(self, job: Job) -> list[tuple[Noun, str]]:
        """Return what a job works on, by name or id."""
        named: list[tuple[Noun, str]] = [("corpus", job.corpus_id), *self.always]
        for noun, path in self.works_on:
            value: Any = job.arguments
            for part in path.split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
            named.append((noun, str(value or "")))
        return [(noun, name) for noun, name in named if name]

    def made(self, noun: str, arguments: Mapping[str, Any]) -> str:
        """Return the name or id of the `noun` that a job with these arguments makes, "" when it makes none."""
        if self.makes is None or self.makes[0] != noun:
            return ""
        return plain_name(str(arguments.get(self.makes[1], "")))


WAITING = ("exists", "password")
"""Outcomes of files whose upload is kept: to be confirmed, or given their password."""
MOST_TOLD = 1_000
"""Rows that could not be read, of which a job says why."""
Config = TypeVar("Config", IndexConfig, RunConfig)


def files_of(job: Job) -> list[tuple[str, dict[str, Any]]]:
    """Return the path and the outcome of each file of a finished upload."""
    paths = [path for _, path in job.arguments["files"]]
    return list(zip(paths, job.result["files"], strict=True))


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
        with staleness.refreshing(workspace, corpus):
            outcomes = corpora.add_files(workspace, corpus, files, replace=arguments["replace"], progress=progress)
    except (Cancelled, Deleted, KeyboardInterrupt, NotFoundError):
        corpora.discard_staged(workspace, folder)
        raise
    return {"files": [asdict(outcome) for outcome in outcomes]}


def _discard_read(workspace: Workspace, job: Job) -> None:
    """Delete the files that an upload has read; those that can still be confirmed, or given a password, stay.

    That comes after the job is marked as done: a job killed before it finds its files when it is resumed.
    """
    from ragviz.documents import corpora

    waiting = [Path(path) for path, outcome in files_of(job) if outcome["status"] in WAITING]
    corpora.discard_staged(workspace, Path(job.arguments["folder"]), keep=waiting)


def _discard_all(workspace: Workspace, job: Job) -> None:
    """Delete the uploaded files of a job; of an import that is not done they are kept for a day, to be resumed."""
    from ragviz.documents import corpora

    if job.arguments.get("folder"):
        corpora.discard_staged(workspace, Path(job.arguments["folder"]))


def _build_index(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.index import indexing

    corpus = workspace.store.corpora.get(arguments["corpus"])
    config = _config(IndexConfig, arguments["config"])
    fresh = arguments.get("fresh", False)
    return asdict(indexing.build_index(workspace, corpus, arguments["name"], config, fresh=fresh, progress=progress))


def _help_index(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.index import embedded_chunks

    return {"embedded": embedded_chunks.help_with(workspace, _share(workspace, arguments), progress)}


def _help_run(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.runs import running

    return {"questions": running.help_with(workspace, _share(workspace, arguments), progress)}


def _share(workspace: Workspace, arguments: Mapping[str, Any]) -> Share:
    share = workspace.store.shares.find(arguments["share"])
    if share is None:
        raise Deleted("What it was to help with has ended.")
    return share


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


def _uploaded(arguments: Mapping[str, Any]) -> list[tuple[str, Path]]:
    files = [(name, Path(path)) for name, path in arguments["files"]]
    if any(not path.exists() for _, path in files):
        raise UsageError("The files to import are gone: uploads are kept for a day. Import them again.")
    return files


def _import(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.questions import exchange
    from ragviz.questions.formats import input_file

    brought = input_file.from_paths(_uploaded(arguments))
    corpus, chosen = workspace.store.corpora.get(arguments["corpus"]), (arguments["format"], arguments["split"])
    return asdict(exchange.import_files(workspace, corpus, brought, arguments["name"], *chosen, progress))


def _import_run(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.questions import exchange
    from ragviz.runs import imports
    from ragviz.targets import logged_file

    [(name, path)] = _uploaded(arguments)
    progress(0, None, "items", "Reading the file")
    reading = logged_file.read(path.read_bytes(), name, arguments["format"], arguments["roles"])
    questions = arguments["questions"]
    question_set = workspace.store.sets.get(questions) if questions else None
    chosen = imports.of_system(reading, arguments["system"])
    with exchange.ensured(workspace, arguments["corpus"]) as corpus:
        runs = imports.import_reading(workspace, corpus, arguments["name"], chosen, question_set, progress)
    told = dict.fromkeys(problem for log in reading.logs for problem in log.told)
    told |= dict.fromkeys(problem for run in runs for problem in run.provenance.get("problems", ()))
    items = sum(run.provenance["n"] for run in runs)
    return {"runs": [run.name for run in runs], "items": items, "problems": [*told][:MOST_TOLD], "told": len(told)}


def _verify(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.generation import verifying

    return asdict(verifying.verify_questions(workspace, **arguments, progress=progress))


def _asked(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.health import demand
    from ragviz.questions import asked
    from ragviz.questions.formats import input_file

    [file] = input_file.from_paths(_uploaded(arguments))
    question_set = workspace.store.sets.get(arguments["questions"])
    index = workspace.store.indexes.get(arguments["index"]) if arguments["index"] else None
    log = asked.read_log(file, workspace.settings.keys, progress)
    read = demand.examine(workspace, question_set, log, file.name, index, progress)
    progress(0, None, "texts", "Storing")
    demand.store(workspace, question_set, read)
    return {"questions": question_set.name, "texts": read.texts, "asked": read.asked, "clusters": read.different}


def _run(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.runs import running

    config = _config(RunConfig, arguments["config"])
    run = running.run(workspace, arguments["name"], config, budget=arguments.get("budget"), progress=progress)
    return _result_of(workspace, run)


def _result_of(workspace: Workspace, run: Run) -> dict[str, Any]:
    """Return what came of a run: `failed` counts its questions that were not answered and judged completely."""
    failed = sum(workspace.store.judgements.failed(run.id).values())
    return {"run": run.name, "fingerprint": run.fingerprint, "failed": failed}


def _record(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.runs import recorded

    question_set, chosen = workspace.store.sets.get(arguments["questions"]), _config(RunConfig, arguments["config"])
    system = recorded.system_of(workspace, arguments["target"])
    more = {"repeats": arguments["repeats"], "budget": arguments["budget"], "progress": progress}
    run = recorded.record(workspace, question_set, arguments["name"], system, chosen, **more)
    return _result_of(workspace, run) | {"unanswered": recorded.unanswered(workspace, run)}


def _rejudge(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.runs import running

    run = workspace.store.runs.get(arguments["run"])
    paying: dict[str, Any] = {"budget": arguments.get("budget"), "progress": progress}
    if metrics := arguments.get("metrics"):
        judged_ids = running.judge(workspace, run, metrics, arguments.get("judge", ""), **paying)
    else:
        judged_ids = running.rejudge(workspace, run, **paying)
    return {"run": run.name, "asked": len(judged_ids), "failed": _result_of(workspace, run)["failed"]}


def _replay(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.runs import replays

    run = workspace.store.runs.get(arguments["run"])
    return replays.replay(workspace, run, build=arguments["build"], progress=progress)


def _search(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    from ragviz.runs import searched_again

    run = workspace.store.runs.get(arguments["run"])
    return searched_again.search_again(workspace, run, progress=progress)


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


def _made_before(workspace: Workspace, job: Job) -> dict[str, Any] | None:
    """Return the result of a job that was killed between the end of its run and its own; else None."""
    from ragviz.runs import running

    if job.started is None:
        return None
    run = workspace.store.runs.find(str(job.arguments["name"]))
    if run is None or run.status != "done" or (run.finished or 0) < job.started:
        return None
    config = _config(RunConfig, job.arguments["config"])
    return _result_of(workspace, run) if running.is_made_as(workspace, run, config) else None


_WHOLE = "Nothing of it was kept: its result is stored at its end."
_OF_EXPERIMENT: Mapping[str, Any] = {
    "first": "Reading the experiment",
    "page": "experiment",
    "works_on": (("experiment", "experiment"),),
    "makes": ("experiment", "experiment"),
    "pauses": True,
}
KINDS: Mapping[str, Kind] = {
    "documents": Kind(
        _add_documents,
        "Opening the files",
        "documents",
        kept={"files": "files are read and stay in the corpus.", "": "No file was read yet."},
        resumes_cancelled=False,
        cancelled=_discard_all,
        done=_discard_read,
        memory=500,
        cores=0,
        queue="",
    ),
    "index": Kind(
        _build_index,
        "Reading documents",
        "index",
        works_on=(("index", "name"),),
        makes=("index", "name"),
        kept={
            "chunks": "chunks were added, and their vectors are kept: nothing is embedded twice. The index is "
            "as it was before.",
            "": "The index is as it was before.",
        },
        queue="embed",
    ),
    "help-index": Kind(
        _help_index,
        "Opening the embedder",
        works_on=(("index", "index"),),
        kept="What it embedded is kept.",
        queue="embed",
    ),
    "questions": Kind(
        _generate,
        "Reading chunks",
        "questions",
        works_on=(("index", "index"), ("questions", "name")),
        kept={"questions": "questions are written and kept."},
    ),
    "verify": Kind(
        _verify, "Reading questions", "questions", works_on=(("index", "index"), ("questions", "questions"))
    ),
    "import": Kind(
        _import,
        "Opening the files",
        "questions",
        kept="Nothing was imported: an import is stored whole, at its end.",
        done=_discard_all,
        memory=300,
        cores=0,
        queue="",
    ),
    "asked": Kind(
        _asked,
        "Reading the log",
        "questions",
        kept="Nothing of the log was kept: it is stored at its end.",
        done=_discard_all,
        queue="",
    ),
    "run": Kind(
        _run,
        "Opening the index",
        "run",
        works_on=(("index", "config.index"), ("questions", "config.questions"), ("run", "name")),
        makes=("run", "name"),
        kept={"questions": "questions are retrieved and kept."},
        pauses=True,
        made_before=_made_before,
    ),
    "help-run": Kind(
        _help_run, "Opening the index", works_on=(("run", "run"),), kept="The rankings that it made are kept."
    ),
    "record": Kind(
        _record,
        "Reading the questions",
        "targets",
        works_on=(("questions", "questions"), ("run", "name")),
        makes=("run", "name"),
        kept={"questions": "questions are asked, and what was said is kept."},
        pauses=True,
    ),
    "import-run": Kind(
        _import_run,
        "Reading the file",
        "targets",
        works_on=(("questions", "questions"), ("run", "name")),
        makes=("run", "name"),
        kept="Nothing was imported of the system that was read last.",
        done=_discard_all,
        cancelled=_discard_all,
        resumes_cancelled=False,
        memory=300,
        cores=0,
        queue="",
    ),
    "rejudge": Kind(
        _rejudge, "Reading the run", "results", works_on=(("run", "run"),), makes=("run", "run"), pauses=True
    ),
    "replay": Kind(
        _replay,
        "Reading the run",
        "results",
        works_on=(("run", "run"),),
        kept="The changes that were replayed to the end are kept.",
    ),
    "search": Kind(_search, "Reading the run", "results", works_on=(("run", "run"),), kept=_WHOLE),
    "sweep": Kind(_sweep, **_OF_EXPERIMENT),
    "confirm": Kind(_confirm, **_OF_EXPERIMENT),
    "again": Kind(
        _again,
        "Reading documents",
        "results",
        works_on=(("run", "run"), ("run", "name")),
        makes=("run", "name"),
        pauses=True,
    ),
    "drill": Kind(_drill, "Reading the chunks", "health", works_on=(("questions", "questions"), ("index", "index"))),
    "health": Kind(
        _health,
        "Reading the questions",
        "health",
        works_on=(("questions", "questions"), ("index", "index")),
        kept=_WHOLE,
    ),
    "sample": Kind(
        _sample,
        "Reading the sample",
        always=(("corpus", sample.NAME), *(("run", name) for name in sample.RUNS)),
        kept="What was loaded of the sample is kept.",
        queue="",
    ),
}
"""Kind of job by name."""
HELP = {"index": "help-index", "run": "help-run"}
"""Kind of job by the noun of what is shared: takes shards of a job that is done elsewhere."""
