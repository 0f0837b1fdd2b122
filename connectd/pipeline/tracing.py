"""Spans of one life of a task: poll, convert, send, commit; per page, never per record.

``TaskTracing`` is handed to the runner by those who wire it, or is not there: then the runner looks
at None once per poll and once per page, and that is all. A poll's span is the parent of what
becomes of its pages: they are taken one after the other before the next poll, so the newest poll is
theirs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence

from connectd.aio.clock import Clock
from connectd.errors import ConnectdError
from connectd.kafka.page import SendJob, SendResult
from connectd.model.record import Emission, Encoded, RecordBatch, SourceOffset, SourcePartition
from connectd.observe import spans
from connectd.observe.tracing import Parent, Span, Tracing, Value
from connectd.pipeline.committer import OffsetWriter
from connectd.pipeline.preparation import Encoder, ReadyPage


class TaskTracing:
    """See the module's docstring. Used on the loop; conversions are told from their threads."""

    def __init__(self, tracing: Tracing, clock: Clock, *, connector: str, task: int) -> None:
        self._tracing = tracing
        self._clock = clock
        self._connector = connector
        self._own: Mapping[str, Value] = {spans.CONNECTOR: connector, spans.TASK: task}
        self._poll: Parent | None = None

    async def polled(self, poll: Callable[[], Awaitable[Sequence[Emission]]]) -> Sequence[Emission]:
        """What a poll gives or raises."""
        began_s = self._clock.wall_s()
        try:
            emissions = await poll()
        except Exception as error:
            span = self._begin(spans.POLL, at_s=began_s)
            span.fail(type(error).__name__, str(error))
            span.end(at_s=self._clock.wall_s())
            raise
        sizes = [len(each.payload) for each in emissions if isinstance(each, RecordBatch)]
        if any(sizes):
            span = self._begin(spans.POLL, at_s=began_s)
            span.set({spans.PAGES: len(sizes), spans.RECORDS: sum(sizes)})
            span.end(at_s=self._clock.wall_s())
            self._poll = span.parent
        return emissions

    def traced(self, job: SendJob) -> SendJob:
        """The same page to send, telling of its way."""
        attributes: dict[str, Value] = {
            **self._own,
            spans.SYSTEM: "kafka",
            spans.OPERATION_NAME: spans.SEND.name,
            spans.OPERATION_TYPE: spans.SEND.name,
        }
        span = self._tracing.begin(spans.SEND, spans.SEND.name, attributes, parent=self._poll)
        encode = job.encode
        if not isinstance(encode, ReadyPage):
            encode = self._converting(encode)

        def on_done(result: SendResult) -> None:
            _end_send(span, result)
            job.on_done(result)

        return dataclasses.replace(job, encode=encode, on_done=on_done)

    def encoder(self, encoder: Encoder) -> Encoder:
        """The same encoder, telling of what it does."""
        return _TracedEncoder(encoder, self._converting)

    def writer(self, writer: OffsetWriter) -> OffsetWriter:
        """The same writer, telling of what it makes durable."""
        return _TracedWriter(writer, lambda: self._begin(spans.COMMIT))

    def _converting(self, encode: Callable[[], Encoded]) -> Callable[[], Encoded]:
        parent = self._poll

        def converting() -> Encoded:
            span = self._begin(spans.CONVERT, parent=parent)
            try:
                encoded = encode()
            except Exception as error:
                span.fail(type(error).__name__, str(error))
                raise
            else:
                span.set({spans.RECORDS: len(encoded.records)})
                return encoded
            finally:
                span.end()

        return converting

    def _begin(
        self, spec: spans.SpanSpec, *, parent: Parent | None = None, at_s: float | None = None
    ) -> Span:
        name = f"{spec.name} {self._connector}"
        return self._tracing.begin(spec, name, self._own, parent=parent, at_s=at_s)


def _end_send(span: Span, result: SendResult) -> None:
    span.set({spans.BATCH_COUNT: result.records})
    if len(result.topics) == 1:
        span.set({spans.DESTINATION: result.topics[0]})
        span.rename(f"{spans.SEND.name} {result.topics[0]}")
    error: ConnectdError | None = result.error
    if error is None and result.failures:
        error = result.failures[0].error
    if error is not None:
        span.fail(type(error).__name__, str(error))
    span.end()


class _TracedEncoder:
    def __init__(
        self, inner: Encoder, converting: Callable[[Callable[[], Encoded]], Callable[[], Encoded]]
    ) -> None:
        self._inner = inner
        self._converting = converting

    async def run(self, work: Callable[[], Encoded]) -> Encoded:
        return await self._inner.run(self._converting(work))

    def close(self) -> None:
        self._inner.close()


class _TracedWriter:
    def __init__(self, inner: OffsetWriter, begin: Callable[[], Span]) -> None:
        self._inner = inner
        self._begin = begin

    async def put(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
        span = self._begin()
        span.set({spans.SOURCE_PARTITIONS: len(offsets)})
        try:
            await self._inner.put(offsets)
        except Exception as error:
            span.fail(type(error).__name__, str(error))
            raise
        finally:
            span.end()
