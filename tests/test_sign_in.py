"""Sign-in: a real dashboard and a real provider of OpenID Connect on loopback; who attacks it gets nothing."""

import json
import os
import string
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from ragviz.core.endpoint_choices import Endpoint
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.sign_in import read
from ragviz.targets import endpoint
from ragviz.ui import gate
from tests.oidc_provider import Provider
from tests.test_browser import Server, browser, free_port, serving

__all__ = ["browser"]  # the fixture

ACCESS = """
viewers = ["@example.org"]
editors = ["ed@example.org", "rag-team"]
admins = ["root@example.org"]
claim = "realm.groups"
"""
USER = "_streamlit_user"
SECRET = "0123456789abcdef" * 2


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as started:
        yield started


@pytest.fixture(scope="module")
def dashboard(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("sign-in")
    (folder / "home").mkdir()
    (folder / "home" / "secrets.toml").write_text(provider.secrets(ACCESS))
    with serving(folder, RAGVIZ_LOG="json", STREAMLIT_SERVER_MAX_UPLOAD_SIZE="1") as started:
        yield started


@contextmanager
def signed_in(dashboard: Server, provider: Provider, **claims: Any) -> Iterator[httpx.Client]:
    """A browser, as far as HTTP goes, in which somebody has gone through the sign-in."""
    provider.person = claims
    with httpx.Client(base_url=dashboard.url, follow_redirects=True, timeout=30) as client:
        client.get("/sign-in")
        yield client


def cookies(client: httpx.Client) -> dict[str, str]:
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}


def socket_of(dashboard: Server, headers: Mapping[str, str], *protocols: str) -> ClientConnection:
    address = dashboard.url.replace("http", "ws") + "/_stcore/stream"
    return connect(address, additional_headers=headers, subprotocols=["streamlit", *protocols], origin=dashboard.url)


def is_closed(connection: ClientConnection) -> bool:
    """Whether a message that is sent now ends the connection instead of being read."""
    connection.send(b"")
    try:
        while True:
            connection.recv(timeout=3)
    except ConnectionClosed as closed:
        return closed.rcvd is not None and closed.rcvd.code == 1008
    except TimeoutError:
        return False


def session_of(connection: ClientConnection) -> str:
    """The id of the session in which a page is drawn."""
    connection.send(BackMsg(rerun_script=ClientState()).SerializeToString())
    session, drawn = "", False
    while not drawn:
        message = ForwardMsg.FromString(connection.recv(timeout=60))
        session = message.new_session.initialize.session_id or session
        drawn = message.WhichOneof("type") == "script_finished" and message.script_finished == 0
    return session


PATHS = (
    "/",
    "/home",
    "/settings?x=1",
    "/media/a.csv",
    "/_stcore/host-config",
    "/_stcore/metrics",
    "/static/js/index.js",
)


def test_nothing_is_served_before_the_sign_in(dashboard):
    for path in PATHS:
        answer = httpx.get(dashboard.url + path)
        assert (answer.status_code, "Sign in to see this dashboard." in answer.text) == (401, True)
    assert httpx.put(f"{dashboard.url}/_stcore/upload_file/a/b").status_code == 401
    with pytest.raises(InvalidStatus, match="403"):
        socket_of(dashboard, {})


