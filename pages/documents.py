import shlex
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from ragviz.core.configuration import IndexInfo
from ragviz.core.document import Corpus, Document, DocumentInfo
from ragviz.core.errors import UsageError
from ragviz.core.job import Job
from ragviz.documents import parsing
from ragviz.documents.kinds import KINDS
from ragviz.index import deletion
from ragviz.jobs import tasks
from ragviz.questions import authoring
from ragviz.service import corpus_verbs
from ragviz.text import language, markup
from ragviz.text.markup import plain
from ragviz.ui import address, cache, frame, job_panel, presses, wording
from ragviz.ui.kit import acting, heading, notices, table

COUNT = table.number(written="localized")
PART = 20_000  # characters of a document that are drawn at once
MARKS = {"added": "✓", "replaced": "✓", "same": "=", "exists": "?", "password": "✗", "unreadable": "✗"}

workspace = frame.begin()
store = workspace.store


def create_corpus() -> None:
    with st.form("new-corpus", border=False):
        name = st.text_input("Name of the new corpus", placeholder="handbook", max_chars=200)
        if st.form_submit_button("Create corpus", type="primary", disabled=acting.off()):
            with notices.errors_shown():
                if not name.strip():
                    raise UsageError("Give the corpus a name first.")
                created = corpus_verbs.create(workspace, name)
                address.put(corpus=created.name, document=None, new=None)
                st.rerun()


def upload(corpus: Corpus) -> None:
    limit = workspace.settings.max_file_mb
    uploaded = st.session_state.get("uploads", {}).get("add-files", 0)
    files = st.file_uploader(
        f"Add files of up to {limit} MB each",
        accept_multiple_files=True,
        key=f"files-{uploaded}",
        max_upload_size=limit,
        disabled=acting.off(),
    )
    st.caption(f"{parsing.FORMATS}. A whole folder: ragviz corpus add {plain(shlex.quote(corpus.name))} FOLDER")
    button = f"Add {wording.counted(len(files), 'file')}"
    if files and st.button(button, type="primary", key=presses.key("add-files")):
        job_panel.submit_files(
            "add-files",
            ((file.name, file.getvalue()) for file in files),
            lambda folder, staged, upload: corpus_verbs.read_uploads(
                workspace, corpus, folder, staged, replace=False, upload=upload
            ),
        )


def outcomes_of(corpus: Corpus, job: Job) -> None:
    files = tasks.files_of(job)
    others = [(path, each) for path, each in files if each["status"] not in ("added", "replaced", "same")]
    with notices.closable(f"close-{job.id}", lambda: close(job)):
        st.markdown(f"**{len(files) - len(others)} of {wording.counted(len(files), 'file')} read**")
        confirm_replacing(corpus, job, [(p, each) for p, each in others if each["status"] == "exists"])
        for path, each in others:
            if each["status"] == "password" and Path(path).exists():
                locked(corpus, job, path, each)
            elif each["status"] not in ("exists", "password"):
                st.markdown(f":orange[✗] **{plain(each['name'])}** {plain(each['message'])}")
        for _, each in files:
            if each["warnings"]:
                st.markdown(f":orange[▲] {plain(each['name'])}: {plain('; '.join(each['warnings']))}")
        with st.expander("Show all files", expanded=False):
            rows = pd.DataFrame(
                {
                    "": MARKS[each["status"]],
                    "File": each["name"],
                    "Pages": each["pages"] or None,
                    "Characters": each["characters"],
                    "Language": language.NAMES.get(each["language"], each["language"]),
                    "Note": each["message"] or "; ".join(each["warnings"]),
                }
                for _, each in files
            )
            columns = {"": 40, "Characters": COUNT, "Pages": COUNT}
            table.draw(rows, f"files-{job.id}", columns=columns, most=10, alt="Files of the upload")


def close(job: Job) -> None:
    job_panel.dismiss(job)
    corpus_verbs.discard_staged(workspace, Path(job.arguments["folder"]))


def confirm_replacing(corpus: Corpus, job: Job, existing: list[tuple[str, dict[str, Any]]]) -> None:
    staged_files = [(outcome["name"], path) for path, outcome in existing if Path(path).exists()]
    if not staged_files:
        return
    names = ", ".join(plain(name) for name, _ in staged_files[:5]) + (" …" if len(staged_files) > 5 else "")
    asking = wording.counted(asking_of(corpus, ids_of([outcome["name"] for _, outcome in existing])), "question")
    st.markdown(
        f"{wording.counted(len(staged_files), 'file')} with the name of a document but other content: {names}. "
        f"Evidence of {asking} is there: it moves to where its exact text is in the new file; a question whose text is "
        "missing is set aside. Indexes keep the old text until they are updated."
    )
    label, button = f"Replace {wording.counted(len(staged_files), 'document')}", f"replace-{job.id}"
    if st.button(label, key=presses.key(button), disabled=acting.off()):
        folder, staged = corpus_verbs.stage_again(workspace, staged_files)
        if staged:
            job_panel.submit(button, corpus_verbs.read_uploads(
                workspace, corpus, str(folder), staged, replace=True, upload=f"{job.id}-replace"
            ))  # fmt: skip
        st.rerun()


