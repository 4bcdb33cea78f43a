"""compose.yaml: the variables that docs/operate.md lists are handed to the container."""

import re
from pathlib import Path

import yaml

from ragviz.core.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
APP = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["app"]


def documented() -> set[str]:
    """Variables of the table of settings."""
    rows = re.findall(r"^\| (`.+?) \|", (ROOT / "docs" / "operate.md").read_text(encoding="utf-8"), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([A-Z][A-Z_]+)`", row)}


def test_every_setting_is_documented():
    assert {str(field.alias) for field in Settings.model_fields.values()} <= documented()


def test_every_documented_variable_is_handed_on():
    assert documented() >= {"RAGVIZ_DATABASE_URL", "OPENAI_API_KEY", "RAGVIZ_HOME"}
    assert documented() <= set(APP["environment"])
    fixed = {"RAGVIZ_HOME", "ELASTICSEARCH_URL"}
    assert all(APP["environment"][name] is None for name in documented() - fixed), "from the shell, or unset"
    assert APP["environment"]["ELASTICSEARCH_URL"].startswith("${ELASTICSEARCH_URL:-http://elasticsearch:")


def test_what_is_downloaded_and_written_is_in_the_volume():
    assert "ragviz:/data" in APP["volumes"]
    assert APP["environment"]["RAGVIZ_HOME"] == "/data"
    assert APP["environment"]["HF_HOME"].startswith("/data/")
    assert "HF_HOME=/data/" in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_the_app_starts_again_and_reaches_a_server_of_the_machine():
    assert APP["restart"] == "unless-stopped"
    assert "host.docker.internal:host-gateway" in APP["extra_hosts"]
