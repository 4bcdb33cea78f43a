"""Files to documents: real files with sentences read by hand, and bad files made here."""

import io
import json
import random
import re
import struct
import sys
import zipfile
import zlib
from pathlib import Path

import psutil
import pytest
from PIL import Image, ImageDraw, ImageFont

from ragviz import sample
from ragviz.core.document import Document
from ragviz.core.errors import PasswordNeeded, UnreadableFile
from ragviz.documents import child, kinds, parsing, scans

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
INSTALLED = scans.installed
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no real files at {DATA}")


@pytest.fixture(autouse=True, scope="module")
def without_tesseract():
    """The same outcome on every machine; `installed` is called in this process only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scans, "installed", lambda: ("", ""))
        yield


OWN = Path(__file__).parent / "data"
WRITTEN = json.loads((OWN / "files.json").read_text(encoding="utf-8"))
"""What was written into each file of ours, or how it is refused."""
PASSWORDS = {"password-rc4.pdf": "brackwater", "password-aes.pdf": "密码 1"}
PASSWORDS |= {"libreoffice-writer-password.pdf": "openpassword", "r3-user-password.pdf": "asdfzxcv"}
REFUSED = {
    "empty.txt": "The file is empty (0 bytes)",
    "chi_sim_image.jpeg": "This is a picture: put it into a PDF",
}


def parse(name: str, data: bytes, **options) -> Document:
    return parsing.parse(name, data, detect=lambda text: "und", **options)


def check(document: Document, data: bytes) -> None:
    """What holds for every document."""
    text = document.text
    assert document.size == len(data)
    assert document.id == Document.make_id(document.name, text)
    assert not set("\0\r") & set(text)
    text.encode("utf-8")  # no half surrogates
    end = 0
    for number, page in enumerate(document.pages, start=1):
        assert page.number == number
        assert end <= page.start <= page.end <= len(text)
        assert text[page.start : page.end].strip() == text[page.start : page.end]
        assert not text[end : page.start].strip()
        end = page.end
    assert not document.pages or end == len(text)


# Files


@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_says_what_was_written_into_it(name):
    data, written = (OWN / "files" / name).read_bytes(), WRITTEN[name]
    if "refused" in written:
        with pytest.raises(UnreadableFile, match="^" + re.escape(written["refused"])):
            parse(name, data)
        return
    document = parse(name, data, password=PASSWORDS.get(name))
    check(document, data)
    assert (document.text, len(document.pages)) == (written["text"], written["pages"])


@needs_data
@pytest.mark.parametrize(
    "path",
    sorted(path for folder in ("formats", "nasty") for path in (DATA / folder).rglob("*") if path.is_file()),
    ids=lambda path: path.name,
)
def test_every_real_file_is_read_or_has_an_error(path):
    data = path.read_bytes()
    if path.name in REFUSED:
        with pytest.raises(UnreadableFile) as refusal:
            parse(path.name, data)
        assert str(refusal.value).startswith(REFUSED[path.name])
        return
    document = parse(path.name, data, password=PASSWORDS.get(path.name))
    check(document, data)
    assert document.text.strip() or path.name == "non_text_searchable.pdf"


@pytest.mark.parametrize("name", ["password-rc4.pdf", "password-aes.pdf"])
def test_pdf_passwords(name):
    data = (OWN / "files" / name).read_bytes()
    for wrong, message in ((None, "give its password"), ("", "give its password"), ("x", "does not open the file")):
        with pytest.raises(PasswordNeeded, match=message):
            parse(name, data, password=wrong)


def test_office_passwords():
    from msoffcrypto.format.ooxml import OOXMLFile

    plain = (OWN / "files" / "manual.docx").read_bytes()
    encrypted = io.BytesIO()
    OOXMLFile(io.BytesIO(plain)).encrypt("密码 1", encrypted)
    for wrong, message in ((None, "give its password"), ("x", "does not open the file")):
        with pytest.raises(PasswordNeeded, match=message):
            parse("a.docx", encrypted.getvalue(), password=wrong)
    opened = parse("a.docx", encrypted.getvalue(), password="密码 1")
    assert (opened.text, opened.warnings) == (WRITTEN["manual.docx"]["text"], ())
    assert opened.media_type == "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


# Text and its encodings


def test_text_is_kept_as_it_is_but_for_newlines():
    text = "\\# a *b*\r\n\ttab  two spaces \r\rend\u2028\x0c\u00a0"
    assert parse("a.md", text.encode()).text == "\\# a *b*\n\ttab  two spaces \n\nend\u2028\x0c\u00a0"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp932", "従業員は毎年十五日の有給休暇を取得できます。二週間前までに申請し、上司の承認を得てください。"),
        ("cp1251", "Сотрудники имеют право на пятнадцать дней отпуска в год. Подайте заявление за две недели."),
        ("cp1250", "Pracownicy mają prawo do piętnastu dni płatnego urlopu. Złóż wniosek dwa tygodnie wcześniej."),
    ],
)
def test_an_encoding_that_nothing_names_is_guessed_and_said(encoding, text):
    document = parse("a.txt", f"Policy 3.2: {text}\n".encode(encoding))
    assert document.text == f"Policy 3.2: {text}\n"
    assert document.warnings[0].startswith("the encoding was guessed: ")


def zipped(members: dict[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def relationships(**targets: str) -> str:
    rows = (f'<Relationship Id="{key}" Type="{RELATIONS}/{value}"' for key, value in targets.items())
    rows = (row.replace("=>", '" Target="') + "/>" for row in rows)
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{"".join(rows)}</Relationships>'


def docx(body: str, **parts: str) -> bytes:
    """A Word document; of a part the name is kind and number ("header1"), and the value its paragraphs."""
    spaces = (
        'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
        f'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:r="{RELATIONS}" '
        'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    types = f'<Override PartName="/word/document.xml" ContentType="{kind}"/>'
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{types}</Types>',
            "_rels/.rels": relationships(r1="officeDocument=>word/document.xml"),
            "word/_rels/document.xml.rels": relationships(**{p: f"{p[:-1]}=>{p}.xml" for p in parts}),
            "word/document.xml": f"<w:document {spaces}><w:body>{body}</w:body></w:document>",
            **{f"word/{p}.xml": f"<w:hdr {spaces}>{text}</w:hdr>" for p, text in parts.items()},
        }
    )


def pptx(*slides: str) -> bytes:
    main = "http://schemas.openxmlformats.org/drawingml/2006/main"
    show = "http://schemas.openxmlformats.org/presentationml/2006/main"
    spaces = f'xmlns:a="{main}" xmlns:p="{show}" xmlns:r="{RELATIONS}"'
    # The last slide file is shown first.
    order = "".join(f'<p:sldId id="{256 + n}" r:id="r{n}"/>' for n in reversed(range(len(slides))))
    members = {
        "[Content_Types].xml": "<Types/>",
        "ppt/presentation.xml": f"<p:presentation {spaces}><p:sldIdLst>{order}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relationships(
            **{f"r{n}": f"slide=>slides/slide{n}.xml" for n in range(len(slides))}
        ),
    }
    members |= {f"ppt/slides/slide{n}.xml": f"<p:sld {spaces}>{slide}</p:sld>" for n, slide in enumerate(slides)}
    return zipped(members)


def pdf_of(*objects: bytes, trailer: bytes = b"") -> bytes:
    """Make a PDF of these objects, the first its catalog, with an index of where they begin."""
    out = io.BytesIO(b"%PDF-1.5\n")
    out.seek(0, io.SEEK_END)
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    out.write(b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R%s>>\n" % (size, table, size, trailer))
    out.write(b"startxref\n%d\n%%%%EOF\n" % start)
    return out.getvalue()


def pdf(*contents: bytes, filters: bytes = b"", trailer: bytes = b"") -> bytes:
    """Make a PDF with a page for each content stream."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(len(contents)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(contents)),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for n, content in enumerate(contents):
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %d 0 R/Resources<</Font<</F 3 0 R>>>>>>"
            % (5 + 2 * n),
            b"<</Length %d%s>>stream\n%s\nendstream" % (len(content), filters, content),
        ]
    return pdf_of(*objects, trailer=trailer)


