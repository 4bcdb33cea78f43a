"""Draw claims by chance from a folder of documents, to be graded by hand: one row of CSV each.

    python tools/grading/draw.py FOLDER --n 100 --seed 7 > drawn.csv

A document is drawn with a weight of the square root of its claims (as a plan draws documents), then one of its claims
that is not drawn yet. The same documents and seed give the same rows. The last four columns are left to the grader.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ragviz.claims.extractive_claims import claims_of
from ragviz.claims.source_claim import SourceClaim
from ragviz.core.document import Document
from ragviz.core.errors import UnreadableFile
from ragviz.documents.parsing import parse
from ragviz.text import language

COLUMNS = ("question", "answer", "document", "section", "type", "score", "evidence", "language")
GRADES = ("sensible", "answerable", "unambiguous", "note")


def documents(folder: Path) -> Iterator[Document]:
    """Yield the documents of a folder by their names; files that cannot be read are named on standard error."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            yield parse(path.relative_to(folder).as_posix(), path.read_bytes(), detect=language.detect)
        except UnreadableFile as error:
            print(f"{path.name}: {error}", file=sys.stderr)


def drawn(claims: Sequence[Sequence[SourceClaim]], n: int, seed: int) -> Iterator[SourceClaim]:
    """Yield at most `n` claims of documents, each once."""
    chance = random.Random(seed)
    left = [chance.sample(list(own), len(own)) for own in claims if own]
    weights = [len(own) ** 0.5 for own in left]
    for _ in range(min(n, sum(map(len, left)))):
        document = chance.choices(range(len(left)), weights)[0]
        yield left[document].pop()
        if not left[document]:
            weights[document] = 0.0


def main() -> None:
    """Write the drawn claims as CSV to standard output, and how many there are by type to standard error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--language", default="", help="only documents in this language: en, zh")
    parser.add_argument("--types", default="", help="only these types, separated by commas")
    parser.add_argument("--leave-out", default="SOURCE.md", help="a file of the folder that is no document of it")
    parser.add_argument(
        "--unlike", type=Path, nargs="*", default=(), help="earlier draws: their documents are left out"
    )
    arguments = parser.parse_args()
    seen = {row["document"] for path in arguments.unlike for row in csv.DictReader(path.open(newline=""))}
    wanted = {name for name in arguments.types.split(",") if name}
    found = [
        document
        for document in documents(arguments.folder)
        if document.name not in {arguments.leave_out, *seen} and arguments.language in ("", document.language)
    ]
    names = {document.id: document.name for document in found}
    claims = [[claim for claim in claims_of(each) if not wanted or claim.type in wanted] for each in found]
    counts = Counter(claim.type for own in claims for claim in own)
    print(f"{len(found)} documents, {sum(counts.values())} claims: {dict(counts)}", file=sys.stderr)
    rows = csv.writer(sys.stdout)
    rows.writerow((*COLUMNS, *GRADES))
    for claim in drawn(claims, arguments.n, arguments.seed):
        cells = (claim.question, claim.answer, names[claim.document_id], claim.section, claim.type, claim.score)
        rows.writerow((*cells, claim.quote, claim.language, *[""] * len(GRADES)))


if __name__ == "__main__":
    main()
