"""``make bench NAME=transforms``: what chains of transforms cost a worker, against none."""

from __future__ import annotations

import sys
from typing import Final

from benchmarks import variants

_PACKAGE: Final = "org.apache.kafka.connect.transforms."


def _chain(*steps: dict[str, str]) -> dict[str, str]:
    aliases = [f"t{at}" for at in range(len(steps))]
    config = {"transforms": ",".join(aliases)}
    for alias, settings in zip(aliases, steps, strict=True):
        config |= {f"transforms.{alias}.{key}": text for key, text in settings.items()}
    return config


def _router(regex: str, replacement: str) -> dict[str, str]:
    return {"type": f"{_PACKAGE}RegexRouter", "regex": regex, "replacement": replacement}


_INSERT: Final = {
    "type": f"{_PACKAGE}InsertField$Value",
    "static.field": "region",
    "static.value": "eu",
}
_UNWRAP: Final = {"type": "connectd.transforms.UnwrapDynamoDb"}
_ROUTERS: Final = (_router("(.*)", "one-$1"), _router("one-(.*)", "two-$1"))

VARIANTS: Final[variants.Variants] = {
    "none": {},
    "topic only": _chain(*_ROUTERS, _router("nothing", "never")),
    "one touches the value": _chain(_ROUTERS[0], _INSERT, _ROUTERS[1]),
    "one looks into the document": _chain(_ROUTERS[0], _UNWRAP, _ROUTERS[1]),
}

if __name__ == "__main__":
    variants.measure("transforms", VARIANTS, sys.argv[1:], claimed="one touches the value")