def ids_of(names: Collection[str]) -> frozenset[str]:
    return frozenset(d.id for d in documents if d.name in names)


@cache.kept(32, also=lambda corpus, _: [each.id for each in store.sets.all(corpus.id)])
def asking_of(corpus: Corpus, ids: frozenset[str]) -> int:
    return authoring.anchored(store, corpus.id, ids)


def locked(corpus: Corpus, job: Job, path: str, outcome: dict[str, Any]) -> None:
    """Draw the field for a file's password, which is stored nowhere."""
    name = plain(outcome["name"])
    st.markdown(f":orange[✗] **{name}** {plain(outcome['message'])}")
    with st.form(f"password-{path}", border=False):
        field, button = st.columns([3, 1], vertical_alignment="bottom")
        password = field.text_input(f"Password for {name}", type="password", key=f"typed-{path}")
        if button.form_submit_button("Unlock", width="stretch", disabled=acting.off()) and password:
            replace = job.arguments["replace"]
            with st.spinner("Reading the file"):
                data = Path(path).read_bytes()
                added = corpus_verbs.add_file(
                    workspace, corpus, outcome["name"], data, replace=replace, password=password
                )
            if added.status in ("added", "replaced", "same"):
                Path(path).unlink(missing_ok=True)
                st.toast(f"{name} opened with its password")
                st.rerun()
            taken = "A document of this name was added meanwhile: add this file again to replace it."
            st.error(taken if added.status == "exists" else plain(added.message))


def documents_table(corpus: Corpus, documents: list[DocumentInfo]) -> None:
    unread = sum(d.status == "error" for d in documents)
    rows = pd.DataFrame(
        {
            "Document": [d.name for d in documents],
            "Pages": [d.pages or None for d in documents],
            "Characters": [d.characters for d in documents],
            "Language": [language.NAMES.get(d.language, d.language) for d in documents],
            "Size": [wording.size_words(d.size) for d in documents],
            "Notes": [f"not read: {d.error}" if d.error else "; ".join(d.warnings) for d in documents],
            "Id": [d.id for d in documents],
        }
    )
    count = wording.counted(len(documents), "document")
    above = table.row_above("documents", f"{count} · {unread} not read" if unread else count)
    table.draw(
        rows if rows["Notes"].any() else rows.drop(columns="Notes"),
        "documents",
        alt=f"Documents of {corpus.name}",
        above=above,
        file=f"{corpus.name}-documents",
        columns={"Document": 260, "Pages": COUNT, "Characters": COUNT, "Notes": 300, "Id": 150},
        among=[d.name for d in documents],
        opened=lambda name: address.put(document=name, part=None),
        most=12,
    )
    with above:
        delete_popover(corpus, documents)


def delete_popover(corpus: Corpus, documents: list[DocumentInfo]) -> None:
    with st.popover("Delete…", type="tertiary"):
        names = st.multiselect("Documents", [d.name for d in documents], key="to-delete", format_func=markup.visible)
        if st.button(f"Delete {wording.counted(len(names), 'document')}", disabled=not names or acting.off()):
            number = asking_of(corpus, ids_of(names))
            stake = f"The evidence of {wording.counted(number, 'question')} there becomes stale" if number else ""
            notices.confirm(
                f"This deletes {wording.counted(len(names), 'document')}, the parsed text included. "
                f"{stake or 'No question has its evidence there'}; indexes keep the chunks until they are updated.",
                "Delete",
                lambda: (
                    corpus_verbs.delete_documents(workspace, corpus, names),
                    st.toast(f"{wording.counted(len(names), 'document')} deleted"),
                ),
            )
        if st.button(f"Delete the whole corpus “{plain(corpus.name)}”", disabled=acting.off("admin")):
            notices.confirm(
                f"This deletes the corpus “{corpus.name}” with {deletion.goes_with_corpus(workspace, corpus)}."
                + job_panel.stops_jobs(),
                "Delete all of it",
                lambda leave=False: (
                    corpus_verbs.delete(workspace, corpus, leave_remote=leave),
                    address.put(corpus=None),
                ),
                notices.leaving(store.indexes.all(corpus.id)),
            )


