"""What several tests of transforms ask for."""

from __future__ import annotations

import pytest

from connectd.app import bundled
from connectd.plugins.registry import PluginRegistry


@pytest.fixture
def registry() -> PluginRegistry:
    """The plugins of a worker."""
    return bundled.plugin_registry()
