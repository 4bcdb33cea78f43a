"""How English asks for what stands under a heading, in a list, a table, a pair or a definition."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from ragviz.generation import english_sentences
from ragviz.generation.phrasing import Asked, Heading, Phrasing, phrasings, words_in
from ragviz.text import words
from ragviz.text.words import content_words

NUMBERING = re.compile(
    r"^(?:(?:chapter|section|part|step|article|appendix|annex|phase|tip|rule|question|q|module|lesson|unit)"
    r"(?:[ ]*\d+(?:\.\d+)*|[ ]+(?:[a-z]|[ivxlc]+))\b[.:)\s–—-]*"
    r"|\(?(?:\d+(?:\.\d+)*|[a-z]|[ivx]+)[.)]\s+|\d+(?:\.\d+)*\s+)",
    re.IGNORECASE,
)
"""A number before a title."""
_SIGNS = re.compile(r"^[^\w(\"'“‘.]+|[\s:.…–—-]+$|[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]+|\s*¶$")
_EMPTY = words_in(
    "note|notes|see also|faq|faqs|example|examples|detail|details|more|more information|additional information"
    "|misc|miscellaneous|other|others|general|general information|reference|references|resources|links"
    "|further reading|next steps|what's next|contents|table of contents|related|related links|related topics"
    "|changelog|todo|tip|tips|warning|important|caution|parameters|returns|return value|arguments|options"
    "|appendix|attributes|methods|conclusion|acknowledgements|acknowledgments|license|licence|version|versions"
    "|history|step|steps|start|end|result|results|output|input|code|the code|full code|complete code|demo|video"
    "|try it|try it out|advanced|basic|basics|the basics|putting it all together|questions|answers"
    "|frequently asked questions|glossary|index|home|welcome|read more|learn more|additional resources|signature"
    "|revision history|contact|contacts|contact us|definitions|terms|key terms|document control|quick links"
    "|about this page|about this guide|on this page|site|procedure|procedures|process|policy|guidelines|guideline"
    "|rules|rule|terminology|explanation|solution|problem|cause|symptoms|build the example|summary of changes"
    "|test|tests|do|don't|dos and don'ts|yes|no|data|types|type|getting started|get started|quick start"
    "|quickstart|relevant links|useful links|applied concepts|finish up|wrap up|wrapping up|objectives"
    "|learning objectives|what you'll learn|before you begin|before you start|what is this|intro"
    "|summary and next steps|next|previous|highlights|notable changes|other changes|bug fixes|new features"
    "|key takeaways|takeaways|key points|breaking changes|app|setup|configuration|files"
    "|file|api|api reference|docs|documentation|support|help"
    "|feedback|updates|news",
    "|",
)
"""Headings that mean nothing without the one above, and that nobody asks about with it."""
_OVERVIEWS = words_in("introduction overview about summary description background intro abstract")
_JOINED = {
    "prerequisites": "What are the prerequisites for {c}?",
    "requirements": "What are the requirements for {c}?",
    "limitations": "What are the limitations of {c}?",
    "known limitations": "What are the known limitations of {c}?",
    "known issues": "What are the known issues with {c}?",
    "purpose": "What is the purpose of {c}?",
    "scope": "What is the scope of {c}?",
    "goal": "What is the goal of {c}?",
    "goals": "What are the goals of {c}?",
    "eligibility": "Who is eligible for {c}?",
    "usage": "How is {c} used?",
    "benefits": "What are the benefits of {c}?",
    "advantages": "What are the advantages of {c}?",
    "disadvantages": "What are the disadvantages of {c}?",
    "responsibilities": "What are the responsibilities in {c}?",
    "cost": "What does {c} cost?",
    "pricing": "What does {c} cost?",
    "features": "What are the features of {c}?",
    "key features": "What are the key features of {c}?",
    "installation": "How is {c} installed?",
    "deadlines": "What are the deadlines for {c}?",
    "exceptions": "What are the exceptions to {c}?",
    "best practices": "What are the best practices for {c}?",
    "troubleshooting": "How do I troubleshoot {c}?",
}
"""Headings that mean something together with the one above."""
VERBS = words_in(
    "accept access accommodate activate adapt add adjust allow analyze apply approve ask assign attach"
    " authenticate avoid become begin book bring browse build buy call cancel change check choose clean close"
    " collect combine communicate complete configure confirm connect contact contribute convert copy create"
    " customize cut debug declare define delete deploy design determine develop disable discover display download"
    " draw edit embed enable encourage enroll ensure enter establish evaluate examine explore export expose"
    " extend fill find fix follow fork format generate get give grant handle hide hire identify implement import"
    " improve include increase initialize insert install integrate invite invoke join keep know launch learn"
    " leave let limit link list load log maintain make manage mark measure merge migrate modify monitor mount"
    " move name obtain open optimize order organize overwrite pass pay pick place plan plot prep prepare prevent"
    " print protect provide publish push put read reboot receive recognize record recover reduce register remove"
    " rename render renew replace report request require reset resolve restart restore restrict retrieve return"
    " review revoke run save schedule search secure select send serve set share show sign specify start stop"
    " store style submit subscribe switch sync take talk test track train transfer translate trigger troubleshoot"
    " turn understand uninstall unlock update upgrade upload use validate verify view visit watch work wrap write"
)
_AFTER_VERB = words_in(
    "a an the your our my its this these all any more multiple new up down off out into in on to from with using"
    " between data files custom other another"
)
_NOUNS_TOO = words_in(
    "access book build call change check copy cut design display download draw export fix fork format grant hire"
    " import limit link list load log mark measure mount name order pass pay place plan plot print push record"
    " report request return review search share sign start stop store style switch sync test train transfer trigger"
    " turn update upgrade upload view visit watch work wrap"
)
_CODE = re.compile(r"^[\w@$-]*[._(:/\\<\[][\w.()_<>=/\\:\[\]@-]*$|^[a-z]+_[a-z_]+$|^--?[a-z][\w-]*$")
_UNSAID = re.compile(r"\b(?:it|this|that|they|them|these|those|here|there|above|below|following)\b", re.IGNORECASE)
_TO_ASKER = [(re.compile(rf"\b{a}\b", re.IGNORECASE), b) for a, b in (
    ("yourself", "myself"), ("yours", "mine"), ("your", "my"), ("you're", "I'm"), ("you are", "I am"), ("you", "I"),
)]  # fmt: skip

_TOPIC = (
    "What do I need to know about {h}?", "Can you tell me about {h}?", "What are the main points about {h}?",
    "What is there to know about {h}?", "What should I keep in mind about {h}?", "Could you explain {h} to me?",
)  # fmt: skip
_TOPIC_IN = (
    "What does “{c}” say about {h}?", "In “{c}”, what do I need to know about {h}?",
    "How does “{c}” deal with {h}?", "What are the main points about {h} in “{c}”?",
)  # fmt: skip
_TOPIC_OF = (
    "When it comes to {c}, what should I know about {h}?", "When it comes to {c}, what are the main points about {h}?",
    "I have a question about {c}: what do I need to know about {h}?",
)  # fmt: skip
_GERUND = ("What does {h} involve?", "What should I know about {h}?", "Can you tell me about {h}?")
_GERUND_STEPS = (
    "How do I go about {h}?", "What does {h} involve?", "What should I know about {h}?",
    "What do I have to consider when {h}?", "Can you tell me how {h} works?",
)  # fmt: skip
STEPS = (
    "How do I {v}?", "How can I {v}?", "What do I have to do to {v}?", "What's the best way to {v}?",
    "How would I {v}?", "I want to {v}. How do I do that?",
)  # fmt: skip
_BEFORE = (
    "What should I know before I {v}?",
    "What do I need to know to {v}?",
    "What should I keep in mind when I {v}?",
)
_VERSION = re.compile(r"(?:version|release|v\.?) ?\d[\d.]*(?:-?\w+)?(?: \(.*\))?", re.IGNORECASE)
_CODE_ASKED = ("What is {h} for?", "What does {h} do?", "How is {h} used?", "Can you explain {h}?")


class Casing:
    """Which words of a corpus are written small inside sentences: a title's capitals say nothing of them."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Count the words of the texts."""
        texts = list(texts)
        small, large = Counter[str](), Counter[str]()
        for text in texts:
            for match in re.finditer(r"(?<=[a-z,;] )[A-Za-z][a-z'’-]*\b(?![.(_/=])", text):
                word = match.group()
                (small if word[0].islower() else large)[word.lower()] += 1
        self._small = {word for word, count in small.items() if count >= 2 * large[word]}
        self._anywhere = {word for text in texts for word in re.findall(r"\b[a-z]+\b", text)}
        self._names = {word for word, count in large.items() if count >= small[word]}

    def lowered(self, title: str) -> str:
        """Return a title as it is written inside a sentence: names, and titles of unknown words, keep capitals.

        >>> Casing(["we keep leave days in mind and the Orbit app"]).lowered("Leave Days in Orbit")
        'leave days in Orbit'
        """
        parts = re.split(r"(\s+|[-/(])", title)
        is_sentence = not any(re.match("[A-Z]", part) for part in parts[1:])
        first = self._of_word(parts[0], is_sentence=is_sentence or parts[0].endswith("ing"))
        lowered = [first, *(self._of_word(part, is_sentence=False) for part in parts[1:])]
        stays = any(re.fullmatch("[A-Z][a-z]+", part) and part.lower() not in self._names for part in lowered[1:])
        return title if stays else "".join(lowered)

    def _of_word(self, word: str, *, is_sentence: bool) -> str:
        bare = re.sub(r"\W+$", "", word).lower()
        if re.match(r"[A-Z][a-z'’]*(?!\w)", word) is None:
            return word
        is_other = bare not in self._names and (is_sentence or bare in self._anywhere)
        is_small = bare in self._small or bare in WORDS_OF_GRAMMAR or is_other
        return word.lower() if is_small else word


