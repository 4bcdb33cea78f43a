"""Tables as rows by column: of CSV, JSON and JSON Lines; Excel and Parquet are lines of JSON first (`as_lines`)."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ragviz.core.errors import InputError, UnreadableFile
from ragviz.documents import encoding, kinds, workbooks
from ragviz.text.counts import counted
from ragviz.text.markup import shortened
from ragviz.text.untrusted import NESTED, is_deep, parsed, storable

REFUSED, SHORT = TOLD = "refused: ", "short: "
"""Columns of a row that cannot be read, and of one with too few cells, that say so; no column of a file has such a
name, because blanks at its end are taken off."""
NOTHING = ("nan", "none", "null", "<na>", "nat")
"""What programs write for a value that is missing."""
MOST_LINES = 10_000
"""Lines of one row of a CSV file, at most."""
_BLANK = r"[\s\x00-\x1f\u200b-\u200f\u2060\ufeff]"
DANGEROUS = re.compile(rf"'*(?:[\t\r\n]|{_BLANK}*[=+\-@＝＋－＠﹦﹢﹣﹫])")
"""Beginning of a cell that some spreadsheet reads as a formula: blanks before the sign are skipped, and full-width
signs count as the narrow ones."""


def kind_of(head: bytes, name: str) -> str:
    """Return "parquet" or "excel" by the first bytes of a file, and the name where they are a .zip's; else ""."""
    if head[:4] == b"PAR1":
        return "parquet"
    return "excel" if head[:2] == b"PK" and name.lower().endswith((".xlsx", ".xlsm")) else ""


