"""A member's side of Kafka's group protocol, for protocol types that librdkafka does not offer.

librdkafka joins groups as a consumer only; workers of a Connect cluster are a group of another
type. So the few requests that membership needs are spoken here, on asyncio streams: what is in
their metadata and assignments is the caller's business (``runtime.group``).

* ``wire``        Kafka's primitive types and structures of them, as tables
* ``requests``    the requests, in versions that Kafka 0.11 and 4.x both speak
* ``access``      who one is and how to be sure of the broker, from the settings of every client
* ``scram``       the login that proves a password without sending it
* ``connection``  one connection to one broker
* ``client``      the group: find its coordinator, join, sync, heartbeat, leave

Nothing here knows ``confluent_kafka`` but for the names of error codes.
"""
