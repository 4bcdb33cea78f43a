import shlex
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from ragviz import jobs
from ragviz.documents import corpora, parsing
from ragviz.index import deletion
from ragviz.records import Corpus, Document, DocumentInfo, IndexInfo, Job
from ragviz.text import markup
from ragviz.text.markup import plain
from ragviz.ui import address, frame, heading, job_panel, widgets, wording

PART = 20_000  # characters of a document that are drawn at once
MARKS = {"added": "✓", "replaced": "✓", "same": "=", "exists": "?", "password": "✗", "unreadable": "✗"}

workspace = frame.begin()
store = workspace.store


def create_corpus() -> None:
    with st.form("new-corpus", border=False):
        name = st.text_input("Name of the new corpus", placeholder="handbook", max_chars=200)
        if st.form_submit_button("Create corpus", type="primary") and name.strip():
            with widgets.errors_shown():
                created = store.create_corpus(name)
                address.put(corpus=created.name, document=None)
                st.rerun()


def upload(corpus: Corpus) -> None:
    """Draw the drop zone; the files are read by a job, so that the page can be left."""
    limit = workspace.settings.max_file_mb
    files = st.file_uploader(
        f"Add files of up to {limit} MB each",
        accept_multiple_files=True,
        key=f"files-{st.session_state.get('uploads', 0)}",
        max_upload_size=limit,
    )
    st.caption(f"{parsing.FORMATS}. A whole folder: ragviz corpus add {plain(shlex.quote(corpus.name))} FOLDER")
    if files and st.button(f"Add {wording.counted(len(files), 'file')}", type="primary"):
        folder, staged = corpora.stage(workspace, ((file.name, file.getvalue()) for file in files))
        submit(corpus, str(folder), staged, replace=False)
        st.session_state["uploads"] = st.session_state.get("uploads", 0) + 1
        st.rerun()


def submit(corpus: Corpus, folder: str, files: list[tuple[str, str]], *, replace: bool) -> None:
    arguments = {"corpus": corpus.name, "folder": folder, "files": files, "replace": replace}
    title = f"{'Replace' if replace else 'Read'} {wording.counted(len(files), 'file')}"
    job_panel.watch(jobs.submit(workspace, "documents", title, corpus.id, arguments))


def outcomes(corpus: Corpus) -> None:
    """Draw the outcome of the newest upload, and of earlier ones with files that still need a decision."""
    newest = job_panel.finished_job("documents", corpus.id)
    for job in job_panel.finished_jobs("documents", corpus.id):
        if job == newest or any(waits(path, outcome) for path, outcome in jobs.files_of(job)):
            outcomes_of(corpus, job)


def waits(path: str, outcome: dict[str, Any]) -> bool:
    """Return whether a file is still kept to be unlocked with its password, or to replace another."""
    return outcome["status"] in jobs.WAITING and Path(path).exists()


def outcomes_of(corpus: Corpus, job: Job) -> None:
    """Draw one line per file of an upload: its outcome, and what can still be done about it."""
    files = jobs.files_of(job)
    fine = [outcome for _, outcome in files if outcome["status"] in ("added", "replaced", "same")]
    others = [(path, outcome) for path, outcome in files if outcome not in fine]
    with st.container(border=True):
        st.markdown(f"**{len(fine)} of {wording.counted(len(files), 'file')} read**")
        confirm_replacing(corpus, job, [(p, o) for p, o in others if o["status"] == "exists"])
        for path, outcome in others:
            if outcome["status"] == "password":
                locked(corpus, job, path, outcome)
            elif outcome["status"] != "exists":
                st.markdown(f":orange[✗] **{plain(outcome['name'])}** {plain(outcome['message'])}")
        for outcome in fine:
            if outcome["warnings"]:
                st.markdown(f":orange[▲] {plain(outcome['name'])}: {plain('; '.join(outcome['warnings']))}")
        with st.expander("Show all files", expanded=False):
            st.dataframe(pd.DataFrame([line(outcome) for _, outcome in files]), hide_index=True)
        if st.button("Close", key=f"close-{job.id}"):
            job_panel.dismiss(job)
            corpora.discard_staged(workspace, Path(job.arguments["folder"]))
            st.rerun()


