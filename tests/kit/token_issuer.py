"""An issuer of tokens for clients (RFC 6749 section 4.4), whose tokens are not signed.

Apache Kafka's brokers take such tokens where nobody has told them an issuer (KIP-255).
"""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

CLIENT_ID = "a worker"
SECRET = "t0ken:secret/%"


class TokenIssuer:
    """See the module's docstring; a context manager. ``answer`` None: a token, as is proper."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.answer: tuple[int, Any] | None = None
        self.life_s = 300
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://127.0.0.1:{self._server.server_port}/token"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def settings(self, secret: str = SECRET) -> dict[str, str]:
        """What a client of Kafka is told."""
        return {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": self.url,
            "sasl.oauthbearer.client.id": CLIENT_ID,
            "sasl.oauthbearer.client.secret": secret,
            "sasl.oauthbearer.scope": "kafka",
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                form = dict(urllib.parse.parse_qsl(self.rfile.read(size).decode()))
                status, content = issuer._answer_to(form, self.headers.get("Authorization", ""))
                body = json.dumps(content).encode()
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", issuer.url)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

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
