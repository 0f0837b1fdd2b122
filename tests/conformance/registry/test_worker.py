"""A whole worker with a real registry: a table's changes in Avro, also while it restarts."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.harness.kafka import KafkaBroker
from tests.harness.schema_registry import SchemaRegistry
from tests.integration.worker_rig import Rig

pytestmark = [pytest.mark.real_registry, pytest.mark.kafka, pytest.mark.timeout(300)]

_AVRO = "io.confluent.connect.avro.AvroConverter"


def test_records_wait_for_a_registry_that_restarts_and_anybody_can_read_them(
    registry: SchemaRegistry,
    client: SchemaRegistryClient,
    kafka_broker: KafkaBroker,
    kafka_prefix: str,
    tmp_path: Path,
) -> None:
    with Rig(kafka_broker, kafka_prefix, tmp_path) as rig:
        rig.create_table("before", items=3)
        rig.create(
            key__converter=_AVRO,
            key__converter__schema__registry__url=registry.url,
            value__converter=_AVRO,
            value__converter__schema__registry__url=registry.url,
            errors__retry__delay__max__ms="500",
        )
        rig.wait_records("before", 3)
        with registry.away():
            rig.create_table("during", items=3)  # a topic of its own: its schemas are unknown
            rig.wait(
                lambda: "no answer from the schema registry" in rig.row("during").get("reason", ""),
                "the reason",
            )
            assert rig.states() == ("RUNNING", "RUNNING")
            assert rig.records("during") == []
        rig.wait_records("during", 3)

        read = AvroDeserializer(client)
        for table in ("before", "during"):
            place = SerializationContext(rig.topic(table), MessageField.VALUE)
            records = rig.records(table)
            keys = [read(each.key, place) for each in records]
            values = [read(each.value, place) for each in records]
            assert sorted(key["id"] for key in keys) == ["k0", "k1", "k2"]
            assert {(value["source"]["table_name"], value["op"]) for value in values} == {
                (table, "r")
            }
            subject = f"{rig.topic(table)}-value"
            assert client.get_versions(subject) == [1]
            assert {int.from_bytes((each.value or b"")[1:5], "big") for each in records} == {
                client.get_latest_version(subject).schema_id
            }
