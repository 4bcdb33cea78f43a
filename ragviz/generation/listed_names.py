"""Names that stand in one list or table: what is said of one may be asked of another, for they are of one sort."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ragviz.claims.source_claim import SourceClaim
from ragviz.core.document import Document
from ragviz.generation.entities import bare, normal

_NAME = r"[A-Z0-9][\w.+-]*[A-Za-z](?:[ -][A-Z0-9][\w.+-]*)*"
_SEPARATOR = r"(?:, (?:(?:and|or) )?| and | or |/)"
_ENGLISH = re.compile(rf"(?<=[a-z(][ (,:])(?:(?:the )?{_NAME}{_SEPARATOR})+(?:the )?{_NAME}(?![\w-]| [A-Z])")
_CHINESE_NAME = r"(?:「[^」\n]{2,20}」|《[^》\n]{2,30}》|“[^”\n]{2,20}”|[A-Za-z][\w.+-]+(?: [A-Z0-9][\w.+-]*)*)"
_CHINESE_SEPARATOR = r"\s*(?:、|，?(?:以及|和|或|与|及))\s*"
_CHINESE = re.compile(rf"(?<![\w.+-])(?<![A-Za-z] )(?:{_CHINESE_NAME}{_CHINESE_SEPARATOR})+{_CHINESE_NAME}")
_TIME = re.compile(
    r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)(?:[a-z]*(?:day|ary|ber|ch|il"
    r"|ust)s?)?|\d+(?:st|nd|rd|th)",
    re.IGNORECASE,
)
_LONGEST = 12
"""Names of one list at most: of longer ones the first."""


def listed_names(documents: Iterable[Document], claims: Iterable[SourceClaim]) -> Mapping[str, Sequence[str]]:
    """Return by each name's normal form the names that stand beside it in a list of a text or in a table's rows.

    English names are chains of capitalised words behind a word in lower case; Chinese ones are Latin names, or stand in
    quotation marks. A name of two lists has those of both, in order, none twice.
    """
    beside: dict[str, dict[str, str]] = defaultdict(dict)
    for names in (*map(tuple, _lists(documents)), *_rows(claims)):
        for one in names:
            beside[normal(one)] |= {normal(other): other for other in names if normal(other) != normal(one)}
    return {name: tuple(others.values()) for name, others in beside.items()}


def _lists(documents: Iterable[Document]) -> Iterator[list[str]]:
    for document in documents:
        is_chinese = document.language == "zh"
        pattern, separator = (_CHINESE, _CHINESE_SEPARATOR) if is_chinese else (_ENGLISH, _SEPARATOR)
        for match in pattern.finditer(document.text):
            names = [bare(name) for name in re.split(separator, match.group())]
            yield [name for name in dict.fromkeys(names) if name and not _TIME.fullmatch(name)][:_LONGEST]


def _rows(claims: Iterable[SourceClaim]) -> Iterator[tuple[str, ...]]:
    """Yield the names of the rows of each table."""
    tables: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for claim in claims:
        name = bare(claim.subject)
        if claim.type == "table" and claim.attribute and not _TIME.fullmatch(name):
            tables[claim.document_id, claim.section].setdefault(normal(name), name)
    yield from (tuple(rows.values())[:_LONGEST] for rows in tables.values())
