"""HTML made of elements: what is not made here is escaped, so that no text becomes markup. No mean stands bare."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from ragviz.core.call import Estimate
from ragviz.text.markup import visible

VOID = ("br", "hr", "meta", "col")
"""Elements without an end."""


class Html(str):
    """Markup made by `element`; any other string is text."""

    __slots__ = ()


Content = str | None
"""Text, which is escaped, or `Html`; None is nothing."""


def element(tag: str, *content: Content, **attributes: str | int | None) -> Html:
    """Return an element; `class_` is the attribute class, `data_k` is data-k, None leaves an attribute out.

    >>> element("p", "a < b", element("b", "c"), class_="note")
    '<p class="note">a &lt; b<b>c</b></p>'
    >>> element("br"), element("td", None, colspan=2)
    ('<br>', '<td colspan="2"></td>')
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(visible(str(value)))}"'
        for name, value in attributes.items()
        if value is not None
    )
    start = f"<{tag}{written}>"
    return Html(start if tag in VOID else f"{start}{joined(content)}</{tag}>")


def joined(content: Iterable[Content], between: str = "") -> Html:
    """Return contents one after the other, text escaped."""
    return Html(escaped(between).join(map(escaped, content)))


def escaped(content: Content) -> Html:
    """Return markup as it is, and text as markup that shows it; control characters and direction overrides as �."""
    if content is None:
        return Html("")
    return content if isinstance(content, Html) else Html(html.escape(visible(content)))


def table(
    head: Sequence[Content],
    rows: Sequence[Sequence[Content]],
    caption: str,
    *,
    numbers: Sequence[int] = (),
    class_: str = "",
) -> Html:
    """Return a table with a caption; a row's first cell is its heading, the columns `numbers` are right-aligned."""

    def cell(tag: str, place: int, content: Content, scope: str | None = None) -> Html:
        return element(tag, content, class_="number" if place in numbers else None, scope=scope, dir="auto")

    return element(
        "div",
        element(
            "table",
            element("caption", caption),
            element("thead", element("tr", *(cell("th", place, each, "col") for place, each in enumerate(head)))),
            element(
                "tbody",
                *(
                    element("tr", cell("th", 0, row[0], "row"), *(cell("td", at, c) for at, c in enumerate(row[1:], 1)))
                    for row in rows
                ),
            ),
        ),
        class_=f"table {class_}".strip(),
    )


def fact(title: str, value: str, note: str = "") -> Html:
    """Return a number with its name and what it rests on."""
    return element("div", element("dt", title), element("dd", value, element("small", note) if note else None))


def estimate_fact(title: str, estimate: Estimate) -> Html:
    """Return a mean with its interval and n."""
    if estimate.mean is None:
        return fact(title, "–", "no question is scored")
    return fact(title, f"{estimate.mean:.2f}", f"{estimate.interval_words()}, n = {estimate.n:,}")


def mean_cells(estimate: Estimate) -> tuple[str, str, str]:
    """Return mean, interval and n, each a cell of a row."""
    if estimate.mean is None:
        return "–", "", f"{estimate.n:,}"
    return f"{estimate.mean:.3f}", estimate.interval_words(3), f"{estimate.n:,}"
