"""Files into and out of corpora: parsed, recognised, replaced, deleted, and evidence kept in step."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from ragviz import gold, ingest, language
from ragviz.errors import InputError, PasswordNeeded, UnreadableFile
from ragviz.records import Corpus, Document, DocumentInfo, Progress, silent
from ragviz.store import new_id
from ragviz.workspace import Workspace

READERS = min(4, os.cpu_count() or 1)
"""Files that are parsed at once: most formats are read in processes of their own."""


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of one file: `status` and a line that says it.

    "exists" means that a document of this name with other bytes is there, and replacing it was not asked for.
    """

    name: str
    status: Literal["added", "same", "replaced", "exists", "password", "unreadable"]
    message: str
    pages: int = 0
    characters: int = 0
    language: str = "und"
    warnings: tuple[str, ...] = ()


def files_under(paths: Iterable[Path]) -> list[tuple[str, Path]]:
    """Name and place of every file: folders are walked, their files named by their path inside; hidden ones left out.

    Raises:
        InputError: a path does not exist.

    """
    found: list[tuple[str, Path]] = []
    for path in paths:
        if not path.exists():
            raise InputError(f"There is no file or folder {path}.")
        inside = sorted(path.rglob("*")) if path.is_dir() else []
        named = [(p.relative_to(path).as_posix(), p) for p in inside if p.is_file()]
        shown = [(name, p) for name, p in named if not any(part.startswith(".") for part in name.split("/"))]
        found.extend(shown if path.is_dir() else [(path.name, path)])
    return found


def add_files(
    workspace: Workspace,
    corpus: Corpus,
    files: Sequence[tuple[str, Path]],
    *,
    replace: bool = False,
    password: str | None = None,
    progress: Progress = silent,
) -> list[FileOutcome]:
    """Parse files, some at a time, and put them into a corpus in order; a bad one is answered, the others go on."""
    outcomes: list[FileOutcome] = []
    waiting: deque[tuple[str, Finish]] = deque()
    with ThreadPoolExecutor(READERS, "read") as pool:

        def later(parse: Callable[[], Document]) -> Callable[[], Document]:
            return pool.submit(parse).result

        def finish() -> None:
            outcomes.append(waiting.popleft()[1]())

        for name, path in files:
            progress(len(outcomes), len(files), "files", name)
            safe = ingest.safe_name(name)
            while safe in {each for each, _ in waiting}:  # what becomes of that one decides about this
                finish()
            begun = _begin_path(workspace, corpus, name, path, replace=replace, password=password, later=later)
            waiting.append((safe, begun))
            if len(waiting) > READERS:
                finish()
        while waiting:
            progress(len(outcomes), len(files), "files", waiting[0][0])
            finish()
    progress(len(files), len(files), "files")
    return outcomes


def _begin_path(
    workspace: Workspace, corpus: Corpus, name: str, path: Path, *, replace: bool, password: str | None, later: Later
) -> Finish:
    limit = workspace.settings.max_file_mb * 2**20
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= limit else b""
    except OSError as error:
        failed = FileOutcome(name, "unreadable", f"The file cannot be opened: {error.strerror}.")
        return lambda: failed
    if size > limit:
        return lambda: _unreadable(workspace, corpus, name, b"", size, _too_big(size, limit))
    return _begin(workspace, corpus, name, data, replace=replace, password=password, later=later)


def _too_big(size: int, limit: int) -> UnreadableFile:
    return UnreadableFile(
        f"{size / 2**20:.0f} MB is over the limit of {limit // 2**20} MB: split the file, or raise RAGVIZ_MAX_FILE_MB."
    )


def add_file(
    workspace: Workspace, corpus: Corpus, name: str, data: bytes, *, replace: bool = False, password: str | None = None
) -> FileOutcome:
    """Parse one file and put it into a corpus.

    The same bytes under the same name are recognised and not read again. Other bytes under a name that is taken are put
    in only when `replace` is true; evidence that pointed into the old text moves to where the same words stand now.
    """
    return _begin(workspace, corpus, name, data, replace=replace, password=password, later=lambda parse: parse)()


