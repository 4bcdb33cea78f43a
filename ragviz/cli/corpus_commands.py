"""`ragviz corpus`: corpora and their documents."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, cast

import typer

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.core.errors import UsageError
from ragviz.documents import corpora
from ragviz.index import deletion
from ragviz.questions import staleness
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
    files = corpora.files_under(paths)
    corpus = workspace.store.corpora.ensure(name)
    with console.bar() as watch, staleness.refreshing(workspace.store, corpus, workspace.settings.person) as refreshed:
        outcomes = corpora.add_files(
            workspace, corpus, files, replace=replace_same_name, password=password, progress=watch
        )
    taken = "another file of this name is here: give --replace to replace it"
    outcomes = [replace(o, message=taken) if o.status == "exists" else o for o in outcomes]
    rows = [
        (o.status, o.name, o.pages or "", o.characters, o.language, o.message or "; ".join(o.warnings))
        for o in outcomes
    ]
    columns = ("status", "file", "pages", "characters", "language", "")
    body = {"corpus": corpus.name, "files": outcomes, "stale": refreshed}
    console.show(body, as_json, lambda: console.table(columns, rows))
    _report_stale(refreshed)
    if any(outcome.status in ("unreadable", "password", "exists") for outcome in outcomes):
        raise typer.Exit(1)


@corpus_app.command("list")
def corpus_list(as_json: Json = False) -> None:
    """List the corpora."""
    store = console.open_workspace().store
    rows = [{"corpus": c.name, **store.corpora.holdings(c.id)} for c in store.corpora.all()]
    columns = ("corpus", "documents", "indexes", "question sets", "runs")
    console.show(rows, as_json, lambda: console.table(columns, [[*row.values()] for row in rows]))


@corpus_app.command("show")
def corpus_show(name: str, as_json: Json = False) -> None:
    """Show the documents of a corpus, unreadable ones too."""
    store = console.open_workspace().store
    corpus = store.corpora.get(name)
    documents = [
        {
            "name": d.name,
            "pages": d.pages,
            "characters": d.characters,
            "language": d.language,
            "status": d.status,
            "warnings": [*d.warnings, *([d.error] if d.error else [])],
        }
        for d in store.documents.all(corpus.id)
    ]
    columns = ("name", "pages", "characters", "language", "status", "warnings")
    rows = [[*[*d.values()][:-1], "; ".join(cast(list[str], d["warnings"]))] for d in documents]
    console.show({"corpus": corpus.name, "documents": documents}, as_json, lambda: console.table(columns, rows))


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
def corpus_remove(name: str, documents: list[str], yes: Annotated[bool, typer.Option("--yes")] = False) -> None:
    """Delete documents from a corpus."""
    workspace = console.open_workspace()
    corpus = workspace.store.corpora.get(name)
    author = workspace.settings.person
    with staleness.refreshing(workspace.store, corpus, author) as refreshed:  # also what an interrupted command left
        ids = [d.id for d in workspace.store.documents.all(corpus.id) if d.name in documents]
        if len(ids) < len(set(documents)):
            named = counts.counted(len(set(documents)), "document")
            raise UsageError(f"Corpus '{corpus.name}' has only {len(ids)} of these {named}.")
        found = counts.counted(len(ids), "document")
        console.confirm(f"Delete {found} from '{corpus.name}'? Evidence there becomes stale.", yes)
        corpora.delete_documents(workspace, corpus, ids)
    _report_stale(refreshed)


def _report_stale(refreshed: Sequence[staleness.Refreshed]) -> None:
    """Print which question sets lost questions, or have them back."""
    console.warn(*staleness.set_aside_words(refreshed))


@corpus_app.command("delete")
def corpus_delete(
    name: str,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    leave_remote: console.LeaveRemote = False,
) -> None:
    """Delete a corpus with its indexes, question sets and runs."""
    workspace = console.open_workspace()
    corpus = workspace.store.corpora.get(name)
    console.confirm(f"Delete corpus '{corpus.name}' with {deletion.goes_with_corpus(workspace, corpus)}?", yes)
    console.report_left(deletion.delete_corpus(workspace, corpus, leave_remote=leave_remote))
