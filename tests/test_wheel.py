"""The built wheel: `ragviz app` and the command line work from any folder, in an environment without the clone."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import ROOT
from tests.test_browser import Server, drawn, free_port, sound, wait_for_health
from tests.test_browser import browser as browser

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
SOURCES = ("ragviz", "pages", "assets", ".streamlit")
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `pip install .` builds and installs, of a copy of the sources."""
    copy, built = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("wheel")
    for folder in SOURCES:
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in filter(Path.is_file, ROOT.iterdir()):
        shutil.copy(file, copy)
    subprocess.run([sys.executable, "-c", BUILD, str(built)], cwd=copy, env=without_clone(), check=True)
    return next(built.glob("*.whl"))


def without_clone() -> dict[str, str]:
    """This environment, but for the clone on the path and what configures ragviz."""
    foreign = ("OPENAI_", "ELASTICSEARCH_", "RAGVIZ_", "STREAMLIT_", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


def test_a_wheel_holds_every_file_of_the_package_and_of_the_dashboard(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    files = [path for folder in SOURCES for path in (ROOT / folder).rglob("*") if path.is_file()]
    names = {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts} | {"app.py", "frame.py"}
    wanted = {name if name.startswith("ragviz/") else f"ragviz/_app/{name}" for name in names}
    assert wanted - held - {"ragviz/_app/.streamlit/secrets.toml"} == set()
    assert [name for name in held if name.startswith(("tests/", "pages/", "ragviz/_app/tests"))] == []


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel and the libraries of this one, and without the clone."""
    place = tmp_path_factory.mktemp("environment") / "venv"
    uv = shutil.which("uv", path=f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}")
    assert uv, "uv is missing: run `make test`"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, place], check=True)
    python = place / "bin" / "python"
    subprocess.run([uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel], check=True)
    [packages] = place.glob("lib/*/site-packages")
    # A folder named in a .pth file is searched, and its own .pth files, such as that of the editable clone, are not.
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    where = [python, "-P", "-c", "import ragviz; print(ragviz.__file__)"]
    found = subprocess.run(where, env=without_clone(), cwd="/", capture_output=True, text=True, check=True).stdout
    assert Path(found.strip()).is_relative_to(packages)
    return place / "bin"


def test_the_dashboard_opens_from_any_folder_with_the_data_of_its_env_file(
    installed: Path, browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("RAGVIZ_HOME=data\nRAGVIZ_PERSON=Ann\n", encoding="utf-8")
    (tmp_path / "a.txt").write_text("The pump was replaced in 2023.", encoding="utf-8")
    environment, log = without_clone() | {"STREAMLIT_SERVER_HEADLESS": "true"}, tmp_path / "log"
    added = [installed / "ragviz", "corpus", "add", "lighthouse", "a.txt"]
    subprocess.run(added, env=environment, cwd=tmp_path, check=True)
    port = free_port()
    with log.open("wb") as output:
        words = [installed / "ragviz", "app", "--port", str(port)]
        command = subprocess.Popen(words, env=environment, cwd=tmp_path, stdout=output, stderr=output)
    try:
        wait_for_health(Server(f"http://127.0.0.1:{port}", tmp_path, log, environment), command)
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{port}/")
        drawn(page)
        expect(page).to_have_title("ragviz")
        expect(page.get_by_test_id("stSidebarLogo").or_(page.get_by_test_id("stHeaderLogo")).first).to_be_visible()
        expect(page.get_by_text("lighthouse").first).to_be_visible()
        sound(page)
        page.goto(f"http://127.0.0.1:{port}/settings?corpus=lighthouse")
        drawn(page)
        sound(page)
        assert (tmp_path / "data" / "ragviz.db").is_file()
        assert "Traceback" not in log.read_text(errors="replace")
        page.close()
    finally:
        for process in [*psutil.Process(command.pid).children(recursive=True), command]:
            process.kill()
        command.wait()
