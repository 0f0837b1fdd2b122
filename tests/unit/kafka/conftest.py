"""Kafka clients without their chatter, and a cluster for those that need no more than one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog

from tests.unit.kafka.mock_cluster import MockCluster, mock_cluster


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with structlog.testing.capture_logs():
        yield


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    """With a topic ``orders`` of one partition."""
    with mock_cluster() as cluster:
        cluster.create_topic("orders", 1)
        yield cluster
