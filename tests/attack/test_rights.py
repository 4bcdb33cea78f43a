"""The rights of the user that runs ragviz end somewhere below the home: every page is drawn, or says what is missing.

Root, who may run these tests, reads and writes everything: what is tried runs without that capability.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack import seeds
from tests.conftest import ROOT
from tests.test_pages import built as built

CASES: list[tuple[str, int, str, str]] = [
    ("ragviz.db", 0o400, "questions", "ragviz.db cannot be written (attempt to write a readonly database)"),
    ("prices.json", 0, "settings", "prices.json cannot be read (Permission denied)"),
    ("logs", 0o500, "run", ".log cannot be written (Permission denied)"),
    (".", 0o500, "", "ragviz.db cannot be written"),
    (".", 0, "", "ragviz.db cannot be read (unable to open database file)"),
    ("ragviz.db", 0, "", "ragviz.db cannot be read (unable to open database file)"),
    ("uploads", 0o500, "documents", ""),
    ("uploads", 0, "documents", ""),
    ("indexes", 0o500, "index", ""),
    ("indexes", 0, "index", ""),
    ("logs", 0, "run", ".log cannot be read (Permission denied)"),
]
"""What is closed, its mode, the page that reports it when something is done there ("": every page), and the reason."""
PRESSED = {"questions": "Accept", "run": "Run"}

LOOK = """
import json, sys
from streamlit.navigation.page import StreamlitPage
from streamlit.testing.v1 import AppTest
from ragviz.core import errors; from ragviz.ui import frame
from ragviz.workspace import open_workspace
from ragviz.ui.kit import notices

drawn = StreamlitPage.run

def framed(page):  # AppTest runs pages without frame.py
    with notices.errors_shown():
        drawn(page)

StreamlitPage.run = framed
pressed, looks = json.loads(sys.argv[1]), {}
for page in [page for section in frame.NAVIGATION.values() for page in section]:
    app = AppTest.from_file("frame.py", default_timeout=60)
    app.session_state["framed"] = False
    app.switch_page(f"pages/{page}.py").run()
    for button in [button for button in app.button if button.label == pressed.get(page)][:1]:
        button.click().run()
    looks[page] = [[e.value for e in app.error], len(app.exception), [t.value for t in app.title]]
try:
    jobs = [[job.status, job.error] for job in open_workspace().store.jobs.all()]
except errors.RagvizError:
    jobs = []
print(json.dumps([looks, jobs]))
"""


def unprivileged() -> list[str]:
    """What a command begins with that is to obey the modes of files."""
    if os.getuid():
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root without setpriv cannot give up its rights")
    return ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


@pytest.mark.parametrize("case", seeds(3, len(CASES)))
def test_every_page_is_drawn_or_says_what_may_not_be_done(built: Path, tmp_path: Path, case: int) -> None:
    closed, mode, page, reason = CASES[case]
    home = tmp_path / "home"
    shutil.copytree(built, home)
    for name in ("uploads", "logs"):
        (home / name).mkdir(exist_ok=True)
    (home / "prices.json").write_text("{}")
    (home / closed).chmod(mode)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "ELASTIC"))}
    variables |= {"RAGVIZ_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [*unprivileged(), sys.executable, "-c", LOOK, json.dumps(PRESSED if page in PRESSED else {})]
    try:
        done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=300)
    finally:
        (home / closed).chmod(0o700)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    looks, jobs = json.loads(done.stdout.splitlines()[-1])
    for name, (errors, exceptions, titles) in looks.items():
        messages = [error.replace("\\", "") for error in errors]
        assert not exceptions
        assert not [error for error in messages if "defect in ragviz" in error]
        if page and name != page:
            assert titles
            assert not messages or reason in messages[0]
        elif reason and (messages or not titles):  # what was open before the home was closed is read on
            assert len(messages) == 1
            assert reason in messages[0]
            assert "give the user that runs ragviz the right to" in messages[0]
    assert [(status, reason in error) for status, error in jobs] in ([], [("failed", True)])
