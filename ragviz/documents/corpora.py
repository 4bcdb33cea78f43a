"""Files into and out of corpora: parsed, recognised, replaced, deleted, and evidence kept in step."""

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

from ragviz.documents import parsing
from ragviz.errors import InputError, PasswordNeeded, UnreadableFile
from ragviz.records import Corpus, Document, DocumentInfo, Progress, new_id, silent
from ragviz.text import language
from ragviz.workspace import Workspace

READERS = min(4, os.cpu_count() or 1)
"""Files that are parsed at once: most formats are read in processes of their own."""
AHEAD = 4 * READERS
"""Files that are begun before the first of them is put in, so that one that takes long does not hold up the next."""
AHEAD_BYTES = 64 * 2**20
"""Bytes of the files that were begun, when there are more of them than readers."""


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


Source = Path | UnreadableFile
"""Where a file is, or why what is there is not read."""


def files_under(paths: Iterable[Path]) -> list[tuple[str, Source]]:
    """Name and place of every file: folders are walked, their files named by their path inside; hidden ones left out.

    What stands in a folder and is no file that belongs to it has the reason instead of a place: pipes, devices, links
    that lead out of it, to a folder or to nothing, folders that cannot be opened. `add_files` tells a line of each.

    Raises:
        InputError: a path does not exist, or cannot be looked at.

    """
    found: list[tuple[str, Source]] = []
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            wrong = f"There is no file or folder {path}" if missing else f"{path} cannot be opened: {error.strerror}"
            raise InputError(f"{wrong}.") from None
        inside = sorted(_inside(path), key=lambda entry: entry[0].split("/"))
        found.extend(inside if stat.S_ISDIR(mode) else [(path.name, path)])
    return found


def _inside(root: Path) -> Iterator[tuple[str, Source]]:
    """What is in a folder and in those inside it, in no order; links to folders are not followed."""
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
                wrong = _wrong_link(real, path) or ("" if stat.S_ISDIR(mode) else _wrong_kind(mode))
            except OSError as error:  # of a folder that may be listed, but not entered
                mode, wrong = 0, f"The file cannot be opened: {error.strerror}."
            if wrong:
                yield name, UnreadableFile(wrong)
            elif stat.S_ISDIR(mode):
                folders.append(name)
            else:
                yield name, path


def _wrong_link(root: Path, path: Path) -> str:
    """Why a link is not followed; "" when it is, or is none."""
    if not path.is_symlink():
        return ""
    target = Path(os.path.realpath(path))
    if not target.exists():
        return "This is a link to nothing: mend it, or leave it out."
    if not target.is_relative_to(root):
        return "This is a link that leads out of the folder: add what it leads to by its own path."
    if target.is_dir():
        return "This is a link to a folder inside the one that is added: what is in it is read by its own path."
    return _wrong_kind(target.stat().st_mode)


def _wrong_kind(mode: int) -> str:
    """Why something in a file's place is not read; "" for a file, and for a link."""
    if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
        return ""
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder"}
    return f"This is {kinds.get(stat.S_IFMT(mode), 'a device')}, not a file: leave it out."


def add_files(
    workspace: Workspace,
    corpus: Corpus,
    files: Sequence[tuple[str, Source]],
    *,
    replace: bool = False,
    password: str | None = None,
    progress: Progress = silent,
) -> list[FileOutcome]:
    """Parse files, some at a time, and put them into a corpus in order; a bad one is answered, the others go on.

    Evidence in documents that were replaced is moved at the end, however that comes, all of it in one reading of the
    questions; after a kill, when the store is opened next.
    """
    outcomes: list[FileOutcome] = []
    waiting: deque[tuple[str, int, Finish]] = deque()
    parsing.prepare((name for name, _ in files), READERS)
    with _settling(workspace, corpus), ThreadPoolExecutor(READERS, "read") as pool:

        def later(parse: Callable[[], Document]) -> Callable[[], Document]:
            return pool.submit(parse).result

        adding = _Adding(workspace, corpus, replace, password, later)

        def finish() -> None:
            outcomes.append(waiting.popleft()[2]())

        for name, path in files:
            safe = parsing.safe_name(name)
            progress(len(outcomes), len(files), "files", safe)
            while safe in {each for each, _, _ in waiting}:  # what becomes of that one decides about this
                finish()
            waiting.append((safe, *_begin_path(adding, name, path)))
            while len(waiting) > (AHEAD if sum(size for _, size, _ in waiting) <= AHEAD_BYTES else READERS):
                finish()
        while waiting:
            progress(len(outcomes), len(files), "files", waiting[0][0])
            finish()
    progress(len(files), len(files), "files")
    return outcomes


Finish = Callable[[], FileOutcome]
"""Puts a file in that was begun, and tells what became of it."""
Later = Callable[[Callable[[], Document]], Callable[[], Document]]
"""Takes what parses a file, and gives what waits for the document."""


@dataclass(frozen=True, slots=True)
class _Adding:
    """What holds for all files that are added together."""

    workspace: Workspace
    corpus: Corpus
    replace: bool
    password: str | None
    later: Later

    @property
    def limit(self) -> int:
        """Bytes that a file may have."""
        return self.workspace.settings.max_file_mb * 2**20


