"""Names and rare noun phrases of a corpus: an inverted index of the claims that ask about them or answer with them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragviz.backends.terms import HAN_RUN
from ragviz.claims.candidate import word_set
from ragviz.claims.source_claim import SourceClaim
from ragviz.claims.statement import Statement
from ragviz.core.document import Document
from ragviz.generation.exact_search import ExactSearch
from ragviz.questions.units import units
from ragviz.text.stems import content_words, singular, stem

RARE = range(2, 6)
"""Documents that hold a rare entity; or its passages, where only one document holds it."""
LONGEST = 6
"""Words of an entity at most; of Chinese text twice as many characters."""

_LEADING = word_set("a an the this that these those our your their its his her my some any each every all")
_PREPOSITION = re.compile(r"\s(?:of|for|in|on|at|to|from|with|by|about|under|over|per|within|between)\s")
_CHINESE_CIRCUMSTANCE = re.compile(r"^(?:在|对|当|从|如果|根据|按照|为了|由于)|(?:时|之?后|之?前|的|中|等)$")
_NO_NAME = re.compile(r"[\d\s.,:/%$€£¥年月日号点时分秒第元个次-]*")
_CODE = re.compile(r"(?=.*\d)(?=.*[A-Z])[A-Z0-9][A-Za-z0-9]*(?:[-./ ]?[A-Za-z0-9]+)?")
_EDGES = " \t\r\n\"'“”‘’「」『』《》*`.,;:，。；：、"
_PAIRS = {"(": ")", "（": "）", "[": "]", "【": "】"}


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a corpus, where its words stand, and the entities of the claims.

    `about` are the claims (by place in `all`) whose question names an entity, `answering` those that it answers, both
    by the entity's normal form; `names` is how it is written most often. `documents` are those read, by id,
    `statements` what their sentences say something about, `variants` claims whose question has several answers there,
    `doubtful` claims with a doubt, of which no entity is taken.
    """

    all: tuple[SourceClaim, ...]
    search: ExactSearch
    names: Mapping[str, str]
    about: Mapping[str, tuple[int, ...]]
    answering: Mapping[str, tuple[int, ...]]
    documents: Mapping[str, Document]
    statements: Mapping[str, Sequence[Statement]]
    variants: Sequence[SourceClaim]
    doubtful: Sequence[SourceClaim]

    def rare(self) -> Iterator[str]:
        """Yield the entities that two to five documents hold, or two to five passages of one document, in order."""
        yield from (entity for entity in sorted(self.names) if self.is_rare(self.names[entity]))

    def is_rare(self, name: str) -> bool:
        """Return whether two to five documents hold a name, or two to five passages of one document."""
        documents = len(self.search.documents(name))
        return documents in RARE or (documents == 1 and self.search.count(name) in RARE)


def read(
    read_documents: Iterable[tuple[Document, Sequence[SourceClaim]]],
    statements_of: Callable[[Document], Sequence[Statement]] = lambda document: (),
    variants_of: Callable[[Document], Sequence[SourceClaim]] = lambda document: (),
    doubtful_of: Callable[[Document], Sequence[SourceClaim]] = lambda document: (),
) -> Claims:
    """Read the documents of a corpus, one at a time, each with its claims, statements, variants and doubtful claims."""
    claims: list[SourceClaim] = []
    documents: dict[str, Document] = {}
    statements: dict[str, Sequence[Statement]] = {}
    variants: list[SourceClaim] = []
    doubtful: list[SourceClaim] = []

    def each() -> Iterator[Document]:
        for document, own in read_documents:
            claims.extend(own)
            documents[document.id] = document
            statements[document.id] = statements_of(document)
            variants.extend(variants_of(document))
            doubtful.extend(doubtful_of(document))
            yield document

    search = ExactSearch(each())
    return of_claims(claims, search, documents, statements, variants, doubtful)


def of_claims(
    claims: Sequence[SourceClaim],
    search: ExactSearch,
    documents: Mapping[str, Document] | None = None,
    statements: Mapping[str, Sequence[Statement]] | None = None,
    variants: Sequence[SourceClaim] = (),
    doubtful: Sequence[SourceClaim] = (),
) -> Claims:
    """Return the claims with the index of their entities: every claim is looked through twice."""
    written: dict[str, Counter[str]] = defaultdict(Counter)
    for claim in claims:
        for name in (*claim.entities, claim.subject):
            if is_entity(name, claim.language):
                written[normal(name)][bare(name)] += 1
    names = {entity: max(sorted(counts), key=counts.__getitem__) for entity, counts in written.items()}
    about: dict[str, list[int]] = defaultdict(list)
    answering: dict[str, list[int]] = defaultdict(list)
    for number, claim in enumerate(claims):
        for entity in _named(claim.question, names):
            if _stands_free(claim.question, names[entity]):
                about[entity].append(number)
        if (answer := normal(claim.answer)) in names:
            answering[answer].append(number)
    return Claims(
        tuple(claims), search, names, _frozen(about), _frozen(answering), documents or {}, statements or {}, variants,
        doubtful,
    )  # fmt: skip


def _frozen(lists: Mapping[str, list[int]]) -> dict[str, tuple[int, ...]]:
    return {entity: tuple(numbers) for entity, numbers in lists.items()}


