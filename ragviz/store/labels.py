"""What a person may write on a run: tags and a note."""

from __future__ import annotations

from collections.abc import Sequence

from ragviz.core.errors import UsageError
from ragviz.text.untrusted import storable

LONGEST_TAG, MOST_TAGS, LONGEST_NOTE = 50, 20, 2_000


def checked_tags(tags: Sequence[str]) -> list[str]:
    """Return tags without blanks at their ends and without repetitions, in order.

    Raises:
        UsageError: one is blank, holds a comma or a line end, or is longer than `LONGEST_TAG`; more than `MOST_TAGS`.

    >>> checked_tags([" baseline", "v2", "baseline"])
    ['baseline', 'v2']
    """
    checked = list(dict.fromkeys(tag.strip() for tag in tags))
    for tag in checked:
        if not tag or len(tag) > LONGEST_TAG or "," in tag or not tag.isprintable():
            raise UsageError(
                f"'{tag[:60]}' cannot be a tag: give 1 to {LONGEST_TAG} printable characters without a comma."
            )
    if len(checked) > MOST_TAGS:
        raise UsageError(f"{len(checked)} tags are too many: a run has at most {MOST_TAGS}.")
    return checked


def checked_note(note: str) -> str:
    """Return a note without blanks at its ends; UsageError when it is longer than `LONGEST_NOTE` characters."""
    if len(note.strip()) > LONGEST_NOTE:
        raise UsageError(f"The note has {len(note.strip()):,} characters; it can have {LONGEST_NOTE:,}.")
    return str(storable(note.strip()))
