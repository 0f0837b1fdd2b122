"""``python -m connectd`` is ``connectd``."""

from __future__ import annotations

import sys

from connectd.cli import main

sys.exit(main())
