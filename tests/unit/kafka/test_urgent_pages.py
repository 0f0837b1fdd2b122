"""Pages that somebody waits for pass the others before the producer's thread."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

from connectd.errors import ProduceError
from connectd.kafka.producer import QUEUE_PAGES_MAX, SendJob
from connectd.model.record import EncodedPage
from tests.unit.kafka.mock_cluster import MockCluster
from tests.unit.kafka.page_bench import DEADLINE_S, Bench, page, run


class TestUrgentPages:
    """They pass the others, which may be many, and have places of their own."""

    def test_they_are_encoded_first_and_keep_their_order(self, cluster: MockCluster) -> None:
        begun, goes_on = threading.Event(), threading.Event()
        encoded: list[str] = []

        async def work() -> None:
            bench = Bench(cluster)

            def job(name: str, *, is_urgent: bool = False) -> SendJob:
                def encode() -> EncodedPage:
                    begun.set()
                    assert goes_on.wait(DEADLINE_S)
                    encoded.append(name)
                    return EncodedPage("orders", [(None, name.encode())])

                key = "quiet" if is_urgent else "busy"
                return SendJob(encode, bench.answers.append, is_urgent=is_urgent, order_key=key)

            await bench.producer.send(job("first"))
            await asyncio.to_thread(begun.wait, DEADLINE_S)  # it is in the thread's hands
            for number in range(QUEUE_PAGES_MAX):
                await bench.producer.send(job(f"long {number}"))
            for number in range(QUEUE_PAGES_MAX):  # although there is no place for another
                await bench.producer.send(job(f"urgent {number}", is_urgent=True))
            late = asyncio.ensure_future(bench.producer.send(job("late", is_urgent=True)))
            await asyncio.sleep(0)
            assert not late.done()
            assert bench.producer.statistics().pages_queued == 2 * QUEUE_PAGES_MAX
            goes_on.set()
            await late
            await bench.settle()
            await bench.producer.close(DEADLINE_S)

        run(work)
        urgent = [f"urgent {number}" for number in range(QUEUE_PAGES_MAX)]
        long = [f"long {number}" for number in range(QUEUE_PAGES_MAX)]
        encoded.remove("late")  # it was put while these were encoded
        assert encoded == ["first", *urgent, *long]

    def test_none_passes_a_page_of_its_own_input_whoever_sent_that(
        self, cluster: MockCluster
    ) -> None:
        """A task may have ended, and its pages still wait here when the next one begins."""
        begun, goes_on = threading.Event(), threading.Event()
        encoded: list[str] = []

        async def work() -> None:
            bench = Bench(cluster)

            def job(name: str, key: str, *, is_urgent: bool = False) -> SendJob:
                def encode() -> EncodedPage:
                    begun.set()
                    assert goes_on.wait(DEADLINE_S)
                    encoded.append(name)
                    return EncodedPage("orders", [(None, name.encode())])

                return SendJob(encode, bench.answers.append, is_urgent=is_urgent, order_key=key)

            send = bench.producer.send
            await send(job("first", "other"))
            await asyncio.to_thread(begun.wait, DEADLINE_S)  # it is in the thread's hands
            for number in range(QUEUE_PAGES_MAX - 1):
                await send(job(f"old {number}", "orders"))
            await send(job("new", "orders", is_urgent=True))
            late = asyncio.ensure_future(send(job("newer", "orders", is_urgent=True)))
            await send(job("urgent", "clicks", is_urgent=True))
            assert not late.done(), "it waits for a place among the others"
            goes_on.set()
            await late
            await bench.settle()
            # Nothing of it waits any more.
            begun.clear()
            goes_on.clear()
            await send(job("again", "other"))
            await asyncio.to_thread(begun.wait, DEADLINE_S)
            await send(job("last", "other"))
            await send(job("passes", "orders", is_urgent=True))
            goes_on.set()
            await bench.settle()
            await bench.producer.close(DEADLINE_S)

        run(work)
        old = [f"old {number}" for number in range(QUEUE_PAGES_MAX - 1)]
        assert encoded == ["first", "urgent", *old, "new", "newer", "again", "passes", "last"]

    def test_one_that_waits_for_a_place_is_turned_away_with_the_others(
        self, cluster: MockCluster
    ) -> None:
        async def work() -> list[BaseException | None]:
            bench = Bench(cluster, queue_buffering_max_messages="1")
            cluster.go_away()
            sending = [
                asyncio.ensure_future(bench.producer.send(replace(bench.job(page(2)), is_urgent=u)))
                for u in (True, False)
                for _ in range(QUEUE_PAGES_MAX + 2)
            ]
            await asyncio.wait(sending, timeout=0.1)
            await bench.producer.close(0.05)
            return await asyncio.gather(*sending, return_exceptions=True)

        outcomes = run(work)
        half = len(outcomes) // 2
        assert any(isinstance(each, ProduceError) for each in outcomes[:half])
        assert any(isinstance(each, ProduceError) for each in outcomes[half:])
