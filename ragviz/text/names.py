"""Several names shortened together, so that they stay distinct and what differs between them remains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragviz.text.markup import without_middle

_WHOLE_WORD = 12  # letters: a difference inside a longer word is shown without the rest of the word


def distinct(names: Iterable[str], most: int) -> list[str]:
    """Return each name with at most `most` characters: what all names share is left out first, `…` in its place.

    Names that fit stay whole, and different names stay different: numbered, where `most` is too small for more.

    >>> distinct(["tts-tokens-200-knn-extractive", "tts-tokens-200-hybrid-extractive"], 16)
    ['tts-to…knn…ctive', 'tts-…hybrid…tive']
    >>> distinct(["sample-knn", "sample-hybrid"], 20), distinct(["sample-hybrid-rerank"], 11)
    (['sample-knn', 'sample-hybrid'], ['sampl…erank'])
    >>> distinct(["handbook-recursive-400-top-10", "handbook-recursive-400-top-12"], 14)
    ['handbook-re…10', 'handbook-re…12']
    >>> distinct(["供水系统运行手册-向量检索-抽取式回答", "供水系统运行手册-混合检索-抽取式回答"], 10)
    ['供水系…向量…式回答', '供水系…混合…式回答']
    >>> distinct(["aaaaaaaa-1", "aaaaaaaa-2", "b"], 5), distinct(["abcdefgh", "abcdefgx"], 1)
    (['aa…-1', 'aa…-2', 'b'], ['1', '2'])
    """
    given = list(names)
    every = list(dict.fromkeys(given))
    shown = _shortened(every, every, most)
    while clashing := _clashing(shown):
        refined = {name: text for group in clashing for name, text in _shortened(group, group, most).items()}
        if all(refined[name] == shown[name] for name in refined):
            break
        shown |= refined
    for group in _clashing(shown):
        for number, name in enumerate(group, start=1):
            shown[name] = f"{shown[name][: max(0, most - len(str(number)))]}{number}"
    return [shown[name] for name in given]


def short_names(names: Iterable[str], most: int) -> dict[str, str]:
    """Return name → the same as `distinct` shows it.

    >>> short_names(["sample-knn", "sample-hybrid-rerank"], 10)
    {'sample-knn': 'sample-knn', 'sample-hybrid-rerank': '…hybr…rank'}
    """
    given = list(names)
    return dict(zip(given, distinct(given, most), strict=True))


def _clashing(shown: dict[str, str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name, text in shown.items():
        groups.setdefault(text, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _shortened(names: Sequence[str], among: Sequence[str], most: int) -> dict[str, str]:
    """Shorten names by what all those `among` which they are shown share at their beginnings and ends."""
    if len(among) == 1:
        return {name: without_middle(name, most) for name in names}
    start = _shared(among)
    end = _shared([name[start:][::-1] for name in among])
    return {name: name if len(name) <= most else _around(name, start, len(name) - end, most) for name in names}


def _shared(names: Sequence[str]) -> int:
    first, last = min(names), max(names)
    differ = (place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return next(differ, min(len(first), len(last)))


def _around(name: str, start: int, end: int, most: int) -> str:
    """Return a name's part from `start` to `end` with as much around it as fits, at least one character left out."""
    first, last = _to_words(name, start, end)
    if last - first + 2 <= most:
        start, end = first, last
    room = most - (end - start) - (start > 0) - (end < len(name))
    if room < 0:
        inside = without_middle(name[start:end], max(1, most - (start > 0) - (end < len(name))))
        return f"{'…' * (start > 0)}{inside}{'…' * (end < len(name))}"[:most]
    after = min(len(name) - end, room // 2)
    before = min(start, room - after)
    after = min(len(name) - end, room - before)
    head = name[:before] + "…" * (before < start)
    tail = "…" * (after < len(name) - end) + name[len(name) - after :]
    return f"{head}{name[start:end]}{tail}"


def _to_words(name: str, start: int, end: int) -> tuple[int, int]:
    """Extend a range to the ends of the words of ASCII letters and digits that it cuts, unless these are long."""
    first, last = start, end
    while first and _in_word(name[first - 1 : first + 1]):
        first -= 1
    while last < len(name) and _in_word(name[last - 1 : last + 1]):
        last += 1
    return first if start - first < _WHOLE_WORD else start, last if last - end < _WHOLE_WORD else end


def _in_word(two: str) -> bool:
    return len(two) == 2 and two.isascii() and two.isalnum()
