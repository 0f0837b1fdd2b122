"""Pages are split into raw items, and a damaged body is refused."""

from __future__ import annotations

import json

import pytest

from connectd.connectors.dynamodb import decode
from connectd.errors import ConvertError
from tests.kit import items

_KEY: items.Item = {"id": {"S": "5028"}}


def test_a_scan_page_keeps_the_text_of_its_items() -> None:
    page = decode.decode_scan_page(items.scan_body([items.ALL_TYPES, _KEY]))
    assert [json.loads(bytes(raw)) for raw in page.items] == [items.ALL_TYPES, _KEY]
    assert (page.count, page.scanned_count, page.consumed_capacity) == (2, 2, 128.5)
    assert page.last_evaluated_key is None


def test_the_last_evaluated_key_can_be_sent_back_as_it_came() -> None:
    page = decode.decode_scan_page(items.scan_body([], last_evaluated_key=_KEY))
    assert page.items == []
    assert page.last_evaluated_key == b'{"id":{"S":"5028"}}'


def test_white_space_between_the_members_of_a_page_does_not_matter() -> None:
    body = json.dumps(json.loads(items.scan_body([_KEY], last_evaluated_key=_KEY)), indent=2)
    page = decode.decode_scan_page(body.encode())
    assert [json.loads(bytes(raw)) for raw in page.items] == [_KEY]
    assert page.last_evaluated_key is not None
    assert json.loads(page.last_evaluated_key) == _KEY


def test_a_page_that_was_not_asked_for_its_capacity_reports_none() -> None:
    page = decode.decode_scan_page(b'{"Items":[],"Count":0,"ScannedCount":7}')
    assert page.consumed_capacity == 0.0
    assert page.scanned_count == 7


def test_a_stream_record_shows_what_happened_to_which_item() -> None:
    body = items.records_body(
        [
            items.stream_record(
                "MODIFY", _KEY, new_image=items.ALL_TYPES, old_image=_KEY, created_s=1557387726
            )
        ]
    )
    (record,) = decode.decode_records_page(body).records
    assert record.event_name == "MODIFY"
    assert record.sequence_number == "123400000000012345678901"
    assert record.created_s == 1557387726.0
    assert json.loads(bytes(record.keys)) == _KEY
    assert json.loads(bytes(record.new_image)) == items.ALL_TYPES
    assert json.loads(bytes(record.old_image)) == _KEY
    assert record.user_identity is None


def test_images_that_a_record_lacks_are_empty() -> None:
    (record,) = decode.decode_records_page(
        items.records_body([items.stream_record("REMOVE", _KEY)])
    ).records
    assert bytes(record.new_image) == b""
    assert bytes(record.old_image) == b""


def test_a_deletion_by_time_to_live_shows_who_made_it() -> None:
    service = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
    (record,) = decode.decode_records_page(
        items.records_body([items.stream_record("REMOVE", _KEY, user_identity=service)])
    ).records
    assert record.user_identity is not None
    assert json.loads(record.user_identity) == service


def test_a_null_user_identity_is_none() -> None:
    body = items.records_body([items.stream_record("REMOVE", _KEY) | {"userIdentity": None}])
    assert decode.decode_records_page(body).records[0].user_identity is None


@pytest.mark.parametrize("ending", [b"", b',"NextShardIterator":null'])
def test_a_closed_shard_has_no_next_iterator(ending: bytes) -> None:
    page = decode.decode_records_page(b'{"Records":[]' + ending + b"}")
    assert page.records == []
    assert page.next_iterator is None


def test_an_open_shard_has_a_next_iterator() -> None:
    page = decode.decode_records_page(items.records_body([], next_iterator="arn|1|AAAA"))
    assert page.next_iterator == "arn|1|AAAA"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"<html>502 Bad Gateway</html>",
        b'{"Items":{},"Records":{}}',
        b'{"Items":[{"id":',
        b'{"Items":[\xff],"Records":[\xff]}',
        b'{"Records":[{"eventName":"INSERT"}],"Items":1}',
    ],
)
def test_a_damaged_body_is_refused_with_what_was_expected(body: bytes) -> None:
    with pytest.raises(ConvertError, match=r"decoding Scan response.*expected the JSON body of"):
        decode.decode_scan_page(body)
    with pytest.raises(ConvertError, match=r"decoding GetRecords response.*read the page again"):
        decode.decode_records_page(body)


def test_a_message_shows_a_proxys_words_but_never_an_items() -> None:
    with pytest.raises(ConvertError, match="502 Bad Gateway"):
        decode.decode_scan_page(b"<html>502 Bad Gateway</html>")
    with pytest.raises(ConvertError) as refused:
        decode.decode_scan_page(b'{"Items":[{"card":{"S":"4111 1111"}}')
    assert "4111" not in str(refused.value)