def as_lines(data: bytes, kind: str, name: str) -> bytes:
    """Return the rows of a table as JSON Lines in UTF-8, each in the line of its number: that of the titles is blank.

    Of a workbook the first sheet with cells is read, its cells as they are shown.

    Raises:
        InputError: it is damaged, holds no table, or hides some of it.

    """
    hidden, table = "", dict[int, Mapping[str, Any]]()
    try:
        if kind == "parquet":
            table = dict(enumerate(_parquet_rows(data), start=2))
        else:
            kinds.check_archive(data)
            cells, hidden = workbooks.xlsx_table(data)
            titles = {column: title.strip() for column, title in cells.pop(min(cells)).items()} if cells else {}
            table = {n: {title: row.get(c, "") for c, title in titles.items()} for n, row in cells.items()}
    except UnreadableFile as error:
        raise InputError(f"'{name}': {error}") from None
    except Exception as error:  # any error of a reader concerns this file only
        reason = str(error).strip().splitlines()[:1] or [type(error).__name__]
        raise InputError(
            f"'{name}' is a damaged {kind.capitalize()} file ({reason[0][:200]}): save it again."
        ) from None
    if hidden:
        raise InputError(f"'{name}' hides {hidden}: show what is to be read, and delete what is not.")
    if not table:
        raise InputError(f"'{name}' is {'an Excel' if kind == 'excel' else 'a Parquet'} file without a row.")
    lines = [""] * max(table)
    for number, row in table.items():
        lines[number - 1] = json.dumps(row, ensure_ascii=False, default=str)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _parquet_rows(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file, in which a text that stands in a million rows is stored once.

    Raises:
        UnreadableFile: it is too large when unpacked.

    """
    import pyarrow
    from pyarrow import parquet

    schema = parquet.read_schema(io.BytesIO(data))
    texts = [each.name for each in schema if pyarrow.types.is_string(each.type)]
    together = 8 if any(pyarrow.types.is_nested(each.type) for each in schema) else 1_000
    read = 0
    for batch in parquet.ParquetFile(io.BytesIO(data), read_dictionary=texts).iter_batches(together):
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for place in range(batch.num_rows):
            row = {name: column[place].as_py() for name, column in columns.items()}
            read += 8 + sum(8 + len(str(each)) for each in row.values())
            kinds.check_unpacked(len(data), read)
            yield row


def rows(data: bytes, name: str, needed: Collection[str] = ("question",)) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows of the file `name` by column, each with its number as an editor or a spreadsheet shows it.

    The header of a CSV file is row 1; a row of JSON Lines has the number of its line, one of a JSON list its place.
    What is wrong with a row stands in its column `REFUSED`.

    Raises:
        InputError: the file as a whole cannot be read, or is a CSV file without any of the columns `needed`.

    """
    text = decoded(data, name)
    is_json = PurePosixPath(name.lower()).suffix in (".jsonl", ".ndjson", ".json") or text.lstrip()[:1] in ("{", "[")
    if text.lstrip()[:1] == "{" and (keys := _keys_of_one_object(text)):
        raise InputError(f"'{name}' is one JSON object, of {', '.join(keys)[:200]}, and no list of questions.")
    return _json_rows(text) if is_json else _csv_rows(text, name, needed)


def without(name: str, needed: Iterable[str], columns: Iterable[str]) -> InputError:
    """Return the error of a file that has none of the columns `needed`."""
    wanted, there = " or ".join(f"'{column}'" for column in needed), ", ".join(columns)[:200] or "none"
    return InputError(f"'{name}' has no column {wanted} (its columns: {there}). Name the columns in row 1.")


def structured(value: Any) -> Any:
    """Return the list or object that a text is, as JSON or as Python or numpy prints it; anything else as it is.

    >>> structured('{"a": [1]}'), structured("['a', None]"), structured("['a'" + chr(10) + " 'b']"), structured("[1] a")
    ({'a': [1]}, ['a', None], ['a', 'b'], '[1] a')
    """
    text = value.strip() if isinstance(value, str) else ""
    if text[:1] not in ("{", "[") or text[-1:] not in ("}", "]"):
        return value
    for read in (parsed, lambda text: ast.literal_eval(_as_python(text)), ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
        return value if is_deep(found) else storable(found)
    return value


def _as_python(text: str) -> str:
    """Return what numpy and pandas print as Python would: commas between texts, lists for arrays, None for nan."""
    text = re.sub(r"(?<=['\"])\s*\n\s*(?=['\"])", ", ", text)
    text = re.sub(r"\barray\((\[.*?\])(?:, dtype=\w+)?\)", r"\1", text, flags=re.DOTALL) if "array([" in text else text
    return re.sub(r"(?<=[\[:,] )nan\b(?=\s*[,\]}])", "None", text)


def listed(cell: str) -> list[Any] | None:
    """Return the list that a cell holds, as `structured` reads it; else None."""
    found = structured(cell)
    return found if isinstance(found, list) else None


def texts_in(value: Any, column: str, separator: str = "") -> list[str]:
    """Return the texts that a cell holds: a list, one as JSON or as Python prints it, or texts with `separator`.

    >>> texts_in("['a', 'b']", "context"), texts_in("a|b", "context", "|"), texts_in("nan", "context")
    (['a', 'b'], ['a', 'b'], [])

    Raises:
        ValueError: it holds something else.

    """
    if value is None or str(value).strip().casefold() in NOTHING:
        return []
    if isinstance(value, str):
        value = listed(value) or (value.split(separator) if separator else [value])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"has {column} that are no list of texts: write them as a JSON list")
    return list(dict.fromkeys(filter(None, map(str.strip, value))))


def decoded(data: bytes, name: str) -> str:
    """Return the text of a file in UTF-8, else in the encoding that its mark says, or the likeliest."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    try:
        return encoding.decode(data)[0]  # as documents are, so that their names are the same in both
    except UnreadableFile:
        raise InputError(f"'{name}' is not text in any known encoding: save it as CSV or JSONL in UTF-8.") from None


def _csv_rows(text: str, name: str, needed: Collection[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield rows by column name, skipping empty ones. The delimiter is that with which there is a column `needed`."""
    for delimiter in ",;\t|":
        records = enumerate(_csv_records(text, delimiter), start=1)
        header = [column.strip().lower() for column in next(records, (1, []))[1]]
        if not set(header).isdisjoint(needed):
            break
    else:
        raise without(name, needed, next(_csv_records(text), []))
    for number, cells in records:
        if isinstance(cells, str):
            yield number, {REFUSED: cells}
        elif any(cell.strip() for cell in cells):
            whole = cells if len(header) > 1 else [delimiter.join(cells)]  # of one column nothing is separated
            values = [cell[1:] if cell[:1] == "'" and DANGEROUS.match(cell) else cell for cell in whole]
            yield number, _cells(header, values)


def _csv_records(text: str, delimiter: str = ",") -> Iterator[list[str] | str]:
    r"""Yield the cells of each row of CSV; of a row whose quotation mark is not closed what is wrong with it.

    Such a row ends with its line, whatever follows. So does one over several lines that has other cells than the first.
    A first line "sep=;" names the delimiter.

    >>> list(_csv_records('a,b\n"x\ny",1\n"z,2\nw,3\n'))[1:]
    [['x\ny', '1'], 'has a quotation mark that is not closed: “"z,2”', ['w', '3']]
    """
    csv.field_size_limit(2**31 - 1)
    lines = text.split("\n")
    at, width = 0, 0
    if named := re.fullmatch(r"sep=(.)\r?", lines[0]):
        at, delimiter = 1, named[1]
    while at < len(lines):
        cells, end = _record(lines, at, delimiter)
        if cells is None or (width and end > at + 1 and len(cells) != width):
            yield f"has a quotation mark that is not closed: “{shortened(lines[at].strip(), 60)}”"
            end = at + 1
        elif end < len(lines) or cells:  # no row after the last line's end
            width = width or len(cells)
            yield cells
        at = end


def _record(lines: Sequence[str], at: int, delimiter: str) -> tuple[list[str] | None, int]:
    """Return the cells of the row that begins at a line, None where a quotation mark is not closed, and its end."""
    end = at + 1
    if '"' not in lines[at]:
        return (line.split(delimiter) if (line := lines[at].rstrip("\r")) else []), end
    while True:
        try:
            rows = list(csv.reader(["\n".join(lines[at:end])], delimiter=delimiter, strict=True))
            return (rows[0] if rows else []), end
        except csv.Error as error:
            if "end of data" not in str(error):
                return None, end
        following = next((n for n in range(end, min(len(lines), at + MOST_LINES)) if '"' in lines[n]), None)
        if following is None:
            return None, end
        end = following + 1


def _cells(header: Sequence[str], values: Sequence[str]) -> Mapping[str, Any]:
    """Return cells by column; a row with more cells than columns is refused, because its end would be lost.

    What one with fewer cells lacks stands under `SHORT`.
    """
    cells = {column: value for column, value in zip(header, values, strict=False) if column or value.strip()}
    if len(values) == len(header):
        return cells
    has = f"has {counted(len(values), 'cell')} for {counted(len(header), 'column')}"
    if any(value.strip() for value in values[len(header) :]):
        return {REFUSED: f"{has}: put text with a delimiter in quotes"}
    missing = ", ".join(f"'{column[:60]}'" for column in header[len(values) :] if column)
    return cells | ({SHORT: f"{has}: nothing was read for {missing}"} if missing else {})


def _json_rows(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield objects by line number, or by place in one JSON list; what is no object is refused as a row."""
    if text.lstrip().startswith("["):
        try:
            rows = parsed(text)
        except ValueError as error:
            raise InputError(f"This is not a JSON list: {error}. Write one object a line.") from None
        yield from ((number, as_row(row)) for number, row in enumerate(rows, start=1))
        return
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if line.strip():
            try:
                row = as_row(parsed(line))
            except ValueError as error:
                row = {REFUSED: f"is not JSON that can be read: {error}"}
            yield number, row


def _keys_of_one_object(text: str) -> list[str]:
    """Return the keys of JSON that is one object over several lines; none of what is an object a line."""
    try:
        parsed(text.strip().partition("\n")[0])
    except ValueError:
        try:
            return list(parsed(text))
        except ValueError:
            pass
    return []


def as_row(row: Any) -> Mapping[str, Any]:
    """Return an object of JSON as a row by column, refused where it is none."""
    if not isinstance(row, dict):
        return {REFUSED: "is not a JSON object"}
    if is_deep(row):
        return {REFUSED: f"has lists or objects nested more than {NESTED} deep"}
    return {str(key).strip().lower(): value for key, value in storable(row).items()}
