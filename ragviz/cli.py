"""The command line: all that the pages do. Exit 0; 1 when a job ended in errors; 2 for bad usage or input.

Results go to standard output (`--json`: one JSON value and nothing else), progress and errors to standard error.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from ragviz.chunking import CHUNKERS
from ragviz.errors import Cancelled, InputError, RagvizError, UsageError
from ragviz.records import (
    AnswererName,
    Bank,
    ContextKind,
    Corpus,
    Estimate,
    GeneratorName,
    IndexConfig,
    Job,
    Judged,
    Matrix,
    Progress,
    Question,
    Run,
    RunConfig,
    RunFormat,
    Score,
)
from ragviz.retrieve import RETRIEVERS

if TYPE_CHECKING:
    from ragviz import answer, corpora, evaluate, forecast, foreign, indexing, jobs, llm, lost, pipeline, running
    from ragviz import compare as comparing
    from ragviz.metrics import questeval
    from ragviz.workspace import Workspace


class _Later:
    """A room that is loaded when a command first takes something from it: `ragviz --help` pays for none of them."""

    def __init__(self, room: str) -> None:
        self._room = room

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(f"ragviz.{self._room}"), name)


if not TYPE_CHECKING:
    answer, corpora, evaluate, forecast = map(_Later, ("answer", "corpora", "evaluate", "forecast"))
    foreign, indexing, jobs, llm, lost = map(_Later, ("foreign", "indexing", "jobs", "llm", "lost"))
    pipeline, running, comparing = map(_Later, ("pipeline", "running", "compare"))
    questeval = _Later("metrics.questeval")


def open_workspace() -> Workspace:
    """Open what the environment configures."""
    from ragviz import workspace

    return workspace.open_workspace()


_panels = {"no_args_is_help": True, "rich_markup_mode": None, "add_completion": False}
app = typer.Typer(help="See where a RAG system loses answers, and whether a change really helped.", **_panels)  # type: ignore[arg-type]
corpus_app = typer.Typer(help="Corpora and their documents.", **_panels)  # type: ignore[arg-type]
index_app = typer.Typer(help="Indexes: build, search.", **_panels)  # type: ignore[arg-type]
questions_app = typer.Typer(help="Question sets: generate, import, export, review.", **_panels)  # type: ignore[arg-type]
runs_app = typer.Typer(help="Runs that were made.", **_panels)  # type: ignore[arg-type]
for name, sub in (("corpus", corpus_app), ("index", index_app), ("questions", questions_app), ("runs", runs_app)):
    app.add_typer(sub, name=name)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]
PIPED = 500
"""Columns of what is not printed to a terminal: a row stays a line."""
_out = Console(soft_wrap=True)
_err = Console(stderr=True, soft_wrap=True)


def main() -> None:
    """Run the command line; errors raised on purpose become a sentence and an exit code."""
    try:
        app(standalone_mode=True)
    except (UsageError, InputError) as error:
        _fail(str(error), 2)
    except RagvizError as error:
        _fail(str(error), 1)
    except KeyboardInterrupt:
        _fail("Stopped; what was finished is kept.", 1)


def _fail(sentence: str, code: int) -> None:
    _err.print(_said(sentence), style="bold", highlight=False)
    sys.exit(code)


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _said(text: object) -> str:
    """Text that others may have written: nothing in it steers the terminal, or is markup."""
    return escape(_CONTROL.sub("\ufffd", str(text)))


def _show(value: Any, as_json: bool, draw: Callable[[], object]) -> None:
    if as_json:
        sys.stdout.write(json.dumps(value, ensure_ascii=False, default=_plain) + "\n")
    else:
        draw()


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "") -> None:
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")  # what is cut off cannot be given to another command
    for row in rows:
        table.add_row(*map(_said, row))
    console = _out if _out.is_terminal else Console(soft_wrap=True, width=PIPED)
    console.print(table)


def _interval(estimate: Estimate) -> str:
    if estimate.mean is None:
        return f"none (n={estimate.n})"
    return f"{estimate.mean:.3f} [{estimate.low:.3f}, {estimate.high:.3f}] n={estimate.n}"


@contextmanager
def _bar() -> Iterator[Progress]:
    """A progress bar on standard error; nothing when that is not a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[unit]}"))
    with Bar(*columns, TimeRemainingColumn(), console=_err, transient=True, disable=not _err.is_terminal) as bar:
        tasks: list[TaskID] = []

        def watch(done: int, total: int | None, unit: str, message: str = "") -> None:
            tasks or tasks.append(bar.add_task("", unit=unit))  # type: ignore[func-returns-value]
            bar.update(tasks[0], completed=done, total=total, unit=unit, description=escape(message[:40]))

        yield watch


