"""Certificates of servers: whose are trusted, and why one is not, with the next step."""

from __future__ import annotations

import os
import re
import ssl
from contextlib import suppress
from pathlib import Path

from ragviz.core.errors import UsageError


def context(ca_file: Path | None) -> ssl.SSLContext:
    """Return what checks a server's certificate: by the system's authorities, or those of SSL_CERT_FILE; and a file's.

    Raises:
        UsageError: `ca_file` cannot be read, or holds no certificate.

    """
    made = ssl.create_default_context()  # OpenSSL reads SSL_CERT_FILE
    if not os.environ.get("SSL_CERT_FILE"):
        with suppress(ImportError):  # a system can be without any
            import certifi

            made.load_verify_locations(certifi.where())
    if ca_file is not None:
        try:
            made.load_verify_locations(ca_file)
        except (OSError, ssl.SSLError) as error:
            reason = "it holds no certificate" if isinstance(error, ssl.SSLError) else error.strerror
            raise UsageError(
                f"RAGVIZ_CA_FILE is {ca_file}, which cannot be used ({reason}): name a file with certificates in PEM."
            ) from None
    return made


def trouble(text: str, address: str) -> tuple[str, str] | None:
    """Return what is wrong with a server's certificate, and the next step, by the text of a failed connection's error.

    None where it is about something else. `address` is the variable that holds the server's address.

    >>> trouble("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1)", "URL")
    ... # doctest: +NORMALIZE_WHITESPACE
    ('has a certificate that is not trusted (self-signed certificate)', 'Set RAGVIZ_CA_FILE to a PEM file with the
     certificate of the authority that signed it, or with its own where it signed itself.')
    """
    failed = re.search(r"certificate verify failed: ([^(\n]*[^(\s])", text)
    if failed:
        step = (
            "Set RAGVIZ_CA_FILE to a PEM file with the certificate of the authority that signed it, or with its own "
            "where it signed itself."
        )
        if "mismatch" in failed[1]:
            step = f"Set {address} to the name that the certificate is for."
        elif "expired" in failed[1] or "not yet valid" in failed[1]:
            step = "Have the certificate renewed, and see that this machine's clock is right."
        return f"has a certificate that is not trusted ({failed[1]})", step
    if differs := re.search('Fingerprints did not match.*got "([0-9a-f]+)', text):
        return (
            f"has a certificate with another fingerprint ({differs[1]})",
            "If the server's own log or its administrator names this one, set ELASTICSEARCH_FINGERPRINT to it.",
        )
    if re.search("WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE|HTTP_REQUEST", text):
        return "does not speak TLS", f"Begin {address} with http:// instead of https://, if that is meant."
    return None
