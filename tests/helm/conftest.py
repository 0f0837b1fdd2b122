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


@pytest.fixture
def opened(copied: HelmChart) -> HelmChart:
    """The chart as it will be once workers of a group share their work: one constant is larger."""
    names = copied.path / "templates" / "_names.tpl"
    text = names.read_text(encoding="utf-8")
    one = '{{- define "connectd.membersMax" -}}1{{- end -}}'
    assert text.count(one) == 1
    names.write_text(text.replace(one, one.replace("1", "8")), encoding="utf-8")
    return copied
