"""What can be done to question sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragviz.core.configuration import IndexInfo
from ragviz.core.document import Corpus
from ragviz.core.job import NewJob
from ragviz.core.question import Question
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.health import demand
from ragviz.health import quarantine as quarantined
from ragviz.questions import authoring, exchange, occurrences, sets, versions
from ragviz.questions.occurrences import Place
from ragviz.runs import imports
from ragviz.service.access import verb
from ragviz.workspace import Workspace


@verb("editor", "generate questions")
def generate(workspace: Workspace, chosen: Mapping[str, Any], budget: float | None = None) -> NewJob:
    """Generate questions about the documents of an index, as `generation.pipeline.generate_questions` takes them."""
    index = workspace.store.indexes.get(chosen["index"])
    arguments = {**chosen, "index": index.name, "budget": budget}
    return NewJob("questions", f"Generate {chosen['name']}", index.corpus_id, arguments)


@verb("editor", "verify questions")
def verify(workspace: Workspace, chosen: Mapping[str, Any], budget: float | None = None) -> NewJob:
    """Verify the questions of a set, as `generation.verifying.verify_questions` takes them."""
    corpus_id = workspace.store.indexes.get(chosen["index"]).corpus_id
    return NewJob("verify", f"Verify {chosen['questions']}", corpus_id, {**chosen, "budget": budget})


@verb("editor", "change a question")
def accept_evidence(
    workspace: Workspace, question_set: QuestionSet, chosen: Sequence[tuple[Question, Sequence[Place]]]
) -> int:
    """Save places as the evidence of questions, and measure again what other systems said of the set.

    Returns how many were changed by somebody else meanwhile, and are not saved.
    """
    refused = occurrences.accept(workspace, question_set, chosen)
    for run in workspace.store.runs.all(question_set.corpus_id):
        if run.config.questions == question_set.id and run.knows.opaque and run.status == "done":
            imports.measure_again(workspace, run)
    return refused


@verb("editor", "import questions")
def import_files(
    workspace: Workspace,
    corpus: Corpus,
    name: str,
    files: Sequence[tuple[str, str]],
    chosen: Mapping[str, Any],
    folder: str = "",
    upload: str = "",
) -> NewJob:
    """Import questions from files, by their names and paths; `chosen` has `format` and `split`.

    Uploaded files are copies in `folder`, which is deleted at the end; `upload` names what was pressed.
    """
    arguments: dict[str, Any] = {"files": files, "name": name, **chosen, "corpus": corpus.id}
    arguments |= {"folder": folder, "upload": upload} if folder else {}
    return NewJob("import", f"Import {name}", corpus.id, arguments)


@verb("editor", "read a log")
def read_log(
    workspace: Workspace,
    question_set: QuestionSet,
    file: tuple[str, str],
    *,
    index: str = "",
    folder: str = "",
    upload: str = "",
) -> NewJob:
    """Read a log of what people asked, by its name and path, and set it against a question set."""
    arguments: dict[str, Any] = {"questions": question_set.id, "index": index, "files": [file]}
    arguments |= {"folder": folder, "upload": upload} if folder else {}
    return NewJob("asked", f"Read {file[0]}", question_set.corpus_id, arguments)


@verb("editor", "drill a question set")
def drill(workspace: Workspace, question_set: QuestionSet, index: IndexInfo, chosen: Mapping[str, Any]) -> NewJob:
    """Plant known faults into a copy of an index, and count what the set notices; `chosen` as `health.drill.drill`."""
    arguments = {"questions": question_set.name, "index": index.name, **chosen}
    return NewJob("drill", f"Drill {question_set.name}", question_set.corpus_id, arguments)


@verb("editor", "check a question set")
def examine(workspace: Workspace, question_set: QuestionSet, index: IndexInfo | None) -> NewJob:
    """Check what a question set is worth."""
    arguments = {"questions": question_set.id, "index": index.id if index else None}
    return NewJob("health", f"Check {question_set.name}", question_set.corpus_id, arguments)


# One question, and versions of a set

open_set = verb("editor", "create a question set")(sets.question_set)
add = verb("editor", "add a question")(authoring.add)


@verb("editor", "change a question")
def save(
    workspace: Workspace, question_set: QuestionSet, question: Question, version: str, action: str, key: str = ""
) -> None:
    """Replace a question that still is the `version` that was shown; edits with one `key` are one version of the set.

    `action` says what was done ("edited a question"). Raises as `authoring.save`.
    """
    authoring.save(workspace.store, question_set, question, version, Edit(workspace.person.name, action, key))


@verb("editor", "delete a question set")
def delete(workspace: Workspace, question_set: QuestionSet) -> None:
    """Delete a question set; its runs stay readable."""
    workspace.store.sets.delete(question_set.id)


split = verb("editor", "split a question set")(sets.split)
undo = verb("editor", "change a question set")(versions.undo)
quarantine = verb("editor", "change a question set")(quarantined.quarantine)
release = verb("editor", "change a question set")(quarantined.release)
add_asked = verb("editor", "add questions")(demand.add)
import_banks = verb("editor", "import banks")(sets.import_banks)
import_now = verb("editor", "import questions")(exchange.import_files)
corpus_for = verb("editor", "import questions")(exchange.corpus_for)
