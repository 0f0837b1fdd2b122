"""What a Python worker makes once for a job: clients, converters, transforms, topics, producer.

Owned by ``segment_scan``'s worker, on its event loop. Making them reads service models and loads
plugins, some hundred milliseconds; a process does many chunks.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from connectd.aio.clock import Clock
from connectd.app import bundled
from connectd.aws.clients import AwsClients
from connectd.configdef.catalogue import PluginKind
from connectd.connectors.dynamodb import scan_job
from connectd.connectors.dynamodb.plan import TablePlan
from connectd.connectors.dynamodb.scan_job import ScanJob
from connectd.errors import ConnectdError
from connectd.kafka.admin import KafkaAdmin
from connectd.pipeline.encoding import Converters
from connectd.pipeline.tolerance import ErrorPolicy
from connectd.pipeline.topics import TaskTopics
from connectd.plugins import chaining
from spark_jobs.chunk_sending import ChunkSender
from spark_jobs.chunks import ChunkOrder


@dataclass
class ChunkTools:
    """See the module's docstring."""

    job: ScanJob
    clock: Clock
    plan: TablePlan
    policy: ErrorPolicy
    converters: Converters
    topics: TaskTopics
    clients: AwsClients
    sender: ChunkSender

    def renew_sender(self) -> None:
        """Throw the producer away, with everything that it could not deliver."""
        self.sender.discard()
        self.sender = ChunkSender(self.job.producer)

    async def close(self) -> None:
        """Close connections and threads; the last chunk has been answered."""
        self.sender.discard()
        await self.clients.close()


async def open_tools(order: ChunkOrder, clock: Clock) -> ChunkTools:
    """Make all of them; nothing is connected yet.

    Raises:
        ConfigError: a plugin or a setting that the job names cannot be used here.
    """
    job = ScanJob.from_json(order.job)
    converters = make_converters(job)
    topics = make_topics(job, clock)
    sender = ChunkSender(job.producer)
    clients = AwsClients(scan_job.with_aws_keys(job.aws, order.aws_keys), clock)
    try:
        await clients.open()
    except ConnectdError:
        sender.discard()
        raise
    return ChunkTools(
        job=job,
        clock=clock,
        plan=job.plan,
        policy=ErrorPolicy(**dataclasses.asdict(job.errors)),
        converters=converters,
        topics=topics,
        clients=clients,
        sender=sender,
    )


def make_converters(job: ScanJob) -> Converters:
    """Converters and transforms of the connector, from the plugins that are installed here.

    Raises:
        ConfigError: there is no such plugin, or it refuses its settings.
    """
    registry = bundled.plugin_registry()
    converter, header = PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER
    key, value, headers = job.key_converter, job.value_converter, job.header_converter
    return Converters(
        key=registry.find(converter, key.class_name).cls(key),
        value=registry.find(converter, value.class_name).cls(value),
        header=registry.find(header, headers.class_name).cls(headers),
        transforms=chaining.make_chain(registry, dict(job.connector_config)),
    )


def make_topics(job: ScanJob, clock: Clock) -> TaskTopics:
    """The connector's rules about topics.

    Raises:
        ConfigError: they are wrong.
    """
    client_id = job.admin.get("client.id", f"connectd-scan-{job.connector}")
    return TaskTopics(
        clock=clock,
        reserved=frozenset(job.reserved_topics),
        rules=job.topic_rules(),
        open_admin=lambda: KafkaAdmin(job.admin, client_id=client_id, clock=clock),
        log_fields={"connector": job.connector, "table": job.table},
    )