def opened_document(corpus: Corpus, info: DocumentInfo) -> None:
    crumbs = [("documents", corpus.name, {"corpus": corpus.name})]
    heading.header(info.name, crumbs=crumbs)
    if info.status == "error":
        st.error(plain(info.error))
        st.caption("Upload a readable file of the same name to replace it.")
        return
    document = store.documents.get(corpus.id, info.id)
    indexes = [i for i in store.indexes.all(corpus.id) if info.id in i.documents and i.build]
    left, right = st.columns([3, 1], gap="medium")
    with right:
        words = [
            wording.counted(info.pages, "page") if info.pages else "",
            wording.counted(info.characters, "character"),
            language.NAMES.get(info.language, info.language),
            wording.size_words(info.size),
            _READ_AS.get(info.media_type, info.media_type),
        ]
        st.caption(" · ".join(plain(word) for word in words if word))
        for warning in info.warnings:
            st.warning(plain(warning))
        names = [i.name for i in indexes]
        name = address.choose("Show chunks of index", names, "index") if names else None
        st.download_button(
            "Parsed text", document.text.encode("utf-8", "replace"), f"{info.name}.txt", "text/plain", on_click="ignore"
        )
    with left:
        text(document, next((i for i in indexes if i.name == name), None))


_READ_AS = {kind.media_type: kind.title.partition(" ")[2] for kind in KINDS.values()}


def text(document: Document, index: IndexInfo | None) -> None:
    parts = markup.parts(document.text, PART)
    read = partial(markup.range_of, length=len(document.text))
    focus = address.readable(
        "at", read, f"a part of its {wording.counted(len(document.text), 'character')}, as in 10-40"
    )
    if focus:
        start, end = markup.around(document.text, focus, 3000)
        st.caption(f"The text around characters {focus[0]:,} to {focus[1]:,}, which are underlined.")
        address.link("documents", "Show the whole document", document=document.name)
    else:
        part = address.chosen_number("part", 1, len(parts), 1)
        start, end = parts[part - 1]
    cut_points = store.indexes.cuts(index.build, [document.id]).get(document.id) if index else None
    chunks = [(int(s), int(e)) for s, e, _ in cut_points] if cut_points is not None else []
    visible_chunks = [(s - start, e - start) for s, e in chunks if e > start and s < end]
    pages = [(p.number, p.start - start) for p in document.pages if start <= p.start < end]
    if chunks:
        entries = [("even", "chunk"), ("odd", "next chunk"), ("shared", "overlap of both")]
        st.html(markup.legend(entries if markup.overlapping(visible_chunks) else entries[:2]))
        st.caption(
            f"{wording.counted(len(chunks), 'chunk')} of index {plain(index.name if index else '')} in this document"
        )
    with st.container(border=True, height=620 if end - start > 3000 else "content"):
        marked = (focus[0] - start, focus[1] - start) if focus else None
        st.html(markup.cuts(document.text[start:end], visible_chunks, pages, focus=marked, language=document.language))
    if len(parts) > 1 and not focus:
        turned = st.pagination(len(parts), default=part, key=f"part-{document.id}")
        if turned != part:
            address.put(part=turned)
            st.rerun()


corpus = frame.current_corpus()
if corpus is None or st.query_params.get("new") == "1":
    heading.header("Documents", "The texts to be searched. A corpus is a named set of documents.")
    create_corpus()
    st.caption(f"Its files are added next: {parsing.FORMATS}.")
    st.stop()
documents = store.documents.all(corpus.id)
document_name = st.query_params.get("document")
if document_name:
    info = next((d for d in documents if d.name == document_name), None)
    if info is None:
        st.warning(f"There is no document called “{wording.quoted(document_name)}” in this corpus.")
    else:
        opened_document(corpus, info)
        st.stop()
with heading.header("Documents", f"The documents of {corpus.name}, and problems in reading them."):
    with st.popover("New corpus", key=f"new-{corpus.id}"):
        create_corpus()
    readable = any(document.status == "ok" for document in documents)
    if (
        readable
        and not store.indexes.all(corpus.id)
        and st.button("Next: build an index", type="primary", key="next-step")
    ):
        address.go_to("index", corpus=corpus.name)
upload(corpus)
for place, job in enumerate(job_panel.finished_jobs("documents", corpus.id)):  # the newest, and what needs a decision
    if not place or any(each["status"] in tasks.WAITING and Path(p).exists() for p, each in tasks.files_of(job)):
        outcomes_of(corpus, job)
if documents:
    documents_table(corpus, documents)
