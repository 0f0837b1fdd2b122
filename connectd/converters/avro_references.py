"""Avro schemas that refer to others in a registry, as one text that stands alone. Pure.

Others may register a record under a subject of its own and name it in their schemas. A name's first
use is replaced by what it stands for, and the bytes of data stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from connectd.errors import ConvertError

_NAMED: Final = ("record", "enum", "fixed", "error")


def whole(text: str, others: Iterable[str]) -> str:
    """The schema with what it takes from the ``others``; as it was if there are none.

    Raises:
        ConvertError: one of them is no JSON.
    """
    try:
        definitions = [json.loads(each) for each in others]
        return json.dumps(_Filling(definitions).of(json.loads(text), "")) if definitions else text
    except ValueError as error:
        raise ConvertError(f"the schema, or one that it refers to, is no JSON: {error}") from error


class _Filling:
    def __init__(self, definitions: Iterable[Any]) -> None:
        named = (each for each in definitions if isinstance(each, dict) and "name" in each)
        self._missing = {_full_name(each["name"], each, ""): each for each in named}

    def of(self, avro: Any, space: str) -> Any:
        match avro:
            case str():
                return self._by_name(avro, space)
            case list():
                return [self.of(each, space) for each in avro]
            case {"type": str(kind), "name": str(name)} if kind in _NAMED:
                return self._named(avro, _full_name(name, avro, space))
            case {"type": "array", "items": items}:
                return {**avro, "items": self.of(items, space)}
            case {"type": "map", "values": values}:
                return {**avro, "values": self.of(values, space)}
            case {"type": inner}:
                filled = self.of(inner, space)
                return avro if filled == inner else filled
        return avro

    def _by_name(self, name: str, space: str) -> Any:
        full_name = _full_name(name, {}, space)
        if full_name not in self._missing:
            return name
        # Where it stands now is another's namespace: its own is said aloud.
        definition = self._missing.pop(full_name)
        return self.of({**definition, "namespace": full_name.rpartition(".")[0]}, "")

    def _named(self, avro: dict[str, Any], full_name: str) -> dict[str, Any]:
        self._missing.pop(full_name, None)
        space = full_name.rpartition(".")[0]
        fields = avro.get("fields", ())
        filled = [{**each, "type": self.of(each.get("type"), space)} for each in fields]
        return {**avro, "fields": filled} if filled else avro


def _full_name(name: str, avro: dict[str, Any], space: str) -> str:
    if "." in name:
        return name
    own_space = avro.get("namespace", space)
    return f"{own_space}.{name}" if own_space else name
