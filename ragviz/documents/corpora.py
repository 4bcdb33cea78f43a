"""Adding files to corpora, replacing and deleting them, with their evidence kept in step."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from ragviz.core.digests import digest, is_id, new_id
from ragviz.core.document import Corpus, Document, DocumentInfo
from ragviz.core.errors import InputError, PasswordNeeded, UnreadableFile
from ragviz.core.stopping import Progress, silent
from ragviz.documents import parsing
from ragviz.text import language
from ragviz.workspace import Workspace

READERS = min(4, os.cpu_count() or 1)
"""Files parsed at once, in child processes."""
AHEAD = 4 * READERS
"""Files being parsed before the first of them is added, so that a slow one does not hold up the next."""
AHEAD_BYTES = 64 * 2**20
"""Bytes of the files being parsed, when there are more of them than readers."""


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The outcome of adding one file: `status`, and a line about it.

    "exists": a document of this name has other bytes, and `replace` was not set.
    """

    name: str
    status: Literal["added", "same", "replaced", "exists", "password", "unreadable"]
    message: str
    pages: int = 0
    characters: int = 0
    language: str = "und"
    warnings: tuple[str, ...] = ()


Source = Path | bytes | UnreadableFile
"""The path of a file or its bytes, or why it is not read."""


def files_under(paths: Iterable[Path]) -> list[tuple[str, Source]]:
    """Return name and path of every file: those in folders are named by their path inside; hidden ones are left out.

    Other things in a folder have the reason instead of a path: pipes, devices, links that lead out of it, to a folder
    or to nothing, folders that cannot be opened. `add_files` reports each.

    Raises:
        InputError: a path does not exist, or cannot be opened.

    """
    files: list[tuple[str, Source]] = []
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            problem = f"There is no file or folder {path}" if missing else f"{path} cannot be opened: {error.strerror}"
            raise InputError(f"{problem}.") from None
        inside = sorted(_inside(path), key=lambda entry: entry[0].split("/"))
        files.extend(inside if stat.S_ISDIR(mode) else [(path.name, path)])
    return files


def _inside(root: Path) -> Iterator[tuple[str, Source]]:
    """Yield everything below a folder, in no order; links to folders are not followed."""
    real, folders = Path(os.path.realpath(root)), [""]
    while folders:
        folder = folders.pop()
        try:
            paths = list((root / folder).iterdir())
        except OSError as error:
            yield folder or root.name, UnreadableFile(f"The folder cannot be opened: {error.strerror}.")
            continue
        for path in paths:
            name = f"{folder}/{path.name}".lstrip("/")
            if path.name.startswith("."):
                continue
            try:
                mode = path.lstat().st_mode
                problem = _link_problem(real, path) or ("" if stat.S_ISDIR(mode) else _kind_problem(mode))
            except OSError as error:  # in a folder that may be listed, but not entered
                mode, problem = 0, f"The file cannot be opened: {error.strerror}."
            if problem:
                yield name, UnreadableFile(problem)
            elif stat.S_ISDIR(mode):
                folders.append(name)
            else:
                yield name, path


def _link_problem(root: Path, path: Path) -> str:
    """Return why a link is not followed; "" when it is, and for a file."""
    if not path.is_symlink():
        return ""
    target = Path(os.path.realpath(path))
    if not target.exists():
        return "This is a link to nothing: mend it, or leave it out."
    if not target.is_relative_to(root):
        return "This is a link that leads out of the folder: add what it leads to by its own path."
    if target.is_dir():
        return "This is a link to a folder inside the one that is added: what is in it is read by its own path."
    return _kind_problem(target.stat().st_mode)


def _kind_problem(mode: int) -> str:
    """Return why something that is no file is not read; "" for a file, and for a link."""
    if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
        return ""
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder"}
    return f"This is {kinds.get(stat.S_IFMT(mode), 'a device')}, not a file: leave it out."


TOGETHER = 200
"""Files that are looked up together, and at most written in one transaction."""
TOGETHER_CHARACTERS = 2**22
"""Characters of the texts in one transaction, about."""


