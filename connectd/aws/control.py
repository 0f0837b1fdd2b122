"""One call of the control plane: a boto3 method in a thread, with credentials that are in order.

The twin of ``wire``: here too a call refused because the session token had run out is repeated
once with new credentials, and nothing else is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import botocore.exceptions as boto

from connectd.aws.blocking import BlockingCalls
from connectd.aws.call_counts import CallCounts
from connectd.aws.errors import Call, parse_client_error, refused_anew
from connectd.aws.signing import Keys
from connectd.errors import AccessDeniedError

P = ParamSpec("P")
T = TypeVar("T")


class ControlPlane:
    """Calls boto3. ``deadline_s`` bounds each request, not the wait for a thread."""

    def __init__(
        self,
        *,
        blocking: BlockingCalls,
        keys: Keys,
        deadline_s: float,
        counts: CallCounts | None = None,
    ) -> None:
        self._counts = counts
        self._blocking = blocking
        self._keys = keys
        self._deadline_s = deadline_s

    async def call(
        self, call: Call, method: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The method's result. Raises what ``errors`` makes of botocore's exceptions."""
        counting = contextlib.nullcontext() if self._counts is None else self._counts.counting(call)
        with counting:
            return await self._call(call, method, *args, **kwargs)

    async def _call(
        self, call: Call, method: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        # Loaded and refreshed here first, so that a refusal is told as what it is, and so that a
        # slow source of credentials does not occupy a thread per call.
        keys = await self._keys.current()
        try:
            return await self._blocking.run(call, self._deadline_s, method, *args, **kwargs)
        except AccessDeniedError as error:
            if not _has_run_out(error) or await self._keys.renew(keys) == keys:
                raise
        try:
            return await self._blocking.run(call, self._deadline_s, method, *args, **kwargs)
        except AccessDeniedError as error:
            if not _has_run_out(error):
                raise
            raise refused_anew(error) from error


def _has_run_out(refusal: AccessDeniedError) -> bool:
    cause = refusal.__cause__
    return isinstance(cause, boto.ClientError) and parse_client_error(cause).is_expired_token
