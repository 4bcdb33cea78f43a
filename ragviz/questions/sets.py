"""Question sets: made, read from files, written to them."""

from __future__ import annotations

from ragviz.errors import UsageError
from ragviz.judging import banks
from ragviz.questions import interchange
from ragviz.records import Corpus, QuestionSet
from ragviz.workspace import Workspace


def import_questions(
    workspace: Workspace, corpus: Corpus, data: bytes, file_name: str, name: str
) -> interchange.Imported:
    """Read questions from CSV or JSONL into the set `name`; rows that cannot be read are told, the others are kept.

    Raises:
        InputError: the file as a whole cannot be read; no set is made then, nor when no row can be read.

    """
    infos = [d for d in workspace.store.documents(corpus.id) if d.status == "ok"]
    texts = workspace.store.document_texts(corpus.id, [d.id for d in infos])
    imported = interchange.read_questions(data, file_name, {d.name: d for d in texts})
    if imported.questions:
        asked = question_set(workspace, corpus, name)
        workspace.store.put_questions(asked.id, imported.questions)
        workspace.store.settle_all()  # a document may have been replaced since it was read
    return imported


def import_banks(workspace: Workspace, asked: QuestionSet, data: bytes) -> banks.ImportedBanks:
    """Keep RAGQuestEval banks for the questions of a set: a judge asks those instead of making its own.

    What cannot be read, and banks whose id is no question's, are told as problems.

    Raises:
        InputError: the data as a whole cannot be read.

    """
    found = banks.read_banks(data)
    there = {question.id: question for question in workspace.store.questions(asked.id)}
    kept = {question_id: bank for question_id, bank in found.banks.items() if question_id in there}
    items = {banks.imported_bank_key(there[i]): banks.bank_bytes(bank) for i, bank in kept.items()}
    workspace.store.cache("bank").put_many(items)
    workspace.store.touch(asked.id)  # what a run of these questions would ask is another now
    strangers = tuple(f"No question of '{asked.name}' has the id '{i}'." for i in found.banks if i not in kept)
    return banks.ImportedBanks(kept, found.problems + strangers)


def export_questions(workspace: Workspace, asked: QuestionSet, file_format: str) -> bytes:
    """Write a question set as "csv" or "jsonl", so that importing it gives the same questions."""
    names = {d.id: d.name for d in workspace.store.documents(asked.corpus_id, replaced=True)}
    return interchange.write_questions(workspace.store.questions(asked.id), names, file_format)


def question_set(workspace: Workspace, corpus: Corpus, name: str) -> QuestionSet:
    """Return the set called `name` of a corpus, made when there is none."""
    questions = workspace.store.question_set_named(name)
    if questions is not None and questions.corpus_id != corpus.id:
        raise UsageError(f"Question set '{questions.name}' belongs to another corpus: choose another name.")
    try:
        return questions or workspace.store.create_question_set(corpus.id, name)
    except UsageError:  # another process has made it meanwhile
        if (questions := workspace.store.question_set_named(name)) is None or questions.corpus_id != corpus.id:
            raise
        return questions
