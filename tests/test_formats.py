"""Files of every format, made by tests/data/make.py, read against what was written into them."""

import io
import random
import runpy
from pathlib import Path

import pytest

from ragviz.errors import PasswordNeeded, UnreadableFile
from tests.test_ingest import OFFICE, check, parse

DATA = Path(__file__).parent / "data"
FILES = {path.name: path.read_bytes() for path in sorted((DATA / "files").iterdir())}
PASSWORDS = {"password-rc4.pdf": "brackwater", "password-aes.pdf": "密码 1"}

REFUSED = {
    "empty.txt": "The file is empty (0 bytes)",
    "picture.png": "This is a PNG picture: images need OCR, which ragviz does not do.",
    "broken.docx": "The file is damaged: a document in a ZIP archive",
    "broken.pdf": "The file is damaged: a PDF that cannot be read",
}
GUESSED = "the encoding was guessed: {}; if letters look wrong, save it as UTF-8"
SPARSE = {"report.pdf": 119, "handbook-zh.pdf": 85, "columns.pdf": 130, "right-to-left.pdf": 23}
SPARSE |= {"password-rc4.pdf": 27, "password-aes.pdf": 32}
"""PDFs of a few lines a page → characters a page, of those with text."""
WARNINGS = {
    "note-utf-16-be.txt": GUESSED.format("UTF-16-BE"),
    "note-utf-16-le.txt": GUESSED.format("UTF-16-LE"),
    "minutes-gb18030.txt": GUESSED.format("GB18030 (Chinese)"),
    "umlauts-latin-1.md": GUESSED.format("Windows-1252 (Western European)"),
    "too-few-cells.csv": "1 row has more or fewer cells than the 3 of the first: 2",
    "too-many-cells.csv": "2 rows have more or fewer cells than the 2 of the first: 2, 4",
    "report.pdf": "1 of 4 pages has no text (empty, or pictures that need OCR): 3",
    "handbook-zh.pdf": "1 of 3 pages has no text (empty, or pictures that need OCR): 1",
    "scan.pdf": "no text layer: 1 page is a picture; run OCR first",
    "no-character-map.pdf": "much of its text layer is signs without meaning (fonts without a character map): "
    "run OCR on it",
}

