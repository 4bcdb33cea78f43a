"""Pages of a PDF that are pictures, read by tesseract where it is installed."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from functools import cache

from ragviz.core.errors import UnreadableFile
from ragviz.documents.child import scan_in_child
from ragviz.text.counts import counted, listed

MOST = 300
"""Pages of a file that are read as pictures, at most: a page takes seconds."""
BATCH = 8
"""Pages that one child process reads, so that one that hangs costs no more."""


@cache
def installed() -> tuple[str, str]:
    """Return the languages that tesseract reads here, as it takes them ("eng+chi_sim"), and the folder of its data.

    "" for both where it is not installed. Upright and written-out variants, and what finds only the direction, are no
    languages.
    """
    try:
        done = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True, timeout=20, check=False)  # noqa: S607
    except (OSError, subprocess.TimeoutExpired):
        return "", ""
    folder = re.search(r'"(.+)"', done.stdout + done.stderr)
    names = re.findall(r"^(?!osd$|equ$)[a-z]{3}(?:_[a-z]+)?$", done.stdout, re.MULTILINE)
    languages = [name for name in names if not name.endswith(("_vert", "_old"))]
    return ("+".join(languages), folder[1]) if folder and languages else ("", "")


def read(data: bytes, password: str | None, parts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the texts of all pages, those without one read as pictures, and warnings that say so."""
    texts, empty = list(parts), [number for number, part in enumerate(parts, start=1) if not part]
    languages, folder = installed()
    if not empty or not languages:
        return texts, []
    warnings = []
    if len(empty) > MOST:
        warnings.append(f"OCR looked at the first {MOST} of {len(empty):,} pages without text only: split the file")
    for pages in (empty[start : start + BATCH] for start in range(0, min(len(empty), MOST), BATCH)):
        try:
            found = scan_in_child(data, password, pages, languages, folder)
        except UnreadableFile as error:
            warnings.append(f"OCR failed at the pages {listed(pages)}, and those behind were not tried: {error}")
            break
        for page, text in zip(pages, found, strict=True):
            texts[page - 1] = text
    seen = [page for page in empty if texts[page - 1]]
    has = counted(len(seen), "page", "has")
    told = f"{has} no text layer, and the text that tesseract ({languages}) sees: {listed(seen)}; check it"
    return texts, [*([told] if seen else []), *warnings]
