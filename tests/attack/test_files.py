"""Hostile files of every kind among good ones: the good are added, each bad one has a sentence, and nothing is left.

A file is drawn by kind and seed: `drawn("docx", 7)` is the same bytes each time.
"""

import io
import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ragviz import sample
from ragviz.core.settings import Settings
from ragviz.documents import child, corpora
from ragviz.workspace import Workspace
from tests.attack import seeds
from tests.test_ingest import pdf_of, pptx, zipped

Draw = Callable[[random.Random], bytes]
GOOD = [
    ("good.md", "# Pump\n\nThe pump was replaced in May. 水泵已更换。".encode()),
    ("good.html", b"<p>The valve leaks."),
]
SAMPLE = {Path(name).suffix: data for name, data in sample.documents()}


# Archives


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


PPTX = pptx("<p:sp><a:p><a:r><a:t>hello</a:t></a:r></a:p></p:sp>")
EPUB = zipped(
    {
        "mimetype": b"application/epub+zip",
        "META-INF/container.xml": b'<container><rootfile full-path="o.opf"/></container>',
        "o.opf": b'<package><item id="a" href="a.xhtml"/><itemref idref="a"/></package>',
        "a.xhtml": b"<html><p>hello</p></html>",
    }
)


def hostile_xml(draw: random.Random) -> bytes:
    """Markup that is deep, endless, self-referring or cut off."""
    n = draw.choice((2000, 100_000))
    entities = '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
    return draw.choice(
        (
            b"<a>" * n,
            b"<a>" * n + b"</a>" * n,
            f"<!DOCTYPE p [{entities}]><p>&a11;</p>".encode(),
            b'<!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/passwd">]><p>&x;</p>',
            b"<a " + b" ".join(b'x%d="1"' % i for i in range(n // 10)) + b"/>",
            b'<a x="' + b"y" * n,
            b"<a>&#" + b"9" * 5000 + b";</a>",
            b"\xff\xfe<\0a\0",
            b"",
        )
    )


def changed_member(data: bytes, draw: random.Random) -> bytes:
    members = members_of(data)
    name = draw.choice(sorted(members))
    members[name] = hostile_xml(draw)
    return zipped(members)


def missing_member(data: bytes, draw: random.Random) -> bytes:
    members = members_of(data)
    del members[draw.choice(sorted(members))]
    return zipped(members)


def bomb_inside(data: bytes, draw: random.Random) -> bytes:
    name = draw.choice(sorted(members_of(data)))
    return zipped(members_of(data) | {name: b" " * draw.choice((30, 80)) * 2**20})


def odd_names(data: bytes, draw: random.Random) -> bytes:
    odd = draw.choice(("../../etc/passwd", "/abs", "a\0b", "C:\\x", "word/" * 300, "\u202e"))
    return zipped(members_of(data) | {odd: b"x"})


def lying_directory(data: bytes, draw: random.Random) -> bytes:
    """A directory with a wrong checksum, length, offset or compression method."""
    out = bytearray(data)
    at = data.index(b"PK\1\2")
    for _ in range(draw.randrange(data.count(b"PK\1\2"))):
        at = data.index(b"PK\1\2", at + 1)
    offset, size = draw.choice(((10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (42, 4)))
    out[at + offset : at + offset + size] = draw.randbytes(size)
    return bytes(out)


def archive(whole: bytes) -> Draw:
    ways = (changed_member, changed_member, missing_member, bomb_inside, odd_names, lying_directory, scarred, scarred)
    return lambda draw: draw.choice(ways)(whole, draw)


def vast_sheet(draw: random.Random) -> bytes:
    """A sheet whose only cells are its first and its last of seventeen thousand million."""
    members = members_of(SAMPLE[".xlsx"])
    sheet = min(name for name in members if name.startswith("xl/worksheets/sheet"))
    rows = b'<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    main = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    size = draw.choice((b'<dimension ref="A1:XFD1048576"/>', b'<dimension ref="A1:A99999999999999"/>', b""))
    members[sheet] = b'<worksheet xmlns="%s">%s<sheetData>%s</sheetData></worksheet>' % (main, size, rows)
    return zipped(members)


# Damage to any file


def scarred(data: bytes, draw: random.Random) -> bytes:
    """Cut off, bits flipped, bytes put in, a stretch zeroed or repeated."""
    out, at = bytearray(data), draw.randrange(len(data))
    way = draw.randrange(5)
    if way == 0:
        return bytes(out[: at + 1])
    if way == 1:
        for _ in range(draw.choice((1, 20, 400))):
            out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)
    elif way == 2:
        out[at:at] = draw.randbytes(draw.choice((1, 1000)))
    elif way == 3:
        out[at : at + 500] = bytes(len(out[at : at + 500]))
    else:
        out += out[at:]
    return bytes(out)


# PDF


def page_with(content: bytes, box: bytes = b"0 0 612 792", more: bytes = b"") -> bytes:
    return pdf_of(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[%s]/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>" % box,
        b"<</Length %d%s>>stream\n%s\nendstream" % (len(content), more, content),
        b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 5 0 R>>>>/Length 5>>"
        b"stream\n/X Do\nendstream",
    )


def hostile_pdf(draw: random.Random) -> bytes:
    catalog = b"<</Type/Catalog/Pages 2 0 R>>"
    return draw.choice(
        (
            pdf_of(catalog, b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2>>"),
            pdf_of(catalog, b"<</Type/Pages/Kids[]/Count 999999999>>"),
            pdf_of(b"[" * 50_000),
            pdf_of(catalog, b"<</Type/Pages/Kids 3 0 R>>", b"3 0 R"),
            pdf_of(catalog, b"<</Type/Pages/Kids[]/Count 0>>", trailer=b"/Prev 9"),
            page_with(b"/X Do"),
            page_with(b"q " * 200_000),
            page_with(b"BT (" + b"(" * 50_000, box=b"0 0 1e30 -1e30"),
            page_with(zlib.compress(b"BT (x) Tj ET\n" * 200_000), more=b"/Filter/FlateDecode"),
            page_with(b"x" * 100, more=b"/Filter[" + b"/FlateDecode" * 1000 + b"]"),
            scarred(SAMPLE[".pdf"], draw),
            scarred(SAMPLE[".pdf"], draw),
        )
    )


# Text


def repeated(*units: str) -> Draw:
    return lambda draw: (draw.choice(units) * draw.choice((1, 300, 20_000))).encode("utf-8", "surrogatepass")


def hostile_html(draw: random.Random) -> bytes:
    units = (
        "<b> </b>", "<div>", "<!--", "<a '", "<table><tr><td>", "&#", "&lt", "<p style='", "<ol start=9>", "</",
        "<svg>",
    )  # fmt: skip
    numbers = ("&#" + "9" * 5000, "&#x" + "f" * 9000 + ";", "&#" + "0" * 9000 + "65;", "&" + "a" * 9000 + ";")
    page = draw.choice(units) * draw.choice((1, 30_000)) + draw.choice(numbers) + draw.choice(units)
    charset = draw.choice(("utf-7", "utf-16", "hex", "mac-nothing", "cp0", "gb" + "8" * 30, "idna", "shift_jis"))
    return f'<html><meta charset="{charset}">{page}'.encode() + draw.choice((b"", b"\xff\x80", b"\0"))


def hostile_rtf(draw: random.Random) -> bytes:
    unit = draw.choice(
        (rb"{\rtf", rb"\bin999999999 ", rb"\u-99999999999?", rb"{\*\x", b"\\'zz", b"}", rb"\trowd\cellx-9")
    )
    return rb"{\rtf1 hello " + unit * draw.choice((1, 500, 30_000))


def odd_bytes(draw: random.Random) -> bytes:
    starts = (
        b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xff\xfe\0\0", b"\x84\x31\x95\x33", b"{\\rtf", b"PK\3\4",
    )  # fmt: skip
    bodies = (
        draw.randbytes(draw.choice((1, 2, 3, 5000))),
        b"\0" * draw.choice((1, 4097)),
        bytes(range(32)) * 50,
        "\ud83d".encode("utf-16-le", "surrogatepass") * 999 + b"a",
        b"\x1b$B" * 999,
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + draw.randbytes(2000) + "WordDocument".encode("utf-16-le"),
        struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 14, 0, 0, 0, 9, 2**32 - 1, 8, 0) + b"mimetype" + b"\xff" * 99,
    )
    return draw.choice(starts) + draw.choice(bodies)


KINDS: dict[str, Draw] = {
    "docx": archive(SAMPLE[".docx"]),
    "xlsx": archive(SAMPLE[".xlsx"]),
    "pptx": archive(PPTX),
    "epub": archive(EPUB),
    "vast.xlsx": vast_sheet,
    "pdf": hostile_pdf,
    "html": hostile_html,
    "rtf": hostile_rtf,
    "txt": odd_bytes,
    "bin.docx": odd_bytes,
    "": odd_bytes,
    "md": repeated("_", "[", "![](", "> ", "- ", "`", "*a_ ", "\ud800", "\u202e\0", "<!--\r", "字"),
    "csv": repeated('"', ",", '"a\n', "1;2\n3\n", "\r", "\x1c", "a\tb"),
    "json": repeated("[", '{"a":', "9", "\\ud800", '"\x7f'),
}
NAMES = ("", "../../{}", "长" * 300, "a\u202eb", "\udcff\udc80", "a\nb\x1b[31m", " ", "C:\\x\\")


def drawn(kind: str, seed: int) -> tuple[str, bytes]:
    draw = random.Random(f"{kind} {seed}")
    return f"{draw.choice(NAMES)}{seed}-{kind.partition('.')[0]}.{kind}", KINDS[kind](draw)


def check_outcome(workspace: Workspace, corpus_id: str, outcome: corpora.FileOutcome) -> None:
    """A document that can be stored and shown, or an error of one sentence."""
    json.dumps([outcome.name, outcome.message]).encode()
    outcome.name.encode()
    if outcome.status in ("added", "same"):
        info = workspace.store.documents.find(corpus_id, outcome.name)
        assert info is not None
        text = workspace.store.documents.get(corpus_id, info.id).text
        assert not set("\0\r") & set(text)
        text.encode()
        return
    assert outcome.status in ("unreadable", "password")
    assert outcome.message.endswith(".")
    assert "\n" not in outcome.message
    assert "Traceback" not in outcome.message
    assert len(outcome.message) < 400


@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_file_is_its_own_trouble_only(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(child, "SECONDS", 30)
    monkeypatch.setattr(child, "MEMORY", 2**30)
    workspace = Workspace(Settings(_env_file=None, home=tmp_path / "home"))
    corpus = workspace.store.corpora.add("c")
    files = []
    for number, (name, data) in enumerate([GOOD[0], *(drawn(kind, seed) for seed in seeds(8, 40)), GOOD[1]]):
        place = tmp_path / str(number)
        place.write_bytes(data)
        files.append((name, place))
    began = time.process_time()
    outcomes = corpora.add_files(workspace, corpus, files)
    assert time.process_time() - began < 1 + 0.2 * len(files), "readers work in processes of their own"
    assert [outcomes[0].status, outcomes[-1].status] == ["added", "added"]
    assert len(outcomes) == len(files)
    for outcome in outcomes:
        check_outcome(workspace, corpus.id, outcome)
    child._end_all()
    assert not [p for p in psutil.Process().children() if "ragviz.documents.child" in " ".join(p.cmdline())]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the reader ends with its own clock")
def test_no_reader_outlives_the_one_that_asked(tmp_path):
    """Killed while a file is read that takes long: its reader does not go on alone."""
    content = zlib.compress(b"BT /F 12 Tf 9 9 Td (hello) Tj ET\n" * 2_000_000, 1)
    slow = tmp_path / "slow.pdf"
    slow.write_bytes(page_with(content, more=b"/Filter/FlateDecode"))
    code = (
        f"from ragviz.documents import parsing; parsing.parse('a.pdf', open({str(slow)!r}, 'rb').read(), "
        f"detect=lambda t: 'und')"
    )
    asking = subprocess.Popen([sys.executable, "-c", code], env=os.environ)
    try:
        end = time.time() + 60
        readers: list[psutil.Process] = []
        while not (readers and readers[0].cpu_times().user > 1.5) and time.time() < end and asking.poll() is None:
            readers = psutil.Process(asking.pid).children()
            time.sleep(0.05)
        assert asking.poll() is None, "the file takes long enough to be read"
        [reader] = readers
    finally:
        asking.send_signal(signal.SIGKILL)
        asking.wait()
    _, alive = psutil.wait_procs([reader], timeout=10)
    assert not alive
