"""A provider of OpenID Connect on loopback: the authorization code flow with PKCE, an identity token, its keys."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey


class Provider(ThreadingHTTPServer):
    """Signs in whoever `person` says, as its claims."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.key = RSAKey.generate_key(2048, {"kid": "one", "alg": "RS256", "use": "sig"})
        self.person: Mapping[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}

    def __enter__(self) -> Provider:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def secrets(self, access: str) -> str:
        """The secrets file of a dashboard whose people sign in here."""
        return f"""
[auth]
redirect_uri = "http://127.0.0.1:{{port}}/oauth2callback"
cookie_secret = "{"0123456789abcdef" * 2}"
client_id = "ragviz"
client_secret = "of-the-client"
server_metadata_url = "{self.url}/.well-known/openid-configuration"
[ragviz.access]
{access}
"""


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        asked, provider = urlsplit(self.path), self.server
        query = {name: values[0] for name, values in parse_qs(asked.query).items()}
        if asked.path == "/.well-known/openid-configuration":
            self._json({
                "issuer": provider.url, "authorization_endpoint": f"{provider.url}/authorize",
                "token_endpoint": f"{provider.url}/token", "jwks_uri": f"{provider.url}/keys",
                "response_types_supported": ["code"], "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"], "code_challenge_methods_supported": ["S256"],
            })  # fmt: skip
        elif asked.path == "/keys":
            self._json({"keys": [provider.key.as_dict(private=False)]})
        elif asked.path == "/authorize":
            code = secrets.token_urlsafe()
            provider.codes[code] = query
            self.send_response(302)
            self.send_header(
                "Location", f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"
            )
            self.end_headers()
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        given = {name: values[0] for name, values in parse_qs(self._body()).items()}
        asked = self.server.codes.pop(given["code"])
        challenge = base64.urlsafe_b64encode(hashlib.sha256(given["code_verifier"].encode()).digest()).rstrip(b"=")
        assert challenge.decode() == asked["code_challenge"]
        now = int(time.time())
        claims = {"iss": self.server.url, "aud": "ragviz", "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        token = jwt.encode(
            {"alg": "RS256", "kid": "one"}, claims | {"sub": "7"} | dict(self.server.person), self.server.key
        )
        self._json({"access_token": "of-access", "token_type": "Bearer", "expires_in": 300, "id_token": token})

    def _body(self) -> str:
        return self.rfile.read(int(self.headers["Content-Length"])).decode()

    def _json(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
