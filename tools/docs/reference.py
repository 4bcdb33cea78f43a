"""MkDocs hook: the pages that are made from declarations, registries and the files at the root of the clone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import typer.main
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import ragviz
from ragviz import cli
from ragviz.core.settings import Settings
from ragviz.metrics.registry import REGISTRY
from ragviz.runs.tables import TABLES

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "README.md": "index.md",
    "benchmarks/README.md": "benchmarks.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of `PAGES` and the reference."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "reference.md", content=reference()))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Turn links between files of the clone into links between pages; a file that is no page is named only."""
    for source, page in PAGES.items():
        markdown = re.sub(rf"\]\((?:\.\./)?{re.escape(source)}(#[^)]*)?\)", rf"]({page}\1)", markdown)
    markdown = re.sub(r"\]\(docs/", "](", markdown)
    return re.sub(r"\[([^\]]+)\]\((?!https?:|#)[^)]*?(?<!\.md)(?<!\.svg)(?<!\.png)\)(?!#)", _linked, markdown)


def _linked(link: re.Match[str]) -> str:
    """Keep a link to a part of a page."""
    return link[0] if ".md#" in link[0] else link[1]


def reference() -> str:
    """Return the reference as Markdown."""
    return "\n\n".join(("# Reference", *settings(), *metrics(), *tables(), *commands(), *library()))


def settings() -> Iterator[str]:
    """Every variable with its default."""
    yield "## Settings"
    fields = Settings.model_fields.values()
    yield table(
        ("variable", "default"),
        ((f"`{f.alias}`", "" if f.default_factory or f.default is None else f"`{f.default}`") for f in fields),
    )


def metrics() -> Iterator[str]:
    """Every metric of the registry."""
    yield "## Metrics"
    yield table(
        ("name", "what it is", "range", "better", "version"),
        (
            (
                f"`{name}`",
                metric.explanation,
                "–".join(f"{end:g}" for end in metric.range),
                "higher" if metric.higher_is_better else "lower",
                metric.version,
            )
            for name, metric in REGISTRY.items()
        ),
    )


def tables() -> Iterator[str]:
    """Every table that a run can be exported as, with its columns."""
    yield "## Tables of a run"
    yield (
        "In CSV a list is JSON, what is missing an empty cell, and text that a spreadsheet would take for a formula "
        "has a `'` in front. Ranks, claims and sentences count from 1; ranks and means are those at the run's own k."
    )
    for name, each in TABLES.items():
        yield f"### {name}\n\nA row is {each.explanation}."
        yield table(("column", "what it is"), ((f"`{c.name}`", c.explanation) for c in each.columns))


def commands() -> Iterator[str]:
    """Every command with its arguments and options."""
    yield "## Commands"
    yield from command(typer.main.get_command(cli.app), "ragviz")


def command(each: object, name: str) -> Iterator[str]:
    """A command, or those of a group."""
    for word, inner in getattr(each, "commands", {}).items():
        yield from command(inner, f"{name} {word}")
    if not hasattr(each, "commands"):
        yield f"### {name}\n\n{getattr(each, 'help', '') or ''}"
        rows = [(f"`{'`, `'.join((*p.opts, *p.secondary_opts))}`", getattr(p, "help", "") or "") for p in each.params]  # type: ignore[attr-defined]
        yield table(("option", "what it is"), rows)


def library() -> Iterator[str]:
    """The classes of `import ragviz`."""
    yield "## Library"
    for each in [getattr(ragviz, name) for name in ragviz.__all__]:
        if isinstance(each, type):
            yield f"::: {each.__module__}.{each.__name__}"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table; a `|` of a cell does not end it."""
    lines = [list(head), *(list(row) for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    cells = ([" ".join(cell.replace("|", "\\|").split()) for cell in row] for row in lines)
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
