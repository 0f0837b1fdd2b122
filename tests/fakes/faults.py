"""Faults by script: errors at the nth call, broken connections, latency, denials, hooks.

Each call is matched against what is set, in the order in which it was set. An injection counts
only the calls that it matches: it lets ``after`` of them pass, then strikes ``times`` times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.wire import Ending

NETWORK_ERRORS = {
    "ConnectionReset": Ending.RESET,
    "Truncated": Ending.TRUNCATED,
    "Hang": Ending.HANG,
}
DAMAGES = ("BadCrc", "HtmlError")
"""Answers that are broken but delivered: a wrong checksum, a proxy's HTML page with HTTP 503."""


@dataclass(frozen=True, slots=True)
class Call:
    """What one request is about."""

    service: str
    operation: str
    tables: tuple[str, ...] = ()
    shard_id: str | None = None
    resource: str | None = None  # the ARN that access control looks at

    @property
    def table(self) -> str | None:
        """The (first) table that the call is about."""
        return self.tables[0] if self.tables else None

    @property
    def action(self) -> str:
        """The action's name in access policies."""
        prefixes = {"tagging": "tag", "sts": "sts"}
        return f"{prefixes.get(self.service, 'dynamodb')}:{self.operation}"


@dataclass(slots=True)
class Injection:
    """An error, or only a delay, for some calls."""

    operation: str  # "*" for every one
    error: str | None = None  # a code of AWS, one of NETWORK_ERRORS or DAMAGES
    message: str | None = None
    times: int | None = 1  # None: until cleared
    after: int = 0
    table: str | None = None
    shard_id: str | None = None
    delay_s: float = 0.0
    is_applied: bool = False  # the operation takes effect before the error is answered
    extra: Mapping[str, Any] = field(default_factory=dict)

    def matches(self, call: Call) -> bool:
        """Whether the injection is about this call at all."""
        return (
            self.operation in ("*", call.operation)
            and (self.table is None or self.table in call.tables)
            and self.shard_id in (None, call.shard_id)
        )

    def strikes(self) -> bool:
        """Count a call that matches; whether this one is hit."""
        if self.after > 0:
            self.after -= 1
            return False
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0


@dataclass(slots=True)
class Hook:
    """A command of the script that runs when the nth matching call has been answered."""

    operation: str
    command: str
    arguments: Mapping[str, Any]
    nth: int = 1
    table: str | None = None


@dataclass(frozen=True, slots=True)
class Denial:
    """An action that access control refuses, on one table or on everything."""

    action: str
    table: str | None = None


class Faults:
    """Everything that is set to go wrong."""

    def __init__(self) -> None:
        self._injections: list[Injection] = []
        self._hooks: list[Hook] = []
        self._denials: list[Denial] = []

    def inject(self, injection: Injection) -> None:
        """Set an error or a delay."""
        self._injections.append(injection)

    def clear(self) -> None:
        """Forget injections, hooks and denials."""
        self._injections.clear()
        self._hooks.clear()
        self._denials.clear()

    def strike(self, call: Call) -> tuple[Injection | None, float]:
        """The error that hits this call, if any, and the delay of its answer in seconds."""
        error: Injection | None = None
        delay_s = 0.0
        for injection in self._injections:
            if not injection.matches(call) or (injection.error and error):
                continue
            if injection.strikes():
                delay_s += injection.delay_s
                error = injection if injection.error else error
        self._injections = [i for i in self._injections if i.times is None or i.times > 0]
        return error, delay_s

    def after_call(self, hook: Hook) -> None:
        """Set a command that follows a call."""
        self._hooks.append(hook)

    def hooks_due(self, call: Call) -> list[Hook]:
        """The hooks whose call this was; they are spent."""
        due = []
        for hook in self._hooks:
            if hook.operation == call.operation and hook.table in (None, *call.tables):
                hook.nth -= 1
                if hook.nth == 0:
                    due.append(hook)
        self._hooks = [hook for hook in self._hooks if hook.nth > 0]
        return due

    def deny(self, denial: Denial) -> None:
        """Refuse an action from now on."""
        self._denials.append(denial)

    def allow(self, action: str) -> None:
        """Take all denials of an action back."""
        self._denials = [denial for denial in self._denials if denial.action != action]

    def is_denied(self, call: Call) -> bool:
        """Whether access control refuses this call."""
        return any(
            denial.action == call.action and (denial.table is None or denial.table in call.tables)
            for denial in self._denials
        )
