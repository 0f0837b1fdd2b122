"""``connectd reconcile``: its explanation, its options, and how a report is printed."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from connectd import cli
from connectd.cli import entry, progress, reconcile
from connectd.connectors.dynamodb.reconciling import (
    Compared,
    Counts,
    Difference,
    Exported,
    Kind,
    Repaired,
    Report,
)

CapSys = pytest.CaptureFixture[str]

EXAMPLES = [
    line.partition("|")[0].strip()
    for line in reconcile._HELP.splitlines()
    if line.startswith("  connectd reconcile")
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_the_explanation_are_understood(example: str) -> None:
    options = entry._parser().parse_args(shlex.split(example)[1:])
    assert (options.connector, options.table) == ("orders-source", "orders")
    assert str(options.worker) == "worker.properties"
    assert options.repair is ("--repair" in example.split())
    assert options.repair_extra is ("--repair-extra" in example.split())


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 6


@pytest.mark.parametrize(
    "arguments",
    [["c"], ["c", "t", "--url", "http://a", "--file", "b"], ["c", "t", "--settle", "-1"],
     ["c", "t", "--show", "many"], ["c", "t", "--spark", "--export", "arn:aws:dynamodb:x"]],
)  # fmt: skip
def test_what_is_not_understood_ends_with_2(arguments: list[str], capsys: CapSys) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["reconcile", *arguments])
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("option", "text", "told"),
    [
        ("--settle", "abc", "'abc' is not seconds from 0 to 86400"),
        ("--settle", "nan", "'nan' is not seconds from 0 to 86400"),
        ("--settle", "86401", "'86401' is not seconds from 0 to 86400"),
        ("--show", "1.5", "'1.5' is not a whole number from 0 to 1000000"),
        ("--show", "-1", "'-1' is not a whole number from 0 to 1000000"),
    ],
)
def test_a_number_that_is_none_says_what_is_wanted(
    option: str, text: str, told: str, capsys: CapSys
) -> None:
    with pytest.raises(SystemExit):
        cli.main(["reconcile", "c", "t", f"{option}={text}"])
    assert f"argument {option}: {told}\n" in capsys.readouterr().err


def test_without_a_worker_file_the_environment_must_name_brokers(capsys: CapSys) -> None:
    assert cli.main(["reconcile", "c", "t"]) == 2
    assert "-w" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ZeroDivisionError])
def test_what_is_not_compared_is_never_taken_for_different(
    kind: type[BaseException], monkeypatch: pytest.MonkeyPatch, capsys: CapSys
) -> None:
    def fails(path: object) -> object:
        raise kind

    monkeypatch.setattr(reconcile, "_worker_config", fails)
    try:
        code: object = cli.main(["reconcile", "c", "t"])
    except SystemExit as ended:
        code = ended.code
    assert code == 2


def report(counts: Counts, *differences: Difference, repaired: Repaired | None = None) -> Report:
    return Report(
        "c", "orders", ("o",), Compared.DOCUMENTS, counts, differences, ("mind",), repaired
    )


def test_a_report_for_people(capsys: CapSys) -> None:
    counts = Counts(items=1200, records=5000, keys=1201, equal=1198, missing=1, stale=1, extra=2)
    reconcile._print(
        report(
            counts,
            Difference(Kind.MISSING, "o", {"id": "ä"}, None, None),
            Difference(Kind.EXTRA, "o", "raw", 3, 77),
        )
    )
    out, err = capsys.readouterr()
    assert out == (
        "table  orders: 1,200 items\n"
        "topic  o: 5,000 records, 1,201 keys with an item\n"
        "differ 1 missing, 1 stale, 2 extra\n"
        "\n"
        "KIND     TOPIC  RECORD  KEY\n"
        'missing  o              {"id": "ä"}\n'
        "extra    o      3@77    raw\n"
        "… and 2 more\n"
    )
    assert err == "note: mind\n"


def test_keys_in_conflict_are_counted_where_there_are_some(capsys: CapSys) -> None:
    conflict = Difference(Kind.CONFLICT, "o", {"id": "a"}, 0, 7, held_by="invoices")
    reconcile._print(report(Counts(items=1, conflict=1), conflict))
    out = capsys.readouterr().out
    assert "differ 0 missing, 0 stale, 0 extra, 1 in conflict\n" in out
    assert 'conflict  o      0@7     {"id": "a"}\n' in out


def test_an_equal_one_after_a_repair(capsys: CapSys) -> None:
    reconcile._print(report(Counts(items=1, keys=1, equal=1), repaired=Repaired(2, 1)))
    out = capsys.readouterr().out
    assert "repair 2 records and 1 tombstones written\nequal  compared by documents\n" in out


def test_an_export_is_named_with_the_time_of_its_picture(capsys: CapSys) -> None:
    equal = report(Counts(items=1, keys=1, equal=1))
    for exported, text in (
        (Exported("arn", "2026-05-01T10:00:00.000Z"), "export arn of 2026-05-01T10:00:00.000Z\n"),
        (Exported("arn", None), "export arn of an unknown time\n"),
    ):
        reconcile._print(replace(equal, export=exported))
        assert f"table  orders: 1 items\n{text}topic  " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("done", "total", "text"),
    [
        (0, None, "reading"),
        (1234, None, "reading  1,234"),
        (0, 0, "reading"),
        (1, 4, "reading  [#######.......................]  25%  1 of 4"),
        (5, 4, "reading  [##############################] 100%  5 of 4"),
    ],
)
def test_progress(done: int, total: int | None, text: str) -> None:
    assert progress.line("reading", done, total) == text
