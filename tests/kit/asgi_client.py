"""A client that calls an ASGI application in its own loop: no sockets, so virtual time works."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Message


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """The text of an error body, after a look at its shape."""
        body = self.json()
        assert list(body) == ["error_code", "message"]
        assert body["error_code"] == self.status
        assert isinstance(body["message"], str)
        return body["message"]


class AsgiClient:
    """Sends one request at a time; ``content`` is sent as JSON unless it is bytes already."""

    def __init__(self, app: ASGIApp, *, host: str = "worker:8083") -> None:
        self._app = app
        self._host = host

    async def request(
        self,
        method: str,
        target: str,
        content: object = None,
        headers: Mapping[str, str | None] | None = None,
        *,
        hung_up: asyncio.Event | None = None,
    ) -> Answer:
        """Send a request; ``target`` is path and query as on the wire.

        A header of None is not sent, whatever would be sent otherwise. ``hung_up``: set as soon as
        the client does not wait for the answer any more.
        """
        body = b""
        wanted: dict[str, str | None] = {"host": self._host, **(headers or {})}
        if content is not None:
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            wanted = {"content-type": "application/json", **wanted}
        if body:
            wanted["content-length"] = str(len(body))
        sent = {name: text for name, text in wanted.items() if text is not None}
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), text.encode()) for name, text in sent.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8083),
        }
        return await self._call(scope, body, hung_up or asyncio.Event())

    async def _call(self, scope: dict[str, Any], body: bytes, hung_up: asyncio.Event) -> Answer:
        status = 0
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        headers: dict[str, str] = {}
        received = b""

        async def receive() -> Message:
            if messages and not hung_up.is_set():
                return messages.pop()
            await hung_up.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            nonlocal status, received
            if message["type"] == "http.response.start":
                status = message["status"]
                headers.update(
                    (name.decode().lower(), text.decode()) for name, text in message["headers"]
                )
            else:
                received += message.get("body", b"")

        await self._app(scope, receive, send)
        return Answer(status, headers, received)

    async def get(self, target: str, **kwargs: Any) -> Answer:
        """GET."""
        return await self.request("GET", target, **kwargs)

    async def post(self, target: str, content: object = None, **kwargs: Any) -> Answer:
        """POST."""
        return await self.request("POST", target, content, **kwargs)

    async def put(self, target: str, content: object = None, **kwargs: Any) -> Answer:
        """PUT."""
        return await self.request("PUT", target, content, **kwargs)

    async def patch(self, target: str, content: object = None, **kwargs: Any) -> Answer:
        """PATCH."""
        return await self.request("PATCH", target, content, **kwargs)

    async def delete(self, target: str, **kwargs: Any) -> Answer:
        """DELETE."""
        return await self.request("DELETE", target, **kwargs)
