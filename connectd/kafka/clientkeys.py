"""Tables: which settings of Kafka clients are known, and what becomes of the Java-only ones.

``clientconf`` reads them. A key is either *passed* to librdkafka under its own name, *renamed*,
*dropped* (it has no counterpart and its absence changes nothing that a user would notice),
*refused* (with advice), or *forbidden*: it would load code, run a command or read a file for
somebody else (``configdef.client_dangers``). Everything else is unknown.
"""

from __future__ import annotations

from connectd.configdef import client_dangers


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMMON = _names(
    """
    bootstrap.servers client.id client.rack client.dns.lookup metadata.recovery.strategy
    metadata.recovery.rebootstrap.trigger.ms topic.metadata.refresh.interval.ms
    topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.sparse
    topic.metadata.propagation.max.ms message.max.bytes message.copy.max.bytes
    receive.message.max.bytes max.in.flight.requests.per.connection debug
    socket.timeout.ms socket.send.buffer.bytes socket.receive.buffer.bytes socket.keepalive.enable
    socket.nagle.disable socket.max.fails socket.connection.setup.timeout.ms broker.address.ttl
    broker.address.family connections.max.idle.ms reconnect.backoff.ms reconnect.backoff.max.ms
    retry.backoff.ms retry.backoff.max.ms statistics.interval.ms log.connection.close
    api.version.request.timeout.ms allow.auto.create.topics enable.metrics.push
    security.protocol ssl.cipher.suites ssl.curves.list ssl.sigalgs.list ssl.key.location
    ssl.key.password ssl.key.pem ssl.certificate.location ssl.certificate.pem ssl.ca.location
    ssl.ca.pem ssl.crl.location https.ca.location https.ca.pem
    enable.ssl.certificate.verification ssl.endpoint.identification.algorithm
    sasl.mechanism sasl.mechanisms sasl.username sasl.password sasl.kerberos.service.name
    sasl.kerberos.principal sasl.kerberos.keytab sasl.kerberos.min.time.before.relogin
    sasl.oauthbearer.config enable.sasl.oauthbearer.unsecure.jwt sasl.oauthbearer.method
    sasl.oauthbearer.client.id sasl.oauthbearer.client.secret
    sasl.oauthbearer.client.credentials.client.id
    sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.scope
    sasl.oauthbearer.extensions sasl.oauthbearer.token.endpoint.url
    sasl.oauthbearer.sub.claim.name sasl.oauthbearer.grant.type
    """
)
"""librdkafka settings of every client; where Java has the name too, the meaning is the same."""

PRODUCER = _names(
    """
    acks enable.idempotence linger.ms queue.buffering.max.ms
    queue.buffering.max.messages queue.buffering.max.kbytes batch.size batch.num.messages
    compression.type compression.codec compression.level retries
    request.timeout.ms message.timeout.ms partitioner sticky.partitioning.linger.ms
    queue.buffering.backpressure.threshold transactional.id transaction.timeout.ms
    """
)

CONSUMER = _names(
    """
    group.id group.instance.id group.protocol partition.assignment.strategy session.timeout.ms
    heartbeat.interval.ms max.poll.interval.ms enable.auto.commit auto.commit.interval.ms
    auto.offset.reset isolation.level fetch.wait.max.ms fetch.min.bytes fetch.max.bytes
    max.partition.fetch.bytes fetch.error.backoff.ms queued.min.messages
    queued.max.messages.kbytes enable.partition.eof check.crcs
    """
)

RENAMED = {
    "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    # producer
    "delivery.timeout.ms": "message.timeout.ms",
    "max.request.size": "message.max.bytes",
    "buffer.memory": "queue.buffering.max.kbytes",
    # consumer
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    # librdkafka's own second names
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
    "max.in.flight": "max.in.flight.requests.per.connection",
}
"""Java name to librdkafka name; ``clientconf`` converts the values whose units differ."""

DROPPED = _names(
    """
    key.serializer value.serializer key.deserializer value.deserializer max.block.ms
    socket.connection.setup.timeout.max.ms metric.reporters metrics.num.samples
    metrics.recording.level metrics.sample.window.ms auto.include.jmx.reporter
    ssl.keymanager.algorithm ssl.trustmanager.algorithm ssl.secure.random.implementation
    ssl.provider sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
    sasl.login.refresh.min.period.seconds sasl.login.refresh.buffer.seconds
    sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.retry.backoff.ms
    sasl.login.retry.backoff.max.ms sasl.kerberos.ticket.renew.jitter
    sasl.kerberos.ticket.renew.window.factor metadata.max.idle.ms partitioner.ignore.keys
    partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms max.poll.records
    exclude.internal.topics
    default.api.timeout.ms sasl.oauthbearer.jwks.endpoint.url
    sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.clock.skew.seconds
    sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
    sasl.oauthbearer.scope.claim.name sasl.oauthbearer.header.urlencode
    """
)

REFUSED = {
    "compression.gzip.level": "use compression.level",
    "compression.lz4.level": "use compression.level",
    "compression.zstd.level": "use compression.level",
    "share.acknowledgement.mode": "share groups are not used here",
    "topic.blacklist": "it would drop records silently",
    "delivery.report.only.error": "acknowledgements are what offsets are committed on",
    "enable.gapless.guarantee": "use enable.idempotence",
    "queuing.strategy": "records keep their order here",
}
"""Known, but not possible here, with what to do instead."""

FORBIDDEN = frozenset(client_dangers.NEVER) - DROPPED - {"config.providers"}
"""What no client gets, whoever asks for it. (A worker's own file may name providers, which are the
worker's, and reporters, in vain.)"""
