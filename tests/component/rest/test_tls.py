"""https listeners on real sockets, with certificates made on the spot (spec A.1.1)."""

from __future__ import annotations

import asyncio
import os
import ssl
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from connectd.aio.jobs import JobGroup
from connectd.configdef import tls_settings
from connectd.configdef.rest_settings import Listener
from connectd.errors import ConfigError
from connectd.rest import tls
from connectd.rest.server import RestServer
from tests.kit.certificates import Identity, authority, identity

HTTP = Listener("http", "127.0.0.1", 0)
HTTPS = Listener("https", "127.0.0.1", 0)
PREFIX = "listeners.https."


async def _app(scope: Scope, receive: Receive, send: Send) -> None:
    body = scope["scheme"].encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _client(
    me: Identity | None = None,
    tmp_path: Path | None = None,
    *,
    oldest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2,
    newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority().certificate_pem())
    if me is not None and tmp_path is not None:
        path = tmp_path / "me.pem"
        path.write_text(me.key_pem() + me.certificate_pem())
        context.load_cert_chain(path)
    context.minimum_version, context.maximum_version = oldest, newest
    return context


async def _ask(port: int, context: ssl.SSLContext | None) -> tuple[str, str]:
    """Body and cipher suite of an answer."""
    async with asyncio.timeout(10.0):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        try:
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = await reader.read()
            cipher = writer.get_extra_info("cipher") or ("",)
            return answer.decode().partition("\r\n\r\n")[2], cipher[0]
        finally:
            writer.close()


def _serve(keys: dict[str, str], *asks: tuple[ssl.SSLContext | None, bool]) -> list[str]:
    """Bodies that clients got from a server with these keys; "" for those it refused."""

    async def scenario() -> list[str]:
        jobs = JobGroup("test")
        server = RestServer([HTTP, HTTPS], tls_settings.read(keys, PREFIX), grace_s=5.0)
        plain, secure = (listener.port for listener in server.open())
        jobs.spawn("http", server.serve(_app))
        bodies = []
        for context, is_taken in asks:
            try:
                body, _ = await _ask(plain if context is None else secure, context)
            except (ssl.SSLError, ConnectionError):
                body = ""
            assert bool(body) is is_taken
            bodies.append(body)
        server.stop()
        assert await jobs.join(deadline_s=20.0)
        return bodies

    return asyncio.run(scenario())


def _pem_file(tmp_path: Path, who: Identity, password: str | None = None) -> str:
    path = tmp_path / "worker.pem"
    path.write_text(who.key_pem(password) + who.certificate_pem())
    return str(path)


@pytest.fixture
def worker() -> Identity:
    return identity("worker")


def test_http_and_https_are_served_side_by_side(tmp_path: Path, worker: Identity) -> None:
    keys = {f"{PREFIX}ssl.keystore.location": _pem_file(tmp_path, worker)}
    assert _serve(keys, (None, True), (_client(), True)) == ["http", "https"]


@pytest.mark.parametrize("password", [None, "hunter2"])
@pytest.mark.parametrize("kind", ["PEM", "PKCS12", "text"])
def test_a_certificate_comes_from_pem_pkcs12_or_the_workers_file(
    tmp_path: Path, worker: Identity, kind: str, password: str | None
) -> None:
    keys: dict[str, str] = {}
    if kind == "PEM":
        keys["ssl.keystore.type"] = "PEM"
        keys["ssl.keystore.location"] = _pem_file(tmp_path, worker, password)
    elif kind == "PKCS12":
        path = tmp_path / "worker.p12"
        path.write_bytes(worker.pkcs12(password))
        keys["ssl.keystore.location"] = str(path)
    else:
        keys["ssl.keystore.type"] = "PEM"
        keys["ssl.keystore.key"] = worker.key_pem(password)
        keys["ssl.keystore.certificate.chain"] = worker.certificate_pem()
    if password is not None:
        keys["ssl.keystore.password" if kind == "PKCS12" else "ssl.key.password"] = password
    files = set(os.listdir(tmp_path))
    assert _serve(keys, (_client(), True)) == ["https"]
    assert set(os.listdir(tmp_path)) == files


@pytest.mark.parametrize(
    ("client_auth", "without", "known", "unknown"),
    [
        ("none", True, True, True),
        ("requested", True, True, False),
        ("required", False, True, False),
    ],
)
@pytest.mark.parametrize("trust", ["PEM", "text", "PKCS12"])
def test_callers_are_asked_for_a_certificate(
    tmp_path: Path,
    worker: Identity,
    client_auth: str,
    without: bool,
    known: bool,
    unknown: bool,
    trust: str,
) -> None:
    keys = {
        "ssl.keystore.location": _pem_file(tmp_path, worker),
        "ssl.client.auth": client_auth,
    }
    if trust == "text":
        keys["ssl.truststore.certificates"] = authority().certificate_pem()
    else:
        path = tmp_path / "trusted"
        keys["ssl.truststore.type"] = trust
        keys["ssl.truststore.location"] = str(path)
        if trust == "PEM":
            path.write_text(authority().certificate_pem())
        else:
            path.write_bytes(authority().pkcs12("hunter2"))
            keys["ssl.truststore.password"] = "hunter2"
    stranger = identity("stranger", authority("another"))
    _serve(
        keys,
        (_client(), without),
        (_client(identity("friend"), tmp_path), known),
        (_client(stranger, tmp_path), unknown),
    )


