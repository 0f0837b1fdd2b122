"""Update expressions: SET, REMOVE and ADD, as far as tests write them.

Understood are dotted paths, ``#names``, ``:values``, ``if_not_exists``, ``list_append`` and the
operators ``+`` and ``-``. List indexes, DELETE and conditions are refused with HTTP 501.
"""

from __future__ import annotations

import copy
import re
from decimal import Decimal
from typing import Any

from tests.fakes.attributes import AttributeValue, Item, canonical_number
from tests.fakes.wire import not_implemented, validation

_TOKEN = re.compile(r"\s*(?:([#:]?[A-Za-z0-9_]+)|([=,.()+-]))")
_SECTIONS = ("SET", "REMOVE", "ADD")

Path = tuple[str, ...]


def updated(
    item: Item, expression: str, names: dict[str, str], values: dict[str, AttributeValue]
) -> Item:
    """A copy of ``item`` with an update expression applied to it.

    Operands read the item as it was before the update, as in DynamoDB.

    Raises:
        AwsError: ValidationException for what is malformed.
    """
    return _Update(item, _tokens(expression), names, values).run()


def _tokens(expression: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    while expression[at:].strip():
        match = _TOKEN.match(expression, at)
        if match is None:
            if expression[at:].lstrip().startswith("["):
                raise not_implemented("list indexes in UpdateExpression")
            raise validation(
                f'Invalid UpdateExpression: Syntax error; token: "{expression[at:].strip()[:1]}"'
            )
        tokens.append(match[1] or match[2])
        at = match.end()
    return tokens


class _Update:
    """A recursive-descent reader that applies each clause as it reads it."""

    def __init__(
        self,
        item: Item,
        tokens: list[str],
        names: dict[str, str],
        values: dict[str, AttributeValue],
    ) -> None:
        self._before = item
        self._after: Item = copy.deepcopy(item)
        self._tokens = tokens
        self._at = 0
        self._names = names
        self._values = values
        self._unused = set(names) | set(values)

    def run(self) -> Item:
        """Apply every section."""
        seen: set[str] = set()
        while self._at < len(self._tokens):
            section = self._take().upper()
            if section == "DELETE":
                raise not_implemented("DELETE in UpdateExpression")
            if section not in _SECTIONS or section in seen:
                raise validation(f'Invalid UpdateExpression: Syntax error; token: "{section}"')
            seen.add(section)
            self._clause(section)
            while self._peek() == ",":
                self._take()
                self._clause(section)
        if not seen:
            raise validation("Invalid UpdateExpression: The expression can not be empty;")
        if self._unused:
            kind = "Values" if any(name.startswith(":") for name in self._unused) else "Names"
            raise validation(
                f"Value provided in ExpressionAttribute{kind} unused in expressions: keys: "
                f"{{{', '.join(sorted(self._unused))}}}"
            )
        return self._after

    def _peek(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self, expected: str | None = None) -> str:
        token = self._peek()
        if token is None or (expected is not None and token != expected):
            raise validation(f'Invalid UpdateExpression: Syntax error; token: "{token or "<EOF>"}"')
        self._at += 1
        return token

    def _clause(self, section: str) -> None:
        path = self._path()
        if section == "REMOVE":
            self._parent(path, "remove").pop(path[-1], None)
        elif section == "SET":
            self._take("=")
            value = self._operand()
            while self._peek() in ("+", "-"):
                value = _sum(value, self._take(), self._operand())
            self._parent(path, "set")[path[-1]] = value
        else:
            self._add(path, self._operand())

    def _add(self, path: Path, amount: AttributeValue) -> None:
        current = _lookup(self._before, path)
        ((tag, content),) = amount.items()
        if tag not in ("N", "SS", "NS", "BS"):
            raise validation(
                "Invalid UpdateExpression: Incorrect operand type for operator or function; "
                f"operator: ADD, operand type: {tag}"
            )
        if current is None:
            value = amount
        elif tag == "N":
            value = _sum(current, "+", amount)
        else:
            present = _content(current, tag)
            value = {tag: [*present, *(element for element in content if element not in present)]}
        self._parent(path, "add")[path[-1]] = value

    def _path(self) -> Path:
        parts = [self._name()]
        while self._peek() == ".":
            self._take()
            parts.append(self._name())
        return tuple(parts)

    def _name(self) -> str:
        token = self._take()
        if not token.startswith("#"):
            if token[0] in ":=,.()+-":
                raise validation(f'Invalid UpdateExpression: Syntax error; token: "{token}"')
            return token
        if token not in self._names:
            raise validation(
                "Invalid UpdateExpression: An expression attribute name used in the document path "
                f"is not defined; attribute name: {token}"
            )
        self._unused.discard(token)
        return self._names[token]

    def _operand(self) -> AttributeValue:
        token = self._peek() or ""
        if token.startswith(":"):
            self._take()
            if token not in self._values:
                raise validation(
                    "Invalid UpdateExpression: An expression attribute value used in expression "
                    f"is not defined; attribute value: {token}"
                )
            self._unused.discard(token)
            return self._values[token]
        if token in ("if_not_exists", "list_append"):
            self._take()
            self._take("(")
            path = self._path() if token == "if_not_exists" else None
            first = None if path else self._operand()
            self._take(",")
            second = self._operand()
            self._take(")")
            if path:
                return _lookup(self._before, path) or second
            assert first is not None
            return {"L": [*_content(first, "L"), *_content(second, "L")]}
        value = _lookup(self._before, self._path())
        if value is None:
            raise validation(
                "The provided expression refers to an attribute that does not exist in the item"
            )
        return value

    def _parent(self, path: Path, verb: str) -> dict[str, Any]:
        parent: Any = self._after
        for name in path[:-1]:
            value = parent.get(name)
            if value is None or "M" not in value:
                if verb == "remove" and value is None:
                    return {}
                raise validation(
                    "The document path provided in the update expression is invalid for update"
                )
            parent = value["M"]
        assert isinstance(parent, dict)
        return parent


def _lookup(item: Item, path: Path) -> AttributeValue | None:
    members: Any = item
    value = None
    for name in path:
        value = members.get(name)
        if value is None:
            return None
        members = value.get("M", {})
    return value


def _content(value: AttributeValue, tag: str) -> Any:
    if tag not in value:
        ((actual, _),) = value.items()
        raise validation(
            "An operand in the update expression has an incorrect data type: "
            f"expected {tag}, found {actual}"
        )
    return value[tag]


def _sum(left: AttributeValue, operator: str, right: AttributeValue) -> AttributeValue:
    first, second = Decimal(_content(left, "N")), Decimal(_content(right, "N"))
    total = first + second if operator == "+" else first - second
    return {"N": canonical_number(str(total))}
