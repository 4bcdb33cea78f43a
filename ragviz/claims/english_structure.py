"""Claims of what English documents hold besides sentences: key–value lines, tables, lists and defined terms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ragviz.claims import candidate, english_lists, english_titled_lists, value_kinds
from ragviz.claims.english import may_act
from ragviz.claims.english_clauses import Tree
from ragviz.claims.english_phrases import entities, holds
from ragviz.claims.english_topics import Topic, shortened, title
from ragviz.claims.sections import SEPARATOR
from ragviz.claims.source_claim import SourceClaim
from ragviz.claims.structure import Definition, Item, KeyValue, ListPlace, Row, Structure, Table
from ragviz.claims.value_kinds import Way
from ragviz.core.document import Document, Word
from ragviz.core.question import QuestionType
from ragviz.text.words import parse

LONGEST_VALUE = 25
"""Words of a value, meaning or cell at most; a longer one holds several facts."""
MOST_ITEMS = 12
"""Items of a list that is asked for at most."""
LONGEST_ITEM, LONGEST_LIST = 16, 90
"""Words of an item, and of all items, of a list under a heading at most."""
_UNLISTED = re.compile(r"[?…]|https?:|:$|^\W* |\(\s*\)|<\s*>|\b(?:above|below|following)\b", re.IGNORECASE)
"""What is in no item of a list that is asked for under its heading."""

# Labels of remarks: what follows is no value of theirs.
_LABELS = candidate.word_set(
    "note notes tip tips warning warnings important caution example examples hint info remember attention update"
    " question answer q a yes no pros cons first second third next finally source see todo figure table listing chart"
)
_LABELLED = re.compile(r"[A-Z]{4,} [A-Z][a-z]+ [a-z]")
"""A label in capitals that a title follows: "CULTURE Traffic on the lists"."""
_SOME = re.compile(r"(?:some|several|various|many|few|a few|a number of|further|more) [a-z]+$", re.IGNORECASE)
"""What announces values instead of being one."""
RELEASES = re.compile(
    r"\b(?:change[ -]?logs?|changes|news|release[ _-]?notes|releases|history|what.s new)\b", re.IGNORECASE
)
"""What a list of changes is called: its sentences say what was done, and its keys in what."""
_VERBS = frozenset({"VBZ", "VBD", "VBP", "MD", "VB"})
_NUMBER = re.compile(r"[\d.,:/%$€£+–-]+|(?:19|20)\d\d")
_BOLD = re.compile(r"(\*\*|__).+\1:?")
_LONGEST_HEADING = 300
"""Characters before a line in which its heading is looked for."""
_BRACKETED = re.compile(r"\s*(?:\[\w{1,3}\]|\([^()]*\))$")
"""A remark or the mark of a footnote at the end of a cell."""
_CODE = re.compile(r"\w[._]\w|[a-z][A-Z]|\(\)|^--?\w")
_REFERS = re.compile(
    r"\b(?:this|that|these|those|it|they|them|here|there|above|below|following|previous|same|other|we|our|us|i|my|he|she)\b|[?…]"
    r"|https?:|\s[,.;:](?:\s|$)|\(\s*\)",
    re.IGNORECASE,
)
_ATTRIBUTES = frozenset(
    {"", "attribute", "property", "feature", "aspect", "criterion", "characteristic", "parameter", "item"}
)
"""Titles of a first column that names what is compared, not things."""
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_CONTACT = re.compile(r"\b(?:contacts?|e-?mails?|mail|address|addresses|questions?|help|support)\b", re.IGNORECASE)
_SHELLS = candidate.word_set(
    "item description detail note comment value use information content text remark entry meaning"
)
"""Titles of columns that say only that something is said."""
_NAMES = candidate.word_set("name title id number no code key term value label")
_MEASURES = candidate.word_set(
    "number count total sum amount quantity rate share percentage percent price fee cost fare charge tariff size length"
    " width height depth weight speed distance duration time age score population area capacity limit rank year code"
)
"""Nouns of what a bare number tells."""
LONGEST_DATUM = 16
"""Words of a value that is no amount, date or time at most; more explain."""
_SEVERAL = re.compile(r"[,;&/]|\b(?:and|or|to)\b|\d\s*[–-]\s*\d", re.IGNORECASE)
"""What is between values of which there are several."""
LONGEST_TITLE = 8
"""Words of a title of a column at most; more are a cell."""
_YEAR = re.compile(r"(?:FY ?)?(?:19|20)\d\d(?:[-/–]\d{2,4})?|Q[1-4](?: (?:19|20)\d\d)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A piece of text with its tree."""

    text: str
    tree: Tree

    @property
    def words(self) -> Sequence[Word]:
        """The words of the piece."""
        return self.tree.words

    @property
    def head(self) -> int:
        """The place of the word that governs the others."""
        return self.tree.root

    def is_noun_phrase(self) -> bool:
        """Return whether the piece is one noun phrase that names something."""
        words = self.words
        if (
            not words
            or words[self.head].tag[:2] != "NN"
            or any(word.tag in _VERBS or word.tag == "TO" for word in words)
        ):
            return False
        if words[0].tag in ("VBG", "VBN") and words[0].dep not in ("amod", "compound"):
            return False
        return words[0].tag not in ("IN", "WRB", "WP", "RB", "CC", "PRP", "PRP$", "EX") and "," not in self.text

    def is_sentence(self) -> bool:
        """Return whether a finite verb governs the piece, or it is a command, or several sentences."""
        if (
            not self.words
            or self.words[self.head].tag in _VERBS
            or self.words[0].tag in ("VB", "VBP")
            or re.search(r"\w{3}[.;] \S", self.text)
        ):
            return True
        return any(word.head == self.head and word.dep in ("nsubj", "nsubjpass", "aux") for word in self.words)

    def is_plural(self) -> bool:
        """Return whether the noun that governs the piece is plural."""
        head = self.words[self.head] if self.words else None
        if head is not None and head.tag == "NNPS":  # spaCy leaves the lemma of "Fields" as it is
            return bool(re.search(r"[^suiSUI][sS]$", head.text))
        return head is not None and head.tag == "NNS" and head.text.lower() != head.lemma.lower()

    def lemmas(self) -> frozenset[str]:
        """Return the lemmas of the words."""
        return frozenset(word.lemma.lower() for word in self.words)


