"""Kafka's error codes, translated into the tree of ``connectd.errors``.

The one place that knows them. Every code of ``confluent_kafka.KafkaError`` has a row here (a test
walks them); a code that a newer librdkafka adds is treated as a refused request until it has one.
``translate`` serves every call; ``delivery_error`` serves records that the producer gave up on:
by then librdkafka has used up all retries, so its only ``RetriableError`` is ``TopicGoneError``,
which sends back to the last position. Sending one record again would put it behind its successors.
"""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from connectd.errors import (
    AccessDeniedError,
    BrokerUnavailableError,
    ConfigError,
    ConflictError,
    ConnectdError,
    FatalTaskError,
    InvalidRequestError,
    InvariantError,
    NotFoundError,
    ProduceError,
    RecordTooLargeError,
    ThrottledError,
    TopicGoneError,
)

NAMES_BY_KIND: dict[type[ConnectdError] | None, str] = {
    None: "NO_ERROR _PARTITION_EOF",  # events that librdkafka reports through the error channel
    # _NOENT is what librdkafka says when no leader is known yet.
    BrokerUnavailableError: """
        BROKER_NOT_AVAILABLE COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE
        CONCURRENT_TRANSACTIONS ELIGIBLE_LEADERS_NOT_AVAILABLE FENCED_LEADER_EPOCH
        FETCH_SESSION_ID_NOT_FOUND INCONSISTENT_TOPIC_ID INVALID_FETCH_SESSION_EPOCH
        KAFKA_STORAGE_ERROR LEADER_NOT_AVAILABLE LISTENER_NOT_FOUND LOG_DIR_NOT_FOUND
        NETWORK_EXCEPTION NOT_CONTROLLER NOT_COORDINATOR NOT_ENOUGH_REPLICAS
        NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_LEADER_FOR_PARTITION OFFSET_NOT_AVAILABLE
        OPERATION_NOT_ATTEMPTED PREFERRED_LEADER_NOT_AVAILABLE REASSIGNMENT_IN_PROGRESS
        REBALANCE_IN_PROGRESS REBOOTSTRAP_REQUIRED REPLICA_NOT_AVAILABLE REQUEST_TIMED_OUT
        STALE_BROKER_EPOCH STALE_CTRL_EPOCH UNKNOWN_CONTROLLER_ID UNKNOWN_LEADER_EPOCH
        UNSTABLE_OFFSET_COMMIT
        _ALL_BROKERS_DOWN _DESTROY _DESTROY_BROKER _INTR _IN_PROGRESS _ISR_INSUFF _MSG_TIMED_OUT
        _NODE_UPDATE _NOENT _OUTDATED _PARTIAL _PREV_IN_PROGRESS _QUEUE_FULL _RESOLVE _RETRY
        _TIMED_OUT _TIMED_OUT_QUEUE _TRANSPORT _UNKNOWN_BROKER _WAIT_CACHE _WAIT_COORD
        """,
    ThrottledError: "THROTTLING_QUOTA_EXCEEDED SHARE_SESSION_LIMIT_REACHED",
    AccessDeniedError: """
        CLUSTER_AUTHORIZATION_FAILED DELEGATION_TOKEN_AUTHORIZATION_FAILED
        DELEGATION_TOKEN_AUTH_DISABLED DELEGATION_TOKEN_EXPIRED DELEGATION_TOKEN_NOT_FOUND
        DELEGATION_TOKEN_OWNER_MISMATCH DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        GROUP_AUTHORIZATION_FAILED ILLEGAL_SASL_STATE INVALID_PRINCIPAL_TYPE
        PRINCIPAL_DESERIALIZATION_FAILURE SASL_AUTHENTICATION_FAILED SECURITY_DISABLED
        TOPIC_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED UNACCEPTABLE_CREDENTIAL
        UNSUPPORTED_SASL_MECHANISM _AUTHENTICATION _SSL
        """,
    RecordTooLargeError: "INVALID_MSG_SIZE MSG_SIZE_TOO_LARGE RECORD_LIST_TOO_LARGE",
    NotFoundError: """
        GROUP_ID_NOT_FOUND NO_REASSIGNMENT_IN_PROGRESS RESOURCE_NOT_FOUND UNKNOWN_TOPIC_ID
        UNKNOWN_TOPIC_OR_PART VOTER_NOT_FOUND _NO_OFFSET _UNKNOWN_GROUP _UNKNOWN_PARTITION
        _UNKNOWN_TOPIC
        """,
    ConflictError: """
        DUPLICATE_RESOURCE DUPLICATE_VOTER ELECTION_NOT_NEEDED FENCED_INSTANCE_ID
        FENCED_MEMBER_EPOCH FENCED_STATE_EPOCH GROUP_MAX_SIZE_REACHED GROUP_SUBSCRIBED_TO_TOPIC
        ILLEGAL_GENERATION MEMBER_ID_REQUIRED NON_EMPTY_GROUP STALE_MEMBER_EPOCH
        STREAMS_INVALID_TOPOLOGY_EPOCH STREAMS_TOPOLOGY_FENCED TOPIC_ALREADY_EXISTS
        UNKNOWN_MEMBER_ID UNRELEASED_INSTANCE_ID _ASSIGNMENT_LOST _ASSIGN_PARTITIONS
        _EXISTING_SUBSCRIPTION _MAX_POLL_EXCEEDED _REVOKE_PARTITIONS
        """,
    ConfigError: """
        INVALID_CONFIG INVALID_GROUP_ID INVALID_PARTITIONS INVALID_REGULAR_EXPRESSION
        INVALID_REPLICATION_FACTOR INVALID_REPLICA_ASSIGNMENT INVALID_REQUIRED_ACKS
        INVALID_SESSION_TIMEOUT INVALID_TRANSACTION_TIMEOUT POLICY_VIOLATION TOPIC_EXCEPTION
        TOPIC_DELETION_DISABLED UNSUPPORTED_COMPRESSION_TYPE _INVALID_ARG _NOT_CONFIGURED
        _UNKNOWN_PROTOCOL _UNSUPPORTED_FEATURE
        """,
    ProduceError: """
        DUPLICATE_SEQUENCE_NUMBER INVALID_MSG INVALID_PRODUCER_EPOCH INVALID_PRODUCER_ID_MAPPING
        INVALID_RECORD INVALID_TIMESTAMP INVALID_TXN_STATE OUT_OF_ORDER_SEQUENCE_NUMBER
        PRODUCER_FENCED TRANSACTION_ABORTABLE TRANSACTION_COORDINATOR_FENCED UNKNOWN_PRODUCER_ID
        _FATAL _FENCED _GAPLESS_GUARANTEE _INCONSISTENT _PURGE_INFLIGHT _PURGE_QUEUE
        """,
    InvalidRequestError: """
        FEATURE_UPDATE_FAILED INCONSISTENT_GROUP_PROTOCOL INCONSISTENT_VOTER_SET
        INVALID_COMMIT_OFFSET_SIZE INVALID_RECORD_STATE INVALID_REGISTRATION INVALID_REQUEST
        INVALID_SHARE_SESSION_EPOCH INVALID_UPDATE_VERSION INVALID_VOTER_KEY
        MISMATCHED_ENDPOINT_TYPE OFFSET_METADATA_TOO_LARGE OFFSET_OUT_OF_RANGE
        SHARE_SESSION_NOT_FOUND STREAMS_INVALID_TOPOLOGY TELEMETRY_TOO_LARGE UNKNOWN
        UNKNOWN_SUBSCRIPTION_ID UNSUPPORTED_ASSIGNOR UNSUPPORTED_ENDPOINT_TYPE
        UNSUPPORTED_FOR_MESSAGE_FORMAT UNSUPPORTED_VERSION
        _APPLICATION _AUTO_OFFSET_RESET _BAD_COMPRESSION _BAD_MSG _CONFLICT _CRIT_SYS_RESOURCE
        _FAIL _FS _INVALID_DIFFERENT_RECORD _INVALID_TYPE _KEY_DESERIALIZATION _KEY_SERIALIZATION
        _LOG_TRUNCATION _NOOP _NOT_IMPLEMENTED _READ_ONLY _STATE _UNDERFLOW
        _VALUE_DESERIALIZATION _VALUE_SERIALIZATION
        """,
}

