"""A provider of OpenID Connect on loopback: the authorization code flow with PKCE, an identity token, its keys."""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.loopback import Handler, Loopback, Reply


class Provider(Loopback):
    """Signs in whoever `person` says, as its claims."""

    def __init__(self) -> None:
        super().__init__()
        self.key = RSAKey.generate_key(2048, {"kid": "one", "alg": "RS256", "use": "sig"})
        self.person: Mapping[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}

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

    def answer(self, request: Handler, body: bytes) -> Reply:
        asked = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(asked.query).items()}
        if asked.path == "/authorize":
            code = secrets.token_urlsafe()
            self.codes[code] = query
            return (
                302,
                b"",
                {"Location": f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"},
            )
        told = {
            "/.well-known/openid-configuration": self._configuration,
            "/keys": lambda: {"keys": [self.key.as_dict(private=False)]},
            "/token": lambda: self._token({name: values[0] for name, values in parse_qs(body.decode()).items()}),
        }[asked.path]()
        return 200, json.dumps(told).encode(), {}

    def _configuration(self) -> dict[str, Any]:
        return {
            "issuer": self.url, "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token", "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"], "code_challenge_methods_supported": ["S256"],
        }  # fmt: skip

    def _token(self, given: Mapping[str, str]) -> dict[str, Any]:
        asked = self.codes.pop(given["code"])
        challenge = base64.urlsafe_b64encode(hashlib.sha256(given["code_verifier"].encode()).digest()).rstrip(b"=")
        assert challenge.decode() == asked["code_challenge"]
        now = int(time.time())
        claims = {"iss": self.url, "aud": "ragviz", "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims | {"sub": "7"} | dict(self.person), self.key)
        return {"access_token": "of-access", "token_type": "Bearer", "expires_in": 300, "id_token": token}
