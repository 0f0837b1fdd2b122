"""The clients' side of ``interpreter``: runs with their Python, imports the standard library only.

Reads requests from standard input and answers each on standard output, one JSON document per line.
What a client itself prints goes to standard error.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> None:
    """Answer until the input ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr
    names: dict[str, Any] = {}
    for line in sys.stdin:
        answers.write(json.dumps(_answer(json.loads(line), names), default=repr) + "\n")
        answers.flush()


def _answer(request: dict[str, str], names: dict[str, Any]) -> dict[str, Any]:
    try:
        if "value" in request:
            return {"value": eval(request["value"], names)}
        exec(request["run"], names)
    except Exception as error:
        return {"error": type(error).__name__, "text": str(error)}
    return {"value": None}


if __name__ == "__main__":
    main()
