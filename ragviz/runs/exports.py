"""Every question of a run and every mean, as records and as files."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ragviz.analysis import evaluate
from ragviz.core.configuration import Run
from ragviz.core.errors import UsageError
from ragviz.core.ranking import Hit
from ragviz.questions import interchange
from ragviz.retrieval import search
from ragviz.runs import cases, control_items, judgements, measurements, overviews, tables
from ragviz.runs.tables import Column
from ragviz.workspace import Workspace


def cases_of(workspace: Workspace, current: Run, k: int | None = None) -> list[cases.Case]:
    """Return the case of every question of a run, ranked at `k` (default: its own)."""
    store = workspace.store
    questions, results = store.rankings.questions(current.id), measurements.results_of(workspace, current)
    answers = store.judgements.of(current.id, questions, workspace.settings.keys)
    evaluated = {each.question.id: each for each in answers}
    own_causes = overviews.overview(workspace, current).judgement.causes
    causes_k = k if k and not current.knows.answers else current.config.k  # answers were given at the run's own
    causes = judgements.causes_at(current, own_causes, questions, results, causes_k)
    given = {i for each in evaluated.values() for i in each.recording.read}
    hits = {chunk_id: Hit(chunk_id, 0, 0.0) for chunk_id in sorted(given)}  # an oracle's are in no ranking
    hits |= {hit.chunk_id: hit for r in results for hit in r.ranking.hits()[: k or current.config.k]}
    texts = {f.chunk.id: f.chunk for f in search.with_chunks(workspace, current.corpus_id, [*hits.values()]) if f.chunk}
    return cases.cases(
        overviews.summary_at(workspace, current, k),
        questions,
        results,
        workspace.store.documents.names(current.corpus_id),
        chunks=texts,
        evaluated=evaluated,
        scores=measurements.scores_of(workspace, current),
        causes=causes,
        judged=measurements.supporting(workspace, current, questions),
    )


def breakdown_of(workspace: Workspace, current: Run, k: int | None = None) -> list[evaluate.Slice]:
    """Return every mean of a run over all parts, ranked at `k` (default: its own)."""
    questions = workspace.store.rankings.questions(current.id)
    names = workspace.store.documents.names(current.corpus_id)
    documents = {question.id: interchange.documents_of(question, names) for question in questions}
    summary = overviews.summary_at(workspace, current, k)
    answers = overviews.overview(workspace, current).scores
    divided = evaluate.breakdown(summary, answers, questions, documents, seed=current.config.seed)
    return divided.slices()


MEANS = "metrics.csv"
"""The file of the table of means."""
FILES = (*cases.FILES, MEANS)
"""The files of a run."""


def export_run(
    workspace: Workspace,
    current: Run,
    names: Sequence[str] = (),
    file_format: str = "csv",
    *,
    files: Collection[str] = FILES,
) -> dict[str, bytes]:
    """Write `files` and the tables `names` (see `tables`) of a run, by file name; the tables in one of `FORMATS`.

    Of a run that asked N questions at most the names say so: `qa_dataset_limit=N.csv`.

    Raises:
        UsageError: there is no such table or format.

    """
    check_tables(names, file_format)
    held = contents_of(workspace, current, means=MEANS in files or "means" in names)
    limit = f"qa_dataset_limit={current.config.limit}" if current.config.limit else "qa_dataset"
    data = {
        name.replace("qa_dataset", limit): write(held.cases, held.names, held.chosen_by)
        for name, write in cases.FILES.items()
        if name in files
    }
    if MEANS in files:
        data[MEANS] = written("means", tables.rows("means", held), "csv")
    for name in names:
        data[f"{name}.{file_format}"] = written(name, tables.rows(name, held), file_format)
    return data


def contents_of(workspace: Workspace, current: Run, *, means: bool = True) -> tables.Contents:
    """Return what the tables of a run are filled from, ranked at its own k; without `means` there are none."""
    return tables.Contents(
        cases_of(workspace, current),
        breakdown_of(workspace, current) if means else [],
        workspace.store.documents.names(current.corpus_id),
        control_items.controls_of(current),
        workspace.settings.keys,
        current.provenance.get("chosen_by") or "",
        measurements.results_of(workspace, current),
    )


def check_tables(names: Sequence[str], file_format: str = "csv") -> None:
    """Raise UsageError when there is no such table or format."""
    if file_format not in FORMATS:
        raise UsageError(f"There is no format '{file_format}': choose one of {', '.join(FORMATS)}.")
    for name in names:
        if name not in tables.TABLES:
            raise UsageError(f"There is no table '{name}' of a run: choose of {', '.join(tables.TABLES)}.")


# Tables as files, with the same values in each format

Rows = Sequence[Sequence[Any]]


def _jsonl(columns: Sequence[Column], rows: Rows) -> bytes:
    names = [column.name for column in columns]
    lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
    return "".join(lines).encode()


def _parquet(columns: Sequence[Column], rows: Rows) -> bytes:
    """Write Parquet with a declared type for every column, so that an empty one has it too; descriptions in its schema.

    Types: text string, integer int64, number double, yes/no bool.
    """
    import pyarrow as pa
    from pyarrow import parquet

    types = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "yes/no": pa.bool_(),
    }
    schema = pa.schema(
        [pa.field(c.name, types[c.kind], metadata={"description": c.explanation}) for c in columns],
    )
    cells = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(column, type=field.type) for column, field in zip(cells, schema, strict=True)]
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), out)
    return out.getvalue()


FORMATS: dict[str, Callable[[Sequence[Column], Rows], bytes]] = {
    "csv": lambda columns, rows: interchange.csv_of([column.name for column in columns], rows),
    "jsonl": _jsonl,
    "parquet": _parquet,
}
"""Name of a format, which is the ending of its files, → the function that writes it."""


def written(name: str, rows: Rows, file_format: str) -> bytes:
    """Write the rows of the table `name` in one of `FORMATS`."""
    return FORMATS[file_format](tables.TABLES[name].columns, rows)