_FRAME = ("The ", " is here.")
_COMMAND = "You must "
"""What an item is parsed with where it may be a command."""


def _unframed(text: str, words: Sequence[Word]) -> list[Word]:
    """Return the words of a piece from its parse as the subject of a sentence; none where it is not the subject."""
    last = next((place for place, word in enumerate(words) if word.start >= len(_FRAME[0]) + len(text)), len(words))
    inner = range(1, last)
    outside = [place for place in inner if words[place].head not in inner]
    if last == len(words) or len(outside) != 1 or words[outside[0]].dep != "nsubj" or words[last].text != "is":
        return []
    shift = len(_FRAME[0])
    return [
        replace(
            words[place],
            start=words[place].start - shift,
            end=words[place].end - shift,
            head=place - 1 if place == outside[0] else words[place].head - 1,
        )
        for place in inner
    ]


class _Pieces:
    """Parses of all pieces of a document that questions are made of, made at once."""

    def __init__(self, texts: Iterable[str]) -> None:
        distinct = list(dict.fromkeys(texts))
        parsed = dict(zip(distinct, parse(distinct, "en"), strict=True))
        # Alone, "opening hours" and "paid leave" may be read as verbs with their objects.
        doubtful = [text for text, words in parsed.items() if words and words[0].tag in ("VBG", "VBN", "VBD")]
        framed = zip(doubtful, parse([f"{_FRAME[0]}{text}{_FRAME[1]}" for text in doubtful], "en"), strict=True)
        parsed |= {text: inner for text, words in framed if (inner := _unframed(text, words))}
        self._parsed = {text: _Parsed(text, Tree(text, words)) for text, words in parsed.items()}

    def __getitem__(self, text: str) -> _Parsed:
        return self._parsed[text]


