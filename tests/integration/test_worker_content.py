"""Transforms that look into DynamoDB's envelopes, in a whole worker: unwrap, route and filter."""

from __future__ import annotations

import pytest

from tests.harness.topics import read_topic
from tests.integration.worker_rig import Rig

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]


def values(rig: Rig, table: str) -> list[tuple[bytes | None, bytes | None]]:
    """Keys and values of the records of a topic."""
    return [(each.key, each.value) for each in read_topic(rig.broker.bootstrap, rig.topic(table))]


@pytest.mark.parametrize("envelope", ["0.1", "1.0"])
def test_items_go_where_their_content_says_as_their_plain_state(rig: Rig, envelope: str) -> None:
    rig.create_table("orders", view_type=None)
    rig.put("orders", 1, tenant={"S": "acme"}, total={"N": "12.5"})
    rig.put("orders", 2, tenant={"S": "test-1"})
    rig.put("orders", 3, tenant={"S": "zeta"})
    rig.control.enable_stream(table="orders", view_type="NEW_AND_OLD_IMAGES")
    rig.create(
        envelope__version=envelope,
        dynamodb__table__whitelist="orders",
        transforms="drop,route,unwrap",
        transforms__drop__type="Filter",
        transforms__drop__predicate="isTest",
        transforms__route__type="ContentRouter",
        transforms__route__field="document.tenant.s",
        transforms__route__topic__format="${topic}-${field}",
        transforms__unwrap__type="UnwrapDynamoDb",
        transforms__unwrap__add__fields="op",
        transforms__unwrap__numbers="decimal",
        transforms__unwrap__schema="struct",
        predicates="isTest",
        predicates__isTest__type="FieldValueMatches",
        predicates__isTest__field="document.tenant.s",
        predicates__isTest__pattern="test-.*",
        value__converter="JsonConverter",
        value__converter__schemas__enable="false",
        value__converter__decimal__format="NUMERIC",
    )
    rig.wait_following("orders")
    rig.put("orders", 1, tenant={"S": "acme"}, total={"N": "13"})
    rig.control.delete(table="orders", key={"id": {"S": "k1"}})

    rig.wait_records("orders-acme", 2)
    rig.wait_records("orders", 1)

    assert values(rig, "orders-acme") == [
        (b'{"id":"k1"}', b'{"__op":"r","id":"k1","tenant":"acme","total":12.5}'),
        (b'{"id":"k1"}', b'{"__op":"u","id":"k1","tenant":"acme","total":13}'),
    ]
    assert values(rig, "orders-zeta") == [
        (b'{"id":"k3"}', b'{"__op":"r","id":"k3","tenant":"zeta"}')
    ]
    # The tombstone has no content, and so it stays where it was.
    assert values(rig, "orders") == [(b'{"id":"k1"}', None)]
    assert rig.states() == ("RUNNING", "RUNNING")
