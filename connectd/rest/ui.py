"""The dashboard: a page at ``/ui`` and its assets, which are files of this package (``static``).

The page knows nothing that the API does not tell everybody who may ask: it reads ``/connectors``
and ``/connectd/connectors/C/tables``, and its buttons call what people call with curl. So there is
no state here. A login, where one is asked for, is asked for the page too: the browser remembers it
and sends it along with the page's own requests (``cross_site`` is why no other page profits).

Nothing is loaded from elsewhere, and nothing in a page can become code: the policy below allows
files of this worker only, and names of connectors reach the document as text. URLs are relative, so
the page works behind a proxy that serves the worker under a path of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from importlib import resources
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from connectd.rest.resource import resource

PATH: Final = "/ui"

_PAGE: Final = "index.html"
_MEDIA_TYPES: Final = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-cache",  # kept, but asked for: the page and the worker are one version
}


@dataclass(frozen=True)
class _Asset:
    """A file, and what a browser compares it by."""

    content: bytes
    media_type: str
    etag: str

    async def get(self, request: Request) -> Response:
        headers = {**_HEADERS, "ETag": self.etag}
        if self.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        # A charset is added to texts; scripts of the package are UTF-8 like everything else.
        return Response(self.content, headers=headers, media_type=self.media_type)


def routes() -> list[Route]:
    """``/ui`` and everything below it; the files are read now, once."""
    assets = {
        file.name: _asset(file.name, file.read_bytes())
        for file in resources.files("connectd.rest").joinpath("static").iterdir()
        if file.is_file()
    }
    page = assets.pop(_PAGE)

    async def get_page(request: Request) -> Response:
        path: bytes = request.scope.get("raw_path", b"")
        if path.endswith(b"/"):  # from there the page's relative URLs would lead elsewhere
            return Response(
                status_code=HTTPStatus.PERMANENT_REDIRECT, headers={"Location": f"..{PATH}"}
            )
        return await page.get(request)

    return [
        resource(PATH, {"GET": get_page}, media_type=page.media_type),
        *(
            resource(f"{PATH}/{name}", {"GET": asset.get}, media_type=asset.media_type)
            for name, asset in sorted(assets.items())
        ),
    ]


def _asset(name: str, content: bytes) -> _Asset:
    digest = hashlib.sha256(content).hexdigest()[:32]
    return _Asset(content, _MEDIA_TYPES[name[name.rindex(".") :]], f'"{digest}"')