def claims(document: Document, found: Structure, about: Mapping[str, Topic]) -> Iterator[SourceClaim]:
    """Yield the claims of a document's structure, kind by kind."""
    single = _items_without_keys(found.lists, found.key_values)
    unclear = single | _unexplained(document.text, found)
    pairs = [pair for pair in found.key_values if _is_pair(pair) and pair.start not in unclear]
    pairs = [pair for pair in pairs if not RELEASES.search(f"{document.name} {pair.section}")]
    terms = [term for term in found.definitions if len(term.meaning.split()) <= LONGEST_VALUE]
    headers = Counter(table.header for table in found.tables)
    tables = [table for each in found.tables if (table := _without_merged(document.text, each)).rows]
    # Of tables of one row with the same titles, each is about its section: its first cell names nothing.
    tables = [table for table in tables if len(table.rows) > 1 or headers[table.header] == 1]
    lists = [place for place in found.lists if 2 <= len(place.items) <= MOST_ITEMS]
    pieces = _Pieces(
        [
            *(text for pair in pairs for text in (_inside(pair.key), pair.value)),
            *(text for term in terms for text in (_inside(term.term), term.meaning)),
            *(_inside(title) for table in tables for title in table.header),
            *(_inside(row.cells[0]) for table in tables for row in table.rows),
            *(text for place in lists for text in (_introduction(place), *map(_item, place.items))),
            *(text for place in lists for text in _whole(place.items)),
            *(_COMMAND + text for place in lists if place.is_ordered for text in _whole(place.items)),
            *(text for place in lists for text in (shortened(place.title), _COMMAND + shortened(place.title))),
            *(_stated(pair) for pair in pairs),
        ]
    )
    labels = _labels(tables, about)
    named = _named_things(pairs)
    repeated = english_titled_lists.repeated(found.sections)
    for claim in (
        *(claim for pair in pairs for claim in _of_pair(pair, pieces, about[pair.section], pair.start in named)),
        *(claim for term in terms for claim in _of_term(term, pieces, about[term.section])),
        *(claim for table in tables for claim in _of_table(table, pieces, about[table.section], labels)),
        *(claim for place in lists for claim in _of_list(place, pieces, about[place.section], repeated)),
    ):
        yield replace(claim, document_id=document.id, quote=document.text[claim.start : claim.end])


def _claim(
    place: KeyValue | Definition | Row | ListPlace,
    section: str,
    type_: QuestionType,
    question: str,
    answer: str,
    subject: str,
    attribute: str,
    statement: str,
    score: float,
    entities: Sequence[str] = (),
) -> SourceClaim:
    """Return a claim that has yet to be told its document and quote."""
    return SourceClaim(
        "", place.start, place.end, "", type_, question, answer, statement, subject, "en", attribute, section,
        tuple(dict.fromkeys(entities)), score,
    )  # fmt: skip


def _inside(title: str) -> str:
    """Return a key or title as inside a sentence: "Opening hours" → "opening hours", but "API", "Moodle" stay.

    A single capitalised word, or several, may be a name: only where a word in lower case follows is the first lowered.
    """
    title = title.strip().rstrip(".:").removesuffix("(s)")
    first, _, rest = title.partition(" ")
    if title.isupper() and " " in title:
        return title.lower()
    is_plain = first[1:].islower() and (not rest or not re.search(r"(?:^|\s)[A-Z]", rest))
    return title[:1].lower() + title[1:] if is_plain else title


def _items_without_keys(lists: Iterable[ListPlace], pairs: Iterable[KeyValue]) -> frozenset[int]:
    """Return the starts of the items of lists in which fewer than two, or less than half of the items, have a key."""
    keyed = {pair.start for pair in pairs}
    found: set[int] = set()
    groups = [place.items for place in lists]
    while groups:
        items = groups.pop()
        count = sum(item.start in keyed for item in items)
        found |= {item.start for item in items} if count < 2 or 2 * count < len(items) else set()
        groups += [item.items for item in items if item.items]
    return frozenset(found)


def _unexplained(text: str, found: Structure) -> frozenset[int]:
    """Return the starts of lines whose key does not say of what it is, as those of an example amid running text.

    A key that stands in its section twice has several values there. A plain line with a key of one word is of what its
    heading names only where it follows the heading, or lines of the same kind that do.
    """
    keys = Counter((pair.section, pair.key.casefold()) for pair in found.key_values if not pair.is_item)
    unclear, end, is_told = set[int](), -1, False
    for pair in found.key_values:
        if pair.is_item:
            continue
        if end < 0 or text[end : pair.start].strip():  # no line of the same kind is before it
            above = text[max(pair.start - _LONGEST_HEADING, 0) : pair.start].rstrip().rpartition("\n")[2].strip()
            is_told = not above.strip("=-~^*") or above[0] in "#=" or bool(_BOLD.fullmatch(above))
        end = pair.end
        if keys[pair.section, pair.key.casefold()] > 1 or (
            not is_told and not pair.is_marked and len(pair.key.split()) == 1
        ):
            unclear.add(pair.start)
    return frozenset(unclear)