def shown(text: str) -> bytes:
    return b"BT /F 12 Tf 72 700 Td (%s) Tj ET" % text.encode()


def picture(text: str) -> bytes:
    """A content stream that shows a picture of a line of text."""
    image = Image.new("L", (1240, 400), 255)
    ImageDraw.Draw(image).text((60, 60), text, fill=0, font=ImageFont.load_default(48))
    data = zlib.compress(image.tobytes())
    return b"q 500 0 0 161 50 500 cm BI /W 1240 /H 400 /CS /G /BPC 8 /F /Fl ID " + data + b" EI Q"


def test_scanned_pages_are_read_where_tesseract_is_installed(monkeypatch):
    data = pdf(picture("The harbour fee is 35 euros"), shown("Second page of letters"), b"")
    document = parse("a.pdf", data)
    assert [p.start == p.end for p in document.pages] == [True, False, True]
    said = "2 of 3 pages have no text (empty, or pictures: install tesseract, or run OCR first): 1, 3"
    assert document.warnings == (said,)
    monkeypatch.setattr(scans, "installed", INSTALLED)
    languages, _ = scans.installed()
    if "eng" not in languages:
        pytest.skip("tesseract with its English data is not installed")
    document = parse("a.pdf", data)
    assert document.text == "The harbour fee is 35 euros\n\nSecond page of letters"
    assert document.warnings == (
        f"1 page has no text layer, and the text that tesseract ({languages}) sees: 1; check it",
        "1 of 3 pages has no text (empty, or pictures: tesseract sees no words there): 3",
    )


