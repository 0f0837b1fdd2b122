"""Which URL the data plane calls: botocore decides, and is asked without sending anything.

By default that is one URL per service and region. With account-id endpoints it depends on the
account in the stream's ARN, the table's ARN or the credentials, by rules that change between
releases of botocore (spec field-cases S22); so a client whose requests all end in a hook builds
the request, and the hook answers with the URL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders

from connectd.aws.control import ControlPlane
from connectd.aws.errors import Call
from connectd.aws.signing import RequestSigner

# Accounts whose streams one set of settings reads. More than a handful is not expected.
_ENDPOINTS_MAX = 256
_URL_HEADER = "x-connectd-endpoint"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests of one service (and account) go, and who signs them."""

    url: str
    signer: RequestSigner


def endpoint_at(url: str, *, region: str) -> Endpoint:
    """The endpoint at a URL as botocore writes it. Both services sign as ``dynamodb``."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/") + "/"
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    if parts.port is not None and parts.port != {"http": 80, "https": 443}.get(parts.scheme):
        host = f"{host}:{parts.port}"
    signer = RequestSigner(service="dynamodb", region=region, host=host, path=path)
    return Endpoint(f"{parts.scheme}://{host}{path}", signer)


def account_of(arn: str) -> str:
    """The account in an ARN (or in a shard iterator, which begins with one), else ""."""
    parts = arn.split(":", 5)
    return parts[4] if len(parts) > 4 and parts[0] == "arn" else ""


class FixedEndpoint:
    """The same endpoint for every request: the usual case."""

    def __init__(self, url: str, *, region: str) -> None:
        self._endpoint = endpoint_at(url, region=region)

    def known(self, method: str, parameters: dict[str, Any]) -> Endpoint:
        """The endpoint; the arguments do not matter."""
        return self._endpoint

    async def resolve(self, call: Call, method: str, parameters: dict[str, Any]) -> Endpoint:
        """The endpoint; the arguments do not matter."""
        return self._endpoint


class ProbedEndpoints:
    """Asks botocore for each operation and account, once.

    ``make_client`` makes the client that is hooked; it must not be used for anything else.
    """

    def __init__(
        self,
        make_client: Callable[[], Any],
        control: ControlPlane,
        *,
        region: str,
    ) -> None:
        self._make_client = make_client
        self._client: Any = None
        self._control = control
        self._region = region
        self._endpoints: dict[tuple[str, str], Endpoint] = {}

    def known(self, method: str, parameters: dict[str, Any]) -> Endpoint | None:
        """The endpoint for boto3's ``method`` with these parameters, once it has been resolved."""
        return self._endpoints.get(_key(method, parameters))

    async def resolve(self, call: Call, method: str, parameters: dict[str, Any]) -> Endpoint:
        """The endpoint for boto3's ``method`` with these parameters.

        Raises what loading credentials raises, and ``ConfigError`` where botocore knows no URL.
        """
        endpoint = self.known(method, parameters)
        if endpoint is None:
            url = await self._control.call(call, self._probe, method, parameters)
            endpoint = endpoint_at(url, region=self._region)
            if len(self._endpoints) >= _ENDPOINTS_MAX:
                self._endpoints.clear()
            self._endpoints[_key(method, parameters)] = endpoint
        return endpoint

    def _probe(self, method: str, parameters: dict[str, Any]) -> str:
        if self._client is None:
            client = self._make_client()
            client.meta.events.register("before-send", _answer_with_url)
            self._client = client
        answer = getattr(self._client, method)(**parameters)
        return str(answer["ResponseMetadata"]["HTTPHeaders"][_URL_HEADER])


def _key(method: str, parameters: dict[str, Any]) -> tuple[str, str]:
    for each in parameters.values():
        if isinstance(each, str):
            account = account_of(each)
            if account:
                return method, account
    return method, ""


class _EmptyAnswer:
    """A body in the form in which botocore reads one."""

    def stream(self, *_arguments: object, **_options: object) -> Iterator[bytes]:
        yield b"{}"


def _answer_with_url(request: AWSPreparedRequest, **_context: object) -> AWSResponse:
    headers = HTTPHeaders()
    headers[_URL_HEADER] = request.url
    return AWSResponse(request.url, 200, headers, _EmptyAnswer())