def _is_pair(pair: KeyValue) -> bool:
    """Return whether the line may state a value of an attribute."""
    words = pair.key.lower().split()
    if not pair.alone or len(words) > 6 or len(pair.value.split()) > LONGEST_VALUE or words[0] in _LABELS:
        return False
    if not (pair.key[0].isupper() or (pair.is_marked and pair.key[0].isalpha())):
        return False
    if re.match(r"[^\W\d][\w ]{0,30}: ", pair.value):  # a key of its own: what is said is in parts
        return False
    if "/" in pair.key or _LABELLED.match(pair.key) or _SOME.match(pair.value):
        return False
    return not _REFERS.search(pair.key) and not _REFERS.search(pair.value) and not pair.value.endswith((":", "?", ","))


def _subject(topic: Topic) -> tuple[str, frozenset[str]]:
    """Return what a line or row is about, as a question names it, and its words; "" without a title."""
    title = topic.section or topic.document
    return (title.text, title.words) if title else ("", frozenset())


def _named_things(pairs: Sequence[KeyValue]) -> frozenset[int]:
    """Return the starts of the lines whose keys name things, not attributes: most values of their section are alike."""
    by_place: dict[tuple[str, bool], list[KeyValue]] = {}
    for pair in pairs:
        by_place.setdefault((pair.section, pair.is_item), []).append(pair)
    return frozenset(
        pair.start
        for group in by_place.values()
        if len(group) > 1 and value_kinds.are_alike([pair.value for pair in group])
        for pair in group
    )


def _of_pair(pair: KeyValue, pieces: _Pieces, topic: Topic, is_thing: bool) -> Iterator[SourceClaim]:
    """Ask for the value: "What are the opening hours of …?"; for what a code word is by "What is …?".

    The value of what `is_thing`, or a name, is asked for by "What is listed for …?".
    """
    key, value = pieces[_inside(pair.key)], pieces[pair.value]
    subject, _ = _subject(topic)
    answer = pair.value.strip().rstrip(".;")
    if not subject or not _says_something(value):
        return
    if _CODE.search(pair.key) and " " not in pair.key:
        if not value.is_sentence() and len(answer.split()) >= 3 and value.words[0].tag == "DT":
            question = topic.led(f"what is “{pair.key}”?", {pair.key.lower()})
            yield _claim(
                pair,
                pair.section,
                "definition",
                question,
                answer,
                pair.key,
                "",
                f"{pair.key}: {answer}",
                6.0,
                [pair.key],
            )
        return
    if (
        any(word.tag in ("CD", "JJR", "RBR") for word in key.words)
        or value.words[0].dep == "mark"
        or pair.key.isupper()
    ):
        return
    if key.words[:1] and (key.words[0].tag in ("IN", "TO", "VB", "VBP") or key.words[-1].tag in ("RB", "IN", "TO")):
        return
    if _EMAIL.fullmatch(answer) and not _CONTACT.search(pair.key):
        question = topic.led(f"what is the email address of {pair.key}?", key.lemmas())
        yield _claim(
            pair, pair.section, "fact", question, answer, pair.key, "email address", f"{pair.key}: {answer}", 7.0
        )
        return
    if not key.is_noun_phrase() or value.is_sentence() or not _is_datum(value) or pair.has_brackets:
        return
    if not pair.is_item and key.words[0].tag == "JJ" and value.words[0].text.lower() in ("a", "an"):
        return  # the caption of a figure: "Original image: a boat"
    line, attribute = _asked_of_key(pair.key, key, value, _is_person(pieces[_stated(pair)], value), is_thing)
    question = topic.led(line, key.lemmas()) if line else ""
    if not question or holds(question, answer) or question[:2] == "Wh":
        return
    is_amount = value_kinds.kind(answer) not in ("", "text") or bool(re.match(r"\W*\d", answer))
    type_: QuestionType = "number" if is_amount else "fact"
    names = [subject, *_names(value)]
    yield _claim(pair, pair.section, type_, question, answer, subject, attribute, f"{pair.key}: {answer}", 7.0, names)