def add_files(
    workspace: Workspace,
    corpus: Corpus,
    files: Sequence[tuple[str, Source]],
    *,
    replace: bool = False,
    password: str | None = None,
    progress: Progress = silent,
) -> list[FileOutcome]:
    """Parse files, several at once, and add them to a corpus in order; a bad one has its outcome, the others go on.

    The same bytes under the same name are recognised and not parsed again. Other bytes under an existing name replace
    the document only with `replace`; evidence in the old text moves to where the same text is now.

    Some hundred are written in one transaction; what was parsed before a stop or an error is written too. Evidence in
    replaced documents is moved at the end, also after an error, in one pass over the questions; after a kill, when the
    store is opened next.
    """
    outcomes: list[FileOutcome] = []
    waiting: deque[tuple[str, int, Finish]] = deque()
    names = [parsing.safe_name(name) for name, _ in files]
    parsing.prepare(names, READERS)
    with _settling(workspace, corpus), ThreadPoolExecutor(READERS, "read") as pool:
        adding = _Adding(workspace, corpus, replace, password, pool)

        def finish() -> None:
            outcomes.append(waiting.popleft()[2]())

        try:
            for number, (name, (_, source)) in enumerate(zip(names, files, strict=True)):
                if number % TOGETHER == 0:
                    adding.look_up(names[number : number + TOGETHER])
                progress(len(outcomes), len(files), "files", name)
                while any(name == each for each, _, _ in waiting):  # the outcome of that one decides about this
                    finish()
                waiting.append((name, *adding.begin(name, source)))
                while len(waiting) > (AHEAD if sum(size for _, size, _ in waiting) <= AHEAD_BYTES else READERS):
                    finish()
            while waiting:
                progress(len(outcomes), len(files), "files", waiting[0][0])
                finish()
        finally:
            adding.write()
    progress(len(files), len(files), "files")
    return outcomes


def add_file(
    workspace: Workspace, corpus: Corpus, name: str, data: bytes, *, replace: bool = False, password: str | None = None
) -> FileOutcome:
    """Parse one file and add it to a corpus, as `add_files` does."""
    [outcome] = add_files(workspace, corpus, [(name, data)], replace=replace, password=password)
    return outcome


Finish = Callable[[], FileOutcome]
"""Adds a file whose parsing was started, and returns its outcome."""


class _Adding:
    """Files that are added together: the documents of their names, and what is to be written of them."""

    def __init__(
        self, workspace: Workspace, corpus: Corpus, replace: bool, password: str | None, pool: ThreadPoolExecutor
    ) -> None:
        self._replace, self._password, self._pool = replace, password, pool
        self._limit = workspace.settings.max_file_mb * 2**20  # bytes of a file
        self._stored, self._corpus_id = workspace.store.documents, corpus.id
        self._existing: dict[str, DocumentInfo | Document] = {}
        self._parsed: dict[str, Document] = {}
        self._errors: dict[str, str] = {}
        self._characters = 0

    def look_up(self, names: Sequence[str]) -> None:
        """Read which documents have these names; names that were parsed since are known already."""
        found = self._stored.named(self._corpus_id, [name for name in names if name not in self._parsed])
        self._existing |= {info.name: info for info in found}

    def begin(self, name: str, source: Source) -> tuple[int, Finish]:
        """Read a file and start parsing it: return its bytes in memory until it is added, and what adds it."""
        try:
            size, data = _bytes_of(source, self._limit)
        except UnreadableFile as error:
            return 0, partial(FileOutcome, name, "unreadable", str(error))
        except OSError as error:
            return 0, partial(FileOutcome, name, "unreadable", f"The file cannot be opened: {error.strerror}.")
        if size > self._limit:
            over = f"{size / 2**20:.0f} MB is over the limit of {self._limit // 2**20} MB"
            too_big = UnreadableFile(f"{over}: split the file, or raise RAGVIZ_MAX_FILE_MB.")
            return 0, partial(self._refuse, name, "", size, too_big)
        content, existing = hashlib.sha256(data).hexdigest(), self._existing.get(name)
        if existing is not None and existing.content_hash == content:
            return 0, partial(_outcome, existing, "same", "already here, unchanged")
        if existing is not None and not self._replace:
            told = "another file of this name is here: confirm to replace it"
            return 0, partial(_outcome, existing, "exists", told)
        parse = partial(
            parsing.parse, name, data, detect=language.detect, password=self._password, max_bytes=self._limit
        )
        # A short text is read sooner than it is handed to a thread.
        parsed = parse if parsing.is_short_text(name, data) else self._pool.submit(parse).result
        return size, partial(self._finish, name, content, size, parsed)

    def _finish(self, name: str, content: str, size: int, parsed: Callable[[], Document]) -> FileOutcome:
        try:
            document = parsed()
        except UnreadableFile as error:
            return self._refuse(name, content, size, error)
        outcome = _outcome(document, "replaced" if name in self._existing else "added", "")
        self._put(document)
        self._existing[name] = document
        return outcome

    def _refuse(self, name: str, content: str, size: int, error: UnreadableFile) -> FileOutcome:
        """Have a file written that could not be read; `content` is the hash of its bytes, "" where they were not."""
        self._put(Document(digest(name, content), name, "", (), "und", "", content, size))
        self._errors[name] = str(error)
        status: Literal["password", "unreadable"] = "password" if isinstance(error, PasswordNeeded) else "unreadable"
        return FileOutcome(name, status, str(error))

    def _put(self, document: Document) -> None:
        """Have a document written with the others; one of its name, or enough of them, are written before."""
        full = len(self._parsed) == TOGETHER or self._characters > TOGETHER_CHARACTERS
        if full or document.name in self._parsed:
            self.write()
        self._parsed[document.name] = document
        self._characters += len(document.text)

    def write(self) -> None:
        """Write what was parsed, in one transaction."""
        parsed, errors = self._parsed, self._errors
        self._parsed, self._errors, self._characters = {}, {}, 0
        self._stored.add(self._corpus_id, *parsed.values(), errors=errors)


