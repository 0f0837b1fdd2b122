"""Tables by tag: all pages, filters as AND, only tables."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from connectd.aws.rate import TokenBucket
from connectd.aws.tagging import TaggingClient, table_name
from connectd.errors import InvariantError, TransientNetworkError
from tests.unit.aws.doubles import DirectControl, HandClock

PREFIX = "arn:aws:dynamodb:eu-west-1:111122223333:"


class Pages:
    """boto3's GetResources over pages of ARNs."""

    def __init__(self, *pages: list[str]) -> None:
        self._pages = pages
        self.requests: list[dict[str, Any]] = []

    def get_resources(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request.copy())
        number = int(request.get("PaginationToken", "0"))
        token = str(number + 1) if number + 1 < len(self._pages) else ""
        resources = [{"ResourceARN": PREFIX + each} for each in self._pages[number]]
        return {"ResourceTagMappingList": resources, "PaginationToken": token}


def client_of(boto: Any, clock: HandClock | None = None) -> TaggingClient:
    return TaggingClient(
        client=boto,
        control=DirectControl(),
        bucket=TokenBucket(rate_per_s=5, clock=clock or HandClock()),
    )


def test_all_pages_are_read_and_empty_ones_do_not_end_the_list() -> None:
    boto, clock = Pages(["table/a", "table/b"], [], ["table/c", "table/a"]), HandClock()
    start_s = clock.now_s
    names = asyncio.run(client_of(boto, clock).tables_by_tags([("ingest", ())]))
    assert names == ["a", "b", "c"]
    assert [each.get("PaginationToken") for each in boto.requests] == [None, "1", "2"]
    assert clock.now_s - start_s == pytest.approx(0.4)


def test_filters_are_sent_together_with_the_java_connector_s_page_size() -> None:
    boto = Pages([])
    filters = [("environment", ("dev",)), ("ingest", ()), ("team", ["a", "b"])]
    assert asyncio.run(client_of(boto).tables_by_tags(filters)) == []
    assert boto.requests == [
        {
            "ResourceTypeFilters": ["dynamodb:table"],
            "ResourcesPerPage": 50,
            "TagFilters": [
                {"Key": "environment", "Values": ["dev"]},
                {"Key": "ingest"},
                {"Key": "team", "Values": ["a", "b"]},
            ],
        }
    ]


def test_no_filter_would_find_every_table() -> None:
    with pytest.raises(InvariantError, match="without a filter"):
        asyncio.run(client_of(Pages([])).tables_by_tags([]))


def test_a_list_that_never_ends_is_an_error() -> None:
    class Endless:
        def get_resources(self, **request: Any) -> dict[str, Any]:
            return {"ResourceTagMappingList": [], "PaginationToken": "again"}

    with pytest.raises(TransientNetworkError, match="tag:GetResources on tables"):
        asyncio.run(client_of(Endless()).tables_by_tags([("ingest", ())]))


@pytest.mark.parametrize(
    ("arn", "name"),
    [
        (PREFIX + "table/orders", "orders"),
        (PREFIX + "table/a.b_c-d", "a.b_c-d"),
        ("arn:aws-cn:dynamodb:cn-north-1:1:table/x", "x"),
        (PREFIX + "table/orders/index/by-day", None),
        (PREFIX + "table/orders/stream/2024-05-01T10:00:00.000", None),
        (PREFIX + "table/", None),
        (PREFIX + "global-table/orders", None),
        ("orders", None),
        ("", None),
    ],
)
def test_only_the_arn_of_a_table_names_one(arn: str, name: str | None) -> None:
    assert table_name(arn) == name
