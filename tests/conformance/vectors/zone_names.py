"""``python -m tests.conformance.vectors.zone_names``: write the table of zone names, as in Java.

The names come from whatever Java runs the program; the first line of the table says which. The
stored vectors are those of the same Java.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from connectd.model import date_format_zones
from tests.harness import java

TABLE = Path(date_format_zones.__file__).with_suffix(".txt")
PROGRAM = Path(__file__).parent.parent / "java" / "ZoneNames.java"
RUN_DEADLINE_S = 120.0


def main() -> int:
    """Ask Java, and write the table."""
    done = subprocess.run(
        [str(java.find_java().path), str(PROGRAM)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=RUN_DEADLINE_S,
        check=True,
    )
    TABLE.write_text(done.stdout, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
