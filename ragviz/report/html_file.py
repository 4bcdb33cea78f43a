"""One HTML file that holds everything it shows: style, plotly.js, figures. It opens offline and prints as it reads."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from ragviz.report import style
from ragviz.report.elements import Content, Html, element, joined
from ragviz.text.untrusted import without_keys


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report, with the heading under which the contents list it."""

    id: str
    title: str
    content: Html


class Figures:
    """The figures of a report: each is placed by `add`, and their data are written once, at the end."""

    def __init__(self) -> None:
        self._data: list[Html] = []

    def add(self, figure: go.Figure, title: str, note: str = "") -> Html:
        """Return the place of a figure, under its title, with its values in words for those who do not see it."""
        name = f"figure-{len(self._data) + 1}"
        alt = str((figure.layout.meta or {}).get("alt", title))
        self._data.append(_data(figure, name))
        height = figure.layout.height or 320
        return element(
            "figure",
            element("h3", title),
            element("div", class_="plot", id=name, role="group", aria_label=alt, style=f"height: {height}px"),
            element("figcaption", joined(filter(None, [note, alt]), " ")),
        )

    @property
    def data(self) -> Html:
        """The data of all figures."""
        return joined(self._data)


def _data(figure: go.Figure, name: str) -> Html:
    """Return a figure as a block of JSON: nothing in it ends the block, whatever the figure says."""
    drawn = go.Figure(figure)
    drawn.update_layout(template={"layout": _LOOK}, autosize=True)
    body = json.dumps(json.loads(drawn.to_json()), separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        body = body.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{name}-data">{body}</script>\n')


def document(
    title: str, lead: Content, sections: Sequence[Section], figures: Figures, keys: Sequence[str] = ()
) -> bytes:
    """Return the file: title and `lead`, then the sections; `keys` are in it nowhere.

    A policy in it forbids the browser every request and every script but the two that are written here.
    """
    plotly = "\n" + get_plotlyjs() + "\n"
    contents = element(
        "nav",
        element("ul", *(element("li", element("a", each.title, href=f"#{each.id}")) for each in sections)),
        aria_label="Contents",
    )
    main = element(
        "main",
        element("header", element("h1", title), element("p", lead, class_="lead")),
        contents,
        *(
            element("section", element("h2", each.title, id=f"{each.id}-title"), each.content, id=each.id,
                    aria_labelledby=f"{each.id}-title")
            for each in sections
        ),
    )  # fmt: skip
    told = without_keys(f"{element('title', title)}\n</head>\n<body>\n{main}\n{figures.data}", keys)
    policy = (
        f"default-src 'none'; script-src {_hashed(plotly)} {_hashed(SCRIPT)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<style>{STYLE}</style>\n{told}'
        f"<script>{plotly}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    ).encode()


def _hashed(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


FONT = (
    'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", "PingFang SC", '
    '"Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Micro Hei", sans-serif'
)
"""Fonts that systems have, those with Chinese among them: a file with its own would be twice as large."""

_TITLES = {"title": {"font": {"size": 12}}}
_LOOK = {"font": {"family": FONT, "size": 12}, "xaxis": _TITLES, "yaxis": _TITLES}
"""The size for which the margins of figures are made."""

PRINTED = 660
"""Pixels of a figure's width on paper: A4 and US Letter within their margins."""

SCRIPT = f"""
(() => {{
  const config = {json.dumps(style.CONFIG | {"responsive": True})};
  const saving = (format, icon) => ({{ name: format, title: 'Save as ' + format.toUpperCase(), icon,
    click: plot => Plotly.downloadImage(plot, {{ format, filename: plot.id, scale: 2 }}) }});
  config.modeBarButtons = [[saving('png', Plotly.Icons.camera), saving('svg', Plotly.Icons.disk)]];
  const plots = [...document.querySelectorAll('.plot')];
  const drawn = plots.map(plot => {{
    const figure = JSON.parse(document.getElementById(plot.id + '-data').textContent);
    plot.dataset.height = figure.layout.height || 320;
    return Plotly.newPlot(plot, figure.data, figure.layout, {{ ...config }});
  }});
  Promise.all(drawn).then(() => {{ document.documentElement.dataset.drawn = plots.length; }});
  const sized = width => plots.forEach(plot => Plotly.relayout(plot, width ? {{ width, autosize: false }} :
    {{ width: null, autosize: true }}));
  window.addEventListener('beforeprint', () => sized({PRINTED}));
  window.addEventListener('afterprint', () => sized(0));
}})();
"""

STYLE = f"""
:root {{ --text: #12171D; --soft: #4A5563; --ground: #FFFFFF; --raised: #F4F6F8; --line: #DCE1E7; --link: #00639B;
  --better: #0072B2; --worse: #B84F00; --mark: rgba(230, 159, 0, .36); }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ --text: #E4E9EF; --soft: #B3BDC9; --ground: #11161D;
  --raised: #1C232D; --line: #303A46; --link: #7DBDE8; --better: #56B4E9; --worse: #F2A56D; }} }}
* {{ box-sizing: border-box; }}
html {{ background: var(--ground); color: var(--text); }}
body {{ font: 1rem/1.55 {FONT}; margin: 0; }}
main {{ max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.5rem 5rem; overflow-wrap: anywhere; }}
h1 {{ font-size: 1.75rem; line-height: 1.25; margin: 0 0 .3rem; }}
h2 {{ font-size: 1.3rem; margin: 2.6rem 0 .8rem; padding-top: .9rem; border-top: 1px solid var(--line); }}
h3 {{ font-size: 1.02rem; margin: 1.4rem 0 .4rem; }}
h4 {{ font-size: .95rem; margin: 1rem 0 .3rem; }}
p, ul {{ margin: .4rem 0 .8rem; max-width: 46rem; }}
a {{ color: var(--link); }}
a:focus-visible, summary:focus-visible {{ outline: 2px solid currentColor; outline-offset: 2px; }}
.lead, .soft, figcaption, caption {{ color: var(--soft); }}
.lead {{ margin: 0; }}
nav ul {{ list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: 1rem 0 0;
  max-width: none; }}
.card {{ border: 1px solid var(--line); border-left: .45rem solid var(--soft); border-radius: 8px;
  background: var(--raised); padding: 1.1rem 1.4rem 1.2rem; }}
.card.ship {{ border-left-color: var(--better); }}
.card.no {{ border-left-color: var(--worse); }}
.decision {{ font-size: 1.55rem; font-weight: 650; line-height: 1.3; margin: 0 0 .2rem; }}
.ship .decision i {{ color: var(--better); }}
.no .decision i {{ color: var(--worse); }}
.decision i {{ font-style: normal; margin-right: .35rem; }}
.facts {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .7rem 1.5rem;
  margin: 1rem 0 .6rem; }}
.facts div {{ border-top: 1px solid var(--line); padding-top: .4rem; }}
.facts dt {{ font-size: .82rem; color: var(--soft); }}
.facts dd {{ margin: 0; font-size: 1.25rem; font-weight: 600; font-variant-numeric: tabular-nums; line-height: 1.3; }}
.facts dd small {{ display: block; font-size: .82rem; font-weight: 400; color: var(--soft); }}
.warning {{ border-left: 4px solid var(--worse); padding: .1rem 0 .1rem .8rem; }}
.axis {{ display: block; width: 100%; max-width: 34rem; height: auto; margin: .6rem 0; }}
.axis text {{ font-size: 12px; fill: currentColor; }}
.axis .whole {{ stroke: var(--better); }}
.axis .mean {{ fill: var(--better); }}
.table {{ overflow-x: auto; margin: .8rem 0 1.4rem; }}
table {{ border-collapse: collapse; font-size: .88rem; min-width: 60%; }}
caption {{ text-align: left; padding: 0 0 .35rem; font-size: .85rem; }}
th, td {{ text-align: left; overflow-wrap: break-word; max-width: 24rem; vertical-align: top;
  padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--line); }}
thead th {{ font-weight: 600; border-bottom-width: 2px; }}
tbody th {{ font-weight: 500; min-width: 9rem; }}
.number {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
thead .number {{ white-space: normal; }}
figure {{ margin: 1.2rem 0 1.8rem; break-inside: avoid; }}
figcaption {{ font-size: .85rem; max-width: 46rem; }}
.plot svg text {{ fill: currentColor !important; }}
.plot svg .hoverlayer text {{ fill: #FFFFFF !important; }}
.case {{ border: 1px solid var(--line); border-radius: 8px; padding: .3rem 1.2rem 1rem; margin: 1rem 0 1.4rem; }}
.case blockquote {{ margin: .3rem 0 .8rem; font-size: 1.1rem; font-weight: 600; }}
.sides {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: .5rem 1.6rem; }}
.chunk {{ border-left: 3px solid var(--line); padding: .1rem 0 .1rem .8rem; margin: .5rem 0; font-size: .9rem; }}
.chunk.gold {{ border-left-color: #E69F00; }}
.chunk p {{ margin: .1rem 0; white-space: pre-wrap; }}
.star {{ background: var(--mark); border-radius: 2px; padding: 0 .35em; font-weight: 600; }}
mark {{ background: var(--mark); color: inherit; padding: .08em 0; }}
dl.texts dt {{ font-size: .82rem; color: var(--soft); }}
dl.texts dd {{ margin: 0 0 .5rem; }}
@page {{ margin: 16mm 14mm; }}
@media print {{
  html {{ font-size: 12.5px; }}
  body {{ line-height: 1.42; }}
  h2 {{ margin: 1.2rem 0 .5rem; padding-top: .5rem; }}
  th, td {{ padding: .16rem .7rem .16rem 0; }}
  .card {{ padding: .6rem 1rem; }}
  .card p {{ margin: .25rem 0 .4rem; }}
  .facts {{ grid-template-columns: repeat(4, 1fr); gap: .4rem 1rem; margin: .5rem 0 .3rem; }}
  .facts dd {{ font-size: 1.05rem; }}
  .axis {{ max-width: 24rem; margin: .2rem 0; }}
  .table {{ margin: .4rem 0 .8rem; }}
  html, body, .card {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
  main {{ max-width: none; padding: 0; }}
  nav, .modebar-container {{ display: none !important; }}
  h2, h3, caption {{ break-after: avoid; }}
  .chunk, tr, .case dl, .case blockquote, .facts, .warning {{ break-inside: avoid; }}
  h4, .case dt {{ break-after: avoid; }}
  thead {{ display: table-header-group; }}
  .table {{ overflow: visible; }}
  p, li {{ orphans: 3; widows: 3; }}
}}
"""