def _perform(workspace: Workspace, kind: str, title: str, corpus: Corpus | None, arguments: Mapping[str, Any]) -> Job:
    """Do a job here, with its row, so that the pages see it and a killed one can be resumed."""
    job = workspace.store.create_job(kind, title, corpus.id if corpus else "", arguments)
    with _bar() as watch:
        return jobs.perform(workspace, job.id, watch)


# The app and the sample


@app.command("app")
def open_app(port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 8501) -> None:
    """Open the dashboard."""
    script = Path(__file__).resolve().parent.parent / "app.py"
    if not script.exists():
        raise UsageError("The pages are not installed with the library: run `ragviz app` from a clone of the project.")
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
    raise typer.Exit(subprocess.run(command, cwd=script.parent, check=False).returncode)  # noqa: S603


@app.command("sample")
def load_sample(as_json: Json = False) -> None:
    """Load the sample corpus, its questions, two indexes and two runs."""
    result = _perform(open_workspace(), "sample", "Load the sample", None, {}).result
    _show(result, as_json, lambda: _out.print(f"Loaded '{result['corpus']}'. Next: ragviz results {result['runs'][0]}"))


# Corpora


@corpus_app.command("add")
def corpus_add(
    name: str,
    paths: list[Path],
    replace_same_name: Annotated[bool, typer.Option("--replace", help="Replace files of the same name.")] = False,
    password: Annotated[str | None, typer.Option(help="For encrypted files.", envvar="RAGVIZ_PASSWORD")] = None,
    as_json: Json = False,
) -> None:
    """Add files and folders to the corpus NAME (made when there is none)."""
    workspace = open_workspace()
    files = corpora.files_under(paths)
    known = {corpus.name: corpus for corpus in workspace.store.corpora()}
    corpus = known.get(name.strip()) or workspace.store.create_corpus(name)
    with _bar() as watch:
        outcomes = corpora.add_files(
            workspace, corpus, files, replace=replace_same_name, password=password, progress=watch
        )
    rows = [
        (o.status, o.name, o.pages or "", o.characters, o.language, o.message or "; ".join(o.warnings))
        for o in outcomes
    ]
    columns = ("status", "file", "pages", "characters", "language", "")
    _show({"corpus": corpus.name, "files": outcomes}, as_json, lambda: _table(columns, rows))
    if any(outcome.status in ("unreadable", "password", "exists") for outcome in outcomes):
        raise typer.Exit(1)


@corpus_app.command("list")
def corpus_list(as_json: Json = False) -> None:
    """List the corpora."""
    workspace = open_workspace()
    rows = [{"corpus": c.name, **indexing.holdings(workspace, c)} for c in workspace.store.corpora()]
    columns = ("corpus", "documents", "indexes", "question sets", "runs")
    _show(rows, as_json, lambda: _table(columns, [[*row.values()] for row in rows]))


@corpus_app.command("show")
def corpus_show(name: str, as_json: Json = False) -> None:
    """Show the documents of a corpus, those that could not be read among them."""
    store = open_workspace().store
    corpus = store.corpus(name)
    documents = [
        {
            "name": d.name,
            "pages": d.pages,
            "characters": d.characters,
            "language": d.language,
            "status": d.status,
            "warnings": [*d.warnings, *([d.error] if d.error else [])],
        }
        for d in store.documents(corpus.id)
    ]
    columns = ("name", "pages", "characters", "language", "status", "warnings")
    rows = [[*[*d.values()][:-1], "; ".join(cast(list[str], d["warnings"]))] for d in documents]
    _show({"corpus": corpus.name, "documents": documents}, as_json, lambda: _table(columns, rows))


@corpus_app.command("text")
def corpus_text(name: str, document: str, as_json: Json = False) -> None:
    """Print the parsed text of a document."""
    store = open_workspace().store
    corpus = store.corpus(name)
    info = store.document_named(corpus.id, document)
    if info is None:
        raise UsageError(
            f"Corpus '{corpus.name}' has no readable document '{document}': `ragviz corpus show` lists them."
        )
    whole = store.document(corpus.id, info.id)
    _show(whole, as_json, lambda: sys.stdout.write(whole.text + "\n"))


