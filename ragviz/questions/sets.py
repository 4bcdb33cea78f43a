"""Question sets: created, imported from files, exported to files."""

from __future__ import annotations

from ragviz.errors import UsageError
from ragviz.judging import banks
from ragviz.questions import interchange
from ragviz.records import Corpus, QuestionSet
from ragviz.workspace import Workspace


def import_questions(
    workspace: Workspace, corpus: Corpus, data: bytes, file_name: str, name: str
) -> interchange.Imported:
    """Import questions from CSV or JSONL into the set `name`; rows that cannot be read are reported.

    Raises:
        InputError: the whole file cannot be read; no set is created then, nor when no row can be read.

    """
    infos = [d for d in workspace.store.documents(corpus.id) if d.status == "ok"]
    texts = workspace.store.document_texts(corpus.id, [d.id for d in infos])
    imported = interchange.read_questions(data, file_name, {d.name: d for d in texts})
    if imported.questions:
        workspace.store.put_questions(question_set(workspace, corpus, name).id, imported.questions)
        workspace.store.settle_all()  # a document may have been replaced since it was read
    return imported


def import_banks(workspace: Workspace, question_set: QuestionSet, data: bytes) -> banks.ImportedBanks:
    """Import RAGQuestEval banks for the questions of a set: a judge uses them instead of making its own.

    Items that cannot be read, and banks whose id is no question's, are reported as problems.

    Raises:
        InputError: the whole data cannot be read.

    """
    imported = banks.read_banks(data)
    questions = {question.id: question for question in workspace.store.questions(question_set.id)}
    matching = {question_id: bank for question_id, bank in imported.banks.items() if question_id in questions}
    items = {banks.imported_bank_key(questions[i]): banks.bank_bytes(bank) for i, bank in matching.items()}
    workspace.store.cache("bank").put_many(items)
    workspace.store.touch(question_set.id)  # a run of these questions would make other calls now
    strangers = tuple(
        f"No question of '{question_set.name}' has the id '{i}'." for i in imported.banks if i not in matching
    )
    return banks.ImportedBanks(matching, imported.problems + strangers)


def export_questions(workspace: Workspace, question_set: QuestionSet, file_format: str) -> bytes:
    """Return a question set as "csv" or "jsonl", from which an import makes the same questions."""
    names = {d.id: d.name for d in workspace.store.documents(question_set.corpus_id, replaced=True)}
    return interchange.write_questions(workspace.store.questions(question_set.id), names, file_format)


def question_set(workspace: Workspace, corpus: Corpus, name: str) -> QuestionSet:
    """Return the set `name` of a corpus, created when there is none."""
    questions = workspace.store.question_set_named(name)
    if questions is not None and questions.corpus_id != corpus.id:
        raise UsageError(f"Question set '{questions.name}' belongs to another corpus: choose another name.")
    try:
        return questions or workspace.store.create_question_set(corpus.id, name)
    except UsageError:  # another process has created it meanwhile
        if (questions := workspace.store.question_set_named(name)) is None or questions.corpus_id != corpus.id:
            raise
        return questions
