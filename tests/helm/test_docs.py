"""docs/kubernetes.md shows values that the chart takes, names that exist, and what is really so."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pyspark
import pytest
import yaml

from connectd import cli
from connectd.configdef.worker_keys import WORKER_DEF
from tests.helm import chart_values
from tests.helm.test_objects import KUBERNETES
from tests.helm.test_values import worker_file
from tests.helm.value_sets import VALUE_SETS, chart
from tests.image import dockerfile
from tests.image.locks import ROOT

PAGE = (ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NUMBERS = {8: "eight"}


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_chart_takes_the_values_of_every_example(number: int) -> None:
    values = yaml.safe_load(EXAMPLES[number])
    chart.render(values, release="connectd")
    assert chart.lint(values) == []


def test_values_that_are_named_exist() -> None:
    values = chart_values.read(chart.path / "values.yaml")
    known = {leaf.path for leaf in chart_values.leaves(values)}
    groups = {path.rpartition(".")[0] for path in known}
    named = set(re.findall(r"`([a-z][A-Za-z]*(?:\.[A-Za-z]+)+)`", PAGE))
    ours = {each for each in named if each.partition(".")[0] in {v.name for v in values}}
    elsewhere = {each for each in ours - known - groups if each not in WORKER_DEF}
    assert {each for each in elsewhere if not each.startswith("connectors.items.")} == set()
    assert len(ours) > 8


def test_objects_have_the_names_that_the_page_uses() -> None:
    objects = chart.render({**VALUE_SETS["connectors and secrets"]}, release="connectd")
    names = {f"{each['kind'].lower()}/{each['metadata']['name']}" for each in objects.objects}
    named = set(re.findall(r"\b(?:statefulset|job)/[a-z-]+", PAGE))
    assert named == {"statefulset/connectd", "job/connectd-connectors"}
    assert named <= names
    for name in named:
        assert name in objects.notes


def test_targets_and_commands_exist() -> None:
    targets = set(re.findall(r"--target ([a-z]+)", PAGE))
    assert targets == {"spark"}
    assert targets <= set(dockerfile.read().stages)
    with pytest.raises(SystemExit) as ending:
        cli.main(["connectors", "apply", "--help"])
    assert ending.value.code == 0


def test_settings_of_spark_that_the_chart_makes_exist_in_the_spark_that_is_installed() -> None:
    declarations = bytearray()
    for jar in (Path(pyspark.__file__).parent / "jars").glob("spark-*.jar"):
        if jar.name.startswith(("spark-core_", "spark-kubernetes_")):
            with zipfile.ZipFile(jar) as archive:
                for name in archive.namelist():
                    if name.endswith(("config/package$.class", "k8s/Config$.class")):
                        declarations += archive.read(name)
    file = worker_file(chart.render(VALUE_SETS["spark on Kubernetes"]))
    made = {key.removeprefix("spark.conf.") for key in file if key.startswith("spark.conf.")}
    made.remove("spark.kubernetes.authenticate.executor.serviceAccountName")  # made of two parts
    assert len(made) > 10
    assert [each for each in made if each.encode() not in declarations] == []


def test_what_was_tried_is_what_the_tests_try() -> None:
    text = " ".join(PAGE.split())
    assert f"{NUMBERS[len(VALUE_SETS)]} sets of values" in text
    assert " and ".join(KUBERNETES) in text
