"""A fresh fake per test."""

from __future__ import annotations

import pytest

from tests.fakes.asking import Asked


@pytest.fixture
def asked() -> Asked:
    return Asked()