def test_versions_and_cipher_suites_are_those_of_the_configuration(
    tmp_path: Path, worker: Identity
) -> None:
    old = _client(newest=ssl.TLSVersion.TLSv1_2)
    new = _client(oldest=ssl.TLSVersion.TLSv1_3)
    keys = {"ssl.keystore.location": _pem_file(tmp_path, worker)}
    _serve({**keys, "ssl.enabled.protocols": "TLSv1.2"}, (old, True))
    _serve({**keys, "ssl.enabled.protocols": "TLSv1.2"}, (new, False))
    _serve({**keys, "ssl.enabled.protocols": "TLSv1.3"}, (old, False))
    suites = {**keys, "ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"}
    _serve(suites, (old, True), (new, False))
    suites = {**keys, "ssl.cipher.suites": "TLS_AES_128_GCM_SHA256"}
    _serve(suites, (old, False), (new, True))


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256"),
        ("TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("TLS_DHE_RSA_WITH_AES_256_CBC_SHA", "DHE-RSA-AES256-SHA"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ],
)
def test_names_of_cipher_suites_are_understood(
    tmp_path: Path, worker: Identity, java: str, openssl: str
) -> None:
    keys = {"ssl.keystore.location": _pem_file(tmp_path, worker), "ssl.cipher.suites": java}
    context = tls.server_context(tls_settings.read(keys, PREFIX))
    assert openssl in {each["name"] for each in context.get_ciphers()}


def test_clients_that_do_not_speak_tls_disturb_nobody(tmp_path: Path, worker: Identity) -> None:
    async def scenario() -> None:
        jobs = JobGroup("test")
        keys = {"ssl.keystore.location": _pem_file(tmp_path, worker)}
        server = RestServer([HTTPS], tls_settings.read(keys, PREFIX), grace_s=1.0)
        (secure,) = server.open()
        jobs.spawn("http", server.serve(_app))
        _, silent = await asyncio.open_connection("127.0.0.1", secure.port)
        reader, plain = await asyncio.open_connection("127.0.0.1", secure.port)
        plain.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(10.0):
            assert await _received(reader) == b""
        assert (await _ask(secure.port, _client()))[0] == "https"
        for writer in (silent, plain):
            writer.close()
        server.stop()
        assert await jobs.join(deadline_s=20.0)

    asyncio.run(scenario())


async def _received(reader: asyncio.StreamReader) -> bytes:
    try:
        received = await reader.read()
    except ConnectionError:
        return b""
    # A TLS alert may be all that the server says to a plain request.
    return b"" if received.startswith(b"\x15\x03") else received


def _refusal(keys: dict[str, str]) -> str:
    with pytest.raises(ConfigError) as caught:
        tls.server_context(tls_settings.read(keys, PREFIX))
    assert "hunter" not in str(caught.value)
    return str(caught.value)


def test_what_cannot_be_loaded_is_told_with_its_key_and_without_its_password(
    tmp_path: Path, worker: Identity
) -> None:
    path = tmp_path / "store"
    store = {"ssl.keystore.location": str(path)}
    assert _refusal(store) == (
        f"ssl.keystore.location: cannot read {path}: No such file or directory"
    )

    path.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    assert "is a JKS store, which only Java can read; convert it with keytool -imp" in _refusal(
        store
    )

    path.write_bytes(worker.pkcs12("hunter2"))
    assert _refusal({**store, "ssl.keystore.password": "hunter3"}) == (
        f"ssl.keystore.location: {path} cannot be opened as PKCS12; check ssl.keystore.password"
    )
    assert "ssl.keystore.type is PEM, but" in _refusal({**store, "ssl.keystore.type": "PEM"})

    path.write_text(worker.key_pem("hunter2") + worker.certificate_pem())
    for wrong in ({}, {"ssl.key.password": "hunter3"}):
        assert _refusal({**store, **wrong}) == (
            "ssl.keystore.location: the private key cannot be read; it is encrypted, so check "
            "ssl.key.password"
        )

    path.write_text(worker.certificate_pem())
    assert "has 0 private keys and 1 certificates as PEM" in _refusal(store)

    path.write_text(worker.key_pem() + identity("another").certificate_pem())
    assert "key and certificate do not fit together" in _refusal(store)

    assert "belong together, but one of them is not set" in _refusal(
        {"ssl.keystore.key": worker.key_pem()}
    )


def test_other_trust_stores_and_suites_are_refused(tmp_path: Path, worker: Identity) -> None:
    keys = {"ssl.keystore.location": _pem_file(tmp_path, worker)}
    (tmp_path / "empty").write_text("-----BEGIN nothing")
    trust = {"ssl.truststore.location": str(tmp_path / "empty")}
    assert "no certificates can be read from" in _refusal({**keys, **trust})
    assert "no cipher suite is known of TLS_NULL" in _refusal(
        {**keys, "ssl.cipher.suites": "TLS_NULL"}
    )
    assert "has no cipher suite of the TLS versions that are enabled" in _refusal(
        {**keys, "ssl.enabled.protocols": "TLSv1.3", "ssl.cipher.suites": "AES128-SHA"}
    )


def test_nothing_is_bound_when_a_certificate_cannot_be_used(tmp_path: Path) -> None:
    keys = {"ssl.keystore.location": str(tmp_path / "none")}
    server = RestServer([HTTP, HTTPS], tls_settings.read(keys, PREFIX))
    with pytest.raises(ConfigError, match="cannot read"):
        server.open()
    assert server._main._sockets == []
