"""`ragviz index`: indexes, built and searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ragviz.cli import console, options
from ragviz.cli.options import Json, LeaveRemote, Yes
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import Corpus, DocumentInfo
from ragviz.core.errors import SearchError, UsageError
from ragviz.index import damage, indexing, preview
from ragviz.models import tokenizer
from ragviz.retrieval import retrievers, search
from ragviz.runs import choices as run_choices
from ragviz.service import index_verbs
from ragviz.text import counts

index_app = console.group("Indexes: build, preview, search.")


@index_app.command("build", cls=options.DeclaredCommand)
@options.declared(IndexConfig)
def index_build(
    corpus: Annotated[str, typer.Argument()],
    index_name: Annotated[str, typer.Option("--name")],
    choices: Mapping[str, Any],
    fresh: Annotated[bool, typer.Option("--fresh", help="Rebuild, even when nothing changed.")] = False,
    as_json: Json = False,
) -> None:
    """Build an index of CORPUS, or bring it up to date; of one that exists, what is not given stays as it was built."""
    workspace = console.open_workspace()
    target, existing = workspace.store.corpora.get(corpus), workspace.store.indexes.find(index_name)
    job = index_verbs.build(workspace, target, index_name, choices, fresh=fresh)
    config = index_verbs.configured(workspace, index_name, choices)
    if existing:
        before, after = asdict(existing.config), asdict(config)
        changed = [name.replace("_", " ") for name in after if before[name] != after[name]]
        anew = f"anew, with another {', '.join(changed)}" if changed else "as it was"
        console.warn(f"Index '{index_name}' is built {anew}.")
    console.warn(retrievers.language_warning(config.embedder, workspace.store.documents.all(target.id)))
    built = console.perform(workspace, job).result
    line = f"{counts.counted(built['chunks'], 'chunk')}: {built['added']:,} new, {built['removed']:,} removed, "
    line += f"{counts.counted(built['embedded'], 'text')} embedded"
    if paid := indexing.cost_words(built["calls"], built["dollars"]):
        line += f"; {paid}"
    console.show(built, as_json, lambda: console.say(f"Index '{index_name}': {line}"))
    if built["longer_than_read"]:
        longer = counts.counted(built["longer_than_read"], "chunk", "is")
        console.warn(f"{longer} longer than {config.embedder} reads; the rest is not embedded.")


@index_app.command("preview", cls=options.DeclaredCommand)
@options.declared(IndexConfig, only=("chunker", "chunk_size", "overlap", "embedder"))
def index_preview(
    corpus: Annotated[str, typer.Argument()],
    choices: Mapping[str, Any],
    document: Annotated[str, typer.Option(help="Whose chunks are shown; default: the first of the corpus.")] = "",
    as_json: Json = False,
) -> None:
    """Show how a document of CORPUS would be chunked, and the size of an index; builds nothing."""
    workspace = console.open_workspace()
    target = workspace.store.corpora.get(corpus)
    config = index_verbs.configured(workspace, "", choices)
    documents = [d for d in workspace.store.documents.all(target.id) if d.status == "ok" and d.characters]
    displayed = next((d for d in documents if document in ("", d.name)), None)
    if displayed is None:
        missing = f"readable document '{document}'" if document else "text to cut"
        raise UsageError(f"Corpus '{target.name}' has no {missing}: `ragviz corpus show` lists its documents.")
    console.warn(retrievers.language_warning(config.embedder, documents))
    body = _preview_body(workspace, target, documents, displayed, config)

    def draw() -> None:
        rows = [(c["start"], c["end"], c["tokens"], console.line(c["text"])[:160]) for c in body["cuts"]]
        console.table(("start", "end", "tokens", "text"), rows, console.printable(displayed.name))
        extent: preview.Extent = body["extent"]
        known = (
            "time to embed not known yet" if extent.seconds is None else f"{extent.seconds / 60:.1f} minutes to embed"
        )
        lasts = known if config.embedder else "nothing to embed"
        of = f"{counts.counted(extent.chunks, 'chunk')}, {counts.counted(extent.tokens, 'token')}"
        console.say(f"{'' if extent.exact else 'about '}{of}, {lasts}, {extent.size / 1e6:.1f} MB")
        if longer := body["longer_than_read"]:
            reads = f"longer than the {body['reads']} tokens that the embedder reads: choose a smaller --chunk-size"
            console.say(f"{counts.counted(longer, 'previewed chunk', 'is')} {reads}.")

    console.show(body, as_json, draw)


def _preview_body(
    workspace: console.Workspace,
    corpus: Corpus,
    documents: Sequence[DocumentInfo],
    displayed: DocumentInfo,
    config: IndexConfig,
) -> dict[str, Any]:
    """Return the extent of an index of `documents`, from a sample of them, and the chunks of the `displayed` one."""
    sample = preview.sampled(documents)
    most, ids = preview.share_of(sample), list({d.id: None for d in (*sample, displayed)})
    cuts = preview.cuts(workspace, corpus.id, ids, most, config)
    lengths = [chunk.tokens for d in sample for chunk in cuts[d.id]]
    reads = tokenizer.text_tokens_of(config.embedder)
    return {
        "corpus": corpus.name,
        "extent": preview.extent(
            documents,
            sample,
            [cuts[d.id] for d in sample],
            embeds=bool(config.embedder),
            speed=preview.speed_of(workspace, config.embedder),
        ),
        "previewed": {"documents": len(sample), "chunks": len(lengths), "tokens_of_chunks": sorted(lengths)},
        "reads": reads,
        "longer_than_read": 0 if reads is None else sum(length > reads for length in lengths),
        "document": displayed.name,
        "characters_cut": min(most, displayed.characters),
        "cuts": [
            {"start": c.start, "end": c.end, "tokens": c.tokens, "page": c.page, "text": c.text}
            for c in cuts[displayed.id]
        ],
    }


@index_app.command("list")
def index_list(as_json: Json = False) -> None:
    """List the indexes."""
    workspace = console.open_workspace()
    corpus_names = {c.id: c.name for c in workspace.store.corpora.all()}
    records: list[dict[str, Any]] = []
    for info in workspace.store.indexes.all():
        try:
            damaged = damage.damage(workspace, info)
        except (SearchError, UsageError) as error:
            damaged = f"not known: {error}"
        paid = workspace.store.payments.of(info.id)
        records.append(
            {"index": info.name, "corpus": corpus_names[info.corpus_id], "status": info.status}
            | {"chunks": info.chunks, "config": asdict(info.config)}
            | {"behind": indexing.behind_words(workspace, info), "damage": damaged}
            | {"paid_calls": paid.calls, "paid_dollars": paid.dollars}
        )
    names = ("index", "corpus", "status", "chunks", "backend", "behind", "damage")
    columns: console.Columns = dict(zip(names, names, strict=True)) | {"backend": lambda r: r["config"]["backend"]}
    console.show_records(records, as_json, columns)


@index_app.command("search", cls=options.DeclaredCommand)
@options.declared(RunConfig, only=("retriever", "reranker", "rerank_depth"))
def index_search(
    index_name: Annotated[str, typer.Argument(metavar="NAME")],
    query: Annotated[str, typer.Argument()],
    choices: Mapping[str, Any],
    k: Annotated[int, typer.Option("-k", min=1, max=1000)] = 5,
    as_json: Json = False,
) -> None:
    """Rank the chunks of an index for a query."""
    workspace = console.open_workspace()
    info = workspace.store.indexes.get(index_name)
    run = run_choices.run_config(info.config, choices)
    retrievers.check_offered(info.config, run.retriever)
    hits = search.search(workspace, info, query, run.retriever, k, run.reranker, run.rerank_depth)
    records = [
        {"rank": f.hit.rank, "score": f.hit.score, "chunk_id": f.hit.chunk_id, "document": f.document_name}
        | ({"start": f.chunk.start, "end": f.chunk.end, "page": f.chunk.page, "text": f.chunk.text} if f.chunk else {})
        for f in hits
    ]
    columns: console.Columns = {
        "rank": "rank",
        "score": lambda record: f"{record['score']:.4f}",
        "document": "document",
        "text": lambda record: console.line(record.get("text", ""))[:160],
    }
    console.show_records(records, as_json, columns)


@index_app.command("delete")
def index_delete(index_name: str, yes: Yes = False, leave_remote: LeaveRemote = False) -> None:
    """Delete an index; runs on it stay readable."""
    workspace = console.open_workspace()
    info = workspace.store.indexes.get(index_name)
    console.confirm(f"Delete index '{info.name}' with {counts.counted(info.chunks, 'chunk')}?", yes)
    left = index_verbs.delete(workspace, info, leave_remote=leave_remote)
    console.report_left([left] if left else [])
