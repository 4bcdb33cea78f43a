"""One HTML file that holds everything it shows: style, plotly.js, figures. It opens offline and prints as it reads.

A report is sections of parts; a part is a text, or a record that the template of its class's name draws. What the
templates do not write themselves is escaped, so that no text becomes markup. No mean stands bare.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from ragviz.core.call import Estimate
from ragviz.report import style
from ragviz.text.markup import visible
from ragviz.text.untrusted import without_keys

FONT = (
    'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", "PingFang SC", '
    '"Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Micro Hei", sans-serif'
)
"""Fonts that systems have, those with Chinese among them: a file with its own would be twice as large."""
PRINTED = 660
"""Pixels of a figure's width on paper: A4 and US Letter within their margins."""
_TITLES = {"title": {"font": {"size": 12}}}
_LOOK = {"font": {"family": FONT, "size": 12}, "xaxis": _TITLES, "yaxis": _TITLES}
"""The size for which the margins of figures are made."""


def _shown(value: Any) -> Any:
    """Return what a template shows of a value: control characters and direction overrides of a text as �."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_TEMPLATES = Environment(
    loader=PackageLoader("ragviz.report"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
    finalize=_shown,
)


class Record:
    """A part of a report that a template draws."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return it as markup."""
        return _TEMPLATES.get_template(f"{type(self).__name__.lower()}.html").render(part=self)


Part = str | Record


@dataclass(frozen=True, slots=True)
class Text(Record):
    """A paragraph that is `soft`, or a `warning`."""

    words: str
    look: str = "soft"


@dataclass(frozen=True, slots=True)
class Points(Record):
    """A list of sentences."""

    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table(Record):
    """A table with a caption; a row's first cell is its heading, the columns `numbers` are right-aligned."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str
    numbers: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A number with its name and what it rests on."""

    title: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Facts(Record):
    """Numbers beside each other."""

    facts: Sequence[Fact]


@dataclass(frozen=True, slots=True)
class Card(Record):
    """What a person reads first: a sign, a title, and parts; `look` is "ship", "no" or ""."""

    sign: str
    title: str
    parts: Sequence[Part]
    look: str = ""


@dataclass(frozen=True, slots=True)
class Figure(Record):
    """A figure under its title, with its values in words (`alt`) for those who do not see it; `data` are JSON."""

    id: str
    title: str
    note: str
    alt: str
    height: int
    data: Markup


@dataclass(frozen=True, slots=True)
class Section:
    """A chapter of a report, with the heading under which the contents list it."""

    id: str
    title: str
    parts: Sequence[Part]


def figure(drawn: go.Figure, title: str, note: str = "") -> Figure:
    """Return a figure as a part: its JSON cannot end the block it stands in, whatever the figure says."""
    copy = go.Figure(drawn)
    copy.update_layout(template={"layout": _LOOK}, autosize=True)
    body = json.dumps(json.loads(copy.to_json()), separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        body = body.replace(character, f"\\u{ord(character):04x}")
    name = f"figure-{hashlib.sha256(f'{title} {body}'.encode()).hexdigest()[:12]}"
    return Figure(name, title, note, drawn.layout.meta["alt"], drawn.layout.height, Markup(body))  # noqa: S704


def estimate_fact(title: str, estimate: Estimate) -> Fact:
    """Return a mean with its interval and n."""
    if estimate.mean is None:
        return Fact(title, "–", "no question is scored")
    return Fact(title, f"{estimate.mean:.2f}", f"{estimate.interval_words()}, n = {estimate.n:,}")


def mean_cells(estimate: Estimate) -> tuple[str, str, str]:
    """Return mean, interval and n, each a cell of a row."""
    if estimate.mean is None:
        return "–", "", f"{estimate.n:,}"
    return f"{estimate.mean:.3f}", estimate.interval_words(3), f"{estimate.n:,}"


def date(seconds: float) -> str:
    """Write a time of the store as a date in UTC.

    >>> date(0.0)
    '1970-01-01 00:00 UTC'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def document(title: str, lead: str, sections: Sequence[Section], keys: Sequence[str] = ()) -> bytes:
    """Return the file: title and `lead`, then the sections; `keys` are in it nowhere.

    A policy in it forbids the browser every request and every script but the two that are written here.
    """
    config = Markup(json.dumps(style.CONFIG | {"responsive": True}))  # noqa: S704
    script = _TEMPLATES.get_template("report.js").render(config=config, printed=PRINTED)
    scripts = (f"\n{get_plotlyjs()}\n", script)
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    policy = (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}' 'sha256-{hashes[1]}'; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    facts = {"title": title, "lead": lead, "sections": sections, "font": Markup(FONT), "policy": policy}  # noqa: S704
    told = without_keys(_TEMPLATES.get_template("report.html").render(facts), keys)
    ends = "".join(f"<script>{each}</script>\n" for each in scripts)
    return f"{told}\n{ends}</body>\n</html>\n".encode()