def _asked_of_key(name: str, key: _Parsed, value: _Parsed, person: bool, is_thing: bool) -> tuple[str, str]:
    """Return the question for the value of a key, and the attribute that it is, "" without one; no question if vague.

    "What is the …?" asks for an attribute. What stands in capitals, or has one value of an amount though it is plural,
    may be a thing.
    """
    is_text = value_kinds.kind(value.text) == "text" and not person
    if len(key.words) == 1 and (key.words[0].lemma.lower() in _NAMES | _SHELLS or (is_text and len(value.words) > 3)):
        return "", ""  # "Logs: …": a remark under a word
    if person and key.is_plural():
        return "", ""
    named = re.sub(r"^(?:the|an?) ", "", key.text, flags=re.IGNORECASE)
    capitals = sum(word.text[:1].isupper() and not word.text.isupper() for word in key.words)
    is_single = value_kinds.is_one_amount(value.text) or not _SEVERAL.search(value.text)
    is_term = len(key.words) == 1 and name.islower()  # marked as a name: `port`
    if is_thing or is_term or (key.is_plural() and is_single) or capitals > 2 or "(" in key.text:
        return f"what is listed for “{name}”?", ""
    if person:
        return f"who is the {named}?", named
    return f"what {'are' if key.is_plural() else 'is'} the {named}?", named


def _stated(pair: KeyValue) -> str:
    """Return a line as a sentence, in which a parser sees better than in the value alone whether it is a person."""
    return f"The {_inside(pair.key)} is {pair.value}"


def _is_person(stated: _Parsed, value: _Parsed) -> bool:
    """Return whether a value is the full name of one person."""
    names = stated.words[len(stated.words) - len(value.words) :]
    if len(names) > 2 and names[0].text.endswith("."):  # "Dr."
        names = names[1:]
    return len(names) > 1 and all(word.entity == "PERSON" and word.tag == "NNP" for word in names)


def _is_datum(value: _Parsed) -> bool:
    """Return whether a value is a number, a name or a few words; more are a remark under a heading of its own."""
    if not re.match(r"[\w$€£¥+−#~<>≤≥±(–-]", value.text):
        return False
    if len(value.words) <= 3 or value_kinds.kind(value.text) not in ("", "text"):
        return True
    if len(value.words) > LONGEST_DATUM or re.search(r"\w{2}\. ", value.text):
        return False
    head, first = value.words[value.head], value.words[0]
    return any(word.tag[:3] == "NNP" or word.tag == "CD" or bool(word.entity) for word in (head, first))


def _has_of(key: _Parsed) -> bool:
    return any(word.tag == "IN" for word in key.words)


def _says_something(value: _Parsed) -> bool:
    return bool(value.words) and not value_kinds.NO_VALUE.fullmatch(value.text.strip())


def _names(piece: _Parsed) -> Sequence[str]:
    return entities(piece.tree)


def _of_term(term: Definition, pieces: _Pieces, topic: Topic) -> Iterator[SourceClaim]:
    """Ask what a term is; its meaning is a noun phrase, not a remark about it."""
    name, meaning = pieces[_inside(term.term)], pieces[term.meaning]
    answer = term.meaning.rstrip(".;")
    if re.search(r"[:;=]|['’]\W|['’]$", term.term):
        return
    if not (name.is_noun_phrase() or _CODE.search(term.term)) or meaning.is_sentence() or _REFERS.search(answer):
        return
    if meaning.words[-1].tag in ("IN", "TO", "DT", "CC", "PRP$"):
        return
    if len(answer.split()) < 3 or meaning.words[meaning.head].tag[:2] != "NN" or holds(answer, term.term):
        return
    text = name.text if name.is_noun_phrase() else f"“{term.term}”"
    question = topic.led(f"what {'are' if name.is_plural() else 'is'} {text}?", name.lemmas())
    yield _claim(
        term,
        term.section,
        "definition",
        question,
        answer,
        term.term,
        "",
        f"{term.term}: {answer}",
        7.0,
        [term.term, *_names(meaning)],
    )


