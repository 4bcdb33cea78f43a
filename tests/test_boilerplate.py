"""What several documents hold word for word is not asked about, against planted documents."""

from ragviz.claims.source_claim import SourceClaim
from ragviz.core.document import Document
from ragviz.generation.boilerplate import Boilerplate

BAR = "## Read offline\n\n- Back\n- Harbour guide\n- On"
NOTICE = "This guide may be copied by everybody who names the harbour office as its author."


def document(name, text):
    return Document(Document.make_id(name, text), name, text, (), "en", "text/markdown", "h", len(text))


def claim(of, quote):
    start = of.text.index(quote)
    return SourceClaim(of.id, start, start + len(quote), quote, "fact", "Q?", "a", "s", "", "en")


def pages(count):
    return [
        document(
            f"{number}.md",
            f"# Page {number}\n\nStatus: open\n\n{BAR}\n\n## Licence\n\n{NOTICE}\n\n"
            f"## Boats\n\nThe boats of quay {number} are painted by two people every spring.\n\n"
            f"- hull {number}\n- mast\n",
        )
        for number in range(count)
    ]


def kept(documents, quote):
    own = claim(documents[0], quote)
    return Boilerplate(documents).without(documents[0], [own]) == [own]


def test_a_list_and_a_notice_of_three_documents_are_left_out():
    assert not kept(pages(3), "- Back\n- Harbour guide\n- On")
    assert not kept(pages(3), BAR)
    assert not kept(pages(3), NOTICE)


def test_what_two_documents_share_is_kept():
    assert kept(pages(2), BAR)
    assert kept(pages(2), NOTICE)


def test_what_differs_is_kept_and_so_is_a_short_line():
    assert kept(pages(3), "The boats of quay 0 are painted by two people every spring.")
    assert kept(pages(3), "- hull 0\n- mast")
    assert kept(pages(3), "Status: open")


def test_a_paragraph_under_other_headings_is_no_boilerplate():
    others = [document(f"{n}.md", f"# Page {n}\n\n{NOTICE}") for n in range(4)]
    assert kept(others, NOTICE)
