"""Where texts that other systems read stand in documents, though they were cut, cleaned or parsed in another way.

The documents are read once: the four units (words, Chinese characters) from each place on are one number, and the
numbers are sorted. A text is then found by those of its own: a few look-ups, however large the documents are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ragviz.core.document import Chunk, Document
from ragviz.core.stopping import Progress, silent
from ragviz.questions.units import units

LEAST = 0.5
"""The share of a text's units that must stand in one place for it to be found nearly."""
_UNITS = 4
"""Units in a number; shorter stretches tell nothing."""
_MOST = 200
"""Places of a number at most: one that stands more often is passed over where others tell the place."""

How = Literal["verbatim", "normal", "nearly"]
"""Character by character; unit by unit, as in `text.normal_form`; in stretches of at least four units."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text stands: characters of a document, how it was found, and the share of its units that was."""

    document_id: str
    start: int
    end: int
    how: How
    share: float = 1.0


class Places:
    """Finds texts in documents. It takes 20 bytes for each unit of them."""

    def __init__(
        self, documents: Iterable[Document], text_of: Callable[[str], str], progress: Progress = silent
    ) -> None:
        """Read documents; `text_of` returns the text of one by its id, quickly."""
        self.ids: list[str] = []
        self._text_of = text_of
        self._named: defaultdict[str, list[int]] = defaultdict(list)
        numbers, starts, ends, first = [_numbers(())], list[int](), list[int](), [0]
        for count, document in enumerate(documents):
            progress(count, None, "documents", "Reading the documents")
            own = list(units(document.text))
            numbers.append(_numbers([unit for unit, _, _ in own]))
            starts += [start for _, start, _ in own]
            ends += [end for _, _, end in own]
            first.append(len(starts))
            self.ids.append(document.id)
            for name in _names(document.name):
                self._named[name].append(count)
        self._numbers = np.concatenate(numbers)
        self._order = np.argsort(self._numbers, kind="stable")
        self._sorted = self._numbers[self._order]
        self._starts, self._ends = np.array(starts, dtype=np.int32), np.array(ends, dtype=np.int32)
        self._first = np.array(first)

    def find(self, text: str, document: str = "", but: Collection[str] = ()) -> Place | None:
        """Return where a text stands, in the document of that name rather than in others, else in the first; or None.

        All of it counts for more than a part of it. Chunks with the ids `but` are taken already.
        """
        text = text.strip()
        own = list(units(text))
        if not own or not len(self._numbers):
            return None
        short = max(0, _UNITS - len(own))
        asked = _numbers([unit for unit, _, _ in own])[: len(own) - _UNITS + 1 or None]
        asked = asked[:1] if short else asked
        low = np.searchsorted(self._sorted, asked, "left")
        high = np.searchsorted(self._sorted, asked + np.uint64((1 << 16 * short) - 1), "right")
        named = next((places for name in _names(document) if (places := self._named.get(name))), [])
        if (place := self._whole(text, own, low, high, named, but)) is not None:
            return place
        return None if short or but else self._nearly(len(own), low, high, named)

    def named(self, name: str) -> Place | None:
        """Return the whole document of this name, where there is one; or None."""
        found = next((places for each in _names(name) if (places := self._named.get(each))), [])
        return Place(self.ids[found[0]], 0, len(self._text_of(self.ids[found[0]])), "verbatim") if found else None

    def _whole(
        self,
        text: str,
        own: Sequence[tuple[str, int, int]],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        named: Sequence[int],
        but: Collection[str],
    ) -> Place | None:
        """Return where all of a text stands: looked for where its rarest number does."""
        counts = high - low
        if not counts.any():
            return None
        rarest = int(np.where(counts, counts, counts.max() + 1).argmin())
        at = np.sort(self._order[low[rarest] : high[rarest]])
        of = np.searchsorted(self._first, at, "right") - 1
        preferred = np.argsort(~np.isin(of, named), kind="stable")
        normal = None
        for place, number in zip(at[preferred].tolist(), of[preferred].tolist(), strict=True):
            identity, source = self.ids[number], self._text_of(self.ids[number])
            start = int(self._starts[place]) - own[rarest][1]
            if start >= 0 and source.startswith(text, start):
                if Chunk.make_id(identity, start, start + len(text)) not in but:
                    return Place(identity, start, start + len(text), "verbatim")
                continue
            first, last = place - rarest, place - rarest + len(own) - 1
            if normal is None and self._first[number] <= first and last < self._first[number + 1]:
                start, end = int(self._starts[first]), int(self._ends[last])
                if [unit for unit, _, _ in units(source[start:end])] == [unit for unit, _, _ in own]:
                    normal = Place(identity, start, end, "normal")
        return None if but else normal

    def _nearly(self, size: int, low: NDArray[np.int64], high: NDArray[np.int64], named: Sequence[int]) -> Place | None:
        """Return where stretches of a text stand, in their order and close together, if they are `LEAST` of it."""
        counts = np.where(high - low > _MOST, 0, high - low)
        own = np.repeat(np.arange(len(counts)), counts)
        if not len(own):
            return None
        skipped = np.repeat(np.cumsum(counts) - counts, counts)
        at = self._order[np.repeat(low, counts) + np.arange(len(own)) - skipped]
        of = np.searchsorted(self._first, at, "right") - 1
        for mask in (np.isin(of, named), np.ones(len(of), dtype=bool)):
            place = self._densest(size, own[mask], at[mask], of[mask])
            if place is not None:
                return place
        return None

    def _densest(self, size: int, own: NDArray[np.int64], at: NDArray[np.int64], of: NDArray[np.int64]) -> Place | None:
        """Return the place where most numbers of a text stand nearly as far from each other as in the text."""
        if not len(own):
            return None
        order = np.lexsort((own, at - own, of))
        own, at, of = own[order], at[order], of[order]
        # Documents are set further apart than the numbers of one text may be shifted.
        shift = at - own + of * (size + _UNITS)
        dense = np.searchsorted(shift, shift + size // 2 + _UNITS, "right") - np.arange(len(shift))
        best = int(dense.argmax())
        within = slice(best, best + int(dense[best]))
        chain = _without_stray(_in_order(own[within], at[within]))
        chain = [(-place, -there) for place, there in _without_stray([(-p, -t) for p, t in chain[::-1]])[::-1]]
        covered = np.unique((np.array([place for place, _ in chain])[:, np.newaxis] + np.arange(_UNITS)).ravel())
        if len(covered) < LEAST * size:
            return None
        first, last = chain[0][1], chain[-1][1] + _UNITS - 1
        start, end = int(self._starts[first]), int(self._ends[last])
        return Place(self.ids[int(of[best])], start, end, "nearly", len(covered) / size)


def _in_order(own: NDArray[np.int64], at: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the longest chain of pairs that rise in both."""
    pairs = [(int(own[i]), int(at[i])) for i in np.lexsort((-at, own))]
    lasts, tails, before = list[int](), list[int](), list[int]()
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(lasts, place)
        before.append(tails[length - 1] if length else -1)
        lasts[length : length + 1], tails[length : length + 1] = [place], [number]
    chain, number = list[tuple[int, int]](), tails[-1]
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _without_stray(chain: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return a chain without a beginning that stands further from the rest than it is long."""
    shifts = [there - place for place, there in chain]
    for number in range(1, len(chain)):
        if shifts[number] != shifts[0]:
            stray = shifts[number] - shifts[0] > chain[number - 1][0] - chain[0][0] + _UNITS
            return _without_stray(chain[number:]) if stray else chain
    return chain


def _numbers(words: Sequence[str]) -> NDArray[np.uint64]:
    """Return for each unit a number of it and the next three, 16 bits each, 0 behind the last."""
    each = np.zeros(len(words) + _UNITS, dtype=np.uint64)
    each[: len(words)] = [crc32(word.encode("utf-8", "surrogatepass")) % 0xFFFF + 1 for word in words]
    numbers = np.zeros(len(words), dtype=np.uint64)
    for place in range(_UNITS):
        numbers = numbers << np.uint64(16) | each[place : place + len(words)]
    return numbers


def _names(name: str) -> list[str]:
    """Return what a document may be called, its whole name first.

    >>> _names("docs/Pumps.md")
    ['docs/pumps.md', 'pumps.md', 'pumps']
    """
    path = PurePosixPath(name.strip().casefold().replace("\\", "/"))
    return [each for each in dict.fromkeys((str(path), path.name, path.stem)) if each not in ("", ".")]