@pytest.mark.parametrize(
    ("asked", "led_to"),
    [
        ("/results?run=r%202&k=5;x", "/results?run=r%202&k=5;x"),
        ("/%0d%0aSet-Cookie:%20a=b?", "/"),
        ("//evil.org/a", "/"),
        ("/\\evil.org", "/"),
    ],
)
def test_the_sign_in_leads_to_the_page_that_was_asked_for(dashboard, provider, asked, led_to):
    provider.person = {"email": "ann@example.org"}
    with httpx.Client(base_url=dashboard.url, follow_redirects=True, timeout=30) as client:
        raw = httpx.URL(f"{dashboard.url}/").copy_with(raw_path=asked.encode())
        client.get(raw, headers={"Accept": "text/html,*/*"})
        client.get("/logo.png")  # a part of a page, or a picture of another, changes nothing
        assert client.get("/sign-in").url == httpx.URL(dashboard.url + led_to)


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"email": "ann@example.org"}, 200),
        ({"email": "ann@evil.org"}, 403),
        ({"email": "ann@evil-example.org"}, 403),
        *(
            ({"email": "root@example.org", "email_verified": said}, 403)
            for said in (False, "false", 0, "0", "no", None, [])
        ),
        ({"email": "ann@example.org", "email_verified": "true"}, 200),
        ({"email": "ann@evil.org@example.org"}, 403),
        ({"email": "ann@evil.org\n@example.org"}, 403),
        ({"email": "root@example.org,ann@example.org"}, 403),
        ({"email": "@example.org"}, 403),
        ({"email": ["root@example.org"]}, 403),
        ({"sub": "root@example.org", "realm": {"groups": ["rag-team"]}}, 403),
        ({"email": "ann@evil.org", "realm": {"groups": ["rag-team"]}}, 200),
        ({"email": "ann@evil.org", "realm": {"groups": ["@example.org", "root@example.org"]}}, 403),
        ({"email": "ann@evil.org", "sub": "root@example.org"}, 403),
    ],
)
def test_who_is_let_in(dashboard, provider, claims, status):
    with signed_in(dashboard, provider, **claims) as client:
        answer = client.get("/home")
        assert answer.status_code == status
        refusal = "may not use this dashboard. Ask root@example.org."
        if "email_verified" in claims:
            refusal = "Your provider says that it has not verified your address"
        assert (refusal in answer.text) == (status == 403)
        if status == 403:
            with pytest.raises(InvalidStatus, match="403"):
                socket_of(dashboard, cookies(client))


def test_who_comes_and_who_is_refused_is_logged(dashboard, provider):
    before = len(dashboard.log.read_text())
    with signed_in(dashboard, provider, email="ed@example.org") as client:
        client.get("/auth/logout")
    with signed_in(dashboard, provider, email="ann@evil.org"):
        pass
    lines = [json.loads(each) for each in dashboard.log.read_text()[before:].splitlines() if each.startswith("{")]
    assert [(each["level"], each["person"], each["message"]) for each in lines if each["logger"] == "ragviz"] == [
        ("INFO", "ed@example.org", "Signed in"),
        ("INFO", "ed@example.org", "Signed out"),
        ("INFO", "ann@evil.org", "Signed in"),
        ("WARNING", "ann@evil.org", "Refused: ann@evil.org may not use this dashboard. Ask root@example.org."),
    ]


def test_a_viewer_sends_nothing(dashboard, provider):
    with signed_in(dashboard, provider, email="ann@example.org") as client:
        answer = client.put("/_stcore/upload_file/a/b")
        assert (answer.status_code, "is a viewer here" in answer.text) == (403, True)
    with signed_in(dashboard, provider, email="ed@example.org") as client:
        assert "is a viewer here" not in client.put("/_stcore/upload_file/a/b").text


def test_a_session_of_another_is_not_taken_over(dashboard, provider):
    with signed_in(dashboard, provider, email="ed@example.org") as ed, socket_of(dashboard, cookies(ed)) as page:
        session = session_of(page)
        path = f"/_stcore/upload_file/{session}/b"
        assert "another person" not in ed.put(path).text
        with signed_in(dashboard, provider, email="root@example.org") as root:
            for answer in (root.put(path), root.delete(path)):
                assert (answer.status_code, "This session is another person" in answer.text) == (403, True)
            with pytest.raises(InvalidStatus, match="403"):
                socket_of(dashboard, cookies(root), "x", session)
        with socket_of(dashboard, cookies(ed), "x", session):
            pass


def test_nobody_keeps_more_than_ten_of_the_largest_files(dashboard, provider):
    file = {"file": ("a.txt", b"x" * 600_000)}
    with signed_in(dashboard, provider, email="ed@example.org") as ed, socket_of(dashboard, cookies(ed)) as page:
        path = f"/_stcore/upload_file/{session_of(page)}"
        ed.get("/_stcore/health")
        ed.headers["X-Xsrftoken"] = ed.cookies["_streamlit_xsrf"]
        answers = [ed.put(f"{path}/{number}", files=file).status_code for number in range(18)]
        assert answers == [204] * 17 + [413], "ten files of 1 MiB, as the server is told here"
        assert ed.delete(f"{path}/0").status_code == 204
        assert ed.put(f"{path}/18", files=file).status_code == 204


