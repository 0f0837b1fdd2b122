"""How workers of a cluster sign their requests to each other (spec kafka-connect A.1.6, C.5.6).

Algorithms carry Java's names, since a cluster may have workers of both kinds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connectd.configdef.parsing import ParsedConfig
from connectd.configdef.values import invalid_value
from connectd.errors import ConfigError

DIGEST_BY_MAC: Final = {
    "HmacMD5": "md5",
    "HmacSHA1": "sha1",
    "HmacSHA224": "sha224",
    "HmacSHA256": "sha256",
    "HmacSHA384": "sha384",
    "HmacSHA512": "sha512",
    "HmacSHA3-224": "sha3_224",
    "HmacSHA3-256": "sha3_256",
    "HmacSHA3-384": "sha3_384",
    "HmacSHA3-512": "sha3_512",
}
"""Names of ``hashlib`` by those of Java."""

_KEY_BYTES_BY_MAC: Final = {
    "HmacMD5": 64,
    "HmacSHA1": 64,
    **{f"Hmac{family}-{bits}": bits // 8 for family in ("SHA3",) for bits in (224, 256, 384, 512)},
    **{f"HmacSHA{bits}": bits // 8 for bits in (224, 256, 384, 512)},
}
"""Sizes of the keys that Java's generators make unless they are told otherwise."""

_KEY_BITS_MIN: Final = 40


@dataclass(frozen=True)
class SessionKeySettings:
    """Which keys to make, how to sign, and what to take from others; ``ttl_ms`` 0 is for ever."""

    key_algorithm: str
    key_bytes: int
    ttl_ms: int
    signature_algorithm: str
    verification_algorithms: tuple[str, ...]


class _KnownAlgorithms:
    """Validator of keys that name one or several algorithms."""

    def __call__(self, name: str, value: object) -> None:
        for algorithm in value if isinstance(value, tuple) else (value,):
            if algorithm not in DIGEST_BY_MAC:
                raise invalid_value(
                    name,
                    str(algorithm),
                    f"the algorithm is not supported here; the supported algorithms are: {self}",
                )

    def __str__(self) -> str:
        return f"[{', '.join(DIGEST_BY_MAC)}]"


check_algorithms: Final = _KnownAlgorithms()


def read(parsed: ParsedConfig) -> SessionKeySettings | None:
    """The settings of a worker; None: its ``connect.protocol`` does not sign.

    Raises:
        ConfigError: no key of that size can be made, in Kafka's words.
    """
    algorithm = parsed.string("inter.worker.key.generation.algorithm")
    bits = parsed.optional_integer("inter.worker.key.size")
    if bits is not None and bits < _KEY_BITS_MIN:
        raise ConfigError(
            f"Unable to create key generator with algorithm {algorithm} and key size {bits}: "
            f"Key length must be at least {_KEY_BITS_MIN} bits"
        )
    if parsed.string("connect.protocol") != "sessioned":
        return None
    return SessionKeySettings(
        key_algorithm=algorithm,
        key_bytes=_KEY_BYTES_BY_MAC[algorithm] if bits is None else (bits + 7) // 8,
        ttl_ms=parsed.integer("inter.worker.key.ttl.ms"),
        signature_algorithm=parsed.string("inter.worker.signature.algorithm"),
        verification_algorithms=parsed.strings("inter.worker.verification.algorithms"),
    )
