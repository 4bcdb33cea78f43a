"""The container, as far as it shows without Docker: compose.yaml, and the image's command on a read-only disk."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ragviz.core.settings import Settings
from tests.conftest import ROOT
from tests.test_browser import Server, free_port, wait_for_health


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


def test_every_setting_reaches_the_containers(compose: dict[str, Any]) -> None:
    for service in ("app", "worker"):
        names = compose["services"][service]["environment"].keys()
        missing = {str(field.alias) for field in Settings.model_fields.values()} - names
        missing -= {name.removesuffix("_FILE") for name in names}
        assert missing == {"ELASTICSEARCH_API_KEY"}  # a password is there, and only one of both may be


def test_nothing_but_the_dashboard_is_open_and_nothing_is_without_a_password(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert {name: each["ports"] for name, each in services.items() if "ports" in each} == {
        "app": ["127.0.0.1:8501:8501"]
    }
    assert services["elasticsearch"]["environment"]["xpack.security.enabled"] == "true"
    for each in services.values():
        files = {value for name, value in each["environment"].items() if name.endswith("_FILE") and value}
        assert files == {f"/run/secrets/{name}" for name in each["secrets"]}
        assert compose["secrets"].keys() >= set(each["secrets"])
        assert {"mem_limit", "cpus"} < each.keys()
    for name in ("app", "worker"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]


READ_ONLY = """
set -e
mount --bind "$1" /srv
mount -t tmpfs tmpfs /mnt
mount -o remount,bind,ro /
shift
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \
  --inh-caps -all,+dac_read_search --ambient-caps -all,+dac_read_search "$@"
"""
"""A user who may read everything, since the interpreter may be in a home, and write to /srv, /mnt and devices alone."""


@pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "setpriv"))), reason="mounts need root and util-linux"
)
@pytest.mark.model
@pytest.mark.timeout(300)
def test_the_images_command_writes_to_its_volume_alone(tmp_path: Path) -> None:
    home, log, port = tmp_path / "home", tmp_path / "log", free_port()
    home.mkdir()
    os.chown(home, 65534, 65534)
    (home / "notes.txt").write_text("The pump in hall two was replaced in May. It runs at 40 bar.", encoding="utf-8")
    paths = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    env = {"PATH": paths, "PYTHONPATH": str(ROOT), "HOME": "/nonexistent", "RAGVIZ_HOME": "/srv", "TMPDIR": "/mnt"}
    env |= {"HF_HOME": "/srv/models", "RAGVIZ_PERSON": "Ann", "RAGVIZ_NO_SIGN_IN": "yes"}

    def inside(*words: str) -> list[str]:
        return ["unshare", "--mount", "sh", "-c", READ_ONLY, "sh", str(home), *words]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(inside(*words), cwd=ROOT, env=env, capture_output=True, text=True, check=False)

    assert "Read-only file system" in run("touch", "/usr/new").stderr
    ragviz = (sys.executable, "-m", "ragviz")
    for words in (("corpus", "add", "c", "/srv/notes.txt"), ("index", "build", "c", "--name", "i")):
        done = run(*ragviz, *words)
        assert done.returncode == 0, done.stderr
    (last,) = (line for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines() if line[:4] == "CMD ")
    with log.open("wb") as output:
        process = subprocess.Popen(
            inside(*json.loads(last[4:]), "--port", str(port)), cwd=ROOT, env=env, stdout=output, stderr=output
        )
    try:
        wait_for_health(Server(f"http://127.0.0.1:{port}", home, log, env), process)
    finally:
        process.terminate()
        process.wait(30)
    assert "Traceback" not in log.read_text(encoding="utf-8")
    assert {path.stat().st_uid for path in home.rglob("*")} == {0, 65534}  # the document is ours
