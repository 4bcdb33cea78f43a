"""The versions that `make` installs: requirements.lock, of all that the two lists name."""

import re
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT


def requirements(file: str) -> list[Requirement]:
    lines = (line.partition("#")[0].strip() for line in (ROOT / file).read_text(encoding="utf-8").splitlines())
    return [Requirement(line) for line in lines if line]


LOCKED = requirements("requirements.lock")
ASKED = [*requirements("requirements.txt"), *requirements("requirements-dev.txt")]


def pinned(name: str) -> list[str]:
    """The versions that the lock gives a library on some system."""
    return [str(r.specifier)[2:] for r in LOCKED if canonicalize_name(r.name) == canonicalize_name(name)]


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.name)
def test_what_is_asked_for_is_locked_to_a_version_that_fits(asked: Requirement) -> None:
    assert pinned(asked.name), "run `make lock`"
    assert all(asked.specifier.contains(locked) for locked in pinned(asked.name))


def test_the_lock_names_versions_and_no_place_to_get_them_from() -> None:
    assert all(re.fullmatch(r"==[^,*]+", str(r.specifier)) and not r.url and not r.extras for r in LOCKED)
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*-", text, re.MULTILINE)


@pytest.mark.skipif("not __import__('os').environ.get('CI')", reason="a developer's environment may be newer")
def test_the_tests_run_on_the_locked_versions() -> None:
    here = {r.name: version(r.name) for r in LOCKED if r.marker is None or r.marker.evaluate()}
    assert {name: found for name, found in here.items() if found not in pinned(name)} == {}
