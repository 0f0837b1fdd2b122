"""An issuer of tokens for clients (RFC 6749 section 4.4), whose tokens are not signed.

Apache Kafka's brokers take such tokens where nobody has told them an issuer (KIP-255).
"""

from __future__ import annotations

import base64
import json
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.kit.local_http import LocalHttp, Quiet

CLIENT_ID = "a worker"
SECRET = "t0ken:secret/%"


class TokenIssuer(LocalHttp):
    """See the module's docstring; a context manager. ``answer`` None: a token, as is proper."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.answer: tuple[int, Any] | None = None
        self.life_s = 300
        super().__init__(self._handler())
        self.endpoint = f"{self.url}/token"

    def settings(self, secret: str = SECRET) -> dict[str, str]:
        """What a client of Kafka is told."""
        return {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": self.endpoint,
            "sasl.oauthbearer.client.id": CLIENT_ID,
            "sasl.oauthbearer.client.secret": secret,
            "sasl.oauthbearer.scope": "kafka",
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        issuer = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                form = dict(urllib.parse.parse_qsl(self.rfile.read(size).decode()))
                status, content = issuer._answer_to(form, self.headers.get("Authorization", ""))
                body = json.dumps(content).encode()
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", issuer.endpoint)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return Handler

    def _answer_to(self, form: dict[str, str], login: str) -> tuple[int, Any]:
        self.asked.append(form)
        if self.answer is not None:
            return self.answer
        shown = base64.b64decode(login.removeprefix("Basic ")).decode()
        if shown != f"{CLIENT_ID}:{SECRET}":
            return 401, {"error": "invalid_client", "error_description": "who is that?"}
        return 200, {"access_token": self.token(), "expires_in": self.life_s}

    def token(self) -> str:
        """One that is good from now on."""
        now_s = int(time.time())
        claims = {"sub": "worker", "scope": "kafka", "iat": now_s, "exp": now_s + self.life_s}
        return f"{_part({'alg': 'none'})}.{_part(claims)}."


def _part(content: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")