def test_nobody_opens_more_windows_than_a_person_has(dashboard, provider):
    with signed_in(dashboard, provider, email="many@example.org") as client, ExitStack() as opened:
        windows = [opened.enter_context(socket_of(dashboard, cookies(client))) for _ in range(gate.MOST_WINDOWS)]
        with pytest.raises(InvalidStatus, match="403"):
            socket_of(dashboard, cookies(client))
        with signed_in(dashboard, provider, email="ann@example.org") as ann, socket_of(dashboard, cookies(ann)):
            pass
        windows[0].close()
        time.sleep(0.5)
        with socket_of(dashboard, cookies(client)):
            pass


def forged(secret: str, **changed: Any) -> str:
    origin = changed.pop("origin")
    claims = {"email": "root@example.org", "is_logged_in": True, "origin": origin, "provider": "default"} | changed
    return create_signed_value(secret, USER, json.dumps(claims)).decode()


def test_a_forged_cookie_is_none(dashboard, provider, monkeypatch):
    right = forged(SECRET, origin=dashboard.url)
    assert httpx.get(f"{dashboard.url}/home", cookies={USER: right}).status_code == 200, "the test forges well"
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda now=time.time: now() - 12 * 3600 - 5)
        too_old = forged(SECRET, origin=dashboard.url)
    wrong = [
        forged("another secret of the same length", origin=dashboard.url), right[:-2] + "AA", right.swapcase(), "x",
        forged(SECRET, origin="https://other.example"), forged(SECRET, origin=dashboard.url, is_logged_in=False),
        forged(SECRET, origin=dashboard.url, is_logged_in="yes"), too_old, '"', "",
        *(create_signed_value(SECRET, USER, body).decode() for body in ("[1]", "no JSON", "chunks-2")),
    ]  # fmt: skip
    for value in wrong:
        assert httpx.get(f"{dashboard.url}/home", headers={"Cookie": f"{USER}={value}"}).status_code == 401
        with pytest.raises(InvalidStatus, match="403"):
            socket_of(dashboard, {"Cookie": f"{USER}={value}"})


def test_a_message_after_the_sign_out_is_not_read(dashboard, provider):
    with signed_in(dashboard, provider, email="ed@example.org") as client:
        kept = cookies(client)
        with socket_of(dashboard, kept) as one, socket_of(dashboard, kept) as other:
            assert client.get("/auth/logout").status_code == 401
            assert is_closed(one)
            assert is_closed(other)
        assert httpx.get(f"{dashboard.url}/home", headers=kept).status_code == 401, (
            "a copy of the cookie is worth nothing"
        )
    with signed_in(dashboard, provider, email="ed@example.org") as again:
        assert again.get("/home").status_code == 200


def test_a_sign_out_holds_for_other_spellings_of_the_signature(dashboard):
    """Its last character has two spare bits, and a base64 text may be padded; a long cookie is in parts."""
    whole = forged(SECRET, origin=dashboard.url)
    text = json.dumps({"email": "ed@example.org", "is_logged_in": True, "origin": dashboard.url})
    texts = {USER: "chunks-2", f"{USER}_1": text[:20], f"{USER}_2": text[20:]}
    parts = {name: create_signed_value(SECRET, name, part).decode() for name, part in texts.items()}
    letters = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
    for signed_in_by in ({USER: whole}, parts):
        with httpx.Client(base_url=dashboard.url, cookies=signed_in_by) as client:
            assert client.get("/home").status_code == 200
            client.get("/auth/logout")
        for name, value in signed_in_by.items():
            for other in (f"{value}=", value[:-1] + letters[letters.index(value[-1]) ^ 1]):
                assert httpx.get(f"{dashboard.url}/home", cookies=signed_in_by | {name: other}).status_code == 401