def _without_merged(text: str, table: Table) -> Table:
    """Return a table without the rows that have fewer cells than titles, as where one cell spans several columns.

    Which columns the cells of such a row are under is not known.
    """
    return replace(table, rows=tuple(row for row in table.rows if not _is_merged(text[row.start : row.end], table)))


def _is_merged(line: str, table: Table) -> bool:
    line = line.strip()
    is_closed = len(line) > 1 and line[0] == line[-1] == "|"
    return is_closed and len(re.findall(r"(?<!\\)\|", line)) <= len(table.header)


_Label = tuple[Topic, str, str]  # of a cell: what its table is about, the first cell of its row, its title


def _labels(tables: Iterable[Table], about: Mapping[str, Topic]) -> Counter[_Label]:
    """Count the cells that stand beside a first cell, under a title, in all tables about one topic.

    A row without a first cell goes on with the one above it.
    """
    counts = Counter[_Label]()
    for table in tables:
        label = ""
        for row in table.rows:
            label = row.cells[0].casefold() or label
            cells = zip(table.header[1:], row.cells[1:], strict=True)
            counts.update((about[table.section], label, title.casefold()) for title, cell in cells if cell)
    return counts


def _of_table(table: Table, pieces: _Pieces, topic: Topic, labels: Counter[_Label]) -> Iterator[SourceClaim]:
    """Ask for the cells that are told apart by the first cell of their row and their title."""
    if not any(table.header) or _is_row(table, pieces):
        yield from _of_rows(table, topic, labels)
        return
    if len(set(table.header)) < len(table.header) or not all(table.header[1:]):
        return
    way, is_kind = value_kinds.way(table), _is_kind(pieces[_inside(table.header[0])])
    for row in table.rows:
        label = row.cells[0]
        is_number = is_kind and re.fullmatch(r"\d{1,4}", label)
        if not (is_number or _can_label(label)) or not topic.words:
            continue
        for column, cell in list(zip(table.header, row.cells, strict=True))[1:]:
            if labels[topic, label.casefold(), column.casefold()] < 2:
                yield from _of_cell(table, row, column, cell, pieces, topic, way)


def _is_row(table: Table, pieces: _Pieces) -> bool:
    """Return whether what stands in the place of titles is a row like the others, as where a page gave no titles.

    Its cells are sentences, or too long for a title, or of the same kind of value as those below.
    """
    for number, cell in enumerate(table.header[1:], 1):
        if re.search(r"[a-z)][.!;]$", cell) or len(cell.split()) > LONGEST_TITLE:
            return True
        read = pieces[_inside(cell)]
        if len(cell.split()) > 2 and read.words and read.words[0].tag == "VB" and read.is_sentence():
            return True
        kind, below = value_kinds.kind(cell), {value_kinds.kind(row.cells[number]) for row in table.rows}
        if kind not in ("", "text") and not _YEAR.fullmatch(cell) and below == {kind}:
            return True
    return False


def _of_rows(table: Table, topic: Topic, labels: Counter[_Label]) -> Iterator[SourceClaim]:
    """Ask what stands beside the labels of a table of two columns without titles; its first row may be some."""
    title = table.header[-1].casefold()
    if len(table.header) != 2 or not topic.words or (topic, table.header[0].casefold(), title) in labels:
        return
    for row in table.rows if any(table.header) else table.rows[1:]:
        label, cell = row.cells
        is_one = labels[topic, label.casefold(), title] < 2
        if not is_one or not _can_label(label) or len(cell.split()) > LONGEST_VALUE:
            continue
        if not re.search(r"\w", cell) or value_kinds.NO_VALUE.fullmatch(cell) or _REFERS.search(cell):
            continue
        answer = cell.rstrip(".;")
        question = topic.led(f"what is listed for “{label}”?", {word.lower() for word in re.findall(r"\w+", label)})
        if not holds(question, answer):
            yield _claim(row, table.section, "table", question, answer, label, "", f"{label}: {answer}", 7.0, [label])


def _can_label(label: str) -> bool:
    if not label or not (label[0].isalnum() or _CODE.search(label)):
        return False
    return bool(re.search(r"[^\W\d_]{2}", label)) and len(label.split()) <= 8 and not _REFERS.search(label)