def _bytes_of(source: Source, limit: int) -> tuple[int, bytes]:
    """Return size and bytes of a file; no bytes of one over the limit.

    Raises:
        UnreadableFile: it is no file (any more): reading a pipe or a device may never end.
        OSError: it cannot be opened.

    """
    if isinstance(source, UnreadableFile):
        raise source
    if isinstance(source, bytes):
        return len(source), source
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(source, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if problem := _kind_problem(status.st_mode):
            raise UnreadableFile(problem)
        data = file.read(limit + 1) if status.st_size <= limit else b""
    return (len(data), data) if 0 < len(data) <= limit else (max(status.st_size, len(data)), b"")


def _outcome(
    document: DocumentInfo | Document, status: Literal["added", "same", "replaced", "exists"], message: str
) -> FileOutcome:
    if isinstance(document, Document):
        pages, characters = len(document.pages), len(document.text)
    else:
        pages, characters = document.pages, document.characters
    return FileOutcome(document.name, status, message, pages, characters, document.language, document.warnings)


def stage(workspace: Workspace, files: Iterable[tuple[str, bytes]]) -> tuple[Path, list[tuple[str, str]]]:
    """Write uploaded bytes for a job: return the folder, and (name, path) of each. `discard_staged` deletes them."""
    folder = workspace.settings.home / "uploads" / new_id()
    folder.mkdir(parents=True)
    staged = []
    try:
        for number, (name, data) in enumerate(files):
            path = folder / str(number)
            path.write_bytes(data)
            staged.append((name, str(path)))
    except BaseException:
        discard_staged(workspace, folder)
        raise
    return folder, staged


def stage_again(workspace: Workspace, files: Iterable[tuple[str, str]]) -> tuple[Path, list[tuple[str, str]]]:
    """Move staged files, (name, path) of each, into a new folder, for a job that reads them again.

    Those that another job took meanwhile are left out.
    """
    folder, staged = stage(workspace, ())
    for number, (name, path) in enumerate(files):
        with suppress(FileNotFoundError):
            staged.append((name, str(Path(path).rename(folder / str(number)))))
    if not staged:
        discard_staged(workspace, folder)
    return folder, staged


def discard_staged(workspace: Workspace, folder: Path, keep: Collection[Path] = ()) -> None:
    """Delete a folder of staged uploads (no other folder); with `keep`, all of it but these files."""
    if folder.parent != workspace.settings.home / "uploads":
        return
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
        return
    for path in folder.iterdir():
        if path not in keep:
            path.unlink(missing_ok=True)


def staged_folders(workspace: Workspace, older_than: float = float("-inf")) -> list[Path]:
    """Return the folders of staged uploads that were last changed more than so many seconds ago.

    Other folders, which ragviz did not make, are left out: RAGVIZ_HOME may be a folder that had its own `uploads`.
    """
    found = list[Path]()
    with suppress(OSError):
        for folder in os.scandir(workspace.settings.home / "uploads"):
            with suppress(OSError):  # another process deletes it
                if is_id(folder.name) and time.time() - folder.stat().st_mtime > older_than:
                    found.append(Path(folder.path))
    return found


def delete_documents(workspace: Workspace, corpus: Corpus, ids: Sequence[str]) -> None:
    """Delete files from a corpus; their evidence becomes stale, indexes have to be updated."""
    with _settling(workspace, corpus):
        workspace.store.documents.delete(corpus.id, ids)


@contextmanager
def _settling(workspace: Workspace, corpus: Corpus) -> Iterator[None]:
    """Move evidence of replaced documents at the end, also after an error."""
    try:
        yield
    finally:
        workspace.store.evidence.settle(corpus.id, workspace.person.name)
