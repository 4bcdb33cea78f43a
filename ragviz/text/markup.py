"""Untrusted text made safe to show: escaped for markdown, or as HTML with marked ranges.

No text of a document, a question or a file name may become markup. Offsets are characters of the text, end exclusive.
The classes have their style in `assets/marks.css`.
"""

from __future__ import annotations

import html
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Range = tuple[int, int]
Stance = tuple[int, int, str]
"""Start, end, and "for" or "against": a sentence that supports or contradicts the selected claim."""

SIGNS = {"supported": "✓", "together": "✓", "contradicted": "✗", "absent": "○"}
"""The sign of a verdict, beside its colour."""
VERDICTS = {
    "supported": ("✓", "supported by the passages"),
    "contradicted": ("✗", "contradicted by the passages"),
    "absent": ("○", "not supported by the passages"),
}
"""Verdict on a claim of an answer → its sign and its words."""
UNANSWERABLE = "<Unanswerable>"

_COMMAND = re.compile(r"`((?:ragviz|fuser|index build)[\w ./=-]*)`")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_WORD = re.compile(r"[\[\]]|[!-Z\\^-~]+")  # brackets alone: inside code they would end a label
_INTERPRETED = re.compile(
    r":(?:100|1234|[\w+-]*[a-z+-][\w+-]*):|https?:/|www\.|[\w.+-]@[\w-]+\.[\w-]|^(?:->|<-|--|>=|<=|~=)$",
    re.IGNORECASE | re.ASCII,
)
"""What Streamlit interprets even in escaped text: :names: of emoji, addresses to link, arrows."""


def visible(text: str) -> str:
    """Replace control characters, lone surrogates and direction overrides by �; the length stays.

    >>> visible("a" + chr(0) + "b" + chr(0xD800))
    'a�b�'
    """
    return _UNSEEN.sub("\ufffd", text)


def plain(text: str) -> str:
    r"""Escape one line of text for Streamlit's markdown, so that it is shown and copied exactly as written.

    A word that would still become an emoji, a link or an arrow is shown as code.

    >>> print(plain("*a* [b](c) $x$ <i> http://localhost:9200"))
    \*a\* \[b\]\(c\) \$x\$ \<i\> `http://localhost:9200`
    """

    def escaped(match: re.Match[str]) -> str:
        word = match[0]
        if not _INTERPRETED.search(word):
            return _PUNCTUATION.sub(r"\\\1", word)
        fence = "`" * (1 + max(map(len, re.findall("`+", word)), default=0))
        blank = " " if word[0] == "`" or word[-1] == "`" else ""
        return f"{fence}{blank}{word}{blank}{fence}"

    return _WORD.sub(escaped, " ".join(visible(text).split()))


def sentence(text: str) -> str:
    r"""Escape a sentence of ours as `plain` does, and show the commands that it quotes in backticks as code.

    >>> print(sentence("There is no *x*: `ragviz jobs --json` lists them; a `c` stays as it is."))
    There is no \*x\*\: `ragviz jobs --json` lists them\; a \`c\` stays as it is\.
    """
    shown = []
    for place, part in enumerate(_COMMAND.split(text)):
        before, after = " " * part[:1].isspace(), " " * part[-1:].isspace()
        escaped = f"{before}{plain(part)}{after}" if part.strip() else before
        shown.append(f"`{part}`" if place % 2 else escaped)
    return "".join(shown)


def without_middle(name: str, most: int) -> str:
    """Return at most `most` characters of a name, its middle left out: names often differ in their ends.

    >>> without_middle("sample-hybrid-rerank", 11), without_middle("short", 11)
    ('sampl…erank', 'short')
    """
    end = (most - 1) // 2
    return name if len(name) <= most else f"{name[: most - 1 - end]}…{name[-end:]}"


