"""Whose keys sign a request, today and after they have run out.

One ``RenewableCredentials`` per settings is behind both roads: boto3's clients ask it from their
threads, the data plane through ``CredentialsSource`` on the event loop. Temporary credentials
(a role, an instance profile) refresh themselves before they expire; ``renew`` throws away a set
that AWS has refused and loads another. Keys live here and in the signer's cache, nowhere else.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.credentials import Credentials, ReadOnlyCredentials, RefreshableCredentials
from botocore.exceptions import CredentialRetrievalError, NoCredentialsError

from connectd.aio.clock import Clock
from connectd.aws.errors import Call, raise_translated
from connectd.aws.settings import AwsSettings
from connectd.aws.signing import FrozenCredentials
from connectd.errors import InvariantError, TransientNetworkError
from connectd.observe import redaction

if TYPE_CHECKING:
    from mypy_boto3_sts import STSClient

# How long a "not yet" about refreshing is believed. Asking costs microseconds, which count at
# thousands of requests per second; it must stay well below the margins of _margins_s.
_FRESH_S = 0.1

# botocore's own margins are 15 and 10 minutes. A role may live for 15 minutes only, so they are
# taken as upper limits here, and otherwise as shares of the lifetime.
_ADVISORY_MAX_S = 900.0
_MANDATORY_MAX_S = 600.0

Loader = Callable[[], Credentials | None]


class NotedTime:
    """The wall clock for threads: a ``Clock`` is read on its loop only, and noted here.

    ``CredentialsSource.current`` notes the time before each call, so what a thread sees is as old
    as the call that it works for.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall_s = clock.wall_s()

    def note(self) -> float:
        """Read the clock, in epoch seconds (on the loop)."""
        self._wall_s = self._clock.wall_s()
        return self._wall_s

    def now(self) -> datetime:
        """The time noted last (any thread)."""
        return datetime.fromtimestamp(self._wall_s, UTC)


class RenewableCredentials(Credentials):
    """Credentials in botocore's shape around a set that is loaded on first use and replaceable.

    Safe to use from several threads; ``get_frozen_credentials`` and ``renew`` may block.
    """

    def __init__(self, load: Loader, *, method: str) -> None:
        # botocore signs with get_frozen_credentials(); the fields of the base class stay empty.
        super().__init__("", "", method=method)
        self._load = load
        self._lock = threading.RLock()
        self._inner: Credentials | None = None
        self._hidden = redaction.PassingSecrets()

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """The keys to sign with now. Raises what the source raises, and NoCredentialsError."""
        try:
            frozen = self._loaded().get_frozen_credentials()
            self._hidden.replace(each for each in (frozen.secret_key, frozen.token) if each)
            return frozen
        except RuntimeError as error:  # botocore: refreshed, and expired already
            raise CredentialRetrievalError(provider=self.method, error_msg=str(error)) from error

    def get_deferred_property(self, property_name: str) -> Callable[[], str | None]:
        """botocore asks in this way for the account that the keys belong to."""
        return lambda: getattr(self.get_frozen_credentials(), property_name, None)

    def refresh_is_due(self) -> bool:
        """Whether the next ``get_frozen_credentials`` would go and load or refresh."""
        inner = self._inner
        if isinstance(inner, RefreshableCredentials):
            return inner.refresh_needed()
        return inner is None

    def renew(self, rejected: FrozenCredentials) -> None:
        """Have the next use load a new set, unless ``rejected`` is no longer the current one."""
        with self._lock:
            if self._inner is not None and freeze(self.get_frozen_credentials()) == rejected:
                self._inner = None

    def _loaded(self) -> Credentials:
        with self._lock:
            if self._inner is None:
                self._inner = self._load()
            if self._inner is None:
                raise NoCredentialsError
            return self._inner


def freeze(credentials: ReadOnlyCredentials) -> FrozenCredentials:
    """botocore's frozen credentials as ours, whose repr keeps them to itself."""
    if not credentials.access_key or not credentials.secret_key:
        raise NoCredentialsError
    return FrozenCredentials(
        credentials.access_key, credentials.secret_key, credentials.token or None
    )