WORDS_OF_GRAMMAR = words_in("a an the of and or to in on for with from by at as your our how what when why who")


def cleaned(title: str) -> str:
    """Return a title without its number and signs.

    >>> cleaned("2.1 Fares:"), cleaned("Step 3: Pay"), cleaned("🎈 Tickets")
    ('Fares', 'Pay', 'Tickets')
    """
    title = NUMBERING.sub("", _SIGNS.sub("", title).strip())
    return _SIGNS.sub("", title).strip()


def is_empty(title: str) -> bool:
    """Return whether a title says nothing without the one above."""
    bare = title.lower().strip(" ?!")
    return bare in _EMPTY or bare in _OVERVIEWS or bare in _JOINED or not re.search(r"[a-z]{2}", bare)


def is_weak(title: str) -> bool:
    """Return whether a title is of one word, which names a part of something: it is asked about with the one above."""
    return len(content_words(title, "en")) < 2


def _of_section(heading: Heading, casing: Casing) -> tuple[Phrasing, ...]:
    title, context = heading.title, heading.context
    bare = title.lower().strip(" ?!")
    if bare in _EMPTY or _NEVER.search(title) or len(title) > LONGEST_TITLE or title.count("(") != title.count(")"):
        return ()
    if bare in _OVERVIEWS or bare in _JOINED:
        return _joined(bare, casing.lowered(context))
    if title.endswith("?") and not title.lower().startswith("how to "):
        return _as_question(heading)
    title = title.rstrip("?")
    own = casing.lowered(title)
    if _CODE.match(title):
        return phrasings(_CODE_ASKED, h=title) if heading.alone else ()
    if found := _as_task(own, has_steps=heading.tells):
        return _specific(found, heading)
    return _as_topic(own, heading, casing)


