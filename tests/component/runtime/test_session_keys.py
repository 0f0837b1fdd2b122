"""The key that signs requests between workers: made, kept, replaced (spec kafka-connect C.5.6)."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace

import pytest

from connectd.configdef.session_key_settings import SessionKeySettings
from connectd.errors import BrokerUnavailableError, ConfigError
from connectd.model.cluster import SessionKey
from connectd.observe import redaction
from connectd.runtime.herder import HerderSettings
from connectd.runtime.session_keys import NoSessionKeyError, Signature
from connectd.stores.memory import MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore
from tests.kit.control_plane import Options, Plane, control_plane
from tests.kit.virtual import virtual

HOUR_MS = 3_600_000
SETTINGS = SessionKeySettings("HmacSHA256", 32, HOUR_MS, "HmacSHA256", ("HmacSHA256",))


def _options(settings: SessionKeySettings, configs: MemoryConfigStore | None = None) -> Options:
    stores = (configs or MemoryConfigStore(), MemoryOffsetStore(), MemoryStatusStore())
    return Options(settings=HerderSettings(session_keys=settings), stores=stores)


def _key(plane: Plane) -> SessionKey:
    key = plane.configs.snapshot().session_key
    assert key is not None
    return key


@virtual
async def test_a_worker_makes_the_key_that_its_cluster_lacks() -> None:
    async with control_plane(_options(SETTINGS)) as plane:
        key = _key(plane)
        assert (len(key.key), key.algorithm) == (32, "HmacSHA256")
        await plane.create("s")
        await plane.settle(60.0)
        assert _key(plane) == key


@pytest.mark.parametrize(
    ("age_ms", "settings", "is_kept"),
    [
        (HOUR_MS - 60_000, SETTINGS, True),
        (HOUR_MS, SETTINGS, False),
        (1000 * HOUR_MS, replace(SETTINGS, ttl_ms=0), True),
        (0, replace(SETTINGS, key_algorithm="HmacSHA1"), False),
        (0, replace(SETTINGS, key_bytes=64), False),
        (0, replace(SETTINGS, signature_algorithm="HmacSHA512"), True),
    ],
)
@virtual
async def test_a_key_is_replaced_when_it_is_old_or_of_another_kind(
    age_ms: int, settings: SessionKeySettings, is_kept: bool
) -> None:
    configs = MemoryConfigStore()
    written = SessionKey(b"k" * 32, "HmacSHA256", 1_700_000_000_000 - age_ms)
    await configs.put_session_key(written)
    async with control_plane(_options(settings, configs)) as plane:
        assert (_key(plane) == written) is is_kept
        assert _key(plane).algorithm == settings.key_algorithm
        assert len(_key(plane).key) == settings.key_bytes


@virtual
async def test_a_key_is_replaced_while_the_worker_runs() -> None:
    async with control_plane(_options(SETTINGS)) as plane:
        first = _key(plane)
        await plane.settle(HOUR_MS / 1000 - 60.0)
        assert _key(plane) == first
        await plane.settle(120.0)
        assert _key(plane) != first


class BusyStore(MemoryConfigStore):
    """Refuses so many keys before it takes one."""

    def __init__(self, refusals: int) -> None:
        super().__init__()
        self.refusals = refusals

    async def put_session_key(self, key: SessionKey) -> None:
        await asyncio.sleep(1.0)
        if self.refusals > 0:
            self.refusals -= 1
            raise BrokerUnavailableError("Error writing session key to Kafka")
        await super().put_session_key(key)


@virtual
async def test_a_key_that_could_not_be_written_is_tried_again() -> None:
    async with control_plane(_options(SETTINGS, BusyStore(refusals=2))) as plane:
        answer = await plane.client.put(
            "/connectors/s/fence",
            headers={
                "X-Connect-Request-Signature-Algorithm": "HmacSHA256",
                "X-Connect-Authorization": "AAAA",
            },
        )
        assert (answer.status, answer.message) == (
            503,
            "This worker is still starting up and has not been able to read a session key from "
            "the config topic yet",
        )
        await plane.settle(120.0)
        _key(plane)
    assert plane.failures == []


@virtual
async def test_what_a_worker_signs_others_accept() -> None:
    body = b'[{"a":"1"}]'
    async with control_plane(_options(SETTINGS)) as plane:
        keys = plane.herder.session_keys
        signature = keys.sign(body)
        assert signature is not None
        keys.check(signature, body)
        with pytest.raises(ConfigError, match="missing required signature"):
            keys.check(None, body)


@virtual
async def test_nothing_is_signed_before_there_is_a_key() -> None:
    async with control_plane(_options(SETTINGS, BusyStore(refusals=1000))) as plane:
        with pytest.raises(NoSessionKeyError):
            plane.herder.session_keys.sign(b"")


@virtual
async def test_the_key_is_hidden_from_logs() -> None:
    async with control_plane(_options(SETTINGS)) as plane:
        text = base64.b64encode(_key(plane).key).decode()
        assert redaction.redact_text(f"the record was {text}") == "the record was [hidden]"
        assert "czNj" not in repr(Signature("HmacSHA256", "czNjcmV0"))
    redaction.forget_secrets()
