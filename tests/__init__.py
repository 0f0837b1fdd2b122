"""Tests by level; ``fakes``, ``kit`` and ``harness`` serve them, ``demo`` shows the product."""