@corpus_app.command("remove")
def corpus_remove(name: str, documents: list[str], yes: Annotated[bool, typer.Option("--yes")] = False) -> None:
    """Delete documents from a corpus."""
    workspace = open_workspace()
    corpus = workspace.store.corpus(name)
    ids = [d.id for d in workspace.store.documents(corpus.id) if d.name in documents]
    if len(ids) < len(set(documents)):
        raise UsageError(f"Corpus '{corpus.name}' has only {len(ids)} of these {len(set(documents))} documents.")
    _confirm(f"Delete {len(ids)} documents from '{corpus.name}'? Evidence in them turns stale.", yes)
    corpora.delete_documents(workspace, corpus, ids)


@corpus_app.command("delete")
def corpus_delete(name: str, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False) -> None:
    """Delete a corpus with all that hangs on it."""
    workspace = open_workspace()
    corpus = workspace.store.corpus(name)
    _confirm(f"Delete corpus '{corpus.name}' with {indexing.goes_with_corpus(workspace, corpus)}?", yes)
    indexing.delete_corpus(workspace, corpus)


def _confirm(question: str, yes: bool) -> None:
    if not yes and not sys.stdin.isatty():
        raise UsageError(f"{question} Nobody is here to ask: say --yes.")
    if not yes and not typer.confirm(question, err=True):
        raise Cancelled("Nothing was deleted.")


# Indexes


@index_app.command("build")
def index_build(
    corpus: str,
    index_name: Annotated[str, typer.Option("--name")],
    chunker: Annotated[str, typer.Option(help=", ".join(CHUNKERS))] = "tokens",
    chunk_size: Annotated[int, typer.Option(help="In the embedder's tokens.")] = 200,
    overlap: Annotated[int, typer.Option(help="In the embedder's tokens.")] = 0,
    embedder: Annotated[str | None, typer.Option(help="Model name, folder, or openai:MODEL.")] = None,
    backend: Annotated[
        str | None, typer.Option(help="local or elasticsearch (default: that, when configured).")
    ] = None,
    similarity: str = "cosine",
    option: Annotated[list[str], typer.Option(help="The backend's own, as NAME=VALUE: type=flat, m=16 …")] = [],  # noqa: B006
    fresh: Annotated[bool, typer.Option("--fresh", help="Build anew, though nothing changed.")] = False,
    as_json: Json = False,
) -> None:
    """Build an index of CORPUS, or bring it up to date."""
    workspace = open_workspace()
    config = IndexConfig(
        chunker=cast(Any, _one_of("chunker", chunker, CHUNKERS)),
        chunk_size=chunk_size,
        overlap=overlap,
        embedder=embedder or workspace.settings.embedder,
        backend=cast(Any, backend or workspace.default_backend),
        similarity=cast(Any, _one_of("similarity", similarity, ("cosine", "dot_product", "l2_norm"))),
        options=dict(_option(pair) for pair in option),
    )
    arguments = {"corpus": corpus, "name": index_name, "config": asdict(config), "fresh": fresh}
    found = workspace.store.corpus(corpus)
    indexing.check_build(workspace, found, index_name, config)
    built = _perform(workspace, "index", f"Build {index_name}", found, arguments).result
    line = "{chunks} chunks: {added} new, {removed} gone, {embedded} texts embedded"
    _show(built, as_json, lambda: _out.print(f"Index '{escape(index_name)}': " + line.format(**built)))
    if built["longer_than_read"]:
        limit = (
            f"{built['longer_than_read']} chunks are longer than {config.embedder} reads; their rest is not embedded."
        )
        _err.print(_said(limit))


def _one_of(what: str, value: str, known: Collection[str]) -> str:
    if value not in known:
        raise UsageError(f"There is no {what} '{value}': choose one of {', '.join(known)}.")
    return value


def _option(pair: str) -> tuple[str, Any]:
    key, equals, value = pair.partition("=")
    if not equals:
        raise UsageError(f"'{pair}' is not an option: write NAME=VALUE.")
    return key, int(value) if value.isdigit() else value


@index_app.command("list")
def index_list(as_json: Json = False) -> None:
    """List the indexes."""
    workspace = open_workspace()
    corpus_names = {c.id: c.name for c in workspace.store.corpora()}
    rows = []
    for info in workspace.store.indexes():
        new, changed, gone = indexing.stale(workspace, info)
        behind = f"{len(new)} new, {len(changed)} changed, {len(gone)} gone" if new or changed or gone else ""
        rows.append(
            {"index": info.name, "corpus": corpus_names[info.corpus_id], "status": info.status}
            | {"chunks": info.chunks, "config": asdict(info.config), "behind": behind}
        )
    columns = ("index", "corpus", "status", "chunks", "backend", "behind")
    drawn = [
        (r["index"], r["corpus"], r["status"], r["chunks"], cast(Any, r["config"])["backend"], r["behind"])
        for r in rows
    ]
    _show(rows, as_json, lambda: _table(columns, drawn))