def line(outcome: dict[str, Any]) -> dict[str, Any]:
    return {
        "": MARKS[outcome["status"]],
        "File": markup.visible(outcome["name"]),
        "Pages": outcome["pages"] or None,
        "Characters": outcome["characters"],
        "Language": wording.LANGUAGES.get(outcome["language"], outcome["language"]),
        "Note": markup.visible(outcome["message"] or "; ".join(outcome["warnings"])),
    }


def confirm_replacing(corpus: Corpus, job: Job, existing: list[tuple[str, dict[str, Any]]]) -> None:
    """Ask before files replace documents of the same name and other content."""
    staged_files = [(outcome["name"], path) for path, outcome in existing if Path(path).exists()]
    if not staged_files:
        return
    names = ", ".join(plain(name) for name, _ in staged_files[:5]) + (" …" if len(staged_files) > 5 else "")
    st.markdown(
        f"{wording.counted(len(staged_files), 'file')} with the name of a document but other content: {names}. "
        "Replacing re-anchors evidence by its exact text; indexes then have to be updated."
    )
    if st.button(f"Replace {wording.counted(len(staged_files), 'document')}", key=f"replace-{job.id}"):
        folder, staged = corpora.stage_again(workspace, staged_files)
        if staged:
            submit(corpus, str(folder), staged, replace=True)
        st.rerun()


def locked(corpus: Corpus, job: Job, path: str, outcome: dict[str, Any]) -> None:
    """Draw the field for a file's password, which is stored nowhere, or what has happened to the file since."""
    name = plain(outcome["name"])
    if not Path(path).exists():
        if any(d.name == outcome["name"] and d.status == "ok" for d in documents):
            st.markdown(f":blue[✓] **{name}** opened with its password.")
        else:
            st.markdown(f":orange[✗] **{name}** is protected and its upload has expired: add it again to unlock it.")
        return
    st.markdown(f":orange[✗] **{name}** {plain(outcome['message'])}")
    with st.form(f"password-{path}", border=False):
        field, button = st.columns([3, 1], vertical_alignment="bottom")
        password = field.text_input("Password for this document", type="password", key=f"typed-{path}")
        if button.form_submit_button("Unlock", width="stretch") and password:
            replace = job.arguments["replace"]
            with st.spinner("Reading the file"):
                data = Path(path).read_bytes()
                added = corpora.add_file(workspace, corpus, outcome["name"], data, replace=replace, password=password)
            if added.status in ("added", "replaced", "same"):
                Path(path).unlink(missing_ok=True)
                st.toast(f"{name} opened with its password")
                st.rerun()
            taken = "A document of this name was added meanwhile: add this file again to replace it."
            st.error(taken if added.status == "exists" else plain(added.message))


def table(corpus: Corpus, documents: list[DocumentInfo]) -> None:
    unread = sum(d.status == "error" for d in documents)
    warned = sum(bool(d.warnings) for d in documents)
    rows = pd.DataFrame(
        {
            "Document": [d.name for d in documents],
            "Pages": [d.pages or None for d in documents],
            "Characters": [d.characters for d in documents],
            "Language": [wording.LANGUAGES.get(d.language, d.language) for d in documents],
            "Size": [wording.size_words(d.size) for d in documents],
            "Notes": [f"not read: {d.error}" if d.error else "; ".join(d.warnings) for d in documents],
            "Id": [d.id for d in documents],
        }
    )
    with widgets.above_table("documents"):
        parts = [wording.counted(len(documents), "document"), f"{unread} not read" * bool(unread)]
        parts.append(f"{warned} with warnings" * bool(warned))
        st.markdown(" · ".join(part for part in parts if part), width="stretch")
        widgets.csv_button(rows, f"{corpus.name}-documents.csv", "documents-csv")
        delete_popover(corpus, documents)

    def opened() -> None:
        address.put(document=widgets.selected(st.session_state["documents"], [d.name for d in documents]), part=None)

    columns = {
        "Document": st.column_config.TextColumn(width=260),
        "Characters": st.column_config.NumberColumn(format="localized"),
        "Notes": st.column_config.TextColumn(width="large"),
        "Id": st.column_config.TextColumn(width="small"),
    }
    widgets.table(rows, "documents", columns=columns, on_select=opened, height=430, alt=f"Documents of {corpus.name}")


