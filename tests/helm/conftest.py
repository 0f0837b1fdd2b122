"""Copies of the chart, for tests that change it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.harness.helm import HelmChart
from tests.helm.generate import CHART


@pytest.fixture
def copied(tmp_path: Path) -> HelmChart:
    """A copy of the chart."""
    copy = tmp_path / "connectd"
    shutil.copytree(CHART, copy)
    return HelmChart(copy)
