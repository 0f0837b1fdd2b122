"""Commands about time and trouble: clock, errors, rates, access, tagging's lies, the journal."""

from __future__ import annotations

from typing import Any

from tests.fakes.faults import DAMAGES, NETWORK_ERRORS, Denial, Hook, Injection
from tests.fakes.identity import Role
from tests.fakes.journal import Entry
from tests.fakes.script_parts import Commands
from tests.fakes.throttles import RateLimit, Scope, throughput_exceeded
from tests.fakes.wire import is_known_error

_BROKEN = (*NETWORK_ERRORS, *DAMAGES)

# The error that AWS answers when a call is one too many, by operation.
_TOO_MANY = {
    "GetResources": "ThrottledException",
    "GetRecords": "LimitExceededException",
    "DescribeStream": "ThrottlingException",
}


class FaultCommands(Commands):
    """Operations are named as in the API: Scan, GetRecords, GetResources, AssumeRole, …"""

    # -- clock ---------------------------------------------------------------------------------

    def clock_now(self) -> float:
        """The fake's time, in seconds since the Unix epoch."""
        return self._now_s()

    def clock_set(self, at_s: float) -> None:
        """Jump to a moment."""
        self._parts.account.clock.set(at_s)

    def clock_advance(self, by_s: float) -> None:
        """Jump forwards."""
        self._parts.account.clock.advance(by_s)

    # -- errors --------------------------------------------------------------------------------

    def inject(
        self,
        operation: str,
        error: str | None = None,
        times: int | None = 1,
        after: int = 0,
        table: str | None = None,
        shard: str | None = None,
        delay_s: float = 0.0,
        message: str | None = None,
        applied: bool = False,
    ) -> None:
        """Let calls of an operation ("*": of any) fail, or only take longer.

        ``error`` is a code of AWS; or ConnectionReset, Truncated, Hang (the connection); or
        BadCrc, HtmlError (a broken answer). The first ``after`` calls that match pass, the next
        ``times`` (None: all) are hit. With ``applied`` the operation takes effect before the error
        is answered: a lost response.
        """
        if error is not None and error not in _BROKEN and not is_known_error(error):
            raise ValueError(f"injecting {error}: the fake knows no such error")
        extra: dict[str, Any] = {}
        if error == "ProvisionedThroughputExceededException" and table is not None:
            is_read = operation in ("Scan", "GetItem", "*")
            arn = self._parts.account.table_arn(table)
            extra = throughput_exceeded("Read" if is_read else "Write", arn).extra
        self._parts.faults.inject(
            Injection(
                operation, error, message, times, after, table, shard, delay_s, applied, extra
            )
        )

    def latency(self, operation: str, delay_s: float, table: str | None = None) -> None:
        """Let every answer of an operation take this long."""
        self.inject(operation, None, None, 0, table, None, delay_s)

    def after_call(
        self,
        operation: str,
        command: str,
        arguments: dict[str, Any],
        nth: int = 1,
        table: str | None = None,
    ) -> None:
        """Run a command of the script as soon as the nth call of an operation is answered."""
        self._parts.faults.after_call(Hook(operation, command, arguments, nth, table))

    def clear_faults(self) -> None:
        """Forget injections, latencies, hooks, denials, rate limits and capacities."""
        self._parts.faults.clear()
        self._parts.rates.clear()
        self._parts.capacity.clear()

    # -- rates ---------------------------------------------------------------------------------

    def rate_limit(
        self,
        operation: str,
        per_s: float,
        burst: float | None = None,
        scope: Scope = "account",
        error: str | None = None,
    ) -> None:
        """Allow so many calls per second, ``burst`` (default: one second's worth) at once."""
        code = error or _TOO_MANY.get(operation, "ThrottlingException")
        self._parts.rates.set(RateLimit(operation, per_s, burst or max(1.0, per_s), scope, code))

    def capacity(
        self,
        table: str,
        read_per_s: float | None = None,
        write_per_s: float | None = None,
        burst_s: float = 1.0,
    ) -> None:
        """Bound a table's capacity units per second; unused ones are kept for ``burst_s``."""
        self._parts.capacity.set(
            self._table(table).name, read_per_s=read_per_s, write_per_s=write_per_s, burst_s=burst_s
        )

    # -- access --------------------------------------------------------------------------------

    def deny(self, action: str, table: str | None = None) -> None:
        """Refuse an action, e.g. ``dynamodb:DescribeStream`` or ``tag:GetResources``."""
        self._parts.faults.deny(Denial(action, table))

    def allow(self, action: str) -> None:
        """Take denials of an action back."""
        self._parts.faults.allow(action)

    def require_credentials(self, access_key_id: str, secret: str) -> None:
        """Know these credentials, and refuse all that are unknown."""
        self._parts.identities.require(access_key_id, secret)

    def forget_credentials(self, access_key_id: str) -> None:
        """Refuse these credentials from now on."""
        self._parts.identities.forget(access_key_id)

    def verify_signatures(self, enabled: bool = True) -> None:
        """Recompute the signature of every request whose secret is known."""
        self._parts.identities.verifies_signatures = enabled

    def add_role(self, role_arn: str, external_id: str | None = None) -> None:
        """Add a role that may be assumed, if need be with an external id; others no longer may."""
        self._parts.identities.add_role(Role(role_arn, external_id))

    def session_lifetime(self, lifetime_s: float | None) -> None:
        """Let credentials of assumed roles live this long, whatever is asked for."""
        self._parts.identities.session_lifetime_s = lifetime_s

    def expire_sessions(self) -> None:
        """Let all credentials of assumed roles expire now."""
        self._parts.identities.expire_sessions()

    # -- tagging -------------------------------------------------------------------------------

    def reorder_tagging(self, tables: list[str]) -> None:
        """Let GetResources name these tables first, in this order."""
        self._parts.tagging.order = list(tables)

    def omit_from_tagging(self, table: str, for_calls: int = 1) -> None:
        """Leave a table out of the next answers of GetResources."""
        self._parts.tagging.omitted[table] = for_calls

    def keep_in_tagging(self, table: str, for_calls: int = 1) -> None:
        """Let GetResources name a table in so many answers after it is deleted."""
        found = self._table(table)
        self._parts.account.ghosts[found.arn] = (dict(found.tags), for_calls)

    # -- journal -------------------------------------------------------------------------------

    def journal(
        self, operation: str | None = None, table: str | None = None, since: int = 0
    ) -> list[Entry]:
        """The calls so far (the newest 100,000), oldest first."""
        return self._parts.journal.entries(operation, table, since)

    def counts(self) -> dict[str, int]:
        """Calls by operation and by ``operation:error code``."""
        return self._parts.journal.counts()

    def clear_journal(self) -> None:
        """Forget the calls so far."""
        self._parts.journal.clear()