SAID = 3
"""Content words of a question that is understood without the title above what it asks for, at least."""
LONGEST_TITLE = 90
"""Characters of a title that can be asked about, at most."""
_NEVER = re.compile(
    r"^(?:\S+ )?examples?$|^(?:welcome|congratulations)\b|^[^A-Za-z]*$|^.$|(?:\S+ ){9}|: "
    r"|\b(?:it|this|that|they|them|these|those|here|there|above|below|following)\b(?!.*\?$)",
    re.IGNORECASE,
)
"""Titles that name nothing by themselves, or are more than a name."""


def _joined(bare: str, context: str) -> tuple[Phrasing, ...]:
    if not context or is_empty(context) or context.endswith("?"):
        return ()
    if verb := imperative(context):
        is_before = bare in ("prerequisites", "requirements")
        return phrasings(("What do I need before I can {v}?",), v=_to_asker(verb)) if is_before else ()
    if not named(context):
        return ()
    if bare in _OVERVIEWS:
        return phrasings(("Can you give me an overview of {c}?", "What is {c} about?"), c=context)
    return phrasings((_JOINED[bare],), c=context)


def _specific(found: Sequence[Phrasing], heading: Heading) -> tuple[Phrasing, ...]:
    """Return questions, with the title above where they say too little alone; none where there is none."""
    if heading.alone and found and len(content_words(found[0].text, "en")) > 1:
        return tuple(found)
    usable = (each for each in found if heading.context and not each.template.startswith(("I ", "Can", "Could")))
    return tuple(_in_context(each, heading.context) for each in usable)


