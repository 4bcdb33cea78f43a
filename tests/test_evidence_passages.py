"""What a question rests on when it is verified: its evidence and what that is about, not the rest of its chunk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Document, Span
from ragviz.core.question import Question
from ragviz.documents import corpora
from ragviz.generation import verification, verifying
from ragviz.generation.verification import Context
from ragviz.index import indexing
from ragviz.workspace import Workspace
from tests.model_server import ModelServer
from tests.test_verification import (
    knows,  # noqa: F401 - a fixture
    question,
    sent,
    workspace,  # noqa: F401 - a fixture
)

PUMPS = "# Pumps\n\nThe Heron pump runs at a maximum pressure of 9 bar. The Kestrel pump was designed by Orla Brandt."
ASKED, SAYS = "What maximum pressure does the Heron pump have?", "The Heron pump runs at a maximum pressure of 9 bar."
WRONG = "The Kestrel pump was designed by Orla Brandt."


def indexed(opened: Workspace, texts: Mapping[str, str], size: int = 200) -> dict[str, Document]:
    """Index documents by name as corpus and index "town", so that each of these short ones is one chunk."""
    corpus = opened.store.corpora.add("town")
    for name, text in texts.items():
        corpora.add_file(opened, corpus, name, text.encode())
    indexing.build_index(opened, corpus, "town", IndexConfig(chunk_size=size, embedder=""))
    ids = [info.id for info in opened.store.documents.all(corpus.id)]
    return {document.name: document for document in opened.store.documents.texts(corpus.id, ids)}


def quoting(document: Document, *quotes: str, text: str = ASKED, answer: str = "9 bar", **more: object) -> Question:
    starts = [document.text.index(quote) for quote in quotes]
    spans = [Span(document.id, at, at + len(quote), quote) for at, quote in zip(starts, quotes, strict=True)]
    return replace(question(text, answer), evidence=tuple((span,) for span in spans), **more)  # type: ignore[arg-type]


def context_of(opened: Workspace, *asked: Question) -> Context:
    return verifying.contexts_of(opened, opened.store.indexes.get("town"))(asked)[asked[0].id]


def checked(opened: Workspace, *asked: Question) -> list[Question]:
    contexts = verifying.contexts_of(opened, opened.store.indexes.get("town"))
    return list(verification.verify(asked, contexts, opened.model))


def sent_texts(server: ModelServer) -> list[dict]:
    """The texts that the model got, call by call; the index was embedded before."""
    server.bodies[:] = [body for body in server.bodies if "messages" in body]
    return sent(server)


# The evidence, not its chunk


def test_the_wrong_sentence_of_the_right_chunk_is_no_evidence(workspace, server, knows):  # noqa: F811
    document = indexed(workspace, {"pumps.md": PUMPS})["pumps.md"]
    knows(ASKED, ["9 bar"], "9 bar")
    right, wrong = quoting(document, "9 bar", id="right"), quoting(document, WRONG, id="wrong")
    assert context_of(workspace, right).passages == (f"Pumps\n\n{SAYS}",), "a word or two are read in their sentence"
    told, rejected = checked(workspace, right, wrong)
    assert (told.verified_by, rejected.status) == ("loopback", "rejected")
    assert rejected.reason.startswith("not answerable from its evidence")
    assert {"1": f"Pumps\n\n{WRONG}"} in [texts.get("passages") for texts in sent_texts(server)]


def test_what_a_sentence_refers_to_is_read_unless_it_is_other_evidence(workspace):  # noqa: F811
    text = "The guild has a hall. It burned down in 1666."
    document = indexed(workspace, {"hall.txt": text})["hall.txt"]
    assert context_of(workspace, quoting(document, "1666")).passages == (f"hall\n\n{text}",)
    both = context_of(workspace, quoting(document, "a hall", "1666")).passages
    assert both == ("hall\n\nThe guild has a hall.", "hall\n\nIt burned down in 1666.")


def test_whole_documents_are_evidence_too_as_far_as_a_call_reads_them(workspace):  # noqa: F811
    long = " ".join(f"Pump {n} was replaced in the north." for n in range(1, 900))
    short, whole, huge = long[:9000], long[:30000], f"{long} {long}"
    documents = indexed(workspace, {"short.txt": short, "whole.txt": whole, "huge.txt": huge})
    for name in ("short.txt", "whole.txt"):
        passages = context_of(workspace, quoting(documents[name], documents[name].text)).passages
        assert passages == (f"{name[:-4]}\n\n{documents[name].text}",)
    lacking = context_of(workspace, quoting(documents["huge.txt"], documents["huge.txt"].text)).lacking
    assert lacking.startswith(f"its evidence of {len(documents['huge.txt'].text):,} characters is too long for a call")
