"""The options of the data source ``dynamodb``."""

from __future__ import annotations

import pytest

from connectd.errors import ConfigError
from spark_jobs.data_source_options import ReadOptions

GIVEN = {"table": "orders", "region": "eu-west-1"}


def test_nothing_but_table_and_region_is_needed() -> None:
    options = ReadOptions.of(GIVEN)
    assert options == ReadOptions("orders", "eu-west-1", None, None, 0, False, 0, None, False, None)
    assert options.place().aws.region == "eu-west-1"
    assert ReadOptions.of({**GIVEN, "path": "orders"}) == options, "twice the same is one"


def test_all_of_them_whatever_their_case() -> None:
    options = ReadOptions.of(
        {
            "PATH": "orders",
            "Region": "eu-west-1",
            "endpoint": "http://localhost:8000",
            "rolearn": "arn:aws:iam::123456789012:role/reader",
            "SEGMENTS": "7",
            "consistentread": "TRUE",
            "pageSize": "100",
            "readUnits": "12.5",
            "mode": "PERMISSIVE",
            "itemColumn": "all",
        }
    )
    assert (options.table, options.segments, options.is_consistent) == ("orders", 7, True)
    assert (options.page_size, options.read_units, options.is_permissive) == (100, 12.5, True)
    assert options.item_column == "all"
    aws = options.place().aws
    assert aws.dynamodb_endpoint == "http://localhost:8000"
    assert aws.assume_role_arn == "arn:aws:iam::123456789012:role/reader"


def test_the_region_may_be_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    with pytest.raises(ConfigError, match="the option region is missing"):
        ReadOptions.of({"table": "orders"})
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    assert ReadOptions.of({"table": "orders"}).region == "eu-north-1"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"table": ""}, "the option table is missing"),
        ({"path": "other"}, "the option table is 'orders', and load .* has 'other'; name one"),
        ({"segmnts": "4"}, "unknown options segmnts"),
        ({"segments": "-1"}, "the option segments is '-1'"),
        ({"segments": "1000001"}, "the option segments"),
        ({"segments": "four"}, "the option segments"),
        ({"consistentRead": "yes"}, "the option consistentRead is 'yes'; expected true or false"),
        ({"pageSize": "-5"}, "the option pageSize"),
        ({"readUnits": "0"}, "the option readUnits"),
        ({"mode": "DROPMALFORMED"}, "expected failfast or permissive"),
    ],
)
def test_what_is_wrong_is_named(options: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        ReadOptions.of({**GIVEN, **options})
