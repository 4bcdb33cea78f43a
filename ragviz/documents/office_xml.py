"""The parts of Office documents: XML in a ZIP archive, with relations from part to part."""

from __future__ import annotations

import posixpath
import zipfile
from xml.etree import ElementTree as ET


def local(node: ET.Element) -> str:
    """Return the name of an element without its namespace."""
    return node.tag.rpartition("}")[2]


def attributes(node: ET.Element) -> dict[str, str]:
    """Return the attributes of an element by their names without namespaces."""
    return {name.rpartition("}")[2]: value for name, value in node.attrib.items()}


def xml(archive: zipfile.ZipFile, part: str) -> ET.Element:
    """Parse a part; entity bombs are stopped by expat (2.4.1 and later), and by the limits of the child process."""
    return ET.fromstring(archive.read(part))  # noqa: S314


def relations(archive: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Return type and target of a part's relations by id; empty when it has none."""
    folder, name = posixpath.split(part)
    try:
        nodes = xml(archive, f"{folder}/_rels/{name}.rels")
    except KeyError:
        return {}
    found = {node.get("Id", ""): (node.get("Type", ""), node.get("Target", "")) for node in nodes}
    return {
        key: (kind, posixpath.normpath(posixpath.join(folder, to)).lstrip("/")) for key, (kind, to) in found.items()
    }