def _as_question(heading: Heading) -> tuple[Phrasing, ...]:
    title, said = heading.title, len(content_words(heading.title, "en"))
    if said < 2 or (_UNSAID.search(title) and said < 4) or not (heading.alone or heading.context):
        return ()
    return (Phrasing("", title) if heading.alone else _in_context(Phrasing("", title), heading.context),)


def _as_task(own: str, *, has_steps: bool) -> tuple[Phrasing, ...]:
    """Return the ways to ask for what a title says how to do, or explains: "How to …", "Install …", "Why …"."""
    if match := re.match(r"how to (?P<v>.+)", own, re.IGNORECASE):
        return phrasings(STEPS, v=_to_asker(match["v"]))
    if match := re.match(r"(?P<q>when|where|what|who|which \w+|why) (?:not )?to (?P<v>.+)", own, re.IGNORECASE):
        return phrasings(("{q} should I {v}?",), q=match["q"].capitalize(), v=_to_asker(match["v"]))
    if re.match(r"(?:how|why|what|when|where|who) .+", own, re.IGNORECASE) and len(own.split()) > 2:
        if len(content_words(own, "en")) < 2:
            return ()
        told = _to_asker(own[0].lower() + own[1:])
        return phrasings(("Can you tell me {q}?", "Could you explain {q}?"), q=told)
    if match := re.fullmatch(r"(?P<a>[^:,]{2,40}?) (?:vs\.?|versus) (?P<b>[^:,]{2,40})", own, re.IGNORECASE):
        ways = (
            "What is the difference between {a} and {b}?",
            "How do {a} and {b} differ?",
            "How do {a} and {b} compare?",
        )
        return phrasings(ways, a=match["a"], b=match["b"])
    if verb := imperative(own):
        return phrasings(STEPS if has_steps else _BEFORE, v=_to_asker(verb))
    if _VERSION.fullmatch(own):
        return phrasings(("What is new in {h}?", "What changed in {h}?"), h=own)
    return ()


