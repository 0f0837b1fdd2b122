"""A Python session in the clients' environment, for clients that are libraries.

A test types into it what the README of a client tells people to type, and gets back what came out
as JSON (objects that are none as their ``repr``). The session ends with the ``with`` block.
"""

from __future__ import annotations

import json
import select
import subprocess
import time
from pathlib import Path
from typing import Any, Self

from tests.harness.client_env import ClientEnv, environment
from tests.harness.processes import HarnessError

ANSWER_DEADLINE_S = 40.0
_END_DEADLINE_S = 10.0
_SERVED = Path(__file__).with_name("typed_lines.py")


class ClientError(Exception):
    """The client raised; ``kind`` is the name of its exception."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.text = text


class Interpreter:
    """One session; owns its process."""

    def __init__(self, env: ClientEnv) -> None:
        self._child = subprocess.Popen(
            [str(env.python), str(_SERVED)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.communicate(timeout=_END_DEADLINE_S)

    def run(self, *lines: str) -> None:
        """Type statements; raises ClientError when one of them does."""
        self._ask({"run": "\n".join(lines)})

    def value(self, expression: str) -> Any:
        """Type an expression and read what it gives; raises ClientError when it raises."""
        return self._ask({"value": expression})

    def _ask(self, request: dict[str, str]) -> Any:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(request).encode() + b"\n")
        self._child.stdin.flush()
        answer = json.loads(self._line())
        if "error" in answer:
            raise ClientError(answer["error"], answer["text"])
        return answer["value"]

    def _line(self) -> bytes:
        """One whole line: nothing more is written until the next request."""
        assert self._child.stdout is not None
        give_up_at = time.monotonic() + ANSWER_DEADLINE_S
        ready, _, _ = select.select([self._child.stdout], [], [], ANSWER_DEADLINE_S)
        line = self._child.stdout.readline() if ready else b""
        if not line.endswith(b"\n"):
            state = "ended" if time.monotonic() < give_up_at else "gave no answer"
            raise HarnessError(f"the clients' interpreter {state}; expected a line of JSON.")
        return line
