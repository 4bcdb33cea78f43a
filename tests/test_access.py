"""Who may do what: every verb of `service/` with every role."""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from ragviz import service
from ragviz.core.errors import RagvizError, Refused
from ragviz.core.person import ROLES, Person, Role
from ragviz.core.settings import Settings
from ragviz.service.access import TAKES
from ragviz.store import database
from ragviz.store.store import open_store
from ragviz.workspace import Workspace
from tests.builders import ROOT

MODULES = [importlib.import_module(f"ragviz.service.{each.name}") for each in pkgutil.iter_modules(service.__path__)]
READS = {
    *("configured", "described", "foresee_log", "planned", "proposed", "read_again", "repeatable", "with_baseline"),
    *("asking", "since"),
}
"""What a viewer may call: nothing is changed by it, spent or deleted."""
ADMINS = {
    "corpus_verbs.delete",
    "settings_verbs.put_prices",
    "upkeep_verbs.adopt",
    "upkeep_verbs.back_up",
    "upkeep_verbs.bring_back",
}
ADMINS |= {"audit_verbs.events", "audit_verbs.count", "audit_verbs.newest"}


def of_service() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function that stands in a file of `service/`, those that were only imported left out."""
    for module in MODULES:
        for name, found in vars(module).items():
            own = hasattr(found, "__wrapped__") or getattr(found, "__module__", "") == module.__name__
            if inspect.isfunction(found) and own and not name.startswith("_") and module.__name__[-6:] != "access":
                yield f"{module.__name__.rpartition('.')[2]}.{name}", found


VERBS = dict(of_service())


def refused(verb: Callable[..., Any], role: Role) -> str:
    """The sentence with which a verb refuses a role; "" when it goes on, to stumble over what is not given."""
    workspace = Workspace(Settings(_env_file=None), Person("Ann", role, "root@example.org"))
    given = [each for each in inspect.signature(verb).parameters.values() if each.default is each.empty]
    values = [None for each in given[1:] if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    named = {each.name: None for each in given if each.kind is each.KEYWORD_ONLY}
    try:
        verb(workspace, *values, **named)
    except Refused as error:
        return str(error)
    except Exception:
        return ""
    return ""


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_takes_a_role(name, tmp_path, monkeypatch):
    monkeypatch.setenv("RAGVIZ_HOME", str(tmp_path))
    verb = VERBS[name]
    if name.partition(".")[2] in READS and not hasattr(verb, "__wrapped__"):
        assert "workspace" not in inspect.signature(verb).parameters, "what only reads what it is given"
        return
    takes = "admin" if name in ADMINS else "viewer" if name.partition(".")[2] in READS else "editor"
    for role in ROLES:
        sentence = refused(verb, role)
        if ROLES.index(role) < ROLES.index(takes):
            assert f"Ann is a{'n' * (role == 'editor')} {role} here" in sentence
            assert f"takes the role '{takes}'. Ask root@example.org for it." in sentence
        else:
            assert not sentence


def test_no_verb_is_declared_elsewhere():
    assert len(TAKES) == sum(hasattr(verb, "__wrapped__") for verb in VERBS.values())


def writing_methods() -> set[str]:
    """Names of the methods of repositories that open a writing transaction, and of those that call these."""
    defined = [
        node
        for file in sorted((ROOT / "ragviz" / "store").glob("stored_*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]
    opened = {"writing", "changing", "upsert"}
    private = {each.name for each in defined if each.name.startswith("_") and opened & called_in(each)} | {"_insert"}
    return {each.name for each in defined if (opened | private) & called_in(each)} | {"touch"}


def called_in(tree: ast.AST) -> set[str]:
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {each.attr for each in calls if isinstance(each, ast.Attribute)}


def test_pages_commands_and_library_change_the_store_through_service_alone():
    writing = writing_methods()
    outside = [file for folder in ("cli", "ui", "library") for file in (ROOT / "ragviz" / folder).rglob("*.py")]
    found = []
    for file in (*outside, *(ROOT / "pages").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of = ast.unparse(node.func.value)
                if node.func.attr in writing and re.search(r"\bstore\.\w+$|\bcache\(", of):
                    found.append(f"{file.name}: {of}.{node.func.attr}")
    assert not found


def test_what_a_viewer_works_with_writes_nothing_whatever_it_is_told(database_url, workspace):
    """Also below every verb: the database itself refuses, and what is only computed is not kept."""
    store = open_store(database_url)
    corpus = store.corpora.add("notes")
    seen = store.read_only()
    assert [each.name for each in seen.corpora.all()] == ["notes"]
    for change in (lambda: seen.corpora.add("more"), lambda: seen.corpora.delete(corpus.id), lambda: seen.touch("x")):
        with pytest.raises(Refused, match="open here for reading only"):
            change()
    seen.cache("embedding").put_many({"key": b"value"})
    assert not store.cache("embedding").held(["key"])
    with pytest.raises(RagvizError, match=r"read-only|readonly"), database.reading(seen._engine) as connection:
        connection.execute(sa.text("DELETE FROM corpora"))
    assert [each.name for each in store.corpora.all()] == ["notes"]
    viewer = workspace.acting(Person("Ann", "viewer"), {})
    with pytest.raises(Refused, match="may not ask a model"):
        viewer.client("gpt-4o-mini")


def test_a_role_of_postgresql_with_select_alone_reads(database_url, command_line, monkeypatch):
    if not database_url.startswith("postgresql"):
        pytest.skip("SQLite has no roles")
    open_store(database_url).corpora.add("notes")
    engine = sa.create_engine(database_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        exists = connection.exec_driver_sql("SELECT 1 FROM pg_roles WHERE rolname = 'ragviz_reader'").first()
        if not exists:
            connection.exec_driver_sql("CREATE ROLE ragviz_reader LOGIN")
        connection.exec_driver_sql("GRANT USAGE ON SCHEMA public TO ragviz_reader")
        connection.exec_driver_sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO ragviz_reader")
    engine.dispose()
    url = sa.make_url(database_url).set(username="ragviz_reader").render_as_string(hide_password=False)
    reader = open_store(url)
    assert [each.name for each in reader.corpora.all()] == ["notes"]
    with pytest.raises(Refused, match="open here for reading only"):
        reader.corpora.add("more")
    monkeypatch.setenv("RAGVIZ_DATABASE_URL", url)
    code, _, err = command_line("worker")
    assert (code, "can only be read by this role" in err, "Traceback" in err) == (2, True, False)