Finish = Callable[[], FileOutcome]
"""Puts a file in that was begun, and tells what became of it."""
Later = Callable[[Callable[[], Document]], Callable[[], Document]]
"""Takes what parses a file, and gives what waits for the document."""


def _begin(
    workspace: Workspace,
    corpus: Corpus,
    name: str,
    data: bytes,
    *,
    replace: bool,
    password: str | None,
    later: Later,
) -> Finish:
    """Look whether a file is known, and have it parsed when it is to be taken."""
    name = ingest.safe_name(name)
    there = workspace.store.document_named(corpus.id, name)
    content = hashlib.sha256(data).hexdigest()
    if there is not None and there.content_hash == content:
        same = _told(there, "same", "already here, unchanged")
        return lambda: same
    if there is not None and not replace:
        exists = _told(there, "exists", "another file of this name is here: confirm to replace it")
        return lambda: exists
    limit = workspace.settings.max_file_mb * 2**20
    parsed = later(partial(ingest.parse, name, data, detect=language.detect, password=password, max_bytes=limit))
    return partial(_finish, workspace, corpus, name, data, there, parsed)


def _finish(
    workspace: Workspace,
    corpus: Corpus,
    name: str,
    data: bytes,
    there: DocumentInfo | None,
    parsed: Callable[[], Document],
) -> FileOutcome:
    try:
        document = parsed()
    except UnreadableFile as error:
        return _unreadable(workspace, corpus, name, data, len(data), error)
    store = workspace.store
    store.add_document(corpus.id, document)
    if there is not None:
        _move_evidence(workspace, corpus, there.id, document)
        store.prune_documents(corpus.id)
    info = store.document_named(corpus.id, name)
    assert info is not None
    return _told(info, "added" if there is None else "replaced", "")


def _told(info: DocumentInfo, status: Literal["added", "same", "replaced", "exists"], message: str) -> FileOutcome:
    return FileOutcome(info.name, status, message, info.pages, info.characters, info.language, info.warnings)


def _unreadable(
    workspace: Workspace, corpus: Corpus, name: str, data: bytes, size: int, error: UnreadableFile
) -> FileOutcome:
    content = hashlib.sha256(data).hexdigest()
    workspace.store.add_unreadable(corpus.id, ingest.safe_name(name), content, size, str(error))
    status: Literal["password", "unreadable"] = "password" if isinstance(error, PasswordNeeded) else "unreadable"
    return FileOutcome(ingest.safe_name(name), status, str(error))


def stage(workspace: Workspace, files: Iterable[tuple[str, bytes]]) -> tuple[Path, list[tuple[str, str]]]:
    """Put uploaded bytes where a job can read them: the folder, and (name, path) of each. `discard_staged` ends it."""
    folder = workspace.settings.home / "uploads" / new_id()
    folder.mkdir(parents=True)
    staged = []
    for number, (name, data) in enumerate(files):
        path = folder / str(number)
        path.write_bytes(data)
        staged.append((name, str(path)))
    return folder, staged


def discard_staged(workspace: Workspace, folder: Path, keep: Collection[Path] = ()) -> None:
    """Delete a folder of staged uploads, and only such a one; with `keep`, all of it but these files."""
    if folder.parent != workspace.settings.home / "uploads":
        return
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
        return
    for path in folder.iterdir():
        if path not in keep:
            path.unlink(missing_ok=True)


def delete_documents(workspace: Workspace, corpus: Corpus, ids: Sequence[str]) -> None:
    """Delete files from a corpus; evidence that points into them turns stale, indexes have to be updated."""
    for document_id in ids:
        _move_evidence(workspace, corpus, document_id, None)
    workspace.store.delete_documents(corpus.id, ids)


def _move_evidence(workspace: Workspace, corpus: Corpus, old_id: str, new: Document | None) -> None:
    store = workspace.store
    for questions in store.question_sets(corpus.id):
        before = store.questions(questions.id)
        after = [gold.reanchored(question, old_id, new) for question in before]
        moved = [new_one for old_one, new_one in zip(before, after, strict=True) if new_one != old_one]
        if moved:
            store.put_questions(questions.id, moved)
