"""Draw questions that are made without a model of a folder of documents, as a sheet to be graded by hand.

    python tools/grading/draw.py FOLDER --n 40 --seed 7 > sheet.md

Each has its answer, its evidence marked in the text around it, and places for grades; what made it is not told. The
same documents and seed give the same sheet. A set of `--of` questions is made first, as the program makes it.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from ragviz.core.document import Document
from ragviz.core.errors import UnreadableFile
from ragviz.documents.parsing import parse
from ragviz.generation.candidates import Corpus, candidates
from ragviz.generation.choosing import Choice, chosen
from ragviz.text import language

AROUND = 300
"""Characters of the text around the evidence that are shown on each side."""


def documents(folder: Path) -> list[Document]:
    """Return the documents of a folder by their names; files that cannot be read are named on standard error."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "SOURCE.md"):
        try:
            found.append(parse(path.relative_to(folder).as_posix(), path.read_bytes(), detect=language.detect))
        except UnreadableFile as error:
            print(f"{path.name}: {error}", file=sys.stderr)
    return found


def shown(number: int, choice: Choice, of: Document) -> str:
    """Return a question for the sheet; evidence stands between ⟦ and ⟧."""
    spans = [group[0] for group in choice.candidate.evidence]
    marked, at = "", max(0, spans[0].start - AROUND)
    for span in spans:
        marked += f"{of.text[at : span.start]}⟦{of.text[span.start : span.end]}⟧"
        at = span.end
    text = "\n".join(f"> {line}" for line in (marked + of.text[at : at + AROUND]).splitlines())
    grades = "good: ___  answerable from ⟦the evidence⟧ alone: ___  natural: ___"
    parts = (f"## {number}. {choice.phrasing.text}", f"**Answer:** {choice.candidate.answer}", of.name, text, grades)
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Write the sheet to standard output, and what the set is like to standard error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--n", type=int, default=40, help="questions that are drawn")
    parser.add_argument("--of", type=int, default=100, help="questions that the set is asked for")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    by_id = {document.id: document for document in documents(arguments.folder)}
    corpus = Corpus(by_id.values())
    found = [each for document in by_id.values() for each in candidates(document, corpus)]
    characters = {document.id: len(document.text) for document in by_id.values()}
    made = chosen(found, arguments.of, characters, seed=arguments.seed)
    asked = len({choice.candidate.place.document_id for choice in made})
    print(f"{len(made)} usable of {arguments.of}; {asked} of {len(by_id)} documents with a question", file=sys.stderr)
    drawn = random.Random(arguments.seed).sample(made, min(arguments.n, len(made)))
    for number, choice in enumerate(drawn, start=1):
        print(shown(number, choice, by_id[choice.candidate.place.document_id]))


if __name__ == "__main__":
    main()