def _of_cell(
    table: Table, row: Row, title: str, cell: str, pieces: _Pieces, topic: Topic, way: Way
) -> Iterator[SourceClaim]:
    """Ask for a cell: "what is the price of the ticket “day”?".

    Where the first column is of attributes ("Feature", "") or the column is a year, the row is what is asked for. Where
    neither says it alone, what the row lists under the column is.
    """
    if (
        not re.search(r"\w", cell[:1] + cell[-1:])
        or value_kinds.NO_VALUE.fullmatch(_BRACKETED.sub("", cell))
        or _BRACKETED.sub("", cell).casefold() == row.cells[0].casefold()
        or len(cell.split()) > LONGEST_VALUE
        or _REFERS.search(cell)
        or not re.search(r"\w", title)
    ):
        return
    column, first = pieces[_inside(title)], pieces[_inside(table.header[0])]
    label, is_year = row.cells[0], bool(_YEAR.fullmatch(title))
    has_shell = any(title.lower() in _SHELLS | _NAMES for title in table.header[1:])
    by_row = is_year or way == "rows" or (first.text.lower() in _ATTRIBUTES and not has_shell)
    named, other = (pieces[_inside(label)], title) if by_row else (column, label)
    is_crossed = not is_year and (way == "cross" or (not first.text and way != "rows"))
    is_crossed = is_crossed or (by_row and title.lower() in _SHELLS | _NAMES)
    if is_crossed or not _is_attribute(named, cell, is_year):
        if value_kinds.kind(cell) == "number" and not _counts(column, first, topic):
            return
        under = f" under “{title}”" if len(table.header) > 2 else ""
        question, attribute = f"what is listed for “{label}”{under}?", title
    else:
        kind = f"the {first.text} " if not by_row and _is_kind(first) and not _YEAR.fullmatch(other) else ""
        quoted = other if _YEAR.fullmatch(other) else f"“{other}”"
        joint = "for" if _has_of(named) or _YEAR.fullmatch(other) else "of"
        question = f"what {'are' if named.is_plural() else 'is'} the {named.text} {joint} {kind}{quoted}?"
        attribute = named.text
    answer = cell.rstrip(".;")
    question = topic.led(question, {word.lower() for word in re.findall(r"\w+", question)})
    if not holds(question, answer):
        statement = f"{label}, {title}: {answer}"
        yield _claim(row, table.section, "table", question, answer, other, attribute, statement, 8.0, [label])


def _counts(column: _Parsed, first: _Parsed, topic: Topic) -> bool:
    """Return whether a title says what a bare number counts or measures: a plural, a year, a measure."""
    if column.is_plural() or first.is_plural() or _YEAR.fullmatch(column.text):
        return True
    section = topic.section
    words = column.lemmas() | first.lemmas() | (section.words if section else frozenset())
    return bool(words & _MEASURES)


def _is_attribute(named: _Parsed, cell: str, is_year: bool) -> bool:
    """Return whether "what is the …?" can ask for a cell: by a noun phrase that is no code, shell or activity.

    A plural that has one amount counts something, or is a verb that the parser took for a noun ("check-in closes").
    """
    if not named.is_noun_phrase() or named.text[0].isdigit() or _CODE.search(named.text) or "(" in named.text:
        return False
    head = named.words[named.head]
    if head.lemma.lower() in _SHELLS or head.text.lower().endswith("ing"):
        return False
    return is_year or not (named.is_plural() and value_kinds.is_one_amount(cell))


def _is_kind(first: _Parsed) -> bool:
    """Return whether the title of the first column says what its cells are: a ticket, not a name."""
    lemma = first.words[first.head].lemma.lower() if first.words else ""
    return first.is_noun_phrase() and not first.is_plural() and len(first.words) <= 3 and lemma not in _NAMES


def _item(item: Item) -> str:
    """Return an item as part of an answer: its key or term where it has one, without closing marks."""
    text = re.split(r"(?<=\w):\s|\s[-–—]+\s", item.text, maxsplit=1)[0] if len(item.text.split()) > 6 else item.text
    return re.sub(r"(?:[,;]\s*(?:and|or)|[.,;])$", "", text.strip()).strip()