def test_without_the_database_a_page_and_the_figures_say_so_soon(provider, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "secrets.toml").write_text(provider.secrets(ACCESS))
    url, port = "postgresql+psycopg://me:hunter2@127.0.0.1:9/d", free_port()
    with serving(tmp_path, RAGVIZ_LOG="json", RAGVIZ_METRICS=str(port), RAGVIZ_DATABASE_URL=url) as server:
        began = time.monotonic()
        page = httpx.get(f"{server.url}/home", cookies={USER: forged(SECRET, origin=server.url)}, timeout=60)
        figures, health = (httpx.get(f"http://127.0.0.1:{port}/{of}", timeout=60) for of in ("metrics", "healthz"))
        assert time.monotonic() - began < 15, "each waits 3 seconds, where pages wait 10 and 30"
    for answer in (page, figures, health):
        assert (answer.status_code, "hunter2" in answer.text) == (503, False)
    assert all("127.0.0.1:9/d cannot be used" in answer.text for answer in (page, health))
    lines = [json.loads(each) for each in server.log.read_text().splitlines() if each.strip() and each[0] != " "]
    assert [each["message"][:32] for each in lines if each["level"] == "ERROR"] == ["The database postgresql+psycopg:"]


def test_a_role_counts_as_it_is_now(dashboard, provider):
    file = dashboard.home / "secrets.toml"
    before = file.read_text()
    with (
        signed_in(dashboard, provider, email="ed@example.org") as client,
        socket_of(dashboard, cookies(client)) as open_,
    ):
        try:
            file.write_text(before.replace("@example.org", "@example.com"))
            assert client.get("/home").status_code == 403
            assert is_closed(open_)
            file.write_text("[auth")
            assert client.get("/home").status_code == 503, "a broken file lets nobody in"
            file.write_text("")
            assert client.get("/home").status_code == 503, "an emptied one neither"
        finally:
            file.write_text(before)
        assert client.get("/home").status_code == 200


@pytest.mark.model
@pytest.mark.parametrize("proxies", ["127.0.0.0/8", "10.0.0.5"])
def test_a_name_is_believed_of_a_listed_proxy_alone(proxies, tmp_path):
    (tmp_path / "home").mkdir()
    viewers = '["ann", "@example.org"]'
    listed = f'[ragviz.access]\nviewers = {viewers}\nheader = "X-Forwarded-User"\nproxies = ["{proxies}"]\n'
    (tmp_path / "home" / "secrets.toml").write_text(listed)
    with serving(tmp_path, FORWARDED_ALLOW_IPS="none") as dashboard:
        trusted = proxies.startswith("127")
        named = {"X-Forwarded-User": "Ann"}
        assert httpx.get(f"{dashboard.url}/home").status_code == 401
        assert httpx.get(f"{dashboard.url}/sign-in").status_code == 401
        assert httpx.get(f"{dashboard.url}/home", headers=named).status_code == (200 if trusted else 403)
        for name in ("eve", "eve@evil.org@example.org", "eve,ann@example.org"):
            assert httpx.get(f"{dashboard.url}/home", headers={"X-Forwarded-User": name}).status_code == 403
        twice = [("X-Forwarded-User", "eve"), ("x-forwarded-user", "ann")]
        assert httpx.get(f"{dashboard.url}/home", headers=twice).status_code == 403
        claimed = named | {"X-Forwarded-For": "10.0.0.5"}
        assert httpx.get(f"{dashboard.url}/home", headers=claimed).status_code == (200 if trusted else 403)
        if trusted:
            with socket_of(dashboard, named):
                pass
            address = f"{dashboard.url}/home?q={{{{question}}}}"
            forged = endpoint.tried(Endpoint("t", address, "GET", named), Question("q", "Who?", "", (), ""))
            assert "answered HTTP 403" in forged.item.error, "its target is no person, though it is on this machine"
        else:
            with pytest.raises(InvalidStatus, match="403"):
                socket_of(dashboard, claimed)