@index_app.command("search")
def index_search(
    index_name: Annotated[str, typer.Argument(metavar="NAME")],
    query: str,
    k: Annotated[int, typer.Option("-k", min=1, max=1000)] = 5,
    retriever: Annotated[str, typer.Option(help=", ".join(RETRIEVERS))] = "knn",
    as_json: Json = False,
) -> None:
    """Rank the chunks of an index for a query."""
    workspace = open_workspace()
    info = workspace.store.index(index_name)
    hits = indexing.search(workspace, info, query, cast(Any, _one_of("retriever", retriever, RETRIEVERS)), k)
    rows = [
        {"rank": f.hit.rank, "score": f.hit.score, "chunk_id": f.hit.chunk_id, "document": f.document_name}
        | ({"start": f.chunk.start, "end": f.chunk.end, "page": f.chunk.page, "text": f.chunk.text} if f.chunk else {})
        for f in hits
    ]
    drawn = [
        (r["rank"], f"{r['score']:.4f}", r["document"], " ".join(str(r.get("text", "")).split())[:160]) for r in rows
    ]
    _show(rows, as_json, lambda: _table(("rank", "score", "document", "text"), drawn))


@index_app.command("delete")
def index_delete(index_name: str, yes: Annotated[bool, typer.Option("--yes")] = False) -> None:
    """Delete an index; runs on it stay readable."""
    workspace = open_workspace()
    info = workspace.store.index(index_name)
    _confirm(f"Delete index '{info.name}' with {info.chunks} chunks?", yes)
    indexing.delete_index(workspace, info)


# Questions


