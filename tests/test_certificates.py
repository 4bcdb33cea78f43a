"""Servers with certificates of their own: refused by name, and trusted where a file says so."""

import datetime
import ipaddress
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ragviz.backends import elastic_server
from ragviz.core.errors import ModelError, SearchError, UsageError
from ragviz.core.settings import Settings
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Ledger, Request, Spending
from tests import model_server
from tests.loopback import Handler, Loopback, Reply


def self_signed(folder: Path, address: str, *, days: int = 1) -> Path:
    """A key and its own certificate for an IP address, in one PEM file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - datetime.timedelta(days=9)).not_valid_after(now + datetime.timedelta(days=days))
    made = made.add_extension(names, critical=False).add_extension(x509.BasicConstraints(True, None), critical=True)
    pem = serialization.Encoding.PEM
    text = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / f"{address}-{days}.pem"
    file.write_bytes(text + made.sign(key, hashes.SHA256()).public_bytes(pem))
    return file


class Both(Loopback):
    """A model endpoint and an Elasticsearch in one."""

    def answer(self, request: Handler, body: bytes) -> Reply:
        told = {"version": {"number": "8.15.0"}, "status": "green"}
        told = model_server._completion(json.loads(body), "Hello.") if body else told
        return 200, json.dumps(told).encode(), {"x-elastic-product": "Elasticsearch"}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return self_signed(tmp_path, "127.0.0.1")


@pytest.fixture
def url(own: Path) -> Iterator[str]:
    with Both(certificate=own) as server:
        yield server.url


def at(url: str, file: Path | None) -> Settings:
    return Settings(_env_file=None, elasticsearch_url=url, ca_file=file)


def ask_both(url: str, file: Path | None = None) -> tuple[str, str]:
    client = ModelClient(f"{url}/v1", None, "loopback", timeout=10, ca_file=file)
    said = client.ask(Request([{"role": "user", "content": "x"}])).text
    return said, elastic_server.health(at(url, file))["status"]


@pytest.mark.parametrize("way", ["RAGVIZ_CA_FILE", "SSL_CERT_FILE"])
def test_a_certificate_of_ones_own_is_trusted_where_a_file_says_so(
    way: str, url: str, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "SSL_CERT_FILE":
        monkeypatch.setenv("SSL_CERT_FILE", str(own))
    assert ask_both(url, own if way == "RAGVIZ_CA_FILE" else None) == ("Hello.", "green")


@pytest.mark.parametrize(
    ("address", "days", "why"),
    [
        ("127.0.0.1", 1, r"\(self-signed certificate\)\. Set RAGVIZ_CA_FILE to a PEM file"),
        ("127.0.0.2", 1, r"mismatch.*Set (OPENAI_BASE_URL|ELASTICSEARCH_URL) to the name that the certificate is for"),
        ("127.0.0.1", -1, r"\(certificate has expired\)\. Have the certificate renewed"),
    ],
    ids=["self-signed", "another name", "expired"],
)
def test_a_certificate_that_is_not_trusted_is_told_at_once(address: str, days: int, why: str, tmp_path: Path) -> None:
    file = self_signed(tmp_path, address, days=days)
    trusted, ledger = None if (address, days) == ("127.0.0.1", 1) else file, Ledger()
    with Both(certificate=file) as server:
        url = server.url
        client = ModelClient(f"{url}/v1", None, "m", ca_file=trusted, prices={"m": (9.0, 9.0)}, backoff=60)
        request = Request([{"role": "user", "content": "x"}], max_tokens=9, spending=(spending := Spending(ledger, 1)))
        with pytest.raises(ModelError, match=rf"has a certificate that is not trusted.*{why}") as failed:
            client.ask(request)
        assert (failed.value.outage, failed.value.temporary, failed.value.calls) == (True, False, 1)
        with pytest.raises(SearchError, match=rf"has a certificate that is not trusted.*{why}"):
            elastic_server.Server(at(url, trusted)).ask(lambda client: client.info())
        spending.settle()
        assert ledger.total.dollars == 0.0


def test_a_server_without_tls_and_a_file_without_certificates(tmp_path: Path) -> None:
    with Both() as server:
        url = server.url.replace("http:", "https:")
        with pytest.raises(ModelError, match=r"does not speak TLS\. Begin OPENAI_BASE_URL with http://"):
            ask_both(url)
        with pytest.raises(SearchError, match=r"does not speak TLS\. Begin ELASTICSEARCH_URL with http://"):
            elastic_server.health(at(url, None))
        (tmp_path / "empty.pem").write_text("nothing")
        with pytest.raises(UsageError, match=r"RAGVIZ_CA_FILE is .*empty.pem.*holds no certificate"):
            ask_both(url, tmp_path / "empty.pem")
        with pytest.raises(UsageError, match=r"gone.pem.*No such file"):
            elastic_server.health(at(url, tmp_path / "gone.pem"))