def _named(text: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the entities in a text, each once, without those inside a longer one: runs of its words are looked up."""
    words = [unit for unit, _, _ in units(text)]
    found: set[str] = set()
    first = 0
    while first < len(words):
        for last in range(min(len(words), first + 2 * LONGEST), first, -1):
            entity = _normal(words[first:last])
            if entity in names:
                found.add(entity)
                first = last - 1
                break
        first += 1
    yield from sorted(found)


def _stands_free(text: str, name: str) -> bool:
    """Return whether a name is no part of an address, a path or a longer name in a text; unknown is yes."""
    if HAN_RUN.search(name):
        return True
    words = (re.escape(unit) for unit in re.findall(r"\w+", name))
    place = re.search(r"\W{1,3}".join(words), text, re.IGNORECASE)
    if place is None:
        return True
    before, after = text[: place.start()], text[place.end() :]
    return not re.search(r"[\w/.@-]$", before) and not re.match(r"[/@-]\w|\.\w|[a-rt-z]", after)


def normal(name: str) -> str:
    """Return a name in the form in which the same ones are equal: without case, width, article and plural.

    >>> normal("The Travel Cards"), normal("travel card"), normal("ＡＢ 计划"), normal("AB计划")
    ('travel card', 'travel card', 'ab 计 划', 'ab 计 划')
    """
    return _normal([unit for unit, _, _ in units(name)])


def _normal(words: Sequence[str]) -> str:
    kept = list(words)
    while len(kept) > 1 and kept[0] in _LEADING:
        kept.pop(0)
    if len(kept) > 1 and kept[-1] == "s":  # of "Ann's"
        kept.pop()
    return " ".join([*kept[:-1], *map(singular, kept[-1:])])


def holds(text: str, phrase: str) -> bool:
    """Return whether a text holds the words of a phrase, one after the other, without case and inflection.

    >>> holds("Absence requests in advance", "the absence request"), holds("anything", "")
    (True, False)
    """
    wanted = [stem(word) for word in normal(phrase).split()]
    words = [stem(unit) for unit, _, _ in units(text)]
    size = len(wanted)
    return bool(wanted) and any(words[at : at + size] == wanted for at in range(len(words) - size + 1))


def bare(name: str) -> str:
    """Return a name on one line, without quotes and the like around it, and without its article.

    >>> bare("the “Travel card”"), bare("The Hague Office")
    ('Travel card', 'Hague Office')
    """
    text = " ".join(name.split()).strip(_EDGES)
    if text[:1] in _PAIRS and text[-1:] == _PAIRS[text[0]]:
        text = text[1:-1].strip(_EDGES)
    for opening, closing in ("《》", "“”", "「」"):  # of "《…》课程" the mark belongs to what is inside
        text = opening + text if text.count(opening) < text.count(closing) else text
        text = text + closing if text.count(closing) < text.count(opening) else text
    first, _, rest = text.partition(" ")
    return rest.strip(_EDGES) if rest and first.lower() in _LEADING else text


def is_entity(name: str, language: str) -> bool:
    """Return whether a phrase can name one thing: no date or number, no single common word, not too long."""
    text = bare(name)
    if not text or "\n" in name.strip() or _NO_NAME.fullmatch(text) or not re.search(r"[^\W\d_]", text):
        return False
    words = [unit for unit, _, _ in units(text)]
    if language == "zh" or HAN_RUN.search(text):
        is_name = not _CHINESE_CIRCUMSTANCE.search(text)
        return is_name and 2 <= len(words) <= 2 * LONGEST and bool(content_words(text, "zh"))
    single = len(words) == 1 and (text.islower() or len(text) < 2)
    return (
        not single and len(words) <= LONGEST and len(content_words(text, "en")) >= min(len(words), 2) - _is_name(text)
    )


def _is_name(text: str) -> bool:
    return any(c.isupper() for c in text[1:]) or text[:1].isupper()


def kind(name: str, language: str) -> str:
    """Return what a name says by its form that it names, "" where it does not: equal of things of one kind.

    English: the head of the noun phrase, the last word before a preposition ("the Content guild" → "guild"); of a code
    its letters and how many digits it has ("GS-14" → "GS-0"). Chinese: the last word ("设计组" → "组").

    >>> kind("the Content Guild", "en"), kind("Office of Design", "en"), kind("GS-14", "en"), kind("Ann", "en")
    ('guild', 'office', 'GS-0', '')
    """
    text = unicodedata.normalize("NFKC", bare(name))
    if language == "zh" or HAN_RUN.search(text):
        return _chinese_kind(text)
    if _CODE.fullmatch(text):
        return re.sub(r"\d+", "0", text)
    words = _PREPOSITION.split(text)[0].split()
    alone = len(words) == 1 and len(words) == len(text.split())
    return "" if alone or not words or not words[-1].isalpha() else singular(words[-1].lower())


def _chinese_kind(text: str) -> str:
    """Return the last word of a Chinese noun phrase of several words; of one, its last character where it is longer."""
    from ragviz.text.words import tokens

    words = tokens(text, "zh")
    if len(words) > 1 and HAN_RUN.match(words[-1]):
        return words[-1]
    return text[-1] if len(text) > 2 and HAN_RUN.match(text[-1]) else ""
