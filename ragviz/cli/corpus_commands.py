"""`ragviz corpus`: corpora and their documents."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ragviz.cli import console
from ragviz.cli.options import Json, LeaveRemote, Yes
from ragviz.core.errors import UsageError
from ragviz.index import deletion
from ragviz.questions import staleness
from ragviz.service import corpus_verbs
from ragviz.text import counts

corpus_app = console.group("Corpora and their documents.")


@corpus_app.command("add")
def corpus_add(
    name: str,
    paths: list[Path],
    replace_same_name: Annotated[bool, typer.Option("--replace", help="Replace files of the same name.")] = False,
    password: Annotated[str | None, typer.Option(help="For encrypted files.", envvar="RAGVIZ_PASSWORD")] = None,
    as_json: Json = False,
) -> None:
    """Add files and folders to the corpus NAME (created when it does not exist)."""
    workspace = console.open_workspace()
    with console.bar() as watch:
        corpus, outcomes, refreshed = corpus_verbs.add_documents(
            workspace, name, paths, replace=replace_same_name, password=password, progress=watch
        )
    taken = "another file of this name is here: give --replace to replace it"
    outcomes = [replace(o, message=taken) if o.status == "exists" else o for o in outcomes]
    columns = ("status", "file", "pages", "characters", "language", "")
    rows = [
        (o.status, o.name, o.pages or "", o.characters, o.language, o.message or "; ".join(o.warnings))
        for o in outcomes
    ]
    body = {"corpus": corpus.name, "files": outcomes, "stale": refreshed}
    console.show(body, as_json, lambda: console.table(columns, rows))
    console.warn(*staleness.set_aside_words(refreshed))
    if any(outcome.status in ("unreadable", "password", "exists") for outcome in outcomes):
        raise typer.Exit(1)


@corpus_app.command("list")
def corpus_list(as_json: Json = False) -> None:
    """List the corpora."""
    store = console.open_workspace().store
    records = [{"corpus": c.name, **store.corpora.holdings(c.id)} for c in store.corpora.all()]
    console.show_records(records, as_json, ("corpus", "documents", "indexes", "question sets", "runs"))


@corpus_app.command("show")
def corpus_show(name: str, as_json: Json = False) -> None:
    """Show the documents of a corpus, unreadable ones too."""
    store = console.open_workspace().store
    corpus = store.corpora.get(name)
    columns = ("name", "pages", "characters", "language", "status", "warnings")
    documents = [
        {name: getattr(d, name) for name in columns} | {"warnings": [*d.warnings, *filter(None, [d.error])]}
        for d in store.documents.all(corpus.id)
    ]
    body = {"corpus": corpus.name, "documents": documents}
    console.show(body, as_json, lambda: console.table(columns, console.cells(documents, columns)))


@corpus_app.command("text")
def corpus_text(name: str, document: str, as_json: Json = False) -> None:
    """Print the parsed text of a document."""
    store = console.open_workspace().store
    corpus = store.corpora.get(name)
    info = store.documents.find(corpus.id, document)
    if info is None:
        raise UsageError(
            f"Corpus '{corpus.name}' has no readable document '{document}': `ragviz corpus show` lists them."
        )
    whole = store.documents.get(corpus.id, info.id)
    console.show(whole, as_json, lambda: sys.stdout.write(whole.text + "\n"))


@corpus_app.command("remove")
def corpus_remove(name: str, documents: list[str], yes: Yes = False) -> None:
    """Delete documents from a corpus."""
    workspace = console.open_workspace()
    corpus = workspace.store.corpora.get(name)
    found = [each.name for each in workspace.store.documents.all(corpus.id) if each.name in documents]
    if len(found) == len(set(documents)):  # else it is refused
        what = f"{counts.counted(len(found), 'document')} from '{corpus.name}'"
        console.confirm(f"Delete {what}? Evidence there becomes stale.", yes)
    console.warn(*staleness.set_aside_words(corpus_verbs.delete_documents(workspace, corpus, documents)))


@corpus_app.command("delete")
def corpus_delete(name: str, yes: Yes = False, leave_remote: LeaveRemote = False) -> None:
    """Delete a corpus with its indexes, question sets and runs."""
    workspace = console.open_workspace()
    corpus = workspace.store.corpora.get(name)
    console.confirm(f"Delete corpus '{corpus.name}' with {deletion.goes_with_corpus(workspace, corpus)}?", yes)
    console.report_left(corpus_verbs.delete(workspace, corpus, leave_remote=leave_remote))