def delete_popover(corpus: Corpus, documents: list[DocumentInfo]) -> None:
    with st.popover("Delete…", type="tertiary"):
        names = st.multiselect("Documents", [d.name for d in documents], key="to-delete", format_func=markup.visible)
        if st.button(f"Delete {wording.counted(len(names), 'document')}", disabled=not names):
            ids = [d.id for d in documents if d.name in names]
            widgets.confirm(
                f"This deletes {wording.counted(len(ids), 'document')} with their text. Evidence in them becomes "
                "stale, and indexes keep their chunks until they are updated.",
                "Delete",
                lambda: corpora.delete_documents(workspace, corpus, ids),
            )
        if st.button(f"Delete the whole corpus “{plain(corpus.name)}”"):
            widgets.confirm(
                f"This deletes the corpus “{corpus.name}” with {deletion.goes_with_corpus(workspace, corpus)}."
                + job_panel.stops_jobs(),
                "Delete all of it",
                lambda: (deletion.delete_corpus(workspace, corpus), address.put(corpus=None)),
                widgets.leaving(store.indexes(corpus.id)),
                lambda: (deletion.delete_corpus(workspace, corpus, leave_remote=True), address.put(corpus=None)),
            )


def opened_document(corpus: Corpus, info: DocumentInfo) -> None:
    """Draw one document: its text with page marks, and the chunks of an index as tints."""
    crumbs = [("documents", corpus.name, {"corpus": corpus.name})]
    heading.header(info.name, crumbs=crumbs)
    if info.status == "error":
        st.error(plain(info.error))
        st.caption("Upload a readable file of the same name to replace it.")
        return
    document = store.document(corpus.id, info.id)
    indexes = [i for i in store.indexes(corpus.id) if info.id in i.documents and i.build]
    left, right = st.columns([3, 1], gap="medium")
    with right:
        facts(info)
        names = [i.name for i in indexes]
        name = address.choose("Show chunks of index", names, "index") if names else None
        st.download_button(
            "Parsed text", document.text.encode("utf-8", "replace"), f"{info.name}.txt", "text/plain", on_click="ignore"
        )
    with left:
        text(document, next((i for i in indexes if i.name == name), None))


def facts(info: DocumentInfo) -> None:
    words = [
        wording.counted(info.pages, "page") if info.pages else "no pages",
        wording.counted(info.characters, "character"),
        wording.LANGUAGES.get(info.language, info.language),
        wording.size_words(info.size),
        info.media_type,
    ]
    st.caption(" · ".join(plain(word) for word in words))
    for warning in info.warnings:
        st.warning(plain(warning))


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
    cut_points = store.cuts(index.build, [document.id]).get(document.id) if index else None
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
if corpus is None:
    heading.header("Documents", "The texts to be searched. A corpus is a named set of documents.")
    create_corpus()
    st.stop()
documents = store.documents(corpus.id)
document_name = st.query_params.get("document")
if document_name:
    info = next((d for d in documents if d.name == document_name), None)
    if info is None:
        st.warning(f"There is no document called “{wording.quoted(document_name)}” in this corpus.")
    else:
        opened_document(corpus, info)
        st.stop()
with (
    heading.header("Documents", f"The documents of {corpus.name}, and problems in reading them."),
    st.popover("New corpus", key=f"new-{corpus.id}"),
):
    create_corpus()
upload(corpus)
outcomes(corpus)
if documents:
    table(corpus, documents)
    if not store.indexes(corpus.id):
        address.link("index", "Next: build an index", corpus=corpus.name)