KIND_BY_CODE: dict[int, type[ConnectdError] | None] = {
    # A name may be missing in an older librdkafka; it can then not be reported either.
    getattr(KafkaError, name): kind
    for kind, names in NAMES_BY_KIND.items()
    for name in names.split()
    if hasattr(KafkaError, name)
}

_ADVICE: dict[type[ConnectdError], str] = {
    BrokerUnavailableError: "check that the brokers run and that bootstrap.servers reaches them",
    AccessDeniedError: "check the credentials and what their principal may do",
    NotFoundError: "create it, or allow the worker to create topics",
    ProduceError: "the producer cannot go on with these records; restart the task",
}

_GIVEN_UP = frozenset({KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT_QUEUE})

_TOPIC_GONE = frozenset(
    {
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNKNOWN_TOPIC_ID,
    }
)

_GIVEN_UP_HINT = "raise producer.override.delivery.timeout.ms or drop it (never gives up)"


def kafka_error(error: KafkaError | KafkaException) -> KafkaError:
    """The error inside an exception of confluent_kafka, or the error itself."""
    if isinstance(error, KafkaError):
        return error
    inner = error.args[0] if error.args else None
    return inner if isinstance(inner, KafkaError) else KafkaError(KafkaError.UNKNOWN, str(error))


def translate(error: KafkaError | KafkaException, doing: str) -> ConnectdError:
    """Our error for theirs; ``doing`` is a gerund with its object ("creating topic orders").

    Raises:
        InvariantError: what was handed in is an event, not an error.
    """
    inner = kafka_error(error)
    kind = KIND_BY_CODE.get(inner.code(), InvalidRequestError)
    if kind is None:
        raise InvariantError(f"{doing}: {inner.name()} is an event, it cannot be an error")
    if inner.fatal():
        kind = ProduceError
    advice = f"; {_ADVICE[kind]}" if kind in _ADVICE else ""
    return chained(kind(f"{doing}: {inner.str()} ({inner.name()}){advice}"), error)


