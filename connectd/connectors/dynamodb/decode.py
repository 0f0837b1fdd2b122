"""Response bodies of Scan and GetRecords, split into items without building their object graph.

A page of 1 MB holds some 40,000 JSON values, and turning all of them into Python objects at once
costs more in memory management than in parsing. So this module reads the members of the page and
leaves every item as a ``Raw`` slice of the body, to be parsed one at a time by whoever encodes it
(``document.parse_item``). A slice keeps the whole body alive: items do not outlive their page.

msgspec does that on the portable tier. On the compiled one the items of a Scan are found by the
extension (``page_items.pxi``), which makes no object of any; what it hands back, msgspec decodes.

Pure: no I/O; a page may be decoded in any thread. Member names are those of the AWS JSON protocol
1.0 (API references of DynamoDB ``Scan`` and of DynamoDB Streams ``GetRecords``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, TypeAlias

import msgspec

from connectd.connectors.dynamodb import tiers
from connectd.connectors.dynamodb.tiers import Tier
from connectd.errors import ConvertError

Raw: TypeAlias = msgspec.Raw
"""A slice of JSON text; ``bytes(raw)`` copies it out."""

_SHOWN_BYTES = 64
"""How much a message shows of a body that is not JSON: enough to recognise a proxy's page."""


class _ConsumedCapacity(msgspec.Struct, rename="pascal"):
    capacity_units: float = 0.0


class _ScanBody(msgspec.Struct, rename="pascal"):
    items: list[Raw]
    count: int = 0
    scanned_count: int = 0
    last_evaluated_key: Raw = Raw()  # ``Raw | None`` would refuse an object
    consumed_capacity: _ConsumedCapacity | None = None


class _ItemBody(msgspec.Struct, rename="pascal"):
    item: Raw = Raw()


class ScanPage(msgspec.Struct, frozen=True):
    """One page of a scan segment; the items keep its whole body alive.

    ``last_evaluated_key`` is the JSON text to send back as ``ExclusiveStartKey``, None on the last
    page; ``consumed_capacity`` is in read capacity units, 0 when the request did not ask for it.
    """

    items: Sequence[Raw]
    last_evaluated_key: bytes | None
    consumed_capacity: float
    count: int
    scanned_count: int


class StreamChange(msgspec.Struct, rename="pascal", gc=False):
    """What happened to one item: the ``dynamodb`` member of a stream record.

    An image that the stream does not carry is an empty ``Raw``, which is false.
    """

    keys: Raw
    sequence_number: str
    approximate_creation_date_time: float = 0.0
    new_image: Raw = Raw()
    old_image: Raw = Raw()


class StreamRecord(msgspec.Struct, gc=False):
    """One record of a shard; not known to the garbage collector, which a page would call in."""

    change: StreamChange = msgspec.field(name="dynamodb")
    event_name: str = msgspec.field(name="eventName")
    user_identity_json: Raw = msgspec.field(name="userIdentity", default_factory=Raw)

    @property
    def sequence_number(self) -> str:
        """Position in the shard, decimal text."""
        return self.change.sequence_number

    @property
    def created_s(self) -> float:
        """When DynamoDB made the change, seconds since the epoch (the service gives whole ones)."""
        return self.change.approximate_creation_date_time

    @property
    def keys(self) -> Raw:
        """The key attributes."""
        return self.change.keys

    @property
    def new_image(self) -> Raw:
        """The item after the change; empty on a removal."""
        return self.change.new_image

    @property
    def old_image(self) -> Raw:
        """The item before the change; empty on an insert and when the stream has no old images."""
        return self.change.old_image

    @property
    def user_identity(self) -> bytes | None:
        """JSON text saying which service made the change; None for a user's own change.

        Time-to-live deletions carry ``Service`` / ``dynamodb.amazonaws.com``; replicated ones do
        not (field case S16).
        """
        return _json_or_none(self.user_identity_json)


class RecordsPage(msgspec.Struct, frozen=True):
    """One answer of GetRecords; ``next_iterator`` is None at the end of a closed shard."""

    records: list[StreamRecord] = msgspec.field(name="Records")
    next_iterator: str | None = msgspec.field(name="NextShardIterator", default=None)


_scan_decoder = msgspec.json.Decoder(_ScanBody)
_item_decoder = msgspec.json.Decoder(_ItemBody)
_records_decoder = msgspec.json.Decoder(RecordsPage)


def decode_scan_page(body: bytes, tier: Tier | None = None) -> ScanPage:
    """Split the body of a Scan response; ``tier`` says who finds the items, None: the active one.

    Raises:
        ConvertError: the body is not a Scan response. Items themselves are not looked into.
    """
    page = _split(body) if (tier or tiers.active()) is Tier.COMPILED else None
    if page is not None:
        return page
    try:
        whole = _scan_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _refuse("Scan", body, error)
    return _scan_page(whole, whole.items)


def _split(body: bytes) -> ScanPage | None:
    """A page whose items were found by the extension; None: it is not there, or hands it back."""
    split_page = tiers.page_splitter()
    found = None if split_page is None else split_page(body)
    if found is None:
        return None
    items, rest = found
    try:
        return _scan_page(_scan_decoder.decode(rest), items)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None  # refused as a whole, with a message that is right about the place


def _scan_page(body: _ScanBody, items: Sequence[Raw]) -> ScanPage:
    capacity = body.consumed_capacity
    return ScanPage(
        items=items,
        last_evaluated_key=_json_or_none(body.last_evaluated_key),
        consumed_capacity=capacity.capacity_units if capacity else 0.0,
        count=body.count,
        scanned_count=body.scanned_count,
    )


def decode_item(body: bytes) -> Raw | None:
    """The item of a GetItem response; None: there is none.

    Raises:
        ConvertError: the body is not a GetItem response.
    """
    try:
        item = _item_decoder.decode(body).item
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _refuse("GetItem", body, error)
    return None if _json_or_none(item) is None else item


def decode_records_page(body: bytes) -> RecordsPage:
    """Split the body of a GetRecords response.

    Raises:
        ConvertError: the body is not a GetRecords response. Images are not looked into.
    """
    try:
        return _records_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _refuse("GetRecords", body, error)


def _json_or_none(raw: Raw) -> bytes | None:
    text = bytes(raw)
    return None if text in (b"", b"null") else text


def _refuse(operation: str, body: bytes, error: Exception) -> NoReturn:
    # What begins like JSON holds people's data and is not shown; the parser's words say where it
    # goes wrong. Anything else is a proxy's or an emulator's message.
    found = (
        "" if body[:1] == b"{" else f" beginning {body[:_SHOWN_BYTES].decode(errors='replace')!r}"
    )
    raise ConvertError(
        f"decoding {operation} response: found {len(body)} bytes{found}, "
        f"expected the JSON body of {operation} ({error}); read the page again"
    ) from error
