from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.asking import Asked, refusal


def _tables(asked: Asked, **parameters: Any) -> list[str]:
    answer = asked.aws.call("tagging", "GetResources", parameters)
    return [entry["ResourceARN"].rpartition("/")[2] for entry in answer["ResourceTagMappingList"]]


@pytest.fixture
def three(asked: Asked) -> Asked:
    for name in ("aaa", "bbb", "ccc"):
        asked.table(name, tags={"env": "dev"})
    asked.table("untagged")
    return asked


def test_the_order_can_be_turned(three: Asked) -> None:
    three.control.reorder_tagging(["ccc", "aaa"])
    assert _tables(three) == ["ccc", "aaa", "bbb"]


def test_a_table_can_be_left_out_for_some_calls(three: Asked) -> None:
    three.control.omit_from_tagging("bbb", for_calls=2)
    assert [_tables(three) for _ in range(3)] == [
        ["aaa", "ccc"],
        ["aaa", "ccc"],
        ["aaa", "bbb", "ccc"],
    ]


def test_a_deleted_table_can_linger(three: Asked) -> None:
    three.control.keep_in_tagging("bbb", for_calls=2)
    assert _tables(three) == ["aaa", "bbb", "ccc"]
    three.db("DeleteTable", TableName="bbb")
    assert [sorted(_tables(three)) for _ in range(3)] == [
        ["aaa", "bbb", "ccc"],
        ["aaa", "bbb", "ccc"],
        ["aaa", "ccc"],
    ]
    arn = three.aws.account.table_arn("bbb")
    error = refusal(three.db, "ListTagsOfResource", ResourceArn=arn)
    assert error.code == "ResourceNotFoundException"


def test_pages_go_on_where_they_ended(three: Asked) -> None:
    first = three.aws.call("tagging", "GetResources", {"ResourcesPerPage": 2})
    token = first["PaginationToken"]
    assert len(first["ResourceTagMappingList"]) == 2
    assert _tables(three, ResourcesPerPage=2, PaginationToken=token) == ["ccc"]


def test_other_kinds_of_resources_are_filtered_out(three: Asked) -> None:
    assert _tables(three, ResourceTypeFilters=["s3"]) == []
    assert len(_tables(three, ResourceTypeFilters=["s3", "dynamodb:table"])) == 3
    arn = three.aws.account.table_arn("aaa")
    assert _tables(three, ResourceARNList=[arn]) == ["aaa"]


def test_senseless_paging_is_refused(asked: Asked) -> None:
    error = refusal(_tables, asked, ResourcesPerPage=0)
    assert error.code == "InvalidParameterException"
    error = refusal(_tables, asked, PaginationToken="garbage")
    assert error.code == "PaginationTokenExpiredException"