class AssumedRole:
    """Loads the credentials of the role that the settings name, through STS.

    ``sts`` makes the client on first use; it signs with the credentials below the role.
    """

    def __init__(
        self, settings: AwsSettings, sts: Callable[[], STSClient], time: NotedTime
    ) -> None:
        self._settings = settings
        self._make_client = sts
        self._client: STSClient | None = None
        self._time = time

    def load(self) -> Credentials:
        """Assume the role; the result refreshes itself by assuming it again (blocking)."""
        first = self._assume()
        expiry = first["expiry"]
        advisory_s, mandatory_s = _margins_s((expiry - self._time.now()).total_seconds())
        return RefreshableCredentials(
            first["access_key"],
            first["secret_key"],
            first["token"],
            expiry,
            refresh_using=self._assume,
            method="assume-role",
            time_fetcher=self._time.now,
            # botocore compares them with fractional seconds; its stubs are narrower than it is.
            advisory_timeout=advisory_s,  # type: ignore[arg-type]
            mandatory_timeout=mandatory_s,  # type: ignore[arg-type]
            account_id=first["account_id"],
        )

    def _assume(self) -> dict[str, Any]:
        if self._client is None:
            self._client = self._make_client()
        request: dict[str, Any] = {
            "RoleArn": self._settings.assume_role_arn,
            "RoleSessionName": self._settings.role_session_name,
        }
        if self._settings.assume_role_external_id is not None:
            request["ExternalId"] = self._settings.assume_role_external_id
        answer = self._client.assume_role(**request)
        keys = answer["Credentials"]
        user_arn = answer.get("AssumedRoleUser", {}).get("Arn", "")
        return {
            "access_key": keys["AccessKeyId"],
            "secret_key": keys["SecretAccessKey"],
            "token": keys["SessionToken"],
            "expiry": keys["Expiration"],
            "expiry_time": keys["Expiration"].isoformat(),
            "account_id": (user_arn.split(":") + [""] * 5)[4] or None,
        }


def _margins_s(lifetime_s: float) -> tuple[float, float]:
    """How long before the end to try to refresh, and to insist on it."""
    lifetime_s = max(0.0, lifetime_s)
    return min(_ADVISORY_MAX_S, lifetime_s / 4), min(_MANDATORY_MAX_S, lifetime_s / 8)


class CredentialsSource:
    """The event loop's view of ``RenewableCredentials``: never blocks the loop.

    However many requests find the keys run out, one thread fetches new ones and all wait for it.
    """

    def __init__(
        self, credentials: RenewableCredentials, time: NotedTime, *, call: Call, deadline_s: float
    ) -> None:
        self._credentials = credentials
        self._time = time
        self._call = call
        self._deadline_s = deadline_s
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="aws-credentials")
        self._flight: asyncio.Future[FrozenCredentials] | None = None
        self._frozen: FrozenCredentials | None = None
        self._checked_s = 0.0
        self._is_closed = False

    def fresh(self) -> FrozenCredentials | None:
        """The keys, if they were looked after a moment ago."""
        # The distance, either way: a wall clock may be set back.
        return self._frozen if abs(self._time.note() - self._checked_s) < _FRESH_S else None

    async def current(self) -> FrozenCredentials:
        """The keys to sign with now; the same object as long as they are the same.

        Raises ``AccessDeniedError`` when there are none or their source refuses, and
        ``TransientNetworkError`` when it does not answer in time.
        """
        frozen = self.fresh()
        if frozen is not None:
            return frozen
        frozen = self._frozen
        if frozen is None or self._credentials.refresh_is_due():
            return await self._fetch(None)
        self._checked_s = self._time.note()
        return frozen

    async def renew(self, rejected: FrozenCredentials) -> FrozenCredentials:
        """Other keys than the ones that AWS refused, or the same where there are no others."""
        if self._frozen is not None and self._frozen is not rejected:
            return self._frozen
        return await self._fetch(rejected)

    async def _fetch(self, rejected: FrozenCredentials | None) -> FrozenCredentials:
        if self._is_closed:
            raise InvariantError(f"{self._call}: the AWS clients have been closed")
        if self._flight is None:
            loop = asyncio.get_running_loop()
            self._flight = loop.run_in_executor(self._executor, self._load, rejected)
            self._flight.add_done_callback(self._on_landed)
        try:
            async with asyncio.timeout(self._deadline_s):
                return await asyncio.shield(self._flight)
        except TimeoutError as error:
            raise TransientNetworkError(
                f"{self._call}: no credentials within {self._deadline_s:g} s"
            ) from error
        except Exception as error:
            raise_translated(error, self._call)

    def _load(self, rejected: FrozenCredentials | None) -> FrozenCredentials:
        if rejected is not None:
            self._credentials.renew(rejected)
        return freeze(self._credentials.get_frozen_credentials())

    def _on_landed(self, flight: asyncio.Future[FrozenCredentials]) -> None:
        self._flight = None
        if flight.cancelled() or flight.exception() is not None:
            return  # those who wait for the flight are told by it
        if not self._is_closed and flight.result() != self._frozen:
            self._frozen = flight.result()
        self._checked_s = self._time.note()

    def close(self) -> None:
        """Forget the keys and let the thread end after what it is doing."""
        self._is_closed = True
        self._frozen = None
        # An idle thread ends at once; one that waits for AWS is not waited for.
        self._executor.shutdown(wait=self._flight is None, cancel_futures=True)