NOTE = "Notes of the harbour office – 港务局记录\n\n    North pier, 7 o’clock\n\n- herring: 3 boxes\n- “Marianne” 🙂\n"
UMLAUTS = "## Übersicht\n\nDie Fähre fährt über die schöne Bucht, außer bei Sturm.\n"
BOATS = 'boat,port,metres\nMarianne,Brackwater,31.5\n"Petrel, the",盐港,18\n'
PARTS = {
    "report.pdf": [
        "Report on the tide mill\nThe mill at Hollow Bridge was built in 1763 (by Anselm Roy) and grinds wheat\n"
        "twice a day. Its older wheel was replaced in 1932; the oak came from the forest behind the marsh – “the best "
        "there is”, as the miller says.",
        "Page 2 of the report\nWheel Year Oak\nEast 1932 4.5 t\nWest 1763 5.0 t",
        "",
        "Page 4 of the report\n… page 3 was left empty.",
    ],
    "handbook-zh.pdf": [
        "",
        "前言\n本手册总结了盐港灯塔三十多年的值守经验，供所有值班人员使用。每一条规定都经过多次演"
        "练的检验，“说明”部分对规定做了适当的扩展和解释。\n值守规定\n1. 【强制】每晚八点以前必须点灯。\n"
        "2. 【推荐】值班时不要离开塔楼。",
        "附录\nlamp.on(at=20)\nlamp.check(every=30)\n风速单位是 m/s，灯高 41 米。",
    ],
    "columns.pdf": [
        "The north pier is old.\nIts planks are of oak\nand were laid in 1902.\n"
        "The south pier is new.\nConcrete was poured\nthere in June 1998."
    ],
    "scan.pdf": [""],
    "no-character-map.pdf": ["".join(chr(0xF000 + ord(letter)) for letter in "Closed on Mondays")],
    "boats.ods": [
        "## Boats\n\n| boat | port | metres |\n| --- | --- | --- |\n| Marianne | Brackwater | 31.5 |\n"
        "| Petrel, the | 盐港 | 18 |",
        "## 潮汐\n\n| 时间 | 水位 |\n| --- | --- |\n| 中午 | 高潮 |",
    ],
    "right-to-left.pdf": ["שלום\nshalom means peace"],
    "password-rc4.pdf": ["The tide tables are secret."],
    "password-aes.pdf": ["The harbour dues are secret too."],
    "tour.pptx": [
        "## A tour of Brackwater\n\nStart at the north pier\n\nR&D: none",
        "## Boats and tides\n\n| Boat | Sails in |  |\n| --- | --- | --- |\n|  | summer | winter |\n"
        "| Marianne | yes | twice a day |\n\nNotes: Say that dogs pay one crown.\n\n再提一次冬天的班次。",
        "## 结束语\n\n欢迎再来\n\n盐港",
    ],
    "prices.xlsx": [
        "## Tickets & fees\n\n| ticket | crowns |\n| --- | --- |\n| ferry | 9 |\n| museum | 6.5 |\n"
        "| A \\| B < C | free |",
        "",
        "## 船票\n\n| 船名 | 冬天开 |\n| --- | --- |\n| 玛丽安号 | true |\n| 海燕号 |  |",
    ],
}
"""The pages, slides and sheets of files that have some."""
TEXTS = {
    "boats-comma.csv": BOATS,
    "boats-utf-16.csv": BOATS,
    "boats-pipe.csv": "boat|port|metres\nMarianne|Brackwater|31.5\nPetrel, the|盐港|18\n",
    "boats-semicolon.csv": "boat;port;metres\nMarianne;Brackwater;31.5\nPetrel, the;盐港;18\n",
    "boats-tab.tsv": "boat\tport\tmetres\nMarianne\tBrackwater\t31.5\nPetrel, the\t盐港\t18\n",
    "emoji.csv": "crew,count\n👩🏽‍✈️,2\n👨‍🔧,1\n",
    "one-column.csv": "boat\nMarianne\nPetrel\n",
    "too-few-cells.csv": "a,b,c\n1,2\n3,4,5\n",
    "too-many-cells.csv": "a,b\n1,2,3\n4,5\n6,7,8\n",
    **dict.fromkeys((name for name in FILES if name.startswith("note-")), NOTE),
    "minutes-gb18030.txt": "会议纪要：第一章 总则。本规定适用于港务局全体员工，自发布之日起施行。\n"
    "出席人：林德艺、何帕维。\n",
    "umlauts-latin-1.md": UMLAUTS,
    "umlauts-utf-8.md": UMLAUTS,
    "windows-newlines.md": "# Tides\n\nHigh at noon.\n\t- 高潮\n",
    "escaped.md": "# A \\# B\n\n00:16 ----&gt; 00:18\n&amp; &lt; &quot; &#39; \\*not bold\\* <b>bold</b>\n",
    "nested.md": "- one\n\t- one.one\n\t\t- 一点一\n\n1. first\n   > quoted\n",
    "page.rst": "Tide tables\n===========\n\n.. note:: 潮汐表 printed *weekly*.\n\n::\n\n    high = 4.1\n",
    "page.adoc": "= Tide tables\n\nimage::tides.png[Tides]\n\n[cols=2]\n|===\n|high |low\n|===\n",
    "page.org": "* Tide tables\n** High\n   - noon\n#+BEGIN_SRC sh\necho 1\n#+END_SRC\n",
    "manual.docx": "# Manual of the ice factory\n\n# Machines\n\n"
    "The first compressor was built in 1978 & runs at 5 °C; tanks < 3 m are exempt.\n\n## Daily checks\n\n"
    "1. Read the pressure.\n2. Write it into the red book.\n\n### Oil\n\n"
    "Oil is changed every 400 hours[1]. See the red book for the last change.\n\n"
    "| Machine | Power \\| kW | Since |\n| --- | --- | --- |\n| Compressor | 75 | 1978 |\n| Pump |  | 2003 |\n\n"
    "# 安全规定\n\n氨气泄漏时，所有人员必须立即离开厂房，并在集市广场集合。\n\n1. By the rule of 1 May 2019.",
    "notice.odt": "# Notice to rowers\n\nEvery boat carries at least this & no less:\n\n- a lamp\n- two oars\n\n"
    "夜间划船必须点灯。\n\n| 潮汐 | 高潮 |\n| --- | --- |\n| 潮汐 | 高潮 |",
    "tales.epub": "# Chapter one\n\nThe keeper’s café was shut.\n\n# 第二章\n\n灯塔的看守人睡着了。",
    "office.rtf": "The harbour office lends lamps {free} at cafés.\n\n港口局 is its Chinese name.",
    "page.html": "# Dues & fees\n\nBoats pay two crowns\na night.\n\nBoats pay two crowns\na night.\n\n"
    "| Length | Fee |\n| --- | --- |\n| to 10 m | 2 |\n\n- paid at the office\n- or by post",
    "page-gb2312.htm": "## 收费\n\n每晚两元。",
} | {name: "\n\n".join(filter(None, parts)) for name, parts in PARTS.items()}


