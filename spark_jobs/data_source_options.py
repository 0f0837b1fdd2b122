"""What users of the data source ``dynamodb`` can ask for. Pure.

Names are Spark's: camel case, read without regard to case.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.errors import ConfigError
from spark_jobs.table_pages import TablePlace

T = TypeVar("T")

SEGMENTS_MAX: Final = 1_000_000
ITEM_COLUMN: Final = "item"

_NAMES: Final = (
    "table", "path", "region", "endpoint", "roleArn", "segments", "consistentRead", "pageSize",
    "readUnits", "mode", "itemColumn",
)  # fmt: skip


@dataclass(frozen=True)
class ReadOptions:
    """The options of one read.

    ``segments`` 0: one for each 2 GB. ``page_size`` 0: up to 1 MB. ``read_units``: read capacity
    units per second for all segments together, None: unpaced. ``is_permissive``: a value that does
    not fit its column is null. ``item_column``: the column of whole items, None where the user has
    not named one.
    """

    table: str
    region: str
    endpoint: str | None
    role_arn: str | None
    segments: int
    is_consistent: bool
    page_size: int
    read_units: float | None
    is_permissive: bool
    item_column: str | None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ReadOptions:
        """Read what stands in ``spark.read.format("dynamodb").option(...)``.

        Raises:
            ConfigError: an option is unknown, missing or wrong; names it.
        """
        given = {name.lower(): text for name, text in options.items()}
        unknown = given.keys() - {name.lower() for name in _NAMES}
        if unknown:
            raise ConfigError(
                f"unknown options {', '.join(sorted(unknown))}; expected some of "
                f"{', '.join(_NAMES)}"
            )
        table = _table_of(given)
        region = given.get("region") or _region_of(os.environ)
        for name, value in (("table", table), ("region", region)):
            if not value:
                raise ConfigError(f"the option {name} is missing")
        return cls(
            table=table or "",
            region=region or "",
            endpoint=given.get("endpoint"),
            role_arn=given.get("rolearn"),
            segments=_parsed(given, "segments", int, 0, lambda n: 0 <= n <= SEGMENTS_MAX),
            is_consistent=_parsed(given, "consistentRead", _fact, False, lambda _: True),
            page_size=_parsed(given, "pageSize", int, 0, lambda n: n >= 0),
            read_units=_parsed(given, "readUnits", float, None, lambda n: n is None or n > 0),
            is_permissive=_parsed(given, "mode", _is_permissive, False, lambda _: True),
            item_column=given.get("itemcolumn"),
        )

    def place(self) -> TablePlace:
        """Where the table is; credentials come from the default chain.

        Raises:
            ConfigError: region or endpoint are none.
        """
        config = {
            "aws.region": self.region,
            "dynamodb.service.endpoint": self.endpoint,
            "aws.assume.role.arn": self.role_arn,
        }
        aws = DynamoDbConfig.from_config({name: text for name, text in config.items() if text}).aws
        return TablePlace(self.table, aws, self.is_consistent, self.page_size)


def _table_of(given: Mapping[str, str]) -> str | None:
    """The table, which ``load`` calls ``path``."""
    table, path = given.get("table"), given.get("path")
    if table and path and table != path:
        raise ConfigError(
            f"two tables are asked for: the option table is {table!r}, and load (the option path) "
            f"has {path!r}; name one of them, in one of the two ways"
        )
    return table or path


def _region_of(environ: Mapping[str, str]) -> str | None:
    return environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")


def _parsed(
    given: Mapping[str, str],
    name: str,
    parse: Callable[[str], T],
    default: T,
    is_fine: Callable[[T], bool],
) -> T:
    text = given.get(name.lower())
    if text is None:
        return default
    problem = ConfigError(f"the option {name} is {text!r}; expected {_EXPECTED[name]}")
    try:
        value = parse(text.strip())
    except ValueError:
        raise problem from None
    if not is_fine(value):
        raise problem
    return value


def _fact(text: str) -> bool:
    facts = {"true": True, "false": False}
    if text.lower() not in facts:
        raise ValueError(text)
    return facts[text.lower()]


def _is_permissive(text: str) -> bool:
    modes = {"failfast": False, "permissive": True}
    if text.lower() not in modes:
        raise ValueError(text)
    return modes[text.lower()]


_EXPECTED: Final = {
    "segments": f"a whole number from 0 (by the table's size) to {SEGMENTS_MAX}",
    "consistentRead": "true or false",
    "pageSize": "a whole number of items, 0 for up to 1 MB",
    "readUnits": "read capacity units per second, more than 0",
    "mode": "failfast or permissive",
}