# Web pages

PAGE = """<!doctype html><html><head><title>T</title><style>p{}</style></head><body>
<nav><a href=/>Home</a></nav><h1>Q&amp;A</h1><script>if (a<b) "</p>"</script><!-- <p>no</p> -->
<p>Some <b>bold</b>, <a title="a > b" href='x'>a link</a>&nbsp;and 中<i>文</i>.<br>Next<p>Unclosed
<ul><li>one<ol start=4><li>four<li>five</ol><li>two</ul>
<pre>
def f(x):
    return x &lt; 2
</pre>
<table><tr><th>A<th>B<tr><td>x|y<td>1<br>2</table>
<table><tr><td>layout <table><tr><td>in<td>ner</table></table>
<div style="display: none">hidden</div><div class="hidden md:block">seen</div><div hidden>gone</div>
<blockquote>said</blockquote><button>Click</button><svg><text>drawn</text></svg></body></html>"""


def test_web_page():
    assert parse("a.html", PAGE.encode()).text == (
        "# Q&A\n\nSome bold, a link and 中文.\nNext\n\nUnclosed\n\n- one\n  4. four\n  5. five\n- two\n\n"
        "```\ndef f(x):\n    return x < 2\n```\n\n| A | B |\n| --- | --- |\n| x\\|y | 1 2 |\n\n"
        "layout\n\n|  |  |\n| --- | --- |\n| in | ner |\n\nseen\n\n> said"
    )


@pytest.mark.parametrize(
    ("page", "text", "characters"),
    [
        ('<p>a<p style="display:none">gone<p>b', "a\n\nb", 4),
        ("<ul><li>a<li hidden>gone<ul><li>too</ul><li>b</ul>", "- a\n- b", 7),
        ('<table><tr><td>a<td style="visibility: hidden">gone<td>b<tr hidden><td>row</table>c',
         "|  |  |\n| --- | --- |\n| a | b |\n\nc", 7),
        ("<dl><dt hidden>gone<dd>b</dl>", "b", 4),
        ("<h2 hidden>gone</h2>a <em hidden>too</em>", "a", 7),
        ("<div><p hidden>gone</div>a", "a", 4),
    ],
)  # fmt: skip
def test_hidden_elements_are_left_out_and_counted(page, text, characters):
    document = parse("a.html", page.encode())
    assert document.text == text
    assert [w.rpartition(", ")[2] for w in document.warnings] == [f"with {characters} characters"]


