"""``python -m connectd`` is ``connectd``."""

from __future__ import annotations

from connectd.cli import program

program()