def shortened(text: str, most: int = 80) -> str:
    """Return one line of at most `most` characters, cut at a word where there is one, with an ellipsis.

    >>> shortened("one two  three", 9)
    'one two…'
    """
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    cut = line[: most - 1]
    return (cut[: cut.rfind(" ")] if cut.rfind(" ") > most // 2 else cut).rstrip() + "…"


def highlighted(
    text: str,
    gold: Sequence[Range] = (),
    hits: Sequence[Range] = (),
    *,
    stances: Sequence[Stance] = (),
    differing: Sequence[Range] = (),
    fold: int | None = 280,
    language: str = "",
) -> str:
    """Return `text` as HTML with `gold`, `hits`, `stances` and `differing` words marked, within the text.

    With `fold`, text further than that many characters from any mark but a hit, which may be as long as the text, is
    folded, and opened with a click on its length; a text without marks shows its beginning.

    >>> highlighted("a <b> c", gold=[(2, 5)])
    '<div class="rv-text" dir="auto">a <mark class="gold">&lt;b&gt;</mark> c</div>'
    """
    marks = [(start, end, "gold") for start, end in _within(gold, len(text))]
    marks += [(start, end, "hit") for start, end in _within(hits, len(text))]
    marks += [(start, end, name) for s, e, name in stances for start, end in _within([(s, e)], len(text))]
    marks += [(start, end, "differs") for start, end in _within(differing, len(text))]
    begins = {start for start, _, name in marks if name in ("for", "against")}
    pieces = [
        (start, end, _mark(classes | ({"begins"} if start in begins else set())), "</mark>" if classes else "")
        for start, end, classes, _ in _counted(marks, [], len(text))
    ]
    shown = (
        [(0, len(text))] if fold is None else _unfolded([(s, e) for s, e, name in marks if name != "hit"], text, fold)
    )
    return _block(_with_folds(visible(text), pieces, shown), language)


def _block(shown: str, language: str) -> str:
    lang = f' lang="{html.escape(language)}"' if language else ""
    return f'<div class="rv-text" dir="auto"{lang}>{shown}</div>'


def _mark(classes: set[str]) -> str:
    return f'<mark class="{" ".join(sorted(classes))}">' if classes else ""


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence [start, end) that makes claims: the number of each with its verdict, None without one.

    `own` is whether it makes the selected claim; `stance` ("for", "against") whether it supports or contradicts it.
    """

    start: int
    end: int
    claims: tuple[tuple[int, str | None], ...] = ()
    own: bool = False
    stance: str = ""


def claimed(
    text: str,
    sentences: Sequence[MarkedSentence],
    *,
    verdicts: Mapping[str, tuple[str, str]] = VERDICTS,
    language: str = "",
) -> str:
    """Return `text` as HTML, each sentence underlined by the worst verdict on its claims, with their numbers and signs.

    `verdicts` are the sign and the words of each verdict. Sentences must not overlap.

    >>> claimed("A. B.", [MarkedSentence(0, 2, ((1, "supported"),))])[32:]
    '<mark class="supported">A.</mark><sup title="claim 1: supported by the passages">1✓</sup> B.</div>'
    """
    parts, at = [], 0
    for each in sorted(sentences, key=lambda each: each.start):
        given = {verdict for _, verdict in each.claims if verdict}
        worst = next((v for v in ("contradicted", "absent", "supported") if v in given), "")
        classes = {name for name in (worst, "own" if each.own else "", each.stance) if name}
        parts.append(html.escape(visible(text[at : each.start])))
        inside = html.escape(visible(text[each.start : each.end]))
        begins = {"begins"} if each.stance else set()
        parts.append(f"{_mark(classes | begins)}{inside}</mark>" if classes else inside)
        for number, verdict in each.claims:
            sign, words = verdicts.get(verdict or "", ("", "not judged"))
            parts.append(f'<sup title="claim {number}: {html.escape(words)}">{number}{sign}</sup>')
        at = each.end
    parts.append(html.escape(visible(text[at:])))
    return _block("".join(parts), language)


def badges(entries: Sequence[tuple[str, str]]) -> str:
    """Return small framed labels of (class, label) pairs, the class "for", "against" or ""."""
    labels = (f'<span class="{html.escape(n)}">{html.escape(visible(words))}</span>' for n, words in entries)
    return f'<div class="rv-badges">{"".join(labels)}</div>'


def measure(title: str, value: float | None, status: str, why: str, more: Sequence[str]) -> str:
    """Return a metric of one question: its value from 0 to 1 as a bar, or `status`; a click unfolds `more`.

    >>> "width:50%" in measure("Faithfulness", 0.5, "", "1 of 2 claims", [])
    True
    """
    value_html = (
        f'<span class="none">{html.escape(status)}</span>'
        if value is None
        else f'<span class="bar"><i style="width:{max(0.0, min(1.0, value)):.0%}"></i></span><b>{value:.2f}</b>'
    )
    reason = f'<span class="why">{html.escape(visible(why))}</span>' if why else ""
    details = "".join(f"<p>{html.escape(visible(words))}</p>" for words in more)
    return (
        f'<details class="rv-measure"><summary><span>{html.escape(title)}</span>{value_html}{reason}</summary>'
        f"{details}</details>"
    )


def code(text: str) -> str:
    r"""Return text as HTML in one colour, line by line; JSON in it is indented, the names of its fields bold.

    A line that is JSON by itself counts, so that a prompt's data is indented between its words; a list of numbers
    stays a line, as the number of a passage does.

    >>> code("Look: <b>")
    '<pre class="rv-code" tabindex="0">Look: &lt;b&gt;</pre>'
    >>> print(code('{"n": 1}'))
    <pre class="rv-code" tabindex="0">{
      <b>&quot;n&quot;</b>: 1
    }</pre>
    >>> code("[1]")
    '<pre class="rv-code" tabindex="0">[1]</pre>'
    """
    whole = _indented(text)
    lines = [whole] if whole else [_indented(line) or html.escape(visible(line)) for line in text.split("\n")]
    shown = "\n".join(lines)
    return f'<pre class="rv-code" tabindex="0">{shown}</pre>'


def _indented(text: str) -> str:
    """Return a JSON object or list as indented HTML, "" for any other text and for a list of numbers."""
    if not text.strip().startswith(("{", "[")):
        return ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if isinstance(value, list) and all(isinstance(each, int | float) for each in value):
        return ""
    lines = html.escape(visible(json.dumps(value, indent=2, ensure_ascii=False))).split("\n")
    return "\n".join(_FIELD.sub(r"\1<b>\2</b>:", line) for line in lines)


_FIELD = re.compile(r"^( *)(&quot;(?:(?!&quot;).)*&quot;):")


def cuts(
    text: str,
    chunks: Sequence[Range],
    pages: Sequence[tuple[int, int]] = (),
    *,
    focus: Range | None = None,
    language: str = "",
) -> str:
    """Return `text` as HTML with its chunks in alternating tints, a line where one begins, and overlaps hatched.

    `pages` are (number, start): each has a line of its own. `focus` is underlined.

    >>> cuts("abcd", [(0, 2), (2, 4)])[32:]
    '<span class="cut even begins">ab</span><span class="cut odd begins">cd</span></div>'
    """
    order = sorted(range(len(chunks)), key=lambda place: chunks[place])
    marks = [(*chunks[place], "odd" if turn % 2 else "even") for turn, place in enumerate(order)]
    begins = {start for start, _ in chunks}
    stops = {start: number for number, start in pages}
    parts = []
    for start, end, classes, covered in _counted(marks, [*stops, *(focus or ())], len(text)):
        if start in stops:
            parts.append(f'<span class="page">page {stops[start]}</span>')
        kind = "shared" if covered > 1 else next(iter(classes), "")
        kind += " begins" if start in begins else ""
        kind += " focus" if focus and focus[0] <= start < focus[1] else ""
        piece = html.escape(visible(text[start:end]))
        parts.append(f'<span class="cut {kind.strip()}">{piece}</span>' if kind else piece)
    return _block("".join(parts), language)


def parts(text: str, size: int) -> list[Range]:
    r"""Split a long text into parts of at most `size` characters, at line ends where there are any; at least one part.

    >>> parts("one\ntwo\nthree", 5)
    [(0, 4), (4, 8), (8, 13)]
    """
    edges = [0]
    while len(text) - edges[-1] > size:
        line_end = text.rfind("\n", edges[-1] + size // 2, edges[-1] + size)
        edges.append(line_end + 1 if line_end >= 0 else edges[-1] + size)
    return list(itertools.pairwise([*edges, len(text)]))


def range_of(text: str, length: int) -> Range | None:
    """Read "start-end" as a range within 0 … length; None when it is none.

    >>> range_of("3-9", 7), range_of("9-3", 20), range_of("x", 20)
    ((3, 7), None, None)
    """
    match = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", text)
    start, end = (min(int(n), length) for n in match.groups()) if match else (0, 0)
    return (start, end) if start < end else None


def around(text: str, focus: Range, reach: int) -> Range:
    """Return the range and up to `reach` characters on both sides, from white space to white space."""
    start, end = max(0, focus[0] - reach), min(len(text), focus[1] + reach)
    return _to_space(text, start, -1), _to_space(text, end, 1)


def overlapping(ranges: Sequence[Range]) -> bool:
    """Return whether any two of the ranges share a character.

    >>> overlapping([(0, 3), (3, 5)]), overlapping([(2, 5), (0, 3)])
    (False, True)
    """
    order = sorted(ranges)
    return any(end > start for (_, end), (start, _) in itertools.pairwise(order))


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """Return a small legend of (class, label) pairs of the marks above."""
    labels = (f'<span><i class="{html.escape(name)}">abc</i> {html.escape(words)}</span>' for name, words in entries)
    return f'<div class="rv-legend">{"".join(labels)}</div>'


def values(sentences: Sequence[str], most: int = 200) -> str:
    """Return what a figure shows as a list of sentences behind a summary, for keyboards and screen readers.

    The sentences are plotly's: escaped, with its line breaks. At most `most` are listed; the end counts the rest.

    >>> values(["3 of 10<br>a &lt; b"])
    '<details class="rv-values"><summary>Values</summary><ul tabindex="0"><li>3 of 10 a &lt; b</li></ul></details>'
    """
    distinct = list(dict.fromkeys(sentences))
    listed = [html.unescape(re.sub(r"<[^>]*>", " ", sentence)) for sentence in distinct[:most]]
    if left_out := len(distinct) - len(listed):
        listed.append(f"and {left_out:,} more")
    items = "".join(f"<li>{html.escape(visible(sentence))}</li>" for sentence in listed)
    return f'<details class="rv-values"><summary>Values</summary><ul tabindex="0">{items}</ul></details>'


def score_bar(rank: int, score: float, best: float, *, marked: bool = False) -> str:
    """Return one line of a ranking: rank, a bar for the score, the score; ★ when `marked`.

    >>> "width:50%" in score_bar(2, 0.4, 0.8)
    True
    """
    share = max(0.0, min(1.0, score / best)) if best > 0 else 0.0
    star = ' <span class="star">★ evidence</span>' if marked else ""
    return (
        f'<div class="rv-score"><b>{rank}</b><span class="bar"><span style="width:{share:.0%}"></span></span>'
        f'<span class="value">{score:.3f}</span>{star}</div>'
    )


def _within(ranges: Sequence[Range], length: int) -> list[Range]:
    inside = ((max(0, start), min(length, end)) for start, end in ranges)
    return [(start, end) for start, end in inside if start < end]


def _counted(
    marks: Sequence[tuple[int, int, str]], stops: Sequence[int], length: int
) -> list[tuple[int, int, set[str], int]]:
    """Return pieces with their classes and the number of marks that cover them; one sweep over the edges."""
    begins: dict[int, list[str]] = {}
    ends: dict[int, list[str]] = {}
    for start, end, name in marks:
        begins.setdefault(start, []).append(name)
        ends.setdefault(end, []).append(name)
    edges = sorted({0, length, *begins, *ends, *(stop for stop in stops if 0 <= stop < length)})
    active: dict[str, int] = {}
    pieces = []
    for start, end in itertools.pairwise(edges):
        for name in ends.get(start, []):
            active[name] -= 1
        for name in begins.get(start, []):
            active[name] = active.get(name, 0) + 1
        pieces.append((start, end, {name for name, n in active.items() if n}, sum(active.values())))
    return pieces


def _unfolded(marked: Sequence[Range], text: str, fold: int) -> list[Range]:
    """Return what stays unfolded: the marks and `fold` characters around them; no fold is shorter than `fold`."""
    around = [(start - fold, end + fold) for start, end in sorted(marked)] or [(0, 2 * fold)]
    shown: list[Range] = []
    for start, end in ((_to_space(text, max(0, s), -1), _to_space(text, min(len(text), e), 1)) for s, e in around):
        if shown and start - shown[-1][1] <= fold:
            shown[-1] = (shown[-1][0], max(end, shown[-1][1]))
        else:
            shown.append((start, end))
    first, last = shown[0], shown[-1]
    if first[0] <= fold:
        shown[0] = (0, first[1])
    if len(text) - last[1] <= fold:
        shown[-1] = (shown[-1][0], len(text))
    return shown


def _to_space(text: str, place: int, step: int) -> int:
    """Return the nearest white space outward, at most 40 characters away, so that no word is cut."""
    for offset in range(0, 40 * step, step):
        at = place + offset
        if at <= 0 or at >= len(text):
            return min(max(at, 0), len(text))
        if text[at].isspace():
            return at
    return place


def _with_folds(text: str, pieces: Sequence[tuple[int, int, str, str]], shown: Sequence[Range]) -> str:
    """Return the pieces in order; those outside `shown` inside a fold labelled with its length."""
    parts, at = [], 0
    for low, high in [*shown, (len(text), len(text))]:
        if at < low:
            hidden = _between(text, pieces, at, low)
            parts.append(f"<details><summary>… {low - at:,} characters …</summary>{hidden}</details>")
        parts.append(_between(text, pieces, low, high))
        at = high
    return "".join(parts)


def _between(text: str, pieces: Sequence[tuple[int, int, str, str]], low: int, high: int) -> str:
    inside = ((max(start, low), min(end, high), opening, closing) for start, end, opening, closing in pieces)
    return "".join(f"{o}{html.escape(text[start:end])}{c}" for start, end, o, c in inside if start < end)
