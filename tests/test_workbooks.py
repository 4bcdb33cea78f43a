"""Spreadsheets are read as they are shown; what is hidden, or has no value, is said."""

import pytest

from ragviz.core.errors import InputError
from ragviz.documents import parsing, tables_in, workbooks
from ragviz.documents.number_formats import shown
from tests.test_ingest import zipped

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


@pytest.mark.parametrize(
    ("value", "code", "as_shown"),
    [
        (0.125, "0.0%", "12.5%"),
        (1234567.5, "#,##0.00", "1,234,567.50"),
        (2.5, "0", "3"),  # half away from zero
        (-1234.5, '"$"#,##0.00_);\\("$"#,##0.00\\)', "($1,234.50)"),
        (0, '#,##0;-#,##0;"-"', "-"),
        (-0.001, "0.0", "0.0"),
        (1500000, '0.0,,"M"', "1.5M"),
        (12345.678, "0.00E+00", "1.23E+04"),
        (2.25, "# ?/?", "2.25"),
        (5551234567, "(000) 000-0000", "5551234567"),
        (4915112345678, "General", "4915112345678"),
        (46085, "DD.MM.YYYY", "04.03.2026"),
        (46086.60416666666, "yyyy-mm-dd h:mm:ss", "2026-03-05 14:30:00"),
        (46085, 'yyyy"年"m"月"d"日"', "2026年3月4日"),
        (46085, "dddd, d mmmm yyyy", "Wednesday, 4 March 2026"),
        (1.5, "[h]:mm:ss", "36:00:00"),
        (0.5, "h:mm AM/PM", "12:00 PM"),
        (1, "yyyy-mm-dd", "1900-01-01"),
    ],
)
def test_a_number_as_its_format_shows_it(value, code, as_shown):
    assert shown(value, code) == as_shown


def workbook(sheet, more=""):
    sheets = '<sheet name="Prices" sheetId="1" r:id="r1"/><sheet name="Secret" sheetId="2" state="hidden" r:id="r2"/>'
    relations = "".join(
        f'<Relationship Id="{key}" Type="{KINDS}/{kind}" Target="{target}"/>'
        for key, kind, target in (("r1", "worksheet", "worksheets/s1.xml"), ("r2", "worksheet", "s2.xml"),
                                  ("r3", "styles", "styles.xml"), ("r4", "sharedStrings", "strings.xml"))
    )  # fmt: skip
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{KINDS}">{more}<sheets>{sheets}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f"<Relationships>{relations}</Relationships>",
            "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><numFmts><numFmt numFmtId="164" formatCode="0.0%"/></numFmts>'
            '<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="14"/></cellXfs></styleSheet>',
            "xl/strings.xml": f'<sst xmlns="{MAIN}"><si><r><t>It</t></r><r><t>em</t></r><rPh><t>x</t></rPh></si></sst>',
            "xl/worksheets/s1.xml": f'<worksheet xmlns="{MAIN}">{sheet}</worksheet>',
        }
    )


def test_a_workbook_as_it_is_shown():
    rows = (
        '<cols><col min="3" max="3" hidden="1"/></cols><sheetData>'
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="str"><v>Sh|are</v></c><c r="C1"><v>1</v></c>'
        '<c r="D1" t="inlineStr"><is><t>Due</t></is></c></row>'
        '<row r="2"><c r="A2"><v>7</v></c><c r="B2" s="1"><v>0.125</v></c><c r="D2" s="2"><v>46085</v></c></row>'
        '<row r="3" hidden="1"><c r="A3"><v>9</v></c></row><row r="4" hidden="1"><c r="A4" s="1"/></row>'
        '<row r="5"><c r="A5" t="b"><v>1</v></c><c r="B5" s="1"><f>B2*2</f></c><c r="D5" t="e"><v>#N/A</v></c></row>'
        "</sheetData>"
    )
    document = parsing.parse("a.xlsx", workbook(rows), detect=lambda _: "en")
    assert document.text == (
        "## Prices\n\n| Item | Sh\\|are | Due |\n| --- | --- | --- |\n"
        "| 7 | 12.5% | 2026-03-04 |\n| TRUE | =B2*2 | #N/A |"
    )
    assert document.warnings == (
        "hidden, and left out: the sheet 'Secret', 1 row and 1 column of 'Prices'; show them to have them read",
        "1 cell has a formula without a stored value, kept as written: Prices!B5; open and save it in a spreadsheet",
    )
    with pytest.raises(InputError, match=r"'q.xlsx' hides 1 row and 1 column of 'Prices': show what is to be read"):
        tables_in.as_lines(workbook(rows), "excel", "q.xlsx")
    lines = tables_in.as_lines(workbook(rows.replace('hidden="1"', "")), "excel", "q.xlsx")
    read = list(tables_in.rows(lines, "q.xlsx", ["item"]))
    assert [(number, row["sh|are"], row["due"]) for number, row in read] == [
        (2, "12.5%", "2026-03-04"), (3, "", ""), (5, "=B2*2", "#N/A")
    ]  # fmt: skip
    since_1904 = workbooks.xlsx(workbook(rows, '<workbookPr date1904="1"/>'))[0]
    assert "2030-03-05" in since_1904[0]  # 1,462 days later


def test_an_open_document_spreadsheet_is_read_as_it_is_stored():
    spaces = "".join(
        f" xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{name}:1.0'" for name in ("office", "table", "text")
    )
    cells = "<table:table-cell office:value-type='string'><text:p>Share</text:p></table:table-cell>"
    cells += (
        "<table:table-cell office:value-type='float' office:value='0.125'><text:p>12.5%</text:p></table:table-cell>"
    )
    table = f"<table:table table:name='One'><table:table-row>{cells}</table:table-row></table:table>"
    body = f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body>"
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    named = "xmlns:manifest='urn:oasis:names:tc:opendocument:xmlns:manifest:1.0'"
    whole = f"<manifest:file-entry manifest:full-path='/' manifest:media-type='{kind}'/>"
    members = {"mimetype": kind, "META-INF/manifest.xml": f"<manifest:manifest {named}>{whole}</manifest:manifest>"}
    members["content.xml"] = f"<office:document-content{spaces}>{body}</office:document-content>"
    document = parsing.parse("a.ods", zipped(members), detect=lambda _: "en")
    assert document.text == "## One\n\n| Share | 0.125 |\n| --- | --- |"
    assert "save it as .xlsx to have it read as it is shown" in document.warnings[0]