@questions_app.command("generate")
def questions_generate(
    index_name: Annotated[str, typer.Option("--index")],
    set_name: Annotated[str, typer.Option("--name")],
    limit: Annotated[int, typer.Option(min=1)] = 50,
    generator: Annotated[str, typer.Option(help=", ".join(get_args(GeneratorName)))] = "extractive",
    passages: Annotated[int, typer.Option(help="Chunks that a question needs: 1 or 3.")] = 1,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Make questions with answers and evidence from the chunks of an index."""
    workspace = open_workspace()
    info = workspace.store.index(index_name)
    corpus = workspace.store.corpus(info.corpus_id)
    _one_of("generator", generator, get_args(GeneratorName))
    arguments = {"index": index_name, "name": set_name, "limit": limit, "generator": generator}
    arguments |= {"passages": passages, "seed": seed}
    made = _perform(workspace, "questions", f"Generate {set_name}", corpus, arguments).result
    line = "{total} questions in the set; this time {proposed} proposed, {rejected} rejected"
    _show(made, as_json, lambda: _out.print(f"'{escape(set_name)}': " + line.format(**made)))


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"The file {file} cannot be opened: {error.strerror}.") from None


@questions_app.command("import")
def questions_import(
    corpus: str, file: Path, set_name: Annotated[str, typer.Option("--name")], as_json: Json = False
) -> None:
    """Import questions with evidence from CSV or JSONL; rows that cannot be read are told, the others are kept."""
    workspace = open_workspace()
    wanted = workspace.store.corpus(corpus)
    imported = pipeline.import_questions(workspace, wanted, _read(file), file.name, set_name)
    result = {"questions": set_name, "imported": len(imported.questions), "problems": imported.problems}
    _show(
        result, as_json, lambda: _out.print(f"{len(imported.questions)} questions imported into '{escape(set_name)}'.")
    )
    for row, reason in imported.problems.items():
        _err.print(_said(f"row {row}: {reason}"))
    if imported.problems:
        raise typer.Exit(1 if imported.questions else 2)


@questions_app.command("export")
def questions_export(set_name: str, file: Path, as_json: Json = False) -> None:
    """Write a question set to FILE: .csv or .jsonl."""
    workspace = open_workspace()
    data = pipeline.export_questions(workspace, workspace.store.question_set(set_name), file.suffix.lstrip("."))
    _write(file, data)
    _show({"file": str(file), "bytes": len(data)}, as_json, lambda: _out.print(_said(f"Wrote {file}.")))


def _write(file: Path, data: bytes) -> None:
    try:
        file.write_bytes(data)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}.") from None


@questions_app.command("banks")
def questions_banks(set_name: str, file: Path, as_json: Json = False) -> None:
    """Import RAGQuestEval banks, {question id: {key_info, question, answers}}, for the questions of a set."""
    workspace = open_workspace()
    asked = workspace.store.question_set(set_name)
    done = pipeline.import_banks(workspace, asked, _read(file))
    for problem in done.problems:
        _err.print(_said(problem), highlight=False)
    body = {"questions": asked.name, "banks": len(done.banks), "problems": list(done.problems)}
    _show(body, as_json, lambda: _out.print(f"{len(done.banks)} banks"))


@questions_app.command("list")
def questions_list(as_json: Json = False) -> None:
    """List the question sets."""
    store = open_workspace().store
    names = {c.id: c.name for c in store.corpora()}
    rows = [
        {"questions": s.name, "corpus": names[s.corpus_id], "total": s.total, **s.counts} for s in store.question_sets()
    ]
    states = ("proposed", "accepted", "rejected")
    drawn = [[r["questions"], r["corpus"], r["total"], *(r.get(state, 0) for state in states)] for r in rows]
    _show(rows, as_json, lambda: _table(("question set", "corpus", "total", *states), drawn))


@questions_app.command("show")
def questions_show(set_name: str, as_json: Json = False) -> None:
    """Show the questions of a set."""
    store = open_workspace().store
    questions = store.questions(store.question_set(set_name).id)
    drawn = [(q.id, q.status, q.kind, q.text, q.answer, q.reason) for q in questions]
    _show(questions, as_json, lambda: _table(("id", "status", "kind", "question", "answer", "reason"), drawn))


@questions_app.command("review")
def questions_review(
    set_name: str,
    ids: list[str],
    accept: Annotated[bool, typer.Option("--accept/--reject")] = True,
    reason: Annotated[str, typer.Option(help="Why they are rejected.")] = "",
) -> None:
    """Accept or reject questions by id."""
    store = open_workspace().store
    asked = store.question_set(set_name)
    chosen = [q for q in store.questions(asked.id) if q.id in ids]
    if len(chosen) < len(set(ids)):
        raise UsageError(f"Set '{asked.name}' has only {len(chosen)} of these {len(set(ids))} questions.")
    status = "accepted" if accept else "rejected"
    why = "" if accept else reason or "rejected by hand"
    store.put_questions(asked.id, [replace(q, status=cast(Any, status), reason=why) for q in chosen])


@questions_app.command("delete")
def questions_delete(set_name: str, yes: Annotated[bool, typer.Option("--yes")] = False) -> None:
    """Delete a question set; its runs stay readable."""
    store = open_workspace().store
    asked = store.question_set(set_name)
    _confirm(f"Delete question set '{asked.name}' with {asked.total} questions?", yes)
    store.delete_question_set(asked.id)


# Runs


@app.command("run")
def run_questions(
    index_name: Annotated[str, typer.Option("--index")],
    questions: Annotated[str, typer.Option("--questions")],
    run_name: Annotated[str, typer.Option("--name")] = "",
    retriever: Annotated[str, typer.Option(help=", ".join(RETRIEVERS))] = "knn",
    k: Annotated[int, typer.Option("-k")] = 3,
    depth: int = 50,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    answerer: Annotated[str, typer.Option(help=", ".join(get_args(AnswererName)))] = "none",
    model: Annotated[str, typer.Option(help="Model that answers; default: RAGVIZ_MODEL.")] = "",
    temperature: float = 0.0,
    context_tokens: Annotated[int, typer.Option(help="Most tokens of chunks that are handed over.")] = 3000,
    context: Annotated[str, typer.Option(help="retrieved; none: closed book; oracle: the gold chunks.")] = "retrieved",
    metrics: Annotated[str, typer.Option(help="Metrics of the answers: all, none, or names with commas.")] = "",
    judge: Annotated[str, typer.Option(help="Model that judges; default: RAGVIZ_JUDGE, else RAGVIZ_MODEL.")] = "",
    budget: Annotated[float | None, typer.Option(help="Most dollars that the run may cost.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what it would take, and ask no model.")] = False,
    as_json: Json = False,
) -> None:
    """Retrieve for every question of a set, answer and judge where asked to, and measure."""
    workspace = open_workspace()
    info, asked = workspace.store.index(index_name), workspace.store.question_set(questions)
    config = RunConfig(
        index=info.id,
        questions=asked.id,
        retriever=cast(Any, _one_of("retriever", retriever, RETRIEVERS)),
        k=k,
        depth=depth,
        seed=seed,
        answerer=cast(Any, _one_of("answerer", answerer, get_args(AnswererName))),
        model=model,
        temperature=temperature,
        context_tokens=context_tokens,
        metrics=tuple(filter(None, (name.strip() for name in metrics.split(",")))),
        judge=judge,
        context=cast(Any, _one_of("context", context, get_args(ContextKind))),
    )
    running.check_run(config)
    config = running.resolved(workspace, config)
    if dry_run:
        _show_forecast(running.foresee(workspace, config), as_json)
        return
    if not run_name:
        raise UsageError("Give the run a name: --name NAME.")
    corpus = workspace.store.corpus(info.corpus_id)
    arguments = {"name": run_name, "config": asdict(config), "budget": budget}
    job = _perform(workspace, "run", f"Run {run_name}", corpus, arguments)
    results(run_name, as_json)
    _end_with(job)


def _end_with(job: Job) -> None:
    """Exit 1 when questions of a run could not be answered or judged."""
    if failed := job.result["failed"]:
        again = f"ragviz rejudge {job.result['run']}"
        _fail(f"{failed} questions could not be answered or judged whole: `{again}` asks again about those.", 1)


def _show_forecast(told: forecast.Forecast, as_json: bool) -> None:
    body = asdict(told) | {"total": told.total}

    def draw() -> None:
        _table(("step", "calls"), list(told.calls.items()), f"{told.questions} questions")
        cost = "no price known" if told.cost is None else llm.dollars(told.cost)
        tokens = f"{told.prompt_tokens:,} + {told.completion_tokens:,} tokens"
        _out.print(f"{told.total:,} calls, {told.cached:,} of them paid for already; to be paid: {tokens}, {cost}")
        if told.seconds:
            _out.print(f"about {told.seconds / 60:.1f} minutes, at {forecast.SECONDS:g} s a call")

    _show(body, as_json, draw)


@app.command("rejudge")
def rejudge(
    run_name: Annotated[str, typer.Argument(metavar="RUN")],
    budget: Annotated[float | None, typer.Option(help="Most dollars, what the run has cost included.")] = None,
    as_json: Json = False,
) -> None:
    """Answer and judge again what failed in a run, and nothing else."""
    workspace = open_workspace()
    run = workspace.store.run(run_name)
    corpus = workspace.store.corpus(run.corpus_id)
    job = _perform(workspace, "rejudge", f"Judge {run.name} again", corpus, {"run": run.name, "budget": budget})
    if not job.result["asked"]:
        _err.print(_said(f"Nothing of run '{run.name}' had failed: nothing was asked again."), highlight=False)
    results(run.name, as_json)
    _end_with(job)


@app.command("results")
def results(run_name: Annotated[str, typer.Argument(metavar="RUN")], as_json: Json = False) -> None:
    """Show what a run measured."""
    workspace = open_workspace()
    run = workspace.store.run(run_name)
    summary, judgement = running.summary_of(workspace, run), running.judgement_of(workspace, run)
    if run.status != "done":
        _err.print(_said(f"Run '{run.name}' is not finished: this is what it has so far."), highlight=False)
    body = {"run": run.name, "fingerprint": run.fingerprint, "status": run.status} | evaluate.to_json(summary)
    body["metrics"] |= evaluate.scored_to_json(judgement.metrics)
    steps = lost.waterfall(list(judgement.causes.values()), run.config.context)
    if judgement.judged:
        body |= {"lost": {step.cause: step.count for step in steps[1:]}, "usage": asdict(judgement.usage)}
        body |= {"paid": dict(zip(("calls", "cost"), judgement.paid, strict=True))}
        body |= {"abstention": asdict(judgement.abstention), "failed": len(judgement.failed)}

    def draw() -> None:
        _table(("metric", "mean [95 %]"), [(name, _interval(e)) for name, e in summary.metrics.items()], run.name)
        _out.print(f"misses to depth {run.config.depth}: {summary.misses} of {summary.n}")
        if judgement.judged:
            _draw_judgement(judgement, steps)

    _show(body, as_json, draw)


def _draw_judgement(judgement: running.Judgement, steps: Sequence[lost.Step]) -> None:
    rows = [
        (name, _interval(scored.estimate), f"{scored.statuses.get('ok', 0)} of {scored.total}", _without(scored))
        for name, scored in judgement.metrics.items()
    ]
    _table(("metric", "mean [95 %]", "scored", ""), rows, "answers")
    titles = [(step.title, step.count) for step in steps[1:]]
    _table(("where it was lost", "questions"), titles)
    refused = judgement.abstention
    _out.print(f"refused: {refused.refused}, rightly {refused.both} of {refused.unanswerable} unanswerable questions")
    _out.print(running.cost_words(judgement))


def _without(scored: evaluate.Scored) -> str:
    """Why questions have no score, in words."""
    return ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in scored.statuses.items() if status != "ok")


@app.command("inspect")
def inspect(run_name: Annotated[str, typer.Argument(metavar="RUN")], question_id: str, as_json: Json = False) -> None:
    """Show all there is about one question of a run: answer, chunks, claims and their verdicts, scores with reasons."""
    workspace = open_workspace()
    run = workspace.store.run(run_name)
    question = next((q for q in workspace.store.asked(run.id) if q.id == question_id), None)
    if question is None:
        raise UsageError(f"Run '{run.name}' has no question '{question_id}': see `ragviz questions show`.")
    judgement = running.judgement_of(workspace, run)
    if question.id not in judgement.causes:
        raise UsageError(f"Run '{run.name}' was stopped before this question: give its command again.")
    judged = judgement.judged.get(question.id)
    scores = [by_question[question.id] for by_question in judgement.scores.values() if question.id in by_question]
    retrieved = next(r for r in workspace.store.results(run.id) if r.question_id == question.id)
    hits = indexing.found(workspace, run.corpus_id, retrieved.ranking.hits()[: run.config.k])
    gold = {chunk_id for group in retrieved.gold for chunk_id in group}
    body = {
        "run": run.name,
        "cause": judgement.causes[question.id],
        "question": question,
        "ranking": [
            {"rank": f.hit.rank, "score": f.hit.score, "document": f.document_name, "gold": f.hit.chunk_id in gold}
            | {"chunk_id": f.hit.chunk_id, "text": f.chunk.text if f.chunk else None}
            for f in hits
        ],
        "judged": asdict(judged) | {"question": question.id} if judged else None,
        "questeval": _questeval(judged.bank, judged.bank_answers) if judged else None,
        "extractive_questeval": _questeval(judged.extractive_bank, judged.extractive_bank_answers) if judged else None,
        "scores": scores,
    }
    cause = lost.about(judgement.causes[question.id], run.config.context)
    _show(body, as_json, lambda: _draw_inspected(question, judged, hits, gold, scores, cause))


def _questeval(bank: Bank | None, answers: Sequence[str | None] | None) -> dict[str, Any] | None:
    """RAGQuestEval by both readings of its denominators, and as the public code counts it (`crud`)."""
    if bank is None or answers is None:
        return None
    precision, recall = questeval.crud([item.answer for item in bank.items], answers)
    return asdict(questeval.measure(bank, answers)) | {"crud": {"precision": precision, "recall": recall}}


def _draw_inspected(
    question: Question,
    judged: Judged | None,
    hits: Sequence[indexing.Found],
    gold: Collection[str],
    scores: Sequence[Score],
    cause: lost.Cause,
) -> None:
    _out.print(_said(f"{cause.title}. {cause.explanation}"))
    told = [("question", question.text), ("reference", question.answer)]
    _table(("", ""), [*told, ("answer", f"{judged.answer.text} ({judged.answer.status})")] if judged else told)
    rows = [(f.hit.rank, "gold" if f.hit.chunk_id in gold else "", f.document_name, _first_line(f)) for f in hits]
    _table(("rank", "", "document", "chunk"), rows)
    if judged:
        _table(("claim of", "claim", "passages", "other text"), [*_claim_rows(judged.matrix)])
    drawn = [(s.metric, "" if s.value is None else f"{s.value:.3f}", s.status, s.reason, s.version) for s in scores]
    _table(("metric", "value", "status", "reason", "version"), drawn)


def _first_line(found: indexing.Found) -> str:
    return " ".join(found.chunk.text.split())[:100] if found.chunk else "(its document was deleted)"


def _claim_rows(matrix: Matrix) -> Iterator[tuple[str, str, str, str]]:
    sides = (
        ("answer", matrix.answer_claims, matrix.answer_by_chunk, matrix.answer_by_reference),
        ("reference", matrix.reference_claims, matrix.reference_by_chunk, matrix.reference_by_answer),
    )
    for side, claims, by_chunk, by_text in sides:
        for place, claim in enumerate(claims or ()):
            row = by_chunk[place] if by_chunk else ()
            ranks = [str(rank) for rank, bearing in enumerate(row, start=1) if bearing.verdict == "supported"]
            yield side, claim.text, ", ".join(ranks) or "none", by_text[place].verdict if by_text else ""


@app.command("compare")
def compare(
    run_names: Annotated[list[str], typer.Argument(metavar="RUN RUN...")],
    k: Annotated[int | None, typer.Option("-k", help="Default: the first run's.")] = None,
    as_json: Json = False,
) -> None:
    """Compare runs on the questions they share, paired by question; the first is the baseline."""
    workspace = open_workspace()
    comparison = running.compare_runs(workspace, [workspace.store.run(name) for name in run_names], k)

    def draw() -> None:
        _out.print(_said(comparing.sentence(comparison)))
        _table(("setting", *comparison.runs), [(s.key, *s.values) for s in comparison.settings])
        for note in comparison.notes:
            _out.print(_said(note))
        rows = [(r.label, *map(_interval, r.estimates)) for r in comparison.metrics.values()]
        _table(("metric", *comparison.runs), rows)
        _table(("difference", "run", "mean [95 %]", "p (Holm)", "won, tied, lost"), [*_deltas(comparison)])

    _show(comparing.to_json(comparison), as_json, draw)


def _deltas(comparison: comparing.Comparison) -> Iterator[tuple[str, ...]]:
    for row in comparison.metrics.values():
        for delta in row.deltas:
            d = delta.difference
            interval = "none" if d.mean is None else f"{d.mean:+.3f} [{d.low:+.3f}, {d.high:+.3f}]"
            yield row.label, delta.run, interval, f"{delta.p_adjusted:.3f}", f"{d.wins}, {d.ties}, {d.losses}"


@app.command("export")
def export(run_name: Annotated[str, typer.Argument(metavar="RUN")], folder: Path, as_json: Json = False) -> None:
    """Write the classic three files of a run: dataset.csv, answers.csv, evaluation.csv."""
    workspace = open_workspace()
    files = running.export_run(workspace, workspace.store.run(run_name))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {folder} cannot be made: {error.strerror}.") from None
    for name, data in files.items():
        _write(folder / name, data)
    written = [str(folder / name) for name in files]
    _show({"run": run_name, "files": written}, as_json, lambda: _out.print(_said(f"Wrote {', '.join(written)}.")))


@runs_app.command("list")
def runs_list(as_json: Json = False) -> None:
    """List the runs, the newest first."""
    workspace = open_workspace()
    runs, going = workspace.store.runs(), jobs.runs_going_on(workspace)
    status = {r.id: "stopped" if r.status == "running" and r.name not in going else r.status for r in runs}
    rows = [
        {"run": r.name, "status": status[r.id], "fingerprint": r.fingerprint, "provenance": r.provenance} for r in runs
    ]
    drawn = [
        (r.name, status[r.id], r.provenance["index"], r.provenance["questions"], r.config.retriever, _answers_of(r))
        for r in runs
    ]
    _show(rows, as_json, lambda: _table(("run", "status", "index", "questions", "retriever", "answers"), drawn))


def _answers_of(run: Run) -> str:
    """Who answers in a run, and from what."""
    if run.config.answerer == "none":
        return "none"
    return f"{run.config.model or run.config.answerer}, from {answer.CONTEXTS[run.config.context]}"


@runs_app.command("import")
def runs_import(
    corpus: str,
    file: Path,
    run_name: Annotated[str, typer.Option("--name")],
    file_format: Annotated[str, typer.Option("--format", help=", ".join(get_args(RunFormat)))] = "ragchecker",
    as_json: Json = False,
) -> None:
    """Import answers that another program judged, with its claims and verdicts; a new corpus is made when needed."""
    workspace = open_workspace()
    read = foreign.FORMATS[cast(RunFormat, _one_of("format", file_format, foreign.FORMATS))]
    found = read(_read(file), file.name)
    there = {c.name: c for c in workspace.store.corpora()}
    run = foreign.import_run(workspace, there.get(corpus) or workspace.store.create_corpus(corpus), run_name, found)
    for problem in found.problems:
        _err.print(_said(problem), highlight=False)
    results(run.name, as_json)


@runs_app.command("delete")
def runs_delete(run_name: str, yes: Annotated[bool, typer.Option("--yes")] = False) -> None:
    """Delete a run with its results."""
    store = open_workspace().store
    run = store.run(run_name)
    _confirm(f"Delete run '{run.name}'?", yes)
    store.delete_run(run.id)


# Jobs


@app.command("jobs")
def list_jobs(
    cancel: Annotated[str | None, typer.Option(help="Stop this job.")] = None,
    resume: Annotated[str | None, typer.Option(help="Take this job up again, here.")] = None,
    as_json: Json = False,
) -> None:
    """List the jobs, or cancel or resume one."""
    workspace = open_workspace()
    if cancel:
        jobs.cancel(workspace, workspace.store.job(cancel))
    if resume:
        with _bar() as watch:
            jobs.perform(workspace, resume, watch)
    found = jobs.jobs(workspace)
    drawn = [(j.id, j.status, j.title, f"{j.done}/{j.total or '?'} {j.unit}", j.error) for j in found]
    _show(found, as_json, lambda: _table(("job", "status", "what", "progress", ""), drawn))
