"""The script: everything that a test can tell the fake to do, or ask it.

The commands are the public methods of ``Control``. In the same process they are called; over HTTP
(``POST /_control``) they travel as ``{"command": name, "arguments": {...}}`` and come back as
``{"result": ...}`` or, with HTTP 400, ``{"error": text}``. ``script_lineage``, ``script_faults``
and ``script_data`` hold them by theme.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import msgspec

from tests.fakes.script_data import DataCommands
from tests.fakes.script_faults import FaultCommands
from tests.fakes.script_lineage import LineageCommands
from tests.fakes.script_parts import Parts
from tests.fakes.wire import AwsError

__all__ = ["Control", "Parts"]


class _Message(msgspec.Struct):
    command: str
    arguments: dict[str, Any] = {}


class Control(LineageCommands, FaultCommands, DataCommands):
    """All commands of the script."""

    def run(self, command: str, arguments: Mapping[str, Any]) -> Any:
        """Run a command by name.

        Raises:
            ValueError: for a command that does not exist or arguments that do not fit.
        """
        method = getattr(self, command, None)
        if command.startswith("_") or command in ("run", "handle") or not callable(method):
            raise ValueError(f"the fake has no command {command!r}; see tests/fakes/script_*.py")
        try:
            inspect.signature(method).bind(**arguments)
        except TypeError as error:
            raise ValueError(f"command {command}: {error}") from error
        return method(**arguments)

    def handle(self, body: bytes) -> tuple[int, bytes]:
        """Run the command in a request's body; HTTP status and body of the answer."""
        try:
            message = msgspec.json.decode(body, type=_Message)
            result = self.run(message.command, message.arguments)
        except (AwsError, LookupError, MemoryError, TypeError, ValueError) as error:
            text = str(error) or repr(error)
            return 400, msgspec.json.encode({"error": f"{type(error).__name__}: {text}"})
        return 200, msgspec.json.encode({"result": result})