def _begin_path(adding: _Adding, name: str, source: Source) -> tuple[int, Finish]:
    """Read a file's bytes and begin with it: how many are held until it is finished, and what finishes it."""
    try:
        if isinstance(source, UnreadableFile):
            raise source
        size, data = _bytes_of(source, adding.limit)
    except UnreadableFile as error:
        failed = FileOutcome(parsing.safe_name(name), "unreadable", str(error))
        return 0, lambda: failed
    except OSError as error:
        failed = FileOutcome(parsing.safe_name(name), "unreadable", f"The file cannot be opened: {error.strerror}.")
        return 0, lambda: failed
    if size > adding.limit:
        return 0, lambda: _unreadable(adding, name, b"", size, _too_big(size, adding.limit))
    return len(data), _begin(adding, name, data)


def _bytes_of(path: Path, limit: int) -> tuple[int, bytes]:
    """Size and bytes of a file; of one over the limit no bytes.

    Raises:
        UnreadableFile: it is no file (any more): to read a pipe or a device may never end.
        OSError: it cannot be opened.

    """
    with os.fdopen(
        os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb"
    ) as file:
        status = os.fstat(file.fileno())
        if wrong := _wrong_kind(status.st_mode):
            raise UnreadableFile(wrong)
        data = file.read(limit + 1) if status.st_size <= limit else b""
    return (len(data), data) if 0 < len(data) <= limit else (max(status.st_size, len(data)), b"")


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
    with _settling(workspace, corpus):
        return _begin(_Adding(workspace, corpus, replace, password, lambda parse: parse), name, data)()


def _begin(adding: _Adding, name: str, data: bytes) -> Finish:
    """Look whether a file is known, and have it parsed when it is to be taken."""
    name = parsing.safe_name(name)
    there = adding.workspace.store.document_named(adding.corpus.id, name)
    content = hashlib.sha256(data).hexdigest()
    if there is not None and there.content_hash == content:
        same = _told(there, "same", "already here, unchanged")
        return lambda: same
    if there is not None and not adding.replace:
        exists = _told(there, "exists", "another file of this name is here: confirm to replace it")
        return lambda: exists
    parse = partial(parsing.parse, detect=language.detect, password=adding.password, max_bytes=adding.limit)
    return partial(_finish, adding, name, data, there, adding.later(partial(parse, name, data)))


def _finish(
    adding: _Adding, name: str, data: bytes, there: DocumentInfo | None, parsed: Callable[[], Document]
) -> FileOutcome:
    try:
        document = parsed()
    except UnreadableFile as error:
        return _unreadable(adding, name, data, len(data), error)
    store = adding.workspace.store
    store.add_document(adding.corpus.id, document)
    info = store.document_named(adding.corpus.id, name)
    assert info is not None
    return _told(info, "added" if there is None else "replaced", "")


def _told(info: DocumentInfo, status: Literal["added", "same", "replaced", "exists"], message: str) -> FileOutcome:
    return FileOutcome(info.name, status, message, info.pages, info.characters, info.language, info.warnings)


def _unreadable(adding: _Adding, name: str, data: bytes, size: int, error: UnreadableFile) -> FileOutcome:
    content, name = hashlib.sha256(data).hexdigest(), parsing.safe_name(name)
    adding.workspace.store.add_unreadable(adding.corpus.id, name, content, size, str(error))
    status: Literal["password", "unreadable"] = "password" if isinstance(error, PasswordNeeded) else "unreadable"
    return FileOutcome(name, status, str(error))


def stage(workspace: Workspace, files: Iterable[tuple[str, bytes]]) -> tuple[Path, list[tuple[str, str]]]:
    """Put uploaded bytes where a job can read them: the folder, and (name, path) of each. `discard_staged` ends it."""
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
    """Put staged files, (name, path) of each, into a folder of their own, for a job that reads them once more.

    Those that another one took meanwhile are left out.
    """
    folder, staged = stage(workspace, ())
    for number, (name, path) in enumerate(files):
        with suppress(FileNotFoundError):
            staged.append((name, str(Path(path).rename(folder / str(number)))))
    if not staged:
        discard_staged(workspace, folder)
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


def discard_old_staged(workspace: Workspace, seconds: float, keep: Collection[str]) -> None:
    """Delete the staged uploads that are older than so many seconds, but for the folders to `keep`."""
    try:
        folders = list(os.scandir(workspace.settings.home / "uploads"))
    except OSError:
        return
    for folder in folders:
        with suppress(OSError):  # another process deletes it
            if folder.path not in keep and time.time() - folder.stat().st_mtime > seconds:
                discard_staged(workspace, Path(folder.path))


def delete_documents(workspace: Workspace, corpus: Corpus, ids: Sequence[str]) -> None:
    """Delete files from a corpus; evidence that points into them turns stale, indexes have to be updated."""
    with _settling(workspace, corpus):
        workspace.store.delete_documents(corpus.id, ids)


@contextmanager
def _settling(workspace: Workspace, corpus: Corpus) -> Iterator[None]:
    """Have evidence follow the documents of a corpus at the end, however that comes."""
    try:
        yield
    finally:
        workspace.store.settle(corpus.id)
