"""How a worker's keys for signing are read (spec kafka-connect B.2, C.5.6)."""

from __future__ import annotations

import hmac

import pytest

from connectd.configdef import session_key_settings
from connectd.configdef.session_key_settings import DIGEST_BY_MAC, SessionKeySettings
from connectd.configdef.worker import WorkerConfig
from connectd.errors import ConfigError
from tests.kit.control_plane import WORKER_PROPERTIES


def _read(**properties: str) -> SessionKeySettings | None:
    more = {name.replace("_", "."): text for name, text in properties.items()}
    config = WorkerConfig.from_properties({**WORKER_PROPERTIES, **more})
    return session_key_settings.read(config.parsed)


def test_the_defaults_are_those_of_kafka_connect() -> None:
    assert _read() == SessionKeySettings("HmacSHA256", 32, 3_600_000, "HmacSHA256", ("HmacSHA256",))


@pytest.mark.parametrize("protocol", ["eager", "compatible"])
def test_older_protocols_do_not_sign(protocol: str) -> None:
    assert _read(connect_protocol=protocol) is None


@pytest.mark.parametrize(
    ("algorithm", "key_bytes"),
    [("HmacMD5", 64), ("HmacSHA1", 64), ("HmacSHA224", 28), ("HmacSHA512", 64)],
)
def test_keys_are_as_long_as_java_makes_them(algorithm: str, key_bytes: int) -> None:
    settings = _read(inter_worker_key_generation_algorithm=algorithm)
    assert settings is not None
    assert settings.key_bytes == key_bytes


def test_the_size_of_a_key_is_in_bits() -> None:
    settings = _read(inter_worker_key_size="129")
    assert settings is not None
    assert settings.key_bytes == 17


def test_a_key_that_java_would_not_make_is_refused_in_its_words() -> None:
    with pytest.raises(ConfigError, match="and key size 7: Key length must be at least 40 bits"):
        _read(inter_worker_key_size="7")


@pytest.mark.parametrize(
    "key",
    [
        "inter.worker.key.generation.algorithm",
        "inter.worker.signature.algorithm",
        "inter.worker.verification.algorithms",
    ],
)
def test_unknown_algorithms_are_refused_with_the_known_ones(key: str) -> None:
    text = f"Invalid value foo for configuration {key}: the algorithm is not supported here; the "
    with pytest.raises(ConfigError, match=text):
        _read(**{key: "foo"})


def test_every_algorithm_signs() -> None:
    for digest in DIGEST_BY_MAC.values():
        assert hmac.new(b"key", b"body", digest).digest()
