"""What comes of the steps of a project: documents, index, question set, run, comparison, experiment.

Numbers come as pandas tables. All but `Documents` and `Comparison` hold a name, and read what the store holds under it
now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ragviz.core import configuration, lazy
from ragviz.core.call import Estimate
from ragviz.core.configuration import RetrieverName
from ragviz.core.question import ASKED
from ragviz.library.display import Shown
from ragviz.text.counts import counted

with lazy.loading_when_used():
    from ragviz.analysis import compare as comparing
    from ragviz.analysis import comparison_words, diagnose
    from ragviz.documents import corpora
    from ragviz.experiments import findings
    from ragviz.metrics import registry
    from ragviz.questions import interchange
    from ragviz.retrieval import retrievers, search
    from ragviz.runs import (
        acceptance,
        alternatives,
        cases,
        comparisons,
        exports,
        judgements,
        measurements,
        moved_questions,
        overviews,
        replays,
        rescue_words,
        tables,
    )
    from ragviz.service import job_verbs, question_verbs, run_verbs

if TYPE_CHECKING:
    import pandas as pd

    from ragviz.experiments.findings import Outcome
    from ragviz.workspace import Workspace


@dataclass(frozen=True, slots=True, repr=False)
class Documents(Shown):
    """What became of the files that were added to a corpus, in order.

    A file's `status` is "added", "same" (there already), "replaced", "exists" (other bytes are there under its name:
    `replace=True` replaces them), "password" or "unreadable", with the reason in `message`.
    """

    corpus: str
    files: tuple[corpora.FileOutcome, ...]

    def to_pandas(self) -> pd.DataFrame:
        """A row for each file, by name: status, pages, characters, language, message (warnings, where it was read)."""
        import pandas as pd

        rows = [
            (f.name, f.status, f.pages, f.characters, f.language, f.message or "; ".join(f.warnings))
            for f in self.files
        ]
        columns = ["name", "status", "pages", "characters", "language", "message"]
        return pd.DataFrame(rows, columns=columns).set_index("name")

    def _title(self) -> str:
        counts = Counter(f.status for f in self.files)
        return f"Corpus '{self.corpus}': " + (_counted(counts) or "no files")


@dataclass(frozen=True, slots=True, repr=False)
class Index(Shown):
    """A corpus cut into chunks, embedded, and ready to be searched."""

    workspace: Workspace
    name: str

    def search(self, query: str, *, retriever: RetrieverName | None = None, k: int = 5) -> pd.DataFrame:
        """The first `k` chunks for a query, a row each, by rank: score, document, page, text (None: it was deleted).

        `retriever` is by default "knn", or "bm25" on an index without vectors.

        Raises:
            UsageError: the index is not built; the query is empty.
            SearchError: it is damaged, or its server fails.

        """
        import pandas as pd

        info = self.workspace.store.indexes.get(self.name)
        hits = search.search(self.workspace, info, query, retrievers.chosen(info, retriever), k)
        rows = [
            (f.hit.rank, f.hit.score, f.document_name, f.chunk and f.chunk.page, f.chunk and f.chunk.text) for f in hits
        ]
        return pd.DataFrame(rows, columns=["rank", "score", "document", "page", "text"]).set_index("rank")

    def to_pandas(self) -> pd.DataFrame:
        """One row: number of chunks, their tokens in total, and the configuration of the index."""
        import pandas as pd

        info = self.workspace.store.indexes.get(self.name)
        config = {key: value for key, value in asdict(info.config).items() if key != "options"}
        row = {"status": info.status, "documents": len(info.documents), "chunks": info.chunks, "tokens": info.tokens}
        return pd.DataFrame([row | config], index=pd.Index([info.name], name="index"))

    def _title(self) -> str:
        info = self.workspace.store.indexes.get(self.name)
        chunks, documents = counted(info.chunks, "chunk"), counted(len(info.documents), "document")
        return f"Index '{info.name}': {chunks} of {documents}, {info.status}"


@dataclass(frozen=True, slots=True, repr=False)
class QuestionSet(Shown):
    """Questions with their reference answers and evidence; rejected ones with their reasons: runs skip them.

    `problems` say which rows of an import were refused, and why. `notes` are what else it told: columns that were not
    kept, questions without evidence, rows that were imported otherwise than written.
    """

    workspace: Workspace
    name: str
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_pandas(self) -> pd.DataFrame:
        """A row for each question, by id:

        question, answer, kind, type, style, document, status, reason (if rejected or quarantined), generator, split
        (its side, "" for neither).
        """
        import pandas as pd

        store = self.workspace.store
        question_set = store.sets.get(self.name)
        names = store.documents.names(question_set.corpus_id)
        rows = [
            {"question_id": q.id, "question": q.text, "answer": q.answer, "kind": q.kind, "type": q.type}
            | {"style": q.style}
            | {"document": ", ".join(interchange.documents_of(q, names))}
            | {"status": q.status, "reason": q.reason, "generator": q.generator, "split": q.split}
            for q in store.questions.all(question_set.id)
        ]
        columns = ["question_id", "question", "answer", "kind", "type", "style", "document", "status", "reason"]
        return pd.DataFrame(rows, columns=[*columns, "generator", "split"]).set_index("question_id")

    def split(self, kind: str, share: float = 0.5, seed: int = 0, *, remake: bool = False) -> QuestionSet:
        """Divide the set into validation and test, and return it.

        `kind` is "stratified" (each kind's questions and within it each document's in one proportion, for statements
        about these documents) or "grouped" (whole documents on one side, for statements about documents like these);
        `share` is that of validation.

        Raises:
            UsageError: runs used the set's present split, and `remake` is not set; the kind or share cannot be used, or
                a side would be empty.

        """
        question_verbs.split(self.workspace, self.workspace.store.sets.get(self.name), kind, share, seed, remake=remake)
        return self

    def _title(self) -> str:
        counts = self.workspace.store.sets.get(self.name).counts
        rows = f"{len(self.problems)} row{'s were' if len(self.problems) > 1 else ' was'} refused, see `problems`"
        refused = f"; {rows}" if self.problems else ""
        return f"Question set '{self.name}': {_counted(counts) or 'no questions'}{refused}"

    def _table(self) -> pd.DataFrame:
        table = self.to_pandas()
        return table.loc[table["status"].isin(ASKED), ["question", "answer", "kind", "document", "status"]]


def check(
    run: Run | str, *requirements: str, baseline: Run | str | None = None, no_worse_than: float | None = None
) -> None:
    """Fail a test with what `ragviz check` prints, unless a run meets its requirements ("recall@3>=0.8").

    The name of a run is that of one in RAGVIZ_HOME.

    Raises:
        AssertionError: its numbers are not reliable, a requirement is not met, or it is worse than the baseline; with
            what the command prints.
        UsageError: a requirement cannot be read.

    """
    __tracebackhide__ = True
    from ragviz.workspace import open_workspace

    workspace = open_workspace() if isinstance(run, str) else run.workspace
    named = (each if isinstance(each, str) else each.name for each in (run, baseline) if each is not None)
    record, *before = map(workspace.store.runs.get, named)
    against = next(iter(before), None)
    checked = acceptance.check(workspace, record, requirements, baseline=against, no_worse_than=no_worse_than)
    if not checked.passed:
        raise AssertionError("\n".join(acceptance.lines(checked)))


@dataclass(frozen=True, slots=True, repr=False)
class Run(Shown):
    """The questions of a set, put to an index: rankings, and answers and scores where the run answers or judges."""

    workspace: Workspace
    name: str

    def metrics(self, k: int | None = None) -> pd.DataFrame:
        """A row for each metric ("recall@3", "mrr", "faithfulness" …): mean, low, high, n, without.

        `low` and `high` bound the 95 % interval; `n` questions have the score, `without` have none (those without
        evidence have no ranking metrics; a refusal, or a judge's failed step, is no score and no 0). Rankings are
        measured at `k` (default: the run's own).

        Raises:
            UsageError: `k` is not from 1 to the run's depth.

        """
        import pandas as pd

        current = self._record()
        summary = overviews.summary_at(self.workspace, current, k)
        without = summary.unanswerable + summary.reference_only
        rows = [(name, *_numbers(e), without) for name, e in summary.metrics.items()]
        for name, scored in overviews.overview(self.workspace, current).judgement.metrics.items():
            rows.append((name, *_numbers(scored.estimate), scored.total - scored.estimate.n))
        return pd.DataFrame(rows, columns=["metric", "mean", "low", "high", "n", "without"]).set_index("metric")

    def failures(self, k: int | None = None) -> pd.Series[int]:
        """How many questions have each cause of failure ("not_retrieved", "below_k" …; "fine": none), by cause.

        Raises:
            UsageError: `k` is not from 1 to the run's depth.

        """
        import pandas as pd

        current = self._record()
        k = overviews.summary_at(self.workspace, current, k).k
        causes = moved_questions.causes_of(current, k, comparisons.stored(self.workspace))
        steps = diagnose.waterfall(list(causes.values()), current.knows)[1:]
        index = pd.Index([step.cause for step in steps], name="cause")
        return pd.Series([step.count for step in steps], index=index, name="questions", dtype="int64")

    def rescue(self, k: int | None = None, *, build: bool = False) -> pd.DataFrame:
        """A row for each change that was tried on the lost questions, the greatest net gain first, by its key.

        title, rescues, breaks, net (questions), share (`net` of all questions) with its 95 % interval low to high,
        tokens (those of the first k chunks, a question on average), milliseconds, rescued and broken (ids of
        questions). Lost is what ranks below `k` (default: the run's own). What was not replayed yet is searched first,
        once; `build` tries other chunkings, prefixes and rerankers, too, which compute vectors or scores.

        Raises:
            UsageError: `k` is not from 1 to the run's depth; the run is imported.

        """
        import pandas as pd

        current = self._record()
        alternatives.check(current, k)
        job_verbs.perform(self.workspace, run_verbs.replay(self.workspace, current, build=build))
        columns = replays.columns_of(self.workspace, current)
        body = rescue_words.to_json(columns, replays.rescue(columns, current.config.k if k is None else k))
        rows = [row | row["share"] | {"share": row["share"]["mean"]} for row in body["changes"]]
        names = ["change", "title", "rescues", "breaks", "net", "share", "low", "high", "tokens", "milliseconds"]
        return pd.DataFrame(rows, columns=[*names, "rescued", "broken"]).set_index("change")

    def to_pandas(self, k: int | None = None) -> pd.DataFrame:
        """A row for each question, by id, as in `results.csv`.

        question, kind, type, style, document, reference_answer, answer, answer_status, answer_reason, cause, rank (by
        which the evidence is found; <NA> when it is not, and where nothing is to be found), then its ranking metrics at
        `k` (default: the run's own) and the scores of its answer, each with its reason in `<metric>_reason`. A missing
        score is NaN.

        Raises:
            UsageError: `k` is not from 1 to the run's depth.

        """
        import pandas as pd

        rows = [cases.row(case) for case in exports.cases_of(self.workspace, self._record(), k)]
        table = pd.DataFrame(rows, columns=None if rows else ["question_id", "rank"]).set_index("question_id")
        return table.astype({"rank": "Int64"})

    def rankings(self) -> pd.DataFrame:
        """The whole ranking of every question, to the run's depth: the table "rankings", a row for each chunk."""
        return self.table("rankings")

    def table(self, name: str) -> pd.DataFrame:
        """One of the tables of `ragviz export --tables`: scores, claims, rankings, questeval, calls, means.

        Columns as the reference lists them; what is not known or does not apply is missing.

        Raises:
            UsageError: there is no such table.

        """
        import pandas as pd

        exports.check_tables([name])
        columns = tables.TABLES[name].columns
        rows = tables.rows(name, exports.contents_of(self.workspace, self._record(), means=name == "means"))
        kinds = {column.name: _DTYPES[column.kind] for column in columns}
        return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)

    def _record(self) -> configuration.Run:
        return self.workspace.store.runs.get(self.name)

    def _title(self) -> str:
        current = self._record()
        config, made_of = current.config, current.provenance
        answered = f", {judgements.answered_words(current)}" if current.knows.answers else ""
        made = "" if current.knows.opaque else f", {config.ranked_by} on '{made_of['index']}', k = {config.k}"
        status = "" if current.status == "done" else " (not finished: this is what it has so far)"
        return (
            f"Run '{current.name}': {measurements.asked_words(current)} of '{made_of['questions']}'"
            f"{made}{answered}{status}"
            f"{'. ' if current.provenance.get('chosen_by') else ''}{measurements.chosen_words(current)}"
        )

    def _table(self) -> pd.DataFrame:
        table, headline = self.metrics(), registry.shown_in("tile")
        return table[[name.split("@")[0] in headline for name in table.index]]


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Shown):
    """Runs against the first of them, paired by question; `result` holds the arrays behind it."""

    result: comparing.Comparison

    @property
    def sentence(self) -> str:
        """The outcome in words, with intervals: recall and MRR, and the first two metrics of answers."""
        return comparison_words.sentence(self.result)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else differs between the runs, and makes them hard to compare; empty when nothing does."""
        return self.result.notes

    def to_pandas(self) -> pd.DataFrame:
        """A row for each metric and run: mean, low, high, n, and against the first run (its own row has none of these):

        difference, difference_low, difference_high (95 % interval), p_adjusted (Holm's in the primary metric, else
        Benjamini and Hochberg's), significant, verdict, and how many questions were won, tied and lost. Rankings are
        compared over the questions with evidence that all runs have, answers over those that all have a score for.
        """
        import pandas as pd

        runs, rows = self.result.runs, []
        for name, row in self.result.rows.items():
            for run, estimate, delta in zip(runs, row.estimates, (None, *row.deltas), strict=True):
                rows.append((name, run, *_numbers(estimate), *_against(delta)))
        columns = ["metric", "run", "mean", "low", "high", "n", *_AGAINST]
        kinds = {"significant": "boolean", "won": "Int64", "tied": "Int64", "lost": "Int64"}
        return pd.DataFrame(rows, columns=columns).astype(kinds).set_index(["metric", "run"])

    def _title(self) -> str:
        return " ".join((self.sentence, *self.notes))

    def _table(self) -> pd.DataFrame:
        table, headline = self.to_pandas(), registry.shown_in("tile")
        columns = ["mean", "low", "high", "n", "difference", "difference_low", "difference_high", "p_adjusted"]
        return table.loc[[name.split("@")[0] in headline for name, _ in table.index], columns]


@dataclass(frozen=True, slots=True, repr=False)
class Experiment(Shown):
    """Configurations tried on the same questions, by name: read from the store when it is used."""

    workspace: Workspace
    name: str

    @property
    def outcome(self) -> Outcome:
        """Everything that it says: cells, comparison, conclusion, and that on the test side."""
        return findings.outcome_of(self.workspace, self.workspace.store.experiments.get(self.name))

    def cells(self) -> pd.DataFrame:
        """Return a row for each cell: its state, primary metric, difference to the baseline, and what it takes."""
        import pandas as pd

        rows = [
            {
                "cell": row.cell.name,
                "state": row.cell.state,
                "mean": row.estimate.mean if row.estimate else None,
                "low": row.estimate.low if row.estimate else None,
                "high": row.estimate.high if row.estimate else None,
                "difference": row.delta.difference.mean if row.delta else None,
                "verdict": row.delta.verdict if row.delta else "",
                "tokens": row.price.tokens,
                "dollars": row.price.dollars,
                "seconds": row.price.seconds,
                "run": row.run,
                "reason": row.cell.reason,
            }
            for row in self.outcome.rows
        ]
        return pd.DataFrame(rows).set_index("cell")

    def _title(self) -> str:
        return f"Experiment '{self.name}': {self.outcome.sentence}"

    def to_pandas(self) -> pd.DataFrame:
        """Its cells, as `cells` returns them."""
        return self.cells()

    def _table(self) -> pd.DataFrame:
        return self.to_pandas()[["state", "mean", "difference", "verdict", "tokens"]]


_DTYPES = {"text": "str", "integer": "Int64", "number": "Float64", "yes/no": "boolean"}
"""Kind of a column of `tables.TABLES` → its type in pandas."""

_AGAINST = (
    "difference", "difference_low", "difference_high", "p_adjusted", "significant", "verdict", "won", "tied", "lost",
)  # fmt: skip


def _against(delta: comparing.Delta | None) -> tuple[Any, ...]:
    if delta is None:
        return (None,) * len(_AGAINST)
    d = delta.difference
    return d.mean, d.low, d.high, delta.p_adjusted, delta.significant, delta.verdict, d.wins, d.ties, d.losses


def _numbers(estimate: Estimate) -> tuple[float | None, float | None, float | None, int]:
    return estimate.mean, estimate.low, estimate.high, estimate.n


def _counted(counts: Mapping[Any, int]) -> str:
    """Counts by status in words, those of 0 left out."""
    return ", ".join(f"{count} {status}" for status, count in counts.items() if count)
