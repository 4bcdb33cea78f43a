"""A project: documents added, indexes built, questions made, run and compared, each by one method.

    project = ragviz.open()
    project.add_documents("handbook", "handbook/")
    project.build_index("handbook", "fixed", chunk_size=200)
    project.generate_questions("fixed", "questions")
    project.run("fixed", "questions", "first", retriever="hybrid", k=3).metrics()

A method does what the command of the same name does: the command line and the dashboard see its job, its progress and
its results, and can stop it. Errors are `RagvizError`s: a sentence with the values and the next step.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

from ragviz.core import lazy
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.endpoint_choices import Endpoint
from ragviz.core.errors import InputError, UsageError
from ragviz.core.fields import fields_of
from ragviz.core.job import NewJob
from ragviz.core.question import GeneratorName, QuestionStyle, QuestionType
from ragviz.core.stopping import Progress, silent
from ragviz.library.display import Shown, watched
from ragviz.library.project_results import Comparison, Documents, Experiment, Index, QuestionSet, Run

with lazy.loading_when_used():
    from ragviz.experiments import grid
    from ragviz.questions import exchange
    from ragviz.questions.formats import input_file as input_files
    from ragviz.questions.formats import set_formats
    from ragviz.runs import comparisons
    from ragviz.service import (
        corpus_verbs,
        experiment_verbs,
        index_verbs,
        job_verbs,
        question_verbs,
        run_verbs,
        target_verbs,
    )
    from ragviz.store import database
    from ragviz.targets import callables, logged_file

if TYPE_CHECKING:
    import pandas as pd

    from ragviz.workspace import Workspace

Made = TypeVar("Made")


def with_choices_of(record: type) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """Give a method an argument for each choice of a configuration, with its explanation; None is as if not given."""
    fields = {name: field for name, field in fields_of(record).items() if field.group}

    def declare(method: Callable[..., Made]) -> Callable[..., Made]:
        @wraps(method)
        def called(*given: Any, **named: Any) -> Made:
            return method(*given, **{name: value for name, value in named.items() if value is not None})

        signature = inspect.signature(method)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        chosen = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=field.type)
            for name, field in fields.items()
        ]
        called.__dict__["__signature__"] = signature.replace(parameters=[*own, *chosen])
        lines = [inspect.cleandoc(method.__doc__ or ""), "", "Choices:"]
        for name, field in fields.items():
            known = f" One of {', '.join(map(repr, field.known()))}." if field.known() else ""
            default = field.unset or repr(field.default)
            lines.append(f"    {name}: {field.help or field.label + '.'}{known} Default: {default}.")
        called.__doc__ = "\n".join([*lines, ""])
        return called

    return declare


PathLike = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, repr=False)
class Project(Shown):
    """Everything under one RAGVIZ_HOME: corpora, indexes, question sets and runs, created and opened by name.

    `workspace` is what the rest of ragviz takes (`ragviz.runs`, `ragviz.analysis` …); `progress` is called
    with the state of a long task.
    """

    workspace: Workspace
    progress: Progress = silent

    def add_documents(
        self, corpus: str, *paths: PathLike, replace: bool = False, password: str | None = None
    ) -> Documents:
        """Add files and folders to a corpus, which is created if it does not exist.

        A file that cannot be read is reported, and the others are added. The same file again changes nothing; another
        one of the same name replaces it only with `replace`, and evidence in it moves with its words. `password` opens
        encrypted files.

        Raises:
            InputError: a path does not exist, or cannot be opened.

        """
        given = (Path(path).expanduser() for path in paths)
        with _disk_errors_explained():
            into, outcomes, _ = corpus_verbs.add_documents(
                self.workspace, corpus, given, replace=replace, password=password, progress=self.progress
            )
        return Documents(into.name, tuple(outcomes))

    @with_choices_of(IndexConfig)
    def build_index(self, corpus: str, name: str, **choices: Any) -> Index:
        """Build an index of a corpus, or bring the one of this name up to date.

        What is not given stays as an existing index was built. Only what changed since the last build is cut and
        embedded; other choices build it anew.

        Raises:
            UsageError: no such corpus, no text in it, a choice that cannot be used, a name that another corpus has.
            SearchError, ModelError: the index's or the embedder's server fails.

        """
        target = self.workspace.store.corpora.get(corpus)
        return Index(self.workspace, self._do(index_verbs.build(self.workspace, target, name, choices))["index"])

    def import_questions(
        self, corpus: str, name: str, *files: PathLike, file_format: str = set_formats.AUTO, split: str = ""
    ) -> QuestionSet:
        """Read questions with answers and evidence into a set, created if it does not exist, from files of any format.

        Those are CSV and JSONL, a folder, .zip or the files of BEIR, Ragas columns, SQuAD JSON, TREC topics with qrels;
        the format is recognised unless `file_format` names it. BEIR and SQuAD bring their documents, and create a
        corpus that does not exist. `split` are the judgements of BEIR to be read ("test", "dev", "train", "all"; by
        default test and dev). Rows that cannot be read are left out, with the reasons in the set's `problems`; its
        `notes` are what else is to be told.

        Raises:
            InputError: a file cannot be opened, or no row of it read.
            NotFoundError: there is no such corpus, and the files bring no documents.
            UsageError: there is no such format; the set belongs to another corpus.

        """
        paths = [Path(file).expanduser() for file in files]
        if file_format != set_formats.AUTO:
            set_formats.reader(file_format)
        with _disk_errors_explained():
            read = input_files.from_paths([(path.name, path) for path in paths])
            with question_verbs.corpus_for(self.workspace, corpus, read, file_format) as about:
                done = question_verbs.import_now(self.workspace, about, read, name, file_format, split, self.progress)
            told = exchange.problems_of(self.workspace, done.key)
        refused = [problem.words for problem in told if not problem.kept]
        if not done.imported:
            raise InputError(f"No row was imported. {'; '.join(refused[:5])}")
        repaired = (problem.words for problem in told if problem.kept)
        return QuestionSet(self.workspace, done.questions, tuple(refused), (*done.notes, *repaired))

    def generate_questions(
        self,
        index: str,
        name: str,
        *,
        limit: int | None = None,
        kinds: Mapping[QuestionType, int | None] | None = None,
        styles: Mapping[QuestionStyle, float | None] | None = None,
        generator: GeneratorName = "extractive",
        passages: int = 2,
        seed: int = 0,
        verify: bool = True,
        budget: float | None = None,
    ) -> QuestionSet:
        """Generate questions about the documents of an index into the set `name`, by a plan that is drawn first.

        Documents and their sections get questions by the square root of their length, each document at least one as far
        as `limit` reaches. `kinds` are counts by type of question (without any a mix of what there is), `styles` counts
        or shares; without a `limit` the kinds' counts are summed, or it is 50. A bridge needs so many `passages`. All
        questions are stored in the set, which is returned; rejected ones with the reason. The generator "extractive"
        needs no language model. Questions that the same generator made with the same `seed` count and are not generated
        again, so an interrupted generation resumes, and a larger `limit` adds questions. `budget` limits the
        dollars ever spent on this set.

        Raises:
            UsageError: the index is not built; there is no such generator, type or style, or the generator cannot make
                it; no language model is configured; numbers contradict each other; a budget is given for a model
                without a price.
            BudgetReached: the next call could exceed the budget; a larger budget resumes the generation.
            ModelError: the endpoint is down or refuses the request, or nearly all of the model's questions are
                rejected.

        """
        chosen: dict[str, Any] = {"index": index, "name": name, "limit": limit, "generator": generator}
        chosen |= {"kinds": dict(kinds or {}), "styles": dict(styles or {}), "passages": passages, "seed": seed}
        chosen["verify"] = verify
        result = self._do(question_verbs.generate(self.workspace, chosen, budget))
        return QuestionSet(self.workspace, result["questions"])

    @with_choices_of(Endpoint)
    def endpoint(self, name: str, *, preset: str = "", **choices: Any) -> Endpoint:
        """Store a running system that is asked over HTTP, as `ragviz targets add` does; one that is the same stays.

        `preset` names a known service ("openai", "dify" …). A header's secret is a variable of the environment:
        headers={"Authorization": "Bearer ${TARGET_TOKEN}"}.

        Raises:
            UsageError: it cannot be asked; another one is called so.

        """
        made = target_verbs.described(name, choices, preset)
        is_known = self.workspace.store.targets.find(name) == made
        return made if is_known else target_verbs.add(self.workspace, name, choices, preset)

    def record(
        self,
        target: Any,
        questions: QuestionSet | str,
        name: str,
        *,
        repeats: int = 1,
        concurrency: int = 1,
        budget: float | None = None,
        **choices: Any,
    ) -> Run:
        """Ask a system the questions of a set, and store what it reads and answers as a run.

        `target` is an endpoint or its name; or a function, of the question, to an answer, (answer, contexts) or a dict
        of them, which may be asynchronous; or an object of LangChain, LlamaIndex or Haystack. A function is called in
        `concurrency` threads. `choices` are split, limit and seed of the questions, and the metrics and judge of
        answers. Repeated, it asks what is missing or failed; `repeats` show how far the system disagrees with itself.

        Raises:
            UsageError: the target cannot be asked, the name is taken, there is no question.
            ServiceError: many questions in a row failed: what was answered is kept.

        """
        question_set = self.workspace.store.sets.get(questions if isinstance(questions, str) else questions.name)
        if isinstance(target, (str, Endpoint)):
            called = target if isinstance(target, str) else target.name
            new = target_verbs.record(self.workspace, called, question_set, name, choices, repeats, budget)
            return Run(self.workspace, self._do(new)["run"])
        config = target_verbs.asking(self.workspace, question_set, choices)
        with watched(self.progress) as progress:
            more: dict[str, Any] = {"repeats": repeats, "budget": budget, "progress": progress}
            system = callables.Called(target, concurrency=concurrency)
            made = run_verbs.record(self.workspace, question_set, name, system, config, **more)
            return Run(self.workspace, made.name)

    @with_choices_of(RunConfig)
    def run(self, index: str, questions: str, name: str, *, budget: float | None = None, **choices: Any) -> Run:
        """Retrieve, and if asked for answer and judge, every question of a set that is not rejected, as a run.

        `budget` is the most dollars the run may cost. An interrupted run resumes when it is repeated.

        Raises:
            UsageError: a name is unknown or taken, a choice cannot be used, no model is configured.
            BudgetReached: the next call could cost more.
            ModelError: the endpoint refuses, is down for too long, or gives nothing usable.

        """
        info, question_set = self.workspace.store.indexes.get(index), self.workspace.store.sets.get(questions)
        config = run_verbs.configured(self.workspace, info, question_set, choices)
        return Run(self.workspace, self._do(run_verbs.make(self.workspace, name, config, budget))["run"])

    def import_run(
        self,
        frame_or_path: pd.DataFrame | PathLike,
        name: str,
        *,
        corpus: str = "",
        questions: str = "",
        roles: Mapping[str, str] | None = None,
        system: str = "",
    ) -> Run:
        """Import what another system said, from its log or a table: questions, answers, contexts, references, scores.

        `roles` are columns by what they are ("answer": "response"), where they are not recognised. Without a `corpus`
        it is that of the question set, else one of the run's name, which needs no documents. `questions` is the set
        that the items are of, by id or text. Of a file with several systems `system` chooses one. Rows that cannot be
        read are left out.

        Raises:
            InputError: the file cannot be read, or holds neither answers nor contexts.
            UsageError: the name is taken, or several systems are in the file and none is chosen.

        """
        import pandas as pd

        with TemporaryDirectory() as folder:
            path = Path(folder) / "frame.jsonl"
            if isinstance(frame_or_path, pd.DataFrame):
                path.write_text(frame_or_path.to_json(orient="records", lines=True, force_ascii=False), "utf-8")
            else:
                path = Path(frame_or_path).expanduser()
            try:
                content = path.read_bytes()
            except OSError as error:
                raise InputError(f"The file {path} cannot be opened: {error.strerror}.") from None
            systems = [log.system for log in logged_file.read(content, path.name, roles=roles).logs]
            if len(systems) > 1 and not system:
                raise UsageError(f"The file has several systems: choose one of {', '.join(systems)} by system=….")
            given, about = (path.name, str(path.absolute())), {"corpus": corpus, "questions": questions}
            new = run_verbs.import_run(self.workspace, given, name, roles=roles, system=system, **about)
            return self.open_run(self._do(new)["runs"][0])

    def sweep(
        self,
        questions: str,
        name: str,
        *,
        cells: Sequence[Mapping[str, Any]] = (),
        primary: str = "recall",
        minimum_effect: float | None = None,
        baseline: str = "",
        guardrails: Sequence[str] = (),
        split: str | None = None,
        metrics: Sequence[str] = (),
        judge: str = "",
        seed: int = 0,
        budget: float | None = None,
        **values: Sequence[Any],
    ) -> Experiment:
        """Try configurations on a question set, by a rule that is declared before the first result.

        `values` are lists of values of any choice ("chunk_size", "retriever", "reranker", "k" …), which are combined;
        or `cells` lists the combinations. `primary` decides ("recall@3"; "recall" is of each cell's own k), `baseline`
        names a cell or a run (default: the newest run, else the first cell), `guardrails` are as "tokens=1.5x". `split`
        is the side that is asked, "validation" by default where the set has a split, "" for all questions. Repeated, it
        resumes, and tries failed cells again.

        Raises:
            UsageError: a value does not exist, no combination is possible, or another rule was declared under this name
                and a result was seen.
            BudgetReached: the next model call could cost more.

        """
        question_set = self.workspace.store.sets.get(questions)
        picks = list(cells) or grid.crossed(values)
        planned, rule, side = experiment_verbs.planned(
            self.workspace,
            name,
            question_set,
            picks,
            split=split,
            primary=primary,
            minimum_effect=minimum_effect,
            baseline=baseline,
            guardrails=guardrails,
            metrics=metrics,
            judge=judge,
            seed=seed,
        )
        self._do(experiment_verbs.sweep(self.workspace, name, question_set, planned, rule, side, budget))
        return self.open_experiment(name)

    def confirm(self, experiment: Experiment | str, *, budget: float | None = None) -> Experiment:
        """Run baseline and chosen configuration of an experiment on the test side, once.

        Raises:
            UsageError: it was done already, or the experiment has not chosen another configuration than its baseline.

        """
        opened = self.open_experiment(experiment if isinstance(experiment, str) else experiment.name)
        declared = self.workspace.store.experiments.get(opened.name)
        self._do(experiment_verbs.confirm(self.workspace, declared, budget))
        return opened

    def open_experiment(self, name: str) -> Experiment:
        """Open an existing experiment; NotFoundError names those that exist."""
        return Experiment(self.workspace, self.workspace.store.experiments.get(name).name)

    def compare(
        self, *runs: Run | str, k: int | None = None, primary: str = "", minimum_effect: float | None = None
    ) -> Comparison:
        """Compare runs with the first of them, question by question, at `k` (default: the first run's).

        `primary` is the metric that decides ("recall" is at each run's own k), `minimum_effect` the smallest difference
        that matters, as a share of its range (default: 0.02).

        Raises:
            UsageError: fewer than two runs, one of them twice, none of their questions in common, a `k` past their
                depth, or a `minimum_effect` that is no share.
            NotFoundError: `primary` is not measured in all runs.

        """
        if len(runs) == 1 and isinstance(runs[0], (list, tuple)):
            raise UsageError("Give the runs one by one: compare(first, second).")
        named = [self.workspace.store.runs.get(run if isinstance(run, str) else run.name) for run in runs]
        return Comparison(
            comparisons.compare_runs(self.workspace, named, k, primary=primary, minimum_effect=minimum_effect)
        )

    def open_index(self, name: str) -> Index:
        """Open an existing index; NotFoundError names those that exist."""
        return Index(self.workspace, self.workspace.store.indexes.get(name).name)

    def open_questions(self, name: str) -> QuestionSet:
        """Open an existing question set; NotFoundError names those that exist."""
        return QuestionSet(self.workspace, self.workspace.store.sets.get(name).name)

    def open_run(self, name: str) -> Run:
        """Open an existing run; NotFoundError names those that exist."""
        return Run(self.workspace, self.workspace.store.runs.get(name).name)

    def _do(self, new: NewJob) -> Mapping[str, Any]:
        with _disk_errors_explained(), watched(self.progress) as progress:
            return job_verbs.perform(self.workspace, new, progress).result

    def _title(self) -> str:
        return f"ragviz project in {self.workspace.settings.home}"

    def to_pandas(self) -> pd.DataFrame:
        """A row for each corpus, by name: what it holds, counted."""
        import pandas as pd

        store = self.workspace.store
        rows = [{"corpus": corpus.name, **store.corpora.holdings(corpus.id)} for corpus in store.corpora.all()]
        return pd.DataFrame(rows, columns=None if rows else ["corpus"]).set_index("corpus")


def open(home: PathLike | None = None, *, progress: Progress = silent) -> Project:  # noqa: A001
    """Open the data in the folder `home` (default: RAGVIZ_HOME), which is created if it does not exist.

    All else is configured by the environment, as for the command line. `progress(done, total, unit, message)` is called
    as a long task goes on; raising `Cancelled` in it stops the task, and what it finished is kept.

    Raises:
        UsageError: a variable cannot be used; `home` is not a folder, and cannot be created.

    """
    from ragviz.workspace import open_workspace

    opened = open_workspace(None if home is None else Path(home).expanduser())
    opened.calls_functions = True
    return Project(opened, progress)


@contextmanager
def _disk_errors_explained() -> Iterator[None]:
    """A full or closed disk is a StorageError, here as on the command line and the pages."""
    try:
        yield
    except OSError as error:
        if (refused := database.explained(error)) is None:
            raise
        raise refused from error