def imperative(title: str) -> str:
    """Return a title that tells what to do, with a small first letter; "" for another one.

    >>> [imperative(title) for title in ("Install the pump", "Test results", "Use of force", "Change your PIN")]
    ['install the pump', '', '', 'change your PIN']
    """
    first, *rest = title.split() or [""]
    word = first.lower()
    if title.lower().startswith("how to ") and len(rest) > 1:
        return " ".join(rest[1:])
    if len(rest) > 2 and word in VERBS and rest[0] in ("and", "or") and rest[1].lower() in VERBS:
        return word + title[len(first) :]
    if word not in VERBS or not rest or rest[0].lower() in ("of", "and", "or", "for", "is", "are", "case", "cases"):
        return ""
    follows = rest[0].lower()
    if word in _NOUNS_TOO and follows not in _AFTER_VERB:
        return ""
    return word + title[len(first) :]


def _to_asker(text: str) -> str:
    for pattern, other in _TO_ASKER:
        text = pattern.sub(other, text)
    return text


def _as_topic(own: str, heading: Heading, casing: Casing) -> tuple[Phrasing, ...]:
    """Return the ways to ask about a thing, or a doing, that a title names."""
    context, needs = heading.context, not heading.alone or heading.short or is_weak(heading.title)
    kind, first = named(own), own.split()[0].lower()
    is_maybe_verb = first in VERBS and len(own.split()) > 1 and own.split()[1].endswith("s")
    own = _to_asker(own)
    if (
        not kind
        or ":" in own
        or is_maybe_verb
        or (needs and (not context or is_empty(context) or context.endswith("?") or _overlaps(own, context)))
    ):
        return ()
    if kind == "doing":
        found = phrasings(_GERUND_STEPS if heading.tells else _GERUND, h=own[0].lower() + own[1:])
        if not needs:
            return found
        return tuple(_in_context(each, context) for each in found if not each.template.startswith("Can"))
    if not needs:
        return phrasings(_TOPIC, h=own)
    found = phrasings(_TOPIC_IN, h=own, c=context)
    of = casing.lowered(context)
    is_name = named(of) and not imperative(of) and re.fullmatch(r"[^,:()]+ [^,:()]+", of) is not None
    return (*phrasings(_TOPIC_OF, h=own, c=of), *found) if is_name else found


def named(title: str) -> str:
    """Return what a title names: a "thing", several "things", a "doing", "something" that may be a thing or a doing.

    "" where it says something, or names nothing.

    >>> [named(title) for title in ("opening hours", "copying a document", "login fails", "bereavement leave")]
    ['something', 'doing', '', 'thing']
    """
    [parsed] = words.parse([f"This is about {title}."], "en")
    inside = parsed[3:-1]
    if not inside or any(word.tag in ("VBZ", "VBP", "VBD", "MD") for word in inside):
        return ""
    first = inside[0]
    if first.tag == "VBG" and len(inside) > 1 and inside[1].tag == "IN":
        return "doing"
    if first.tag == "VBG" and len(inside) > 1 and inside[1].tag not in ("CC", ","):
        return "doing" if inside[1].text.lower() in _AFTER_VERB else "something"
    heads = [word for word in inside if word.dep in ("pobj", "dobj") and word.tag.startswith("NN")]
    if (
        first.tag in ("VB", "IN", "CC", "UH", "RB", "TO")
        or not heads
        or inside[-1].tag in ("IN", "TO", "VBN", "CC", "DT")
    ):
        return ""
    return "things" if heads[0].tag in ("NNS", "NNPS") else "thing"


def _overlaps(title: str, context: str) -> bool:
    mine, other = set(content_words(title, "en")), set(content_words(context, "en"))
    return mine <= other


def _in_context(phrasing: Phrasing, context: str) -> Phrasing:
    asks = phrasing.text[0].lower() + phrasing.text[1:]
    return Phrasing(f"{phrasing.template} (…)", f"In “{context}”, {asks}") if context else phrasing


