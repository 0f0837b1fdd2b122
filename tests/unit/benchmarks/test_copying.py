"""What ``scan`` and ``stream`` make of what they measured."""

from __future__ import annotations

from typing import cast

from benchmarks import copying
from benchmarks.copying import Way
from benchmarks.rig import Rig, Usage
from connectd.connectors.dynamodb.tiers import Tier
from tests.fakes.process import FakeProcess
from tests.harness.kafka import KafkaBroker

_PARTS = Rig(FakeProcess(tls=True), cast("KafkaBroker", None))


def _usage(cpu_us_per_item: float) -> Usage:
    return Usage(items=1_000, cpu_s=cpu_us_per_item / 1_000, wall_s=1, peak_rss_mib=100)


def _way(parts: Rig, *, compiled: float, portable: float, boto3: float, push: float) -> Way:
    way = Way(parts, by_loop={"boto3": _usage(boto3), "push": _usage(push)})
    way.note(Tier.COMPILED, _usage(compiled))
    way.note(Tier.PORTABLE, _usage(portable))
    return way


def test_each_encoder_over_tls_is_held_against_itself_and_the_yardsticks_over_tls() -> None:
    plain = _way(_PARTS, compiled=8, portable=20, boto3=160, push=4)
    tls = _way(_PARTS.over_tls(), compiled=10, portable=21, boto3=210, push=6)
    result = copying._result("scan", 1, _usage(9), plain, tls)
    assert (result["ratio_to_boto3"], result["portable_ratio_to_boto3"]) == (20, 8)
    assert (result["tls_ratio"], result["portable_tls_ratio"]) == (1.25, 1.05)
    assert (result["tls_ratio_to_boto3"], result["portable_tls_ratio_to_boto3"]) == (21, 10)
    assert (result["ratio_to_push"], result["tls_ratio_to_push"]) == (0.5, 0.6)
    without = copying._result("scan", 1, _usage(9), plain)
    assert without == {name: each for name, each in result.items() if "tls" not in name}


def test_of_several_rounds_the_least_cpu_counts() -> None:
    way = Way(_PARTS)
    for cpu_us in (9, 7, 8):
        way.note(Tier.COMPILED, _usage(cpu_us))
    assert way.cpu_us(Tier.COMPILED) == 7


def test_over_tls_the_worker_is_sent_to_the_other_port_and_trusts_its_certificate() -> None:
    with FakeProcess(tls=True) as fake:
        plain = Rig(fake, cast("KafkaBroker", None))
        tls = plain.over_tls()
        assert (plain.endpoint, tls.endpoint) == (fake.url, fake.tls_url)
        assert fake.tls_url.startswith("https://127.0.0.1:")
        assert tls.connector_config("t", {})["dynamodb.service.endpoint"] == fake.tls_url
        assert tls.trust == {"AWS_CA_BUNDLE": str(fake.ca_bundle)}
        assert plain.trust == {}
