"""Every page is true: each command is typed, each answer comes, against real parts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.kafka import KafkaBroker
from tests.runbooks import pages
from tests.runbooks.stage import Stage

pytestmark = pytest.mark.kafka("exact", "control", "durable")


@pytest.fixture(scope="module")
def stage(kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("stage")
    with Stage(kafka_broker, f"runbooks-{os.getpid()}-", home) as stage:
        yield stage


@pytest.mark.parametrize("name", [pages.INDEX.stem, *pages.names()])
def test_a_page_is_true(name: str, stage: Stage, tmp_path: Path) -> None:
    with stage.lent():
        pages.play(name, stage, tmp_path)