_INTRODUCED = [
    (re.compile(r"(?:In order )?to (?P<v>[a-z].{4,70}?),? (?:follow|do|take|use|you|complete)\b.*", re.IGNORECASE),
     ("How do I {v}?", "What are the steps to {v}?")),
    (re.compile(r"(?P<h>.{3,60}?) (?P<v>includes?|consists? of|contains?)(?: the following.*)?", re.IGNORECASE),
     ("What does {h} {l}?", "What all does {h} {l}?")),
    (re.compile(r"you (?P<m>can|must|should|need to|have to) (?P<v>(?!be able)[a-z].{3,60}?)(?: as follows)?", re.I),
     ("What {m} I {v}?",)),
    (re.compile(r"(?P<h>[A-Z].{3,60}?) (?P<v>are|is)(?: as follows| the following)?", re.IGNORECASE),
     ("What {v} {h}?", "Can you tell me what {h} {v}?")),
]  # fmt: skip


def _introduced(introduction: str) -> tuple[Phrasing, ...]:
    bare = re.sub(r"the following.*", "", introduction, flags=re.IGNORECASE)
    is_aim = introduction.lower().startswith(("to ", "in order"))
    opens_aside = re.match(r"(?:when|if|for|after|before|once|while|as|with|in|on)\b", introduction, re.IGNORECASE)
    if (
        _UNSAID.search(bare)
        or (("," in introduction or opens_aside) and not is_aim)
        or len(content_words(introduction, "en")) < 2
    ):
        return ()
    for pattern, ways in _INTRODUCED:
        if match := pattern.fullmatch(introduction):
            return _inverted(match.groupdict(), ways)
    return ()


def _inverted(names: dict[str, str], ways: tuple[str, ...]) -> tuple[Phrasing, ...]:
    """Return the ways to ask with a sentence's parts filled in: its head, verb, and auxiliary."""
    head, verb, modal = (names.get(name, "") for name in "hvm")
    first = head.split(" ")[0].lower()
    if first in ("there", "here", "some", "we", "you", "i") or (head and "{l}" in ways[0] and named(head) != "thing"):
        return ()
    ways = ("What do I {m} {v}?",) if modal.endswith(" to") else ways
    head = head[0].lower() + head[1:] if first in WORDS_OF_GRAMMAR else head
    lemma = re.sub(r"^(\w+?)s(?= of$|$)", r"\1", verb)
    return phrasings(ways, h=_to_asker(head), v=_to_asker(verb), l=lemma, m=modal)


_MEANING_TITLES = re.compile(
    r"(?:description|meaning|definition|purpose|explanation|details|function|what it does|usage|use)s?", re.IGNORECASE
)
"""Titles of columns that say what the thing of a row is."""
_ODD_TITLES = re.compile(r"[?=%/]|\b(?:is|are|has|can|notes?|comments?|examples?|links?)\b", re.IGNORECASE)


def _be(name: str) -> str:
    """Return the verb that agrees with a name: "days of leave" are."""
    return "are" if re.search(r"(?<![sui])s$", name.partition(" of ")[0]) else "is"


