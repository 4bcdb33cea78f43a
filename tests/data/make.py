"""Write the made files of this folder anew: `python tests/data/make.py`.

Everything here was written for these tests. The same script gives the same bytes: no clock, no random numbers, and
archives are stored without compression. The documents are on purpose what other programs write, not what is simplest:
runs cut within words, styles by name, merged cells, empty rows, a byte order without a mark.
"""

import csv
import hashlib
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
OOXML = "http://schemas.openxmlformats.org"
OFFICE = "application/vnd.openxmlformats-officedocument"
RELATIONS = f"{OOXML}/officeDocument/2006/relationships"
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def archive(members: dict[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as target:
        for name, content in members.items():
            target.writestr(zipfile.ZipInfo(name, (2024, 3, 1, 9, 0, 0)), content)
    return packed.getvalue()


def relationships(*rows: tuple[str, str, str]) -> str:
    inner = "".join(f'<Relationship Id="{key}" Type="{RELATIONS}/{kind}" Target="{to}"/>' for key, kind, to in rows)
    return f'{HEAD}<Relationships xmlns="{OOXML}/package/2006/relationships">{inner}</Relationships>'


def content_types(**parts: str) -> str:
    rows = "".join(
        f'<Override PartName="/{part.replace("__", "/")}.xml" ContentType="{OFFICE}.{kind}+xml"/>'
        for part, kind in parts.items()
    )
    defaults = (
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
    )
    return f'{HEAD}<Types xmlns="{OOXML}/package/2006/content-types">{defaults}{rows}</Types>'


# Word


def paragraph(*runs: str, style: str = "", inner: str = "") -> str:
    chosen = f'<w:pPr><w:pStyle w:val="{style}"/>{inner}</w:pPr>' if style or inner else ""
    return f"<w:p>{chosen}{''.join(run(text) for text in runs)}</w:p>"


def run(text: str) -> str:
    return text if text.startswith("<w:") else f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def word_table(*rows: tuple[str, ...]) -> str:
    cells = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def manual_docx() -> bytes:
    """Headings by style, a list by numbering, a page break, a table, a footnote, a link, two languages."""
    item = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    body = [
        paragraph("Manual of the ice factory", style="Title"),
        paragraph("Machines", style="Ueberschrift1"),
        paragraph("The fir", "st com", "pressor was built in 1978 &amp; runs at 5 °C; tanks &lt; 3 m are ex", "empt."),
        paragraph("Daily checks", style="Ueberschrift2"),
        paragraph("Read the pressure.", style="Liste", inner=item),
        paragraph("Write it into the red book.", style="Liste", inner=item),
        paragraph("Oil", style="Ueberschrift3"),
        paragraph(
            "Oil is changed every 400 hours",
            '<w:r><w:footnoteReference w:id="2"/></w:r>',
            ". ",
            '<w:r><w:br w:type="page"/></w:r>',
            "See the ",
            '<w:hyperlink w:anchor="book"><w:r><w:t>red book</w:t></w:r></w:hyperlink>',
            " for the last change.",
        ),
        word_table(("Machine", "Power | kW", "Since"), ("Compressor", "75", "1978"), ("Pump", "", "2003")),
        paragraph("安全规定", style="Ueberschrift1"),
        paragraph("氨气泄漏时，", "所有人员必须立即离", "开厂房，并在集市广场集合。"),
    ]
    styles = {"Title": "Title", "Liste": "List Paragraph"} | {f"Ueberschrift{n}": f"heading {n}" for n in (1, 2, 3)}
    word = f'xmlns:w="{OOXML}/wordprocessingml/2006/main"'
    named = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
        for key, name in styles.items()
    )
    numbers = (
        '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    )
    note = f'<w:footnote w:id="2">{paragraph("By the rule of 1 May 2019.")}</w:footnote>'
    kinds = {"document": "main", "styles": "styles", "numbering": "numbering", "footnotes": "footnotes"}
    types = {f"word__{part}": f"wordprocessingml.{'document.main' if part == 'document' else part}" for part in kinds}
    return archive(
        {
            "[Content_Types].xml": content_types(**types),
            "_rels/.rels": relationships(("r1", "officeDocument", "word/document.xml")),
            "word/_rels/document.xml.rels": relationships(
                *((f"r{n}", part, f"{part}.xml") for n, part in enumerate(kinds) if n)
            ),
            "word/document.xml": f"{HEAD}<w:document {word}><w:body>{''.join(body)}</w:body></w:document>",
            "word/styles.xml": f"{HEAD}<w:styles {word}>{named}</w:styles>",
            "word/numbering.xml": f"{HEAD}<w:numbering {word}>{numbers}</w:numbering>",
            "word/footnotes.xml": f"{HEAD}<w:footnotes {word}>{note}</w:footnotes>",
        }
    )


# PowerPoint


def shape(*paragraphs: str, holder: str = "") -> str:
    place = f'<p:nvPr><p:ph type="{holder}"/></p:nvPr>' if holder else "<p:nvPr/>"
    inner = "".join(f"<a:p>{text if text.startswith('<a:') else drawn(text)}</a:p>" for text in paragraphs)
    return f"<p:sp><p:nvSpPr>{place}</p:nvSpPr><p:txBody>{inner}</p:txBody></p:sp>"


def drawn(*runs: str) -> str:
    return "".join(f"<a:r><a:t>{text}</a:t></a:r>" for text in runs)


def slide_table(*rows: tuple[str, ...]) -> str:
    """A table; a cell "+" belongs to the one on its left."""

    def cell(text: str) -> str:
        merged = ' hMerge="1"' if text == "+" else ""
        return f"<a:tc{merged}><a:txBody><a:p>{'' if text == '+' else drawn(text)}</a:p></a:txBody></a:tc>"

    lines = "".join(f"<a:tr>{''.join(map(cell, row))}</a:tr>" for row in rows)
    return (
        f"<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{lines}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )


def tour_pptx() -> bytes:
    """Three slides that are shown in another order than their files; a table with merged cells; notes."""
    number = shape("7", holder="sldNum")
    slides = {
        "slide1": shape("结束语", holder="title") + shape("欢迎再来", drawn("盐", "港")) + number,
        "slide2": shape(drawn("Bo", "ats and t", "ides"), holder="title")
        + slide_table(("Boat", "Sails in", "+"), ("", "summer", "winter"), ("Marianne", "yes", "twice a day")),
        "slide3": shape("A tour of Brackwater", holder="ctrTitle") + shape("Start at the north pier", "R&amp;D: none"),
    }
    notes = {"slide2": shape("Say that dogs pay one crown.", "再提一次冬天的班次。", holder="body") + number}
    spaces = f'xmlns:a="{OOXML}/drawingml/2006/main" xmlns:p="{OOXML}/presentationml/2006/main" xmlns:r="{RELATIONS}"'
    order = "".join(f'<p:sldId id="{256 + n}" r:id="r{n}"/>' for n in (3, 2, 1))
    show = "presentationml"
    types = {"ppt__presentation": f"{show}.presentation.main"} | {
        f"ppt__slides__{name}": f"{show}.slide" for name in slides
    }
    members = {
        "[Content_Types].xml": content_types(**types),
        "_rels/.rels": relationships(("r1", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f"{HEAD}<p:presentation {spaces}><p:sldIdLst>{order}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relationships(
            *((f"r{n}", "slide", f"slides/slide{n}.xml") for n in (1, 2, 3))
        ),
    }
    for name, inner in slides.items():
        members[f"ppt/slides/{name}.xml"] = (
            f"{HEAD}<p:sld {spaces}><p:cSld><p:spTree>{inner}</p:spTree></p:cSld></p:sld>"
        )
    for name, inner in notes.items():
        members[f"ppt/slides/_rels/{name}.xml.rels"] = relationships(("r1", "notesSlide", f"../notesSlides/{name}.xml"))
        members[f"ppt/notesSlides/{name}.xml"] = (
            f"{HEAD}<p:notes {spaces}><p:cSld><p:spTree>{inner}</p:spTree></p:cSld></p:notes>"
        )
    return archive(members)


# Excel


def prices_xlsx() -> bytes:
    """Three sheets with numbers, truth values, a missing value, shared and inline texts, an empty row; one is empty."""
    main = f'xmlns="{OOXML}/spreadsheetml/2006/main" xmlns:r="{RELATIONS}"'
    texts = ["ticket", "crowns", "ferry", "museum"]
    shared = "".join(f"<si><t>{text}</t></si>" for text in texts)

    def cell(place: str, value: object) -> str:
        if isinstance(value, bool):
            return f'<c r="{place}" t="b"><v>{value:d}</v></c>'
        if isinstance(value, int | float):
            return f'<c r="{place}"><v>{value}</v></c>'
        if value in texts:
            return f'<c r="{place}" t="s"><v>{texts.index(str(value))}</v></c>'
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'

    def sheet(**cells: object) -> str:
        rows: dict[str, str] = {}
        for place, value in cells.items():
            rows[place[1:]] = rows.get(place[1:], "") + cell(place, value)
        lines = "".join(f'<row r="{number}">{inner}</row>' for number, inner in rows.items())
        return f"{HEAD}<worksheet {main}><sheetData>{lines}</sheetData></worksheet>"

    names = ["Tickets & fees", "Empty", "船票"]
    listed = "".join(
        f'<sheet name="{name.replace("&", "&amp;")}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(names, 1)
    )
    types = {"xl__workbook": "spreadsheetml.sheet.main", "xl__sharedStrings": "spreadsheetml.sharedStrings"}
    types |= {f"xl__worksheets__sheet{n}": "spreadsheetml.worksheet" for n in (1, 2, 3)}
    return archive(
        {
            "[Content_Types].xml": content_types(**types),
            "_rels/.rels": relationships(("r1", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f"{HEAD}<workbook {main}><sheets>{listed}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": relationships(
                ("r1", "worksheet", "worksheets/sheet1.xml"),
                ("r2", "worksheet", "worksheets/sheet2.xml"),
                ("r3", "worksheet", "worksheets/sheet3.xml"),
                ("r4", "sharedStrings", "sharedStrings.xml"),
            ),
            "xl/sharedStrings.xml": f'{HEAD}<sst {main} count="4" uniqueCount="4">{shared}</sst>',
            "xl/worksheets/sheet1.xml": sheet(
                A1="ticket", B1="crowns", A2="ferry", B2=9, A4="museum", B4=6.5, A5="A | B &lt; C", B5="free"
            ),
            "xl/worksheets/sheet2.xml": sheet(),
            "xl/worksheets/sheet3.xml": sheet(A1="船名", B1="冬天开", A2="玛丽安号", B2=True, A3="海燕号"),
        }
    )


# OpenDocument, EPUB, RTF


ODF = "urn:oasis:names:tc:opendocument:xmlns"


def opendocument(kind: str, body: str) -> bytes:
    """An OpenDocument file whose body is an element of this kind."""
    spaces = "".join(f' xmlns:{name}="{ODF}:{name}:1.0"' for name in ("office", "text", "table"))
    media = f"application/vnd.oasis.opendocument.{kind}"
    manifest = (
        f'{HEAD}<manifest:manifest xmlns:manifest="{ODF}:manifest:1.0" manifest:version="1.2">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{media}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
    )
    inner = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    return archive(
        {
            "mimetype": media,
            "content.xml": f"{HEAD}<office:document-content{spaces}>{inner}</office:document-content>",
            "META-INF/manifest.xml": manifest,
        }
    )


def boats_ods() -> bytes:
    """Two sheets: the boats, and a sheet in Chinese."""

    def sheet(name: str, rows: list[list[str]]) -> str:
        cells = (
            "".join(
                f'<table:table-cell office:value-type="string"><text:p>{c}</text:p></table:table-cell>' for c in row
            )
            for row in rows
        )
        inner = "".join(f"<table:table-row>{row}</table:table-row>" for row in cells)
        return f'<table:table table:name="{name}">{inner}</table:table>'

    return opendocument("spreadsheet", sheet("Boats", BOATS) + sheet("潮汐", [["时间", "水位"], ["中午", "高潮"]]))


def notice_odt() -> bytes:
    items = "".join(f"<text:list-item><text:p>{text}</text:p></text:list-item>" for text in ("a lamp", "two oars"))
    row = "".join(f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in ("潮汐", "高潮"))
    body = (
        '<text:h text:outline-level="1">Notice to rowers</text:h>'
        "<text:p>Every boat carries <text:span>at le</text:span>ast this &amp; no less:</text:p>"
        f"<text:list>{items}</text:list><text:p>夜间划船必须点灯。</text:p>"
        f"<table:table><table:table-row>{row}</table:table-row><table:table-row>{row}</table:table-row></table:table>"
    )
    return opendocument("text", body)


def tales_epub() -> bytes:
    """Two chapters whose order is the spine's, not the files'."""
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title></head><body>{}</body></html>'
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": f'{HEAD}<container><rootfiles><rootfile full-path="book/content.opf"/>'
            "</rootfiles></container>",
            "book/content.opf": f'{HEAD}<package><manifest><item id="one" href="a.xhtml"/><item id="two" '
            'href="z%20z.xhtml"/></manifest><spine><itemref idref="two"/><itemref idref="one"/></spine></package>',
            "book/a.xhtml": page.format("<h1>第二章</h1><p>灯塔的<b>看守</b>人睡着了。</p>"),
            "book/z z.xhtml": page.format("<h1>Chapter one</h1><p>The keeper&#8217;s caf&#233; was shut.</p>"),
        }
    )


RTF = rb"""{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Times;}}\f0 The harbour office lends lamps \{free\} at caf\'e9s.\par
\u28207?\u21475?\u23616? is its Chinese name.}"""


# PDF


def pdf_of(*objects: bytes, trailer: bytes = b"") -> bytes:
    """A PDF of these objects, the first its catalog."""
    out, offsets = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    end = b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R%s>>\n" % (size, table, size, trailer)
    return out + end + b"startxref\n%d\n%%%%EOF\n" % len(out)


def stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<</Length %d%s>>stream\n%s\nendstream" % (len(content), entries, content)


LATIN_FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
ROW = 15


def page_objects(contents: list[bytes], fonts: list[bytes], extra: bytes = b"") -> list[bytes]:
    """Catalog, pages, fonts (as many objects as given, the first is F), then each page with its content."""
    first = 3 + len(fonts)
    kids = b" ".join(b"%d 0 R" % (first + 2 * n) for n in range(len(contents)))
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(contents)), *fonts]
    for n, content in enumerate(contents):
        resources = b"<</Font<</F 3 0 R>>%s>>" % extra
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %d 0 R/Resources%s>>"
            % (first + 2 * n + 1, resources),
            stream(content),
        ]
    return objects


def lines(texts: list[str], x: int = 72, y: int = 720) -> bytes:
    """Show lines of Latin text, one below the other."""
    shown = b" T* ".join(b"(%s) Tj" % escaped(text.encode("cp1252")) for text in texts)
    return b"BT /F 11 Tf %d TL %d %d Td %s ET\n" % (ROW, x, y, shown)


def escaped(text: bytes) -> bytes:
    return text.replace(b"\\", rb"\\").replace(b"(", rb"\(").replace(b")", rb"\)")


REPORT = [
    [
        "Report on the tide mill",
        "The mill at Hollow Bridge was built in 1763 (by Anselm Roy) and grinds wheat",
        "twice a day. Its older wheel was replaced in 1932; the oak came from the for-",
        "est behind the marsh – “the best there is”, as the miller says.",
    ],
    ["Page 2 of the report", "Wheel    Year    Oak", "East     1932    4.5 t", "West     1763    5.0 t"],
    [],
    ["Page 4 of the report", "… page 3 was left empty."],
]


def report_pdf() -> bytes:
    """Four pages, the third empty; a hyphen at a line's end, a table of words, quotation marks."""
    return pdf_of(*page_objects([lines(texts) if texts else b"" for texts in REPORT], [LATIN_FONT]))


def columns_pdf() -> bytes:
    """Two columns side by side, each written from its top to its end."""
    left = ["The north pier is old.", "Its planks are of oak", "and were laid in 1902."]
    right = ["The south pier is new.", "Concrete was poured", "there in June 1998."]
    return pdf_of(*page_objects([lines(left) + lines(right, x=320)], [LATIN_FONT]))


def scan_pdf() -> bytes:
    """A page that is a picture: there is no text layer."""
    picture = stream(
        b"\xaa\x55" * 32, b"/Type/XObject/Subtype/Image/Width 16/Height 32/BitsPerComponent 1/ColorSpace/DeviceGray"
    )
    objects = page_objects([b"q 400 0 0 600 100 100 cm /I Do Q"], [LATIN_FONT, picture], b"/XObject<</I 4 0 R>>")
    return pdf_of(*objects)


def composite_font(texts: list[str]) -> tuple[list[bytes], dict[str, int]]:
    """Objects 3 to 6, a font of the characters of the texts with a map back to Unicode, and the code of each."""
    codes = {character: code for code, character in enumerate(sorted(set("".join(texts))), start=1)}
    rows = [b"<%04X> <%s>" % (code, character.encode("utf-16-be").hex().encode()) for character, code in codes.items()]
    blocks = b"".join(
        b"%d beginbfchar\n%s\nendbfchar\n" % (len(rows[at : at + 100]), b"\n".join(rows[at : at + 100]))
        for at in range(0, len(rows), 100)
    )
    cmap = (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Made def /CMapType 2 def\n"
        b"1 begincodespacerange <0000> <FFFF> endcodespacerange\n" + blocks + b"endcmap end end"
    )
    narrow = b" ".join(b"%d [500]" % code for character, code in codes.items() if character < "\u2000")
    return [
        b"<</Type/Font/Subtype/Type0/BaseFont/Made/Encoding/Identity-H/DescendantFonts[4 0 R]/ToUnicode 5 0 R>>",
        b"<</Type/Font/Subtype/CIDFontType2/BaseFont/Made/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)"
        b"/Supplement 0>>/DW 1000/W[%s]/FontDescriptor 6 0 R>>" % narrow,
        stream(cmap),
        b"<</Type/FontDescriptor/FontName/Made/Flags 4/FontBBox[0 -200 1000 800]/ItalicAngle 0/Ascent 800/Descent -200"
        b"/CapHeight 700/StemV 80>>",
    ], codes


def written(texts: list[str], codes: dict[str, int]) -> bytes:
    """Show lines in the composite font."""
    shown = b" T* ".join(b"<%s> Tj" % b"".join(b"%04X" % codes[c] for c in text) for text in texts)
    return b"BT /F 11 Tf %d TL 72 720 Td %s ET\n" % (ROW, shown)


HANDBOOK_ZH = [
    [],
    [
        "前言",
        "本手册总结了盐港灯塔三十多年的值守经验，供所有值班人员使用。每一条规定都经过多次演",
        "练的检验，“说明”部分对规定做了适当的扩展和解释。",
        "值守规定",
        "1. 【强制】每晚八点以前必须点灯。",
        "2. 【推荐】值班时不要离开塔楼。",
    ],
    ["附录", "lamp.on(at=20)", "lamp.check(every=30)", "风速单位是 m/s，灯高 41 米。"],
]


def handbook_zh_pdf() -> bytes:
    """Chinese: a cover without text, a paragraph wrapped within a word, headings and lines of code that are not."""
    fonts, codes = composite_font(["".join(texts) for texts in HANDBOOK_ZH])
    return pdf_of(*page_objects([written(texts, codes) if texts else b"" for texts in HANDBOOK_ZH], fonts))


RIGHT_TO_LEFT = "שלום"


def right_to_left_pdf() -> bytes:
    """Write a Hebrew word, its letters on the page from left to right as programs put them, and a line of English."""
    shown = [RIGHT_TO_LEFT[::-1], "shalom means peace"]
    fonts, codes = composite_font(shown)
    return pdf_of(*page_objects([written(shown, codes)], fonts))


def no_character_map_pdf() -> bytes:
    """Letters that a font maps to private characters, as fonts of signs do: what is read means nothing."""
    shown = ["".join(chr(0xF000 + ord(letter)) for letter in "Closed on Mondays")]
    fonts, codes = composite_font(shown)
    return pdf_of(*page_objects([written(shown, codes)], fonts))


PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
FILE_ID = hashlib.md5(b"ragviz", usedforsecurity=False).digest()


def rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def md5(data: bytes, times: int = 1) -> bytes:
    for _ in range(times):
        data = hashlib.md5(data, usedforsecurity=False).digest()
    return data


def rc4_twenty_times(key: bytes, data: bytes) -> bytes:
    for n in range(20):
        data = rc4(bytes(byte ^ n for byte in key), data)
    return data


def password_rc4_pdf(password: bytes = b"brackwater") -> bytes:
    """RC4 with 128 bits, revision 3, as programs encrypted until 2005 (PDF 1.7, algorithms 1 to 5)."""
    user = (password + PADDING)[:32]
    owner_entry = rc4_twenty_times(md5(user, 51), user)
    allowed = struct.pack("<i", -4)
    key = md5(md5(user + owner_entry + allowed + FILE_ID), 50)
    user_entry = rc4_twenty_times(key, md5(PADDING + FILE_ID)) + bytes(16)
    objects = page_objects([lines(["The tide tables are secret."])], [LATIN_FONT])
    for n, body in enumerate(objects, start=1):
        if b"stream\n" in body:
            plain = body.partition(b"stream\n")[2].removesuffix(b"\nendstream")
            objects[n - 1] = stream(rc4(md5(key + struct.pack("<I", n)[:3] + b"\0\0"), plain))
    objects.append(
        b"<</Filter/Standard/V 2/R 3/Length 128/P -4/O<%s>/U<%s>>>"
        % (owner_entry.hex().encode(), user_entry.hex().encode())
    )
    ids = FILE_ID.hex().encode()
    return pdf_of(*objects, trailer=b"/Encrypt %d 0 R/ID[<%s><%s>]" % (len(objects), ids, ids))


def aes(key: bytes, data: bytes, vector: bytes = bytes(16)) -> bytes:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    encryptor = Cipher(algorithms.AES(key), modes.CBC(vector)).encryptor()
    return encryptor.update(data) + encryptor.finalize()


def hardened(password: bytes, salt: bytes, user: bytes = b"") -> bytes:
    """The hash of revision 6 (ISO 32000-2, algorithm 2.B)."""
    digest, n, last = hashlib.sha256(password + salt + user).digest(), 0, 0
    while n < 64 or last > n - 32:
        packed = aes(digest[:16], (password + digest + user) * 64, digest[16:32])
        chosen = (hashlib.sha256, hashlib.sha384, hashlib.sha512)[sum(packed[:16]) % 3]
        digest, last, n = chosen(packed).digest(), packed[-1], n + 1
    return digest[:32]


def password_aes_pdf(password: str = "密码 1") -> bytes:
    """AES with 256 bits, revision 6, with a password that is not ASCII (ISO 32000-2, algorithms 8 to 10)."""
    secret, key = password.encode(), hashlib.sha256(b"a key of the fixture").digest()
    user = hardened(secret, b"validate") + b"validate" + b"keysalt!"
    user_key = aes(hardened(secret, b"keysalt!"), key)
    owner = hardened(secret, b"VALIDATE", user) + b"VALIDATE" + b"KEYSALT!"
    owner_key = aes(hardened(secret, b"KEYSALT!", user), key)
    permissions = ecb(key, struct.pack("<i", -4) + b"\xff\xff\xff\xffTadb" + b"ragv")
    objects = page_objects([lines(["The harbour dues are secret too."])], [LATIN_FONT])
    vector = b"0123456789abcdef"
    for n, body in enumerate(objects):
        if b"stream\n" in body:
            plain = body.partition(b"stream\n")[2].removesuffix(b"\nendstream")
            rest = 16 - len(plain) % 16
            objects[n] = stream(vector + aes(key, plain + bytes([rest]) * rest, vector))
    entries = {"U": user, "UE": user_key, "O": owner, "OE": owner_key, "Perms": permissions}
    listed = "".join(f"/{name}<{value.hex()}>" for name, value in entries.items()).encode()
    objects.append(
        b"<</Filter/Standard/V 5/R 6/Length 256/P -4/EncryptMetadata true%s"
        b"/CF<</StdCF<</AuthEvent/DocOpen/CFM/AESV3/Length 32>>>>/StmF/StdCF/StrF/StdCF>>" % listed
    )
    ids = FILE_ID.hex().encode()
    return pdf_of(*objects, trailer=b"/Encrypt %d 0 R/ID[<%s><%s>]" % (len(objects), ids, ids))


def ecb(key: bytes, block: bytes) -> bytes:
    return aes(key, block)  # one block with a vector of zeros


# Text, tables and pages


NOTE = "Notes of the harbour office – 港务局记录\n\n    North pier, 7 o’clock\n\n- herring: 3 boxes\n- “Marianne” 🙂\n"
MINUTES_ZH = "会议纪要：第一章 总则。本规定适用于港务局全体员工，自发布之日起施行。\n出席人：林德艺、何帕维。\n"
UMLAUTS = "## Übersicht\n\nDie Fähre fährt über die schöne Bucht, außer bei Sturm.\n"
BOATS = [["boat", "port", "metres"], ["Marianne", "Brackwater", "31.5"], ["Petrel, the", "盐港", "18"]]


def table(delimiter: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(BOATS)
    return out.getvalue()


def texts() -> dict[str, bytes]:
    return {
        "empty.txt": b"",
        "note-utf-8-bom.txt": NOTE.encode("utf-8-sig"),
        "note-utf-16.txt": b"\xff\xfe" + NOTE.encode("utf-16-le"),
        "note-utf-16-be.txt": NOTE.encode("utf-16-be"),
        "note-utf-16-le.txt": NOTE.encode("utf-16-le"),
        "note-utf-32.txt": b"\xff\xfe\0\0" + NOTE.encode("utf-32-le"),
        "minutes-gb18030.txt": MINUTES_ZH.encode("gb18030"),
        "umlauts-latin-1.md": UMLAUTS.encode("latin-1"),
        "umlauts-utf-8.md": UMLAUTS.encode(),
        "windows-newlines.md": "# Tides\r\n\r\nHigh at noon.\r\n\t- 高潮\r\n".encode(),
        "escaped.md": b"# A \\# B\n\n00:16 ----&gt; 00:18\n&amp; &lt; &quot; &#39; \\*not bold\\* <b>bold</b>\n",
        "nested.md": "- one\n\t- one.one\n\t\t- 一点一\n\n1. first\n   > quoted\n".encode(),
        "page.rst": "Tide tables\n===========\n\n.. note:: 潮汐表 printed *weekly*.\n\n::\n\n    high = 4.1\n".encode(),
        "page.adoc": b"= Tide tables\n\nimage::tides.png[Tides]\n\n[cols=2]\n|===\n|high |low\n|===\n",
        "page.org": b"* Tide tables\n** High\n   - noon\n#+BEGIN_SRC sh\necho 1\n#+END_SRC\n",
        "boats-comma.csv": table(",").encode(),
        "boats-semicolon.csv": table(";").encode(),
        "boats-tab.tsv": table("\t").encode(),
        "boats-pipe.csv": table("|").encode(),
        "boats-utf-16.csv": b"\xff\xfe" + table(",").encode("utf-16-le"),
        "emoji.csv": "crew,count\n👩🏽‍✈️,2\n👨‍🔧,1\n".encode(),
        "one-column.csv": b"boat\nMarianne\nPetrel\n",
        "too-few-cells.csv": b"a,b,c\n1,2\n3,4,5\n",
        "too-many-cells.csv": b"a,b\n1,2,3\n4,5\n6,7,8\n",
    }


PAGE = """<!DOCTYPE html>
<html><head><title>Not shown</title><style>td { color: red }</style></head><body>
<nav><a href="/">Home</a></nav>
<h1>Dues &amp; fees</h1>
<p>Boats pay <b>two</b> crowns<br>a night.</p><p>Boats pay <b>two</b> crowns<br>a night.</p>
<table><tr><td>
<table><tr><th>Length</th><th>Fee</th></tr><tr><td>to 10&nbsp;m</td><td>2</td></tr></table></td></tr></table>
<ul><li>paid at the office<li>or by <a href="x">post</a></ul><script>var a = "</p>";</script>
<div style="display:none">hidden</div>
</body></html>
"""
PAGE_ZH = (
    '<html><head><meta http-equiv="Content-Type" content="text/html; charset=gb2312"></head>'
    "<body><h2>收费</h2><p>每晚两元。</p></body></html>\n"
)


def picture(width: int = 8, height: int = 8) -> bytes:
    """A grey PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\x80" * width) * height
    stored = (
        b"\x78\x01\x01"
        + struct.pack("<HH", len(rows), len(rows) ^ 0xFFFF)
        + rows
        + struct.pack(">I", zlib.adler32(rows))
    )
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", stored) + chunk(b"IEND", b"")


def documents() -> dict[str, bytes]:
    """Every file of `files/` by name."""
    manual = manual_docx()
    return texts() | {
        "manual.docx": manual,
        "tour.pptx": tour_pptx(),
        "prices.xlsx": prices_xlsx(),
        "notice.odt": notice_odt(),
        "boats.ods": boats_ods(),
        "tales.epub": tales_epub(),
        "office.rtf": RTF,
        "page.html": PAGE.encode(),
        "page-gb2312.htm": PAGE_ZH.encode("gb2312"),
        "report.pdf": report_pdf(),
        "columns.pdf": columns_pdf(),
        "scan.pdf": scan_pdf(),
        "handbook-zh.pdf": handbook_zh_pdf(),
        "right-to-left.pdf": right_to_left_pdf(),
        "no-character-map.pdf": no_character_map_pdf(),
        "password-rc4.pdf": password_rc4_pdf(),
        "password-aes.pdf": password_aes_pdf(),
        "picture.png": picture(),
        "broken.docx": manual[: len(manual) // 2],
        "broken.pdf": report_pdf()[:300],
    }


# Collections


def spans() -> dict[str, bytes]:
    """`questions.csv`: the questions of `questions.jsonl`, with the places of their quotes in the documents."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["question", "references", "corpus_id"])
    sources = {path.stem: path.read_text(encoding="utf-8") for path in (HERE / "spans").glob("*.md")}
    for question in questions_of_texts():
        text = sources[question["document"]]
        quotes = [(quote, text.index(quote)) for quote in question["quotes"]]
        places = [{"content": quote, "start_index": at, "end_index": at + len(quote)} for quote, at in quotes]
        rows.writerow([question["question"], json.dumps(places), question["document"]])
    return {"questions.csv": out.getvalue().encode()}


def questions_of_texts() -> list[dict]:
    return [json.loads(line) for line in (HERE / "spans" / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


def retrieval(stem: str) -> dict[str, bytes]:
    """The sections of a document as a collection in BEIR's layout; a question's gold are the sections of its quotes."""
    title, *sections = (HERE / "spans" / f"{stem}.md").read_text(encoding="utf-8").split("\n## ")
    passages = {f"p{n:02d}": section.strip().split("\n\n") for n, section in enumerate(sections, start=1)}
    name = title.removeprefix("# ").strip()
    corpus = [{"_id": key, "title": f"{name}: {head}", "text": body} for key, (head, body) in passages.items()]
    rows = [row for row in questions_of_texts() if row["document"] == stem]
    questions = {f"q{n:02d}": row for n, row in enumerate(rows, start=1)}
    queries = [
        {"_id": key, "text": row["question"], "metadata": {"answers": [row["answer"], *row["quotes"]]}}
        for key, row in questions.items()
    ]
    gold = sorted(
        {
            (key, next(p for p, (_, body) in passages.items() if quote in body))
            for key, row in questions.items()
            for quote in row["quotes"]
        }
    )
    judged = "".join(f"{question}\t{passage}\t1\n" for question, passage in gold)
    return {
        "corpus.jsonl": json_lines(corpus),
        "queries.jsonl": json_lines(queries),
        "qrels/test.tsv": f"query-id\tcorpus-id\tscore\n{judged}".encode(),
    }


def json_lines(rows: list[dict]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def trec() -> dict[str, bytes]:
    """Two runs with their judgements: one with ties, odd ids and what only one side knows, one with grades."""
    odd = ["FR940202-2-00150", "文档-7", "a/b#3", "MARCO_2925879", "café.md", "“quoted”", "0", "-1", "x:y=z", "ﬁ"]
    ids = [f"{name}.{n}" if n else name for n in range(4) for name in odd]
    return run_and_judgements("ties", ids, steps=7, grades=(0, 1)) | run_and_judgements(
        "grades", ids, steps=1000, grades=(-1, 0, 0, 1, 2, 3)
    )


def run_and_judgements(name: str, ids: list[str], steps: int, grades: tuple[int, ...]) -> dict[str, bytes]:
    """Five questions: three are measured; 304 has only judgements without relevance, 305 is not judged, 306 not run."""
    run_lines, judged = [], []
    for question in (301, 302, 303, 304, 305):
        for place, chunk in enumerate(ids[: 40 - question % 5]):
            score = (place * question * 7919 + place * place) % 1009 % steps
            run_lines.append(f"{question}\tQ0\t{chunk}\t{place}\t  {score / 8 - 3:.6e}\tmade")
    for question in (301, 302, 303, 304, 306):
        for place, chunk in enumerate([*ids[::3], f"unseen-{question}"]):
            grade = 0 if question == 304 else grades[(place * place + question) % len(grades)]
            judged.append(f"{question} 0 {chunk} {grade if place % 13 else max(grades) * (question != 304)}")
    return {f"{name}.run": "\n".join(run_lines).encode() + b"\n", f"{name}.qrels": "\n".join(judged).encode() + b"\n"}


def made() -> dict[str, bytes]:
    """Every file that this script writes, by its path in this folder."""
    folders = {
        "files": documents(),
        "spans": spans(),
        "retrieval/en": retrieval("brackwater"),
        "retrieval/zh": retrieval("yangang"),
        "trec": trec(),
    }
    return {f"{folder}/{name}": data for folder, files in folders.items() for name, data in files.items()}


if __name__ == "__main__":
    for name, data in made().items():
        (HERE / name).parent.mkdir(parents=True, exist_ok=True)
        (HERE / name).write_bytes(data)
