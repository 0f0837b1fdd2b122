"""Names in the order of a Java HashMap; what is expected was seen in answers of Kafka."""

from __future__ import annotations

from connectd.configdef.hash_order import hash_ordered


def test_a_small_map() -> None:
    names = [
        *("converter.type", "schemas.enable", "schemas.cache.size", "schema.content"),
        *("decimal.format", "replace.null.with.default"),
    ]
    assert hash_ordered(names) == [
        *("decimal.format", "converter.type", "schemas.cache.size"),
        *("replace.null.with.default", "schemas.enable", "schema.content"),
    ]


def test_a_map_that_has_grown_and_names_that_share_a_bucket() -> None:
    names = ["client.id", "linger.ms", "acks", "zzz", "retries", *"abcdefg", "max.block.ms"]
    assert hash_ordered(names) == [
        *("a", "b", "c", "d", "e", "f", "acks", "g", "retries", "max.block.ms", "zzz"),
        *("client.id", "linger.ms"),
    ]


def test_a_name_is_there_once_whatever_its_letters() -> None:
    assert hash_ordered(["b", "a", "b"]) == ["a", "b"]
    assert sorted(hash_ordered(["ä", "𝄞", ""])) == sorted(["ä", "𝄞", ""])
