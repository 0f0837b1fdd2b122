"""The exception tree, ordered by how one recovers.

Everything that connectd raises on purpose is a ``ConnectdError``; the branch says what comes next:

* ``ConfigError``            the user must change a configuration; never retried
* ``NotFoundError``          the thing named does not exist
* ``ConflictError``          the request collides with the current state
* ``RetriableError``         the outside world is busy; back off and try again
    * ``ThrottledError``, ``TransientNetworkError``, ``BrokerUnavailableError``,
      ``IteratorExpiredError``, ``TaskProcessLostError``,
      ``SendAgainError`` (``TopicGoneError``, ``ProducerLostError``)
* ``RecordError``            one record; ``errors.tolerance`` decides between skipping and failing
    * ``TransformError``, ``ConvertError``, ``RecordTooLargeError``
* ``FatalTaskError``         the table or task fails, the worker lives
    * ``AccessDeniedError``, ``TableGoneError``, ``StreamGoneError``, ``TrimmedDataError``,
      ``DataGapError``, ``InvalidRequestError``, ``ProduceError``
* ``WorkerError``            the process ends with a non-zero exit code

``InvariantError`` is a bug in connectd and derives from ``AssertionError`` instead.

Only ``aws/errors.py`` and ``kafka/errors.py`` translate foreign exceptions into this tree, and they
chain the cause. A message says what was found, what was expected and what to do next, and never
carries a secret.
"""

from __future__ import annotations


class ConnectdError(Exception):
    """Root of everything raised on purpose."""


class ConfigError(ConnectdError):
    """A configuration value is wrong; only its owner can mend it."""


class NotFoundError(ConnectdError):
    """The connector, task, plugin or topic named does not exist."""


class ConflictError(ConnectdError):
    """The request collides with the current state (a name in use, a rebalance under way)."""


class RetriableError(ConnectdError):
    """The same call may succeed later.

    ``retry_after_s`` is the wait that the other side asked for, in seconds, or None.
    """

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ThrottledError(RetriableError):
    """A rate or capacity limit of the other side was hit."""


class TransientNetworkError(RetriableError):
    """Connection refused, reset, timed out, a 5xx answer, or a damaged body."""


class BrokerUnavailableError(RetriableError):
    """No Kafka broker answered."""


class IteratorExpiredError(RetriableError):
    """A shard iterator outlived its 15 minutes; ask for a new one after the last record."""


class SendAgainError(RetriableError):
    """Records were not delivered, through no fault of theirs, and have to be sent again.

    In order: so from the position that is committed, and not one page by itself.
    """


class TopicGoneError(SendAgainError):
    """A topic vanished under its producer, and records with it."""


class ProducerLostError(SendAgainError):
    """The producer has lost all brokers for good; what it held is given up, another is needed."""


class TaskProcessLostError(RetriableError):
    """The process that ran a task has ended; another one goes on from what is committed."""


class RecordError(ConnectdError):
    """One record cannot pass a stage.

    ``stage`` is one of the stage names of Kafka Connect (spec kafka-connect D.6.1).
    """

    stage = "TRANSFORMATION"


class TransformError(RecordError):
    """A transform refused the record."""


class ConvertError(RecordError):
    """The record cannot be turned into bytes."""

    stage = "VALUE_CONVERTER"


class RecordTooLargeError(RecordError):
    """The encoded record exceeds what the producer or the topic allows."""

    stage = "KAFKA_PRODUCE"


class FatalTaskError(ConnectdError):
    """The table or the task cannot go on without help; others are not concerned."""


class AccessDeniedError(FatalTaskError):
    """Credentials were refused, or lack the action that the message names."""


class TableGoneError(FatalTaskError):
    """The table does not exist (any more)."""


class StreamGoneError(FatalTaskError):
    """The stream, or a shard of it, does not exist (any more)."""


class TrimmedDataError(FatalTaskError):
    """The position asked for is older than what the stream keeps."""


class DataGapError(FatalTaskError):
    """Changes were lost between position and stream, and ``gap.policy`` is ``fail``."""


class InvalidRequestError(FatalTaskError):
    """The other side understood the request and rejects it; trying again would not help."""


class ProduceError(FatalTaskError):
    """Kafka refused a record for a reason that retrying does not mend."""


class WorkerError(ConnectdError):
    """The process cannot go on and exits with a non-zero code."""


class InvariantError(AssertionError):
    """A promise inside connectd was broken: a bug, never an operating condition."""
