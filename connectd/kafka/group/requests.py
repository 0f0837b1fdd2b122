"""The requests of a group's member, as tables (Kafka protocol guide).

Of each request the versions that are spoken here: from the oldest that serves us to the last before
flexible versions. Brokers since Kafka 0.11 have one of them, and Kafka 4 still has all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connectd.kafka.group.wire import (
    BYTES,
    INT8,
    INT16,
    INT32,
    NULLABLE_BYTES,
    NULLABLE_STRING,
    STRING,
    Array,
    Field,
    Struct,
)


@dataclass(frozen=True)
class Api:
    """One kind of request: its number, the versions spoken here, and the two layouts."""

    key: int
    name: str
    oldest: int
    newest: int
    request: Struct
    response: Struct


HEADER: Final = Struct(
    Field("api_key", INT16),
    Field("api_version", INT16),
    Field("correlation_id", INT32),
    Field("client_id", NULLABLE_STRING),
)
"""Before every request; before every response there is its correlation id alone."""

API_VERSIONS: Final = Api(
    18,
    "ApiVersions",
    0,
    0,
    Struct(),
    Struct(
        Field("error_code", INT16),
        Field(
            "api_keys",
            Array(Struct(Field("key", INT16), Field("oldest", INT16), Field("newest", INT16))),
        ),
    ),
)

SASL_HANDSHAKE: Final = Api(
    17,
    "SaslHandshake",
    1,
    1,
    Struct(Field("mechanism", STRING)),
    Struct(Field("error_code", INT16), Field("mechanisms", Array(STRING))),
)

SASL_AUTHENTICATE: Final = Api(
    36,
    "SaslAuthenticate",
    0,
    0,
    Struct(Field("auth_bytes", BYTES)),
    Struct(
        Field("error_code", INT16),
        Field("error_message", NULLABLE_STRING),
        Field("auth_bytes", BYTES),
    ),
)

FIND_COORDINATOR: Final = Api(
    10,
    "FindCoordinator",
    1,
    2,
    Struct(Field("key", STRING), Field("key_type", INT8)),
    Struct(
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", NULLABLE_STRING),
        Field("node_id", INT32),
        Field("host", STRING),
        Field("port", INT32),
    ),
)

JOIN_GROUP: Final = Api(
    11,
    "JoinGroup",
    2,
    5,
    Struct(
        Field("group_id", STRING),
        Field("session_timeout_ms", INT32),
        Field("rebalance_timeout_ms", INT32),
        Field("member_id", STRING),
        Field("group_instance_id", NULLABLE_STRING, since=5),
        Field("protocol_type", STRING),
        Field("protocols", Array(Struct(Field("name", STRING), Field("metadata", BYTES)))),
    ),
    Struct(
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("generation_id", INT32),
        Field("protocol_name", NULLABLE_STRING),
        Field("leader", STRING),
        Field("member_id", STRING),
        Field(
            "members",
            Array(
                Struct(
                    Field("member_id", STRING),
                    Field("group_instance_id", NULLABLE_STRING, since=5),
                    Field("metadata", BYTES),
                )
            ),
        ),
    ),
)

SYNC_GROUP: Final = Api(
    14,
    "SyncGroup",
    1,
    3,
    Struct(
        Field("group_id", STRING),
        Field("generation_id", INT32),
        Field("member_id", STRING),
        Field("group_instance_id", NULLABLE_STRING, since=3),
        Field("assignments", Array(Struct(Field("member_id", STRING), Field("assignment", BYTES)))),
    ),
    Struct(
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("assignment", NULLABLE_BYTES),
    ),
)

HEARTBEAT: Final = Api(
    12,
    "Heartbeat",
    1,
    3,
    Struct(
        Field("group_id", STRING),
        Field("generation_id", INT32),
        Field("member_id", STRING),
        Field("group_instance_id", NULLABLE_STRING, since=3),
    ),
    Struct(Field("throttle_time_ms", INT32), Field("error_code", INT16)),
)

_LEAVING: Final = Struct(Field("member_id", STRING), Field("group_instance_id", NULLABLE_STRING))

LEAVE_GROUP: Final = Api(
    13,
    "LeaveGroup",
    1,
    3,
    Struct(
        Field("group_id", STRING),
        Field("member_id", STRING, until=2),
        Field("members", Array(_LEAVING), since=3),
    ),
    Struct(Field("throttle_time_ms", INT32), Field("error_code", INT16)),
)