@pytest.mark.model
def test_no_proxy_is_believed_where_a_header_may_forge_its_address(tmp_path):
    (tmp_path / "home").mkdir()
    listed = '[ragviz.access]\nviewers = ["ann"]\nheader = "X-Forwarded-User"\nproxies = ["10.0.0.5"]\n'
    (tmp_path / "home" / "secrets.toml").write_text(listed)
    with pytest.raises(AssertionError, match="set FORWARDED_ALLOW_IPS=none"), serving(tmp_path):
        pass


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("[auth]\n", "names nobody"),
        ('[ragviz.access]\nviewers = ["@a.org"]\n', "of no use without"),
        ('[ragviz.access]\nviewers = ["@a.org"]\nheader = "X"\n', "needs both"),
        ('[ragviz.access]\nviewer = ["@a.org"]\n', "viewer: Extra inputs"),
        ('[auth]\nclient_id = "a"\n[ragviz.access]\nviewers = ["@a.org"]\n', "lacks redirect_uri, cookie_secret"),
        ("auth", "cannot be read"),
    ],
)
def test_a_secrets_file_that_lets_in_nobody_or_anybody_is_refused(text, refusal, tmp_path):
    file = tmp_path / "secrets.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=refusal):
        read([file])


def test_a_cookie_secret_that_can_be_guessed_is_refused(provider, tmp_path):
    file = tmp_path / "secrets.toml"
    file.write_text(provider.secrets(ACCESS).replace(SECRET, "xxx"))
    with pytest.raises(UsageError, match="too easy to guess"):
        read([file])
    assert read([tmp_path / "missing.toml"]) is None


@pytest.mark.model
def test_without_a_sign_in_another_address_is_served_only_when_told_twice(tmp_path):
    command = [sys.executable, "-m", "ragviz", "app", "--port", str(free_port()), "--address", "0.0.0.0"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("STREAMLIT_")}
    env |= {"RAGVIZ_HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    refused = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode != 0
    assert "The dashboard has no sign-in, and all who reach 0.0.0.0 could use it" in " ".join(refused.stderr.split())
    assert refused.stdout == "", "Streamlit was not started"
    with serving(tmp_path, STREAMLIT_SERVER_ADDRESS="0.0.0.0", RAGVIZ_NO_SIGN_IN="yes") as told_twice:
        assert httpx.get(told_twice.url).status_code == 200


def enter(visitors: Browser, dashboard: Server, provider: Provider, email: str, page: str = "settings") -> Page:
    """Somebody with a browser of their own, signed in, on a page."""
    provider.person = {"email": email}
    opened = visitors.new_context(viewport={"width": 1440, "height": 900}).new_page()
    opened.goto(f"{dashboard.url}/{page}")
    expect(opened.get_by_text("Sign in to see this dashboard.")).to_be_visible()
    assert opened.get_by_test_id("stApp").count() == 0
    opened.get_by_role("link", name="Sign in").click()
    expect(opened.get_by_test_id("stSidebar").get_by_text(email)).to_be_visible()
    opened.goto(f"{dashboard.url}/{page}")
    return opened


@pytest.mark.browser
def test_two_people_each_with_their_own_settings(browser, dashboard, provider):
    ann, ed = (enter(browser, dashboard, provider, f"{name}@example.org") for name in ("root", "ed"))
    for page, url in ((ann, "http://127.0.0.1:9/ann"), (ed, "http://127.0.0.1:9/ed")):
        page.get_by_role("textbox", name="Base URL").fill(url)
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_text(f"gpt-4o-mini at {url}")).to_be_visible()
    ann.reload()
    expect(ann.get_by_text("gpt-4o-mini at http://127.0.0.1:9/ann")).to_be_visible()
    assert ann.get_by_text("/ed").count() == 0
    ann.goto(f"{dashboard.url}/home")
    expect(ann.get_by_text("http://127.0.0.1:9/ann").first).to_be_visible()
    expect(ed.get_by_role("button", name="Save prices")).to_be_disabled()
    ed.get_by_role("button", name="Sign out").click()
    expect(ed.get_by_text("Sign in to see this dashboard.")).to_be_visible()
    for page in (ann, ed):
        page.context.close()


@pytest.mark.browser
def test_a_viewer_is_told_what_is_off(browser, dashboard, provider):
    page = enter(browser, dashboard, provider, "vi@example.org", "documents")
    said = "Buttons are off by which something is changed, paid or deleted: ask root@example.org."
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.get_by_role("button", name="Create corpus")).to_be_disabled()
    page.goto(f"{dashboard.url}/settings")
    expect(page.get_by_role("button", name="Apply")).to_be_disabled()
    page.context.close()
