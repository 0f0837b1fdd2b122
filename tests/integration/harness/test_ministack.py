"""The DynamoDB endpoint: started, asked, gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.ministack import Ministack, answers_http


@pytest.mark.emulator
def test_it_serves_tables_streams_tags_and_sts_until_it_is_closed(tmp_path: Path) -> None:
    with Ministack(home=tmp_path) as ministack:
        created = ministack.dynamodb().create_table(
            TableName="orders",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            Tags=[{"Key": "datalake-ingest", "Value": "yes"}],
        )
        arn = created["TableDescription"]["TableArn"]
        found = ministack.tagging().get_resources(TagFilters=[{"Key": "datalake-ingest"}])
        assert [each["ResourceARN"] for each in found["ResourceTagMappingList"]] == [arn]
        assert len(ministack.streams().list_streams(TableName="orders")["Streams"]) == 1
        assert ministack.sts().get_caller_identity()["Account"]
        pid = ministack.pid
    assert not answers_http(ministack.url)
    assert not Path(f"/proc/{pid}").exists()
