"""A schema registry on a socket, as far as converters ask one: ids, subjects, versions, and errors.

It follows the REST API that Confluent documents. ``fails`` scripts the next answers: a status each,
``DROP`` for a connection that is closed without an answer, or ``NOTHING`` for a 200 that says
nothing. What is compatible, ``is_compatible`` says.
"""

from __future__ import annotations

import base64
import json
import ssl
from collections import deque
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from tests.kit.local_http import LocalHttp, Quiet

DROP: Final = 0
NOTHING: Final = 204
_MESSAGES: Final = {
    302: (302, "Found"),
    401: (40101, "Unauthorized"),
    403: (40301, "User is denied operation Write on Subject"),
    409: (409, "Schema being registered is incompatible with an earlier schema"),
    422: (42201, "Invalid schema"),
    429: (42901, "Too many requests"),
    500: (50001, "Error in the backend datastore"),
    503: (50301, "Leader not known"),
}


class ScriptedRegistry(LocalHttp):
    """See the module's docstring. A context manager; ``requests`` are method and path."""

    def __init__(
        self,
        *,
        login: str | None = None,
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.fails: deque[int] = deque()
        self.requests: list[tuple[str, str]] = []
        self.subjects: dict[str, list[int]] = {}
        self.schemas: list[dict[str, Any]] = []
        self.is_compatible = True
        self._authorization = f"Bearer {token}" if token is not None else None
        if login is not None:
            self._authorization = f"Basic {base64.b64encode(login.encode()).decode()}"
        registry = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry._answer(self, None)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                registry._answer(self, json.loads(body))

        super().__init__(Handler, tls)

    def _answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any] | None) -> None:
        path = urlsplit(handler.path).path
        self.requests.append((handler.command, handler.path))
        status = self.fails.popleft() if self.fails else 200
        if status == DROP:
            handler.close_connection = True
            return
        if self._authorization not in (None, handler.headers["Authorization"]):
            status = 401
        answer: dict[str, Any] = {}
        if status == NOTHING:
            status = 200
        elif status == 200:
            status, answer = self._found([unquote(part) for part in path.split("/")[1:]], body)
        else:
            code, message = _MESSAGES[status]
            answer = {"error_code": code, "message": message}
        data = json.dumps(answer).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def _found(self, path: list[str], body: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
        match path:
            case ["subjects", subject, "versions"] if body is not None:
                return self._register(subject, body)
            case ["subjects", subject, "versions", "latest"]:
                versions = self.subjects.get(subject)
                if not versions:
                    return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
                return 200, self._version(subject, len(versions))
            case ["subjects", subject] if body is not None:
                for version, schema_id in enumerate(self.subjects.get(subject, []), start=1):
                    if self.schemas[schema_id - 1] == _plain(body):
                        return 200, self._version(subject, version)
                return 404, {"error_code": 40403, "message": "Schema not found"}
            case ["schemas", "ids", text] if text.isdecimal() and 0 < int(text) <= len(
                self.schemas
            ):
                return 200, self.schemas[int(text) - 1]
            case ["compatibility", "subjects", _, "versions", "latest"]:
                return 200, {"is_compatible": self.is_compatible}
        return 404, {"error_code": 40403, "message": "Schema not found"}

    def _register(self, subject: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        schema, versions = _plain(body), self.subjects.setdefault(subject, [])
        if schema in self.schemas:
            schema_id = self.schemas.index(schema) + 1
        else:
            self.schemas.append(schema)
            schema_id = len(self.schemas)
        if schema_id not in versions:
            versions.append(schema_id)
        return 200, {"id": schema_id}

    def _version(self, subject: str, version: int) -> dict[str, Any]:
        schema_id = self.subjects[subject][version - 1]
        schema = self.schemas[schema_id - 1]
        return {"subject": subject, "version": version, "id": schema_id, **schema}


def _plain(body: dict[str, Any]) -> dict[str, Any]:
    return {"schema": body["schema"], "schemaType": body.get("schemaType", "AVRO")}