class English:
    """How English asks, with the casing of a corpus."""

    marks, joint, steps = "?", "; ", frozenset((*STEPS, *(f"{way} (…)" for way in STEPS)))

    def __init__(self, casing: Casing) -> None:
        self.casing, self.cleaned, self.is_empty, self.is_weak = casing, cleaned, is_empty, is_weak

    def joined(self, title: str, context: str) -> str:
        """Return a title with the one above it."""
        return context

    def section(self, heading: Heading) -> tuple[Phrasing, ...]:
        """Ask what stands under a heading."""
        found = _of_section(heading, self.casing)
        defined = _defined(heading, self.casing) if not found or found[0].template not in {"", *self.steps} else None
        return (defined,) if defined else () if heading.divided else found

    def items(self, heading: Heading, *, ordered: bool) -> tuple[Phrasing, ...]:
        """Ask for all items of a list right under a heading."""
        title, context = heading.title, heading.context
        own = self.casing.lowered(title)
        if is_empty(title) or _NEVER.search(title) or title.endswith("?") or _CODE.match(title):
            return ()
        if verb := imperative(own):
            ways = ("What are the steps to {v}?", "Which steps does it take to {v}?")
            return phrasings(ways, v=_to_asker(verb)) if ordered and heading.alone else ()
        if re.match(r"(?:what|who|where|when|which \w+) to ", own, re.IGNORECASE):
            return _specific(_as_task(own, has_steps=True), heading)
        if named(own) != "things":
            return ()
        own = _to_asker(own)
        if heading.alone and not heading.short and not is_weak(title):
            return phrasings(("What are the {h}?", "Which {h} are there?", "Can you list the {h}?"), h=own)
        if not context or is_empty(context) or context.endswith("?") or _overlaps(own, context):
            return ()
        in_context = (
            "What are the {h} in “{c}”?",
            "Which {h} does “{c}” list?",
            "In “{c}”, what are the {h}?",
        )
        return phrasings(in_context, h=own, c=context)

    def introduced(self, introduction: str, heading: Heading) -> tuple[Phrasing, ...]:
        """Ask for the items of a list by the sentence that introduces it.

        >>> kit = Heading("Packing")
        >>> [way.text for way in English(Casing([])).introduced("The repair kit always includes", kit)][:1]
        ['What does the repair kit always include?']
        """
        found = _introduced(self.casing.lowered(introduction))
        if not found or len(content_words(found[0].text, "en")) >= SAID:
            return found
        return tuple(_in_context(each, heading.title) for each in found if not each.template.startswith("Can"))

    def cell(self, context: str, key: str, title: str, value: str) -> tuple[Phrasing, ...]:
        """Ask for the cell of a table: the `title` of its column, the `key` of its row."""
        own = self.casing.lowered(title)
        if _MEANING_TITLES.fullmatch(own):
            return phrasings(("In “{c}”, what is {k}?", "What is {k} in “{c}”?"), k=key, c=context)
        if _ODD_TITLES.search(own) or not named(own):
            return ()
        return phrasings(
            ("What {b} the {t} for {k} in “{c}”?", "In “{c}”, what {b} the {t} for {k}?"),
            b=_be(own), t=own, k=key, c=context)  # fmt: skip

    def pair(self, context: str, key: str) -> tuple[Phrasing, ...]:
        """Ask for the value of a key."""
        own, of = re.sub("^(?:the|an?) ", "", self.casing.lowered(key)), self.casing.lowered(context)
        if imperative(own) or not named(own):
            return ()
        ways = ("In “{c}”, what {b} the {k}?", "What {b} the {k} in “{c}”?")
        of_thing = ("What {b} the {k} for {t}?",) if named(of) and not imperative(of) else ()
        return phrasings((*of_thing, *ways), b=_be(own), c=context, k=own, t=of)

    def sentence(self, sentence: str) -> list[Asked]:
        """Ask for a number, a date, a name or a definition in a sentence."""
        return english_sentences.asked(sentence, self.casing.lowered)

    def term(self, term: str, context: str) -> tuple[Phrasing, ...]:
        """Ask what a term means."""
        if is_weak(term) and context:
            ways = ("In “{c}”, what is meant by “{t}”?", "What does “{t}” mean in “{c}”?")
            return phrasings(ways, t=term, c=context)
        return phrasings(("What is meant by “{t}”?", "What does “{t}” mean?"), t=term)


def _defined(heading: Heading, casing: Casing) -> Phrasing | None:
    """Return the question what a title's thing is, where the text begins with that; after an article in its case."""
    match = re.match(
        rf"(?P<h>(?:an?|the) )?(?P<t>{re.escape(heading.title)})(?: \([^()]*\))? (?P<v>is|are) (?:an?|the|one)\b",
        heading.text, re.IGNORECASE,
    )  # fmt: skip
    if match is None:
        return None
    name = f"{match['h'].lower()}{match['t']}" if match["h"] else heading.title
    name = casing.lowered(name) if " " in name else name
    return Phrasing("What is {h}?", f"What {match['v']} {name}?")