def test_headers_footers_and_hidden_text_of_a_word_document():
    def paragraph(text, look=""):
        return f"<w:p><w:r><w:rPr>{look}</w:rPr><w:t>{text}</w:t></w:r></w:p>"

    shown_on = (("header", "default", 1), ("header", "first", 2), ("header", "even", 3), ("footer", "default", 4))
    section = "".join(f'<w:{kind}Reference w:type="{on}" r:id="{kind}{n}"/>' for kind, on, n in shown_on)
    body = paragraph("Body.") + paragraph("gone", "<w:vanish/>") + paragraph("seen", '<w:vanish w:val="0"/>')
    data = docx(
        f"{body}<w:sectPr>{section}<w:titlePg/></w:sectPr><w:sectPr>{section}</w:sectPr>",
        header1=paragraph("Policy 3.2"),
        header2=paragraph("First page"),
        header3=paragraph("Even pages, which are no others here"),
        footer4=paragraph("- 1 -") + paragraph("Owner: Ada Quill"),
    )
    document = parse("a.docx", data)
    assert document.text == "Policy 3.2\n\nFirst page\n\nBody.\n\nseen\n\nOwner: Ada Quill"
    assert document.warnings == ("hidden text is left out: 4 characters; show it to have it read",)


# Bad files


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.pdf", b"MZ\x90\0\3" + b"\0" * 60, "This is a program, not a document, although it is named .pdf: "),
        ("a.txt", b"\x89PNG\r\n\x1a\n\0\0", "This is a picture: put it into a PDF, whose scanned pages are read"),
        ("a.docx", b"\xff\xd8\xff\xe0\0\x10JFIF", "This is a picture, although it is named .docx: put "),
        ("a.heic", b"\0\0\0\x18ftypheic\0\0\0\0", "This is a picture: put it"),
        ("a.gz", b"\x1f\x8b\x08" + b"\0" * 20, "This is an archive: unpack it and add the files inside."),
        ("a.db", b"SQLite format 3\0" + b"\0" * 20, "This is a database or table, not a document: export"),
        ("a.mp3", b"ID3\4\0\0\0", "This is a sound or film, not a document"),
        ("a.zip", zipped({"x.txt": "x", "y.txt": "y"}), "This is a ZIP archive of 2 files: unpack it"),
        ("a.odp", zipped({"mimetype": "application/vnd.oasis.opendocument.presentation"}), "This is a file of the"),
        ("a.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "This is an OLE file of an unknown kind"),
        ("a.bin", bytes(range(256)) * 20, "These 5,120 bytes are neither text nor a known format"),
        ("a.docx", b"PK\3\4" + random.Random(0).randbytes(3000), "The file is damaged: a document in a ZIP archive"),
        ("a.docx", docx("<w:p/>")[:-40], "The file is damaged: a document in a ZIP archive"),
        ("a.docx", docx("<w:p><w:r>"), "The file is damaged: a Word document that cannot be read"),
        ("a.xlsx", zipped({"[Content_Types].xml": "", "xl/x": ""}), "The file is damaged: an Excel workbook"),
        ("a.pdf", pdf(), "The file is damaged: a PDF that cannot be read"),
        ("a.txt", b"", "The file is empty (0 bytes)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_bad_files_have_an_error(name, data, message):
    with pytest.raises(UnreadableFile) as refusal:
        parse(name, data)
    assert str(refusal.value).startswith(message)
    assert not isinstance(refusal.value, PasswordNeeded)


def test_zip_bomb_is_not_unpacked():
    bomb = {"[Content_Types].xml": "", "word/document.xml": b"\0" * (100 * 2**20)}
    with pytest.raises(UnreadableFile, match=r"would unpack from [\d,]+ to 104,857,600 bytes \(a zip bomb\?\)"):
        parse("a.docx", zipped(bomb))


def test_zip_bomb_whose_directory_lies():
    """The directory says 10 bytes; nothing that reads it may go on to what the stream really holds."""
    data = bytearray(docx("<w:p><w:r><w:t>" + "a" * 5_000_000 + "</w:t></w:r></w:p>"))
    at = data.index(b"PK\1\2", data.index(b"_rels/.rels", data.index(b"PK\1\2")))
    data[at + 24 : at + 28] = struct.pack("<I", 10)
    with pytest.raises(UnreadableFile, match="damaged"):
        parse("a.docx", bytes(data))


def deflated(unit: bytes, size: int) -> bytes:
    packer = zlib.compressobj()
    block = unit * (2**20 // len(unit))
    return b"".join([*(packer.compress(block) for _ in range(size // len(block))), packer.flush()])


@pytest.fixture
def no_reader_waits():
    child._end_all()
    yield
    child._end_all()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every file has a process of its own")
def test_one_process_reads_file_after_file_until_one_is_bad(no_reader_waits):
    ballast = bytearray(700 * 2**20)  # what the reader's starter holds is not the reader's
    ballast[::4096] = b"x" * len(ballast[::4096])
    files = dict(sample.documents())
    docx, xlsx = (next(data for name, data in files.items() if name.endswith(end)) for end in (".docx", ".xlsx"))
    child.read_in_child(kinds.KINDS["docx"], "a", docx, None)
    [first] = child._idle
    child.read_in_child(kinds.KINDS["xlsx"], "a", xlsx, None)
    assert child._idle == [first]
    with pytest.raises(UnreadableFile):
        child.read_in_child(kinds.KINDS["docx"], "a", b"PK\x03\x04 no more of it", None)
    assert child._idle == []
    assert first._process.returncode is not None
    child.read_in_child(kinds.KINDS["docx"], "a", docx, None)
    [second] = child._idle
    second._process.kill()  # as if it had died of what it read: a fresh one reads the next
    kind, parts, _ = child.read_in_child(kinds.KINDS["xlsx"], "a", xlsx, None)
    assert kind.key == "xlsx"
    assert parts
    [third] = child._idle
    assert third is not second


@pytest.mark.model
def test_a_reader_that_takes_too_long_is_stopped(monkeypatch):
    monkeypatch.setattr(child, "SECONDS", 2)
    slow = pdf(deflated(b"BT /F 12 Tf 9 9 Td (hello) Tj ET\n", 200 * 2**20), filters=b"/Filter/FlateDecode")
    with pytest.raises(UnreadableFile, match=r"Reading took longer than \d seconds and was stopped"):
        parse("a.pdf", slow)
    assert parse("a.pdf", pdf(shown("after"))).text == "after"  # nothing is left that holds up the next


@pytest.mark.model
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of a process")
def test_a_reader_that_swells_is_stopped(monkeypatch):
    monkeypatch.setattr(child, "MEMORY", 2**29)
    twice = zlib.compress(deflated(b" ", 400 * 2**20), 9)
    bomb = pdf(twice, filters=b"/Filter[/FlateDecode/FlateDecode]")
    assert len(bomb) < 5000
    with pytest.raises(UnreadableFile, match=r"bytes crashed or needed more than 0\.5 GB of memory"):
        parse("a.pdf", bomb)


# Names


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("pages/x.md", "pages/x.md"),
        ("../../etc/passwd", "etc/passwd"),
        ("/etc/passwd", "etc/passwd"),
        (r"..\..\Windows\x.ini", "Windows/x.ini"),
        (r"C:\docs\手册.pdf", "docs/手册.pdf"),
        ("a/./b//c/...", "a/b/c"),
        (" a / .. / b ", "a/b"),
        ("a\0b\nc.txt", "abc.txt"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("\ud800x.md", "x.md"),
        ("re\u0301sume\u0301.md", "résumé.md"),
        ("👩‍👩‍👧.md", "👩‍👩‍👧.md"),
        (".env", ".env"),
        ("", "unnamed"),
        ("..", "unnamed"),
    ],
)
def test_safe_names(name, safe):
    assert parsing.safe_name(name) == safe


def test_processes_started_ahead_read_the_files_and_none_stays(monkeypatch):
    monkeypatch.setattr(child, "_idle", [])
    parsing.prepare(["a.md", "b.PDF", "c.html", "d.docx", "e.xlsx"], 2)
    ahead = [process._process.pid for process in child._idle]
    assert len(ahead) == 2
    parsing.prepare(["b.pdf", "d.docx"], 2)
    assert [process._process.pid for process in child._idle] == ahead  # those wait already
    started = []
    monkeypatch.setattr(child.subprocess, "Popen", lambda *_, **__: started.append(1))
    data = (Path(sample.__file__).parent / "documents" / "annual-report-2023.pdf").read_bytes()
    assert parse("a.pdf", data).pages
    assert not started
    child._end_all()
    assert not any(psutil.pid_exists(pid) for pid in ahead)
