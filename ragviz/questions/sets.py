"""Question sets: created, split into validation and test, exported in our own formats; imported banks."""

from __future__ import annotations

from collections.abc import Sequence

from ragviz.core.configuration import Run
from ragviz.core.document import Corpus
from ragviz.core.errors import UsageError
from ragviz.core.question import SIDES, Split
from ragviz.core.question_set import QuestionSet
from ragviz.judging import banks
from ragviz.questions import splits
from ragviz.workspace import Workspace


def import_banks(workspace: Workspace, question_set: QuestionSet, data: bytes) -> banks.ImportedBanks:
    """Import RAGQuestEval banks for the questions of a set: a judge uses them instead of making its own.

    Items that cannot be read, and banks whose id is no question's, are reported as problems.

    Raises:
        InputError: the whole data cannot be read.

    """
    imported = banks.read_banks(data)
    questions = {question.id: question for question in workspace.store.questions.all(question_set.id)}
    matching = {question_id: bank for question_id, bank in imported.banks.items() if question_id in questions}
    items = {banks.imported_bank_key(questions[i]): banks.bank_bytes(bank) for i, bank in matching.items()}
    workspace.store.cache("bank").put_many(items)
    workspace.store.touch(question_set.id)  # a run of these questions would make other calls now
    strangers = tuple(
        f"No question of '{question_set.name}' has the id '{i}'." for i in imported.banks if i not in matching
    )
    return banks.ImportedBanks(matching, imported.problems + strangers)


def split(
    workspace: Workspace, target: QuestionSet, kind: str, share: float = 0.5, seed: int = 0, *, remake: bool = False
) -> QuestionSet:
    """Divide the questions of a set into validation and test, and store that with the set.

    Raises:
        UsageError: runs used the split that this would replace, and `remake` is not set; or as `splits.sides_of`.

    """
    used = runs_of_split(workspace, target)
    if used and not remake:
        raise UsageError(
            f"{used_words(used)} the present split of '{target.name}': their questions would be on other sides in the "
            "set. Give --remake to make it again all the same."
        )
    sides = splits.sides_of(workspace.store.questions.all(target.id), kind, share, seed)
    workspace.store.sets.put_split(target.id, Split(kind, share, seed), sides)  # type: ignore[arg-type]  # checked above
    return workspace.store.sets.get(target.id)


def runs_of_split(workspace: Workspace, target: QuestionSet) -> list[Run]:
    """Return the runs that asked one side of a question set, those of experiments too, the newest first."""
    runs = workspace.store.runs.all(target.corpus_id)
    return [run for run in runs if run.config.questions == target.id and run.config.split in SIDES]


def used_words(runs: Sequence[Run], most: int = 5) -> str:
    """Return the beginning of a sentence on runs that used a split: "2 runs ('a', 'b') used"."""
    names = ", ".join(f"'{run.name}'" for run in runs[:most]) + (" …" if len(runs) > most else "")
    return f"{len(runs):,} run{'' if len(runs) == 1 else 's'} ({names}) used"


def question_set(workspace: Workspace, corpus: Corpus, name: str) -> QuestionSet:
    """Return the set `name` of a corpus, created when there is none."""
    questions = workspace.store.sets.find(name)
    if questions is not None and questions.corpus_id != corpus.id:
        raise UsageError(f"Question set '{questions.name}' belongs to another corpus: choose another name.")
    try:
        return questions or workspace.store.sets.add(corpus.id, name)
    except UsageError:  # another process has created it meanwhile
        if (questions := workspace.store.sets.find(name)) is None or questions.corpus_id != corpus.id:
            raise
        return questions
