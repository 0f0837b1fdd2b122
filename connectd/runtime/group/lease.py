"""How long a member may trust that what it runs is its own.

The coordinator gives a member up when it has not heard of it for the session timeout, and then
others may run what it ran. It hears of a heartbeat after that has been sent and before it is
answered; so the time from the sending of the last one that was answered is never longer here than
there. Before it is over the member stops what it runs; when it is over it must not write any more.

Pure: readings in seconds go in, of a clock that goes on while the machine is suspended, since the
coordinator's does (``Clock.boot_s``).
"""

from __future__ import annotations

from typing import Final

_STOPS_AT: Final = 2 / 3
"""The part of the session after which the member begins to stop: tasks need time to commit."""


class Lease:
    """See the module's docstring. Without an answer yet there is none."""

    def __init__(self, session_s: float) -> None:
        self._session_s = session_s
        self._renewed_s: float | None = None

    def renew(self, sent_s: float) -> None:
        """An answer has come to what was sent then."""
        if self._renewed_s is None or sent_s > self._renewed_s:
            self._renewed_s = sent_s

    def drop(self) -> None:
        """The coordinator says that it is over."""
        self._renewed_s = None

    @property
    def stops_s(self) -> float | None:
        """When to begin to stop; None: there is no lease."""
        return None if self._renewed_s is None else self._renewed_s + self._session_s * _STOPS_AT

    @property
    def ends_s(self) -> float | None:
        """When it is over; None: it is."""
        return None if self._renewed_s is None else self._renewed_s + self._session_s

    def is_valid(self, now_s: float) -> bool:
        """Whether what runs may still write."""
        return self._renewed_s is not None and now_s < self._renewed_s + self._session_s