def too_large(topic: str, size_bytes: int, *, cause: KafkaError | KafkaException) -> ConnectdError:
    """A record that the producer or the topic refuses for its size."""
    return chained(
        RecordTooLargeError(
            f"producing to topic {topic}: a record of {size_bytes} bytes is larger than allowed "
            f"({kafka_error(cause).name()}); raise producer.override.max.request.size on the "
            "connector (librdkafka calls it message.max.bytes), and max.message.bytes on the topic"
        ),
        cause,
    )


def delivery_error(
    error: KafkaError | KafkaException, topic: str, size_bytes: int
) -> ConnectdError:
    """Why a record was not delivered.

    ``RecordTooLargeError``, ``TopicGoneError``, or a ``FatalTaskError``.
    """
    doing = f"producing to topic {topic}"
    inner = kafka_error(error)
    translated = translate(error, doing)
    if isinstance(translated, RecordTooLargeError):
        return too_large(topic, size_bytes, cause=error)
    if isinstance(translated, FatalTaskError):
        return translated
    if inner.code() in _TOPIC_GONE:
        message = f"{doing}: there is no such topic, or partition of it ({inner.name()})"
        return chained(TopicGoneError(f"{message}; {_ADVICE[NotFoundError]}"), error)
    if inner.code() in _GIVEN_UP:
        message = f"{doing}: not acknowledged in time ({inner.name()}); {_GIVEN_UP_HINT}"
        return chained(ProduceError(message), error)
    return chained(ProduceError(str(translated)), error)


def was_given_up(error: ConnectdError) -> bool:
    """Whether a delivery failed for lack of time only (a producer that may give up)."""
    cause = error.__cause__
    return isinstance(cause, KafkaException) and kafka_error(cause).code() in _GIVEN_UP


def chained(ours: ConnectdError, theirs: KafkaError | KafkaException) -> ConnectdError:
    """Keep the cause, also where nothing was raised."""
    ours.__cause__ = theirs if isinstance(theirs, BaseException) else KafkaException(theirs)
    return ours
