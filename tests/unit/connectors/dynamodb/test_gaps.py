"""Gaps are never silent: each kind has words, and a replaced stream is found.

Gaps in lineages are in ``test_lineage``, those of a takeover in ``test_opening``; what readers meet
is for component tests.
"""

from __future__ import annotations

import pytest

from connectd.connectors.dynamodb import opening
from connectd.connectors.dynamodb.config import DynamoDbConfig
from connectd.connectors.dynamodb.envelope import InitSyncState
from connectd.connectors.dynamodb.gaps import Gap, GapKind
from connectd.connectors.dynamodb.offsets import TableState
from connectd.connectors.dynamodb.opening import OpeningKind
from connectd.connectors.dynamodb.source_api import KeyAttribute, TableDescription
from connectd.connectors.dynamodb.stored_table import StoredTable

_HOUR_MS = 3_600_000
_NOW_MS = 1_700_000_000_000
_ARN, _OLD_ARN = "arn:orders/stream/2", "arn:orders/stream/1"

_TABLE = TableDescription(
    name="orders",
    arn="arn:orders",
    status="ACTIVE",
    key_schema=(KeyAttribute("id", "HASH", "S"),),
    stream_arn=_ARN,
    stream_view_type="NEW_IMAGE",
    stream_enabled=True,
    item_count=0,
    size_bytes=0,
    read_capacity_units=0,
    table_id="id-2",
)


@pytest.mark.parametrize("kind", GapKind)
def test_every_gap_says_its_kind_and_what_was_lost(kind: GapKind) -> None:
    assert str(Gap(kind, "shard a is gone")) == f"{kind.value}: shard a is gone"


def test_kinds_are_told_apart_by_their_words() -> None:
    assert len({kind.value for kind in GapKind}) == len(GapKind)


def _open(state: TableState, **config: str) -> opening.Opening:
    settings = DynamoDbConfig.from_config(config)
    return opening.open_table(StoredTable(state, {}, {}), _TABLE, settings)


def test_a_scan_whose_stream_was_replaced_has_a_gap() -> None:
    """Field case S10: disabled and enabled again while the table was being scanned."""
    state = TableState("orders", InitSyncState.RUNNING, 1, stream_arn=_OLD_ARN)
    found = _open(state)
    assert found.kind is OpeningKind.GAP
    assert found.gap is not None
    assert found.gap.kind is GapKind.STREAM_REPLACED
    assert _ARN in str(found.gap)
    assert _OLD_ARN in str(found.gap)


def test_a_scan_on_the_same_stream_is_continued() -> None:
    state = TableState("orders", InitSyncState.RUNNING, 1, stream_arn=_ARN, total_segments=1)
    assert _open(state) == opening.Opening(OpeningKind.CONTINUED_SCAN, state)