def _introduction(place: ListPlace) -> str:
    return place.introduction.rstrip(" :.") + "." if place.introduction else ""


def _whole(items: Sequence[Item]) -> Iterator[str]:
    """Yield the items as parts of an answer, with all that they say."""
    return (re.sub(r"(?:[,;]\s*(?:and|or)|[.,;])$", "", item.text.strip()).strip() for item in items)


def _of_titled(place: ListPlace, pieces: _Pieces, topic: Topic, repeated: Container[str]) -> Iterator[SourceClaim]:
    """Ask for the items under a heading, and for single ones where they are steps."""
    texts = list(_whole(place.items))
    short = shortened(place.title)
    path = place.section.split(SEPARATOR)
    is_heading = path[-1] == place.title
    above = path[-2] if is_heading and len(path) > 1 and place.title in repeated else ""
    if not short or (is_heading and place.title in repeated and not above):
        return
    if any(not text or len(text.split()) > LONGEST_ITEM or _UNLISTED.search(text) for text in texts):
        return
    if len(set(texts)) < len(texts):
        return
    named = title(short, pieces[short].words)
    nested = sum(bool(item.items) for item in place.items)
    if not named.words or 2 * nested > len(texts) or sum(len(text.split()) for text in texts) > LONGEST_LIST:
        return
    subject, _ = _subject(topic)
    sentences = sum(pieces[text].is_sentence() for text in texts)
    is_named = 2 * sentences <= len(texts) and not _begins_with(pieces[_COMMAND + short], 2, "VB")
    is_named = is_named and not may_act(pieces[short].words[pieces[short].head].text.lower())
    is_steps = place.is_ordered and _are_steps(texts, pieces)
    if not (is_heading or is_steps or place.is_marked):  # a caption, a signature, an entry of an index
        return
    has_keys = 2 * sum(bool(re.match(r"[^:]{1,60}:\s", text)) for text in texts) > len(texts)  # asked one by one
    names = [name for text in texts for name in _names(pieces[text])]
    for each in english_titled_lists.asked_of(
        place.title, named, above, texts, is_steps=is_steps, is_named=is_named, has_keys=has_keys
    ):
        statement = f"{place.title}: {each.answer}"
        own = topic.section.words if is_heading and topic.section and topic.section.text == short else frozenset()
        question = topic.led(each.question, each.words | own)
        yield _claim(
            place, place.section, each.type, question, each.answer, subject or short, "", statement, each.score, names
        )


def _are_steps(texts: Sequence[str], pieces: _Pieces) -> bool:
    """Return whether items are commands, most of them: one by its own parse, each where it follows "must"."""
    own = [_begins_with(pieces[text], 0, "VB", "VBP") for text in texts]
    framed = [_begins_with(pieces[_COMMAND + text], len(_COMMAND.split()), "VB") for text in texts]
    return any(own) and sum(map(max, own, framed)) > len(texts) * 2 / 3


def _begins_with(piece: _Parsed, place: int, *tags: str) -> bool:
    return len(piece.words) > place and piece.head == place and piece.words[place].tag in tags


def _of_list(place: ListPlace, pieces: _Pieces, topic: Topic, repeated: Container[str]) -> Iterator[SourceClaim]:
    """Ask for all items: what the introducing sentence lacks, or what its plural noun stands for."""
    if place.title:
        yield from _of_titled(place, pieces, topic, repeated)
        return
    items = [_item(item) for item in place.items]
    if len(set(items)) < len(items):
        return
    if any(not item or len(item.split()) > 12 or item.endswith("?") or _REFERS.search(item) for item in items):
        return
    introduction = _introduction(place)
    if introduction:
        asked = english_lists.question_of(pieces[introduction].tree)
        known = pieces[introduction].lemmas()
    else:
        asked = known = None
    if not asked or known is None:
        return
    question, subject = asked
    if not topic.missing(known) and not re.search(r"[A-Z]", question[1:]):
        return
    title, _ = _subject(topic)
    answer = "; ".join(items)
    statement = f"{introduction.rstrip('.')}: {answer}"
    names = [name for item in items for name in _names(pieces[item])]
    yield _claim(
        place, place.section, "list", topic.led(question, known), answer, subject or title, "", statement, 8.0, names
    )