def read(name: str):
    return parse(name, FILES[name], password=PASSWORDS.get(name))


def test_the_files_are_those_that_the_script_makes():
    made = runpy.run_path(str(DATA / "make.py"))["made"]()
    assert {name for name in made if not (DATA / name).is_file() or (DATA / name).read_bytes() != made[name]} == set()
    assert {f"files/{name}" for name in FILES} == {name for name in made if name.startswith("files/")}
    assert FILES.keys() == TEXTS.keys() | REFUSED.keys()


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_says_what_was_written_into_it(name):
    document = read(name)
    check(document, FILES[name])
    assert document.text == TEXTS[name]
    warnings = list(document.warnings)
    if name in SPARSE:
        assert warnings.pop().startswith(f"about {SPARSE[name]} characters a page, where print has some 2,000")
    assert warnings == list(filter(None, [WARNINGS.get(name)]))
    assert [document.text[page.start : page.end] for page in document.pages] == PARTS.get(name, [])


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_answered(name):
    with pytest.raises(UnreadableFile, match=r"\.$") as refusal:
        read(name)
    assert str(refusal.value).startswith(REFUSED[name])
    assert not isinstance(refusal.value, PasswordNeeded)


WRONG = ((None, "give its password"), ("", "give its password"), ("x", "does not open the file"))


@pytest.mark.parametrize("name", PASSWORDS)
def test_passwords_of_pdfs(name):
    for wrong, said in WRONG:
        with pytest.raises(PasswordNeeded, match=said):
            parse(name, FILES[name], password=wrong)
    assert b"secret" not in FILES[name]


@pytest.mark.parametrize("name", ["manual.docx", "tour.pptx", "prices.xlsx"])
def test_passwords_of_office_documents(name):
    from msoffcrypto.format.ooxml import OOXMLFile

    encrypted = io.BytesIO()
    OOXMLFile(io.BytesIO(FILES[name])).encrypt("密码 1", encrypted)
    for wrong, said in (WRONG[0], WRONG[2]):
        with pytest.raises(PasswordNeeded, match=said):
            parse(name, encrypted.getvalue(), password=wrong)
    opened = parse(name, encrypted.getvalue(), password="密码 1")
    assert (opened.text, opened.warnings) == (TEXTS[name], ())
    assert opened.media_type.startswith(OFFICE)


@pytest.mark.parametrize("name", ["manual.docx", "report.pdf", "umlauts-latin-1.md", "handbook-zh.pdf"])
def test_the_same_bytes_give_the_same_document(name):
    assert read(name) == read(name)


def test_a_wrong_extension_is_told_and_the_file_read_as_what_it_is():
    pdf, docx = FILES["columns.pdf"], FILES["manual.docx"]
    for name, data, media, warning in (
        ("a.docx", pdf, "application/pdf", "named .docx, but it is a PDF: read as that"),
        ("a.txt", pdf, "application/pdf", "named .txt, but it is a PDF: read as that"),
        ("a.pdf", docx, f"{OFFICE}.wordprocessingml.document", "named .pdf, but it is a Word document: read as that"),
        ("a.xlsx", FILES["notice.odt"], "application/vnd.oasis.opendocument.text", "named .xlsx, but it is an OpenDoc"),
        ("a.pdf", b"plain words", "text/plain", "named .pdf, but it is plain text: read as that"),
        ("a.doc", b"<html><p>a page", "text/html", "named .doc, but it is a web page: read as that"),
    ):
        document = parse(name, data)
        assert document.media_type == media
        assert [said.startswith(warning) for said in document.warnings if "characters a page" not in said] == [True]
    [sparse] = parse("a", pdf).warnings
    assert parse("a.PDF", pdf).warnings == (sparse,)
    assert sparse.startswith("about 130 characters a page")


@pytest.mark.model
@pytest.mark.parametrize("name", ["manual.docx", "report.pdf", "notice.odt", "tour.pptx", "handbook-zh.pdf"])
def test_damaged_files_are_read_or_answered(name):
    generator = random.Random(name)
    answered = 0
    for _ in range(10):
        data = bytearray(FILES[name])
        for _ in range(generator.choice((1, 5, 50))):
            data[generator.randrange(len(data))] = generator.randrange(256)
        try:
            check(parse(name, bytes(data)), bytes(data))
        except UnreadableFile as error:
            answered += 1
            assert "Traceback" not in str(error)  # noqa: PT017
            assert str(error).endswith(".")  # noqa: PT017
    assert answered or name.endswith(".pdf")  # an archive's checksums tell at once
