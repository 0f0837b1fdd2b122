"""The style that a linter does not know, as a test (STYLE habit 10)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("connectd", "spark_jobs")
EVERYTHING = (*PRODUCT, "tests", "benchmarks")

MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "misc", "manager"}

CATCHES_EVERYTHING = {
    # Why each may catch Exception: it is a boundary that must go on, and it passes the error on.
    "connectd/runtime/": "the boundary of connectors and tasks: any failure becomes a status",
    "connectd/rest/errors.py": "the boundary of HTTP: any failure becomes an answer",
    "connectd/kafka/admin_keeper.py": "the clients' thread: one of them must not end it for others",
    "connectd/kafka/producer.py": "a page's owner: its failure must not hold back other answers",
    "connectd/kafka/sending.py": "the producer's thread: any failure is delivered to the loop",
    "connectd/kafka/log.py": "a log's owner: its failure ends the worker, with a word",
    "connectd/kafka/tailing.py": "the reader's thread: any failure is delivered to the loop",
    "connectd/pipeline/encoder_thread.py": "a task's thread: any failure is delivered to the loop",
    "connectd/pipeline/encoding.py": "the tolerance of records: plugins may raise anything",
    "connectd/pipeline/source_task.py": "an answer of the shared producer: it ends the task",
    "connectd/plugins/entry_points.py": "other people's packages: a failure is kept, and shown",
    "connectd/plugins/lookups.py": "the thread of a config provider: any failure is delivered",
    "connectd/aio/threads.py": "a thread for one call: any failure is delivered to who waits",
    "connectd/connectors/dynamodb/connector.py": "a round of discovery: it is shown, and repeated",
    "connectd/connectors/dynamodb/tiers.py": "an extension that cannot be loaded: the log says why",
}

FORBIDDEN_CALLS = {
    # call -> where it may stand
    "asyncio.create_task": ("connectd/aio/",),
    "asyncio.ensure_future": ("connectd/aio/",),
    "time.time": ("connectd/aio/clock.py",),
    "time.sleep": (),
    "datetime.now": (),
    "datetime.utcnow": (),
}


def _modules(*packages: str) -> Iterator[Path]:
    for package in packages:
        yield from sorted((ROOT / package).rglob("*.py"))


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_modules_are_short_enough_to_read() -> None:
    long = {
        _relative(path): lines
        for path in _modules(*EVERYTHING)
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MODULE_LINES_MAX
    }
    assert long == {}


def test_functions_fit_one_screen() -> None:
    long = [
        f"{_relative(path)}:{node.lineno} {node.name} {lines} lines"
        for path in _modules(*EVERYTHING)
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert long == []


def test_module_names_say_what_happens_there() -> None:
    banned = [_relative(path) for path in _modules(*EVERYTHING) if path.stem in BANNED_NAMES]
    assert banned == []


def test_every_module_of_the_product_has_a_plaque() -> None:
    bare = [_relative(path) for path in _modules(*PRODUCT) if not ast.get_docstring(_tree(path))]
    assert bare == []


def test_public_functions_and_classes_are_documented() -> None:
    bare = []
    for path in _modules(*PRODUCT):
        for node in _tree(path).body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            if not node.name.startswith("_") and not ast.get_docstring(node):
                bare.append(f"{_relative(path)}:{node.lineno} {node.name}")
    assert bare == []


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize("call", sorted(FORBIDDEN_CALLS))
def test_time_and_jobs_have_one_home(call: str) -> None:
    allowed = FORBIDDEN_CALLS[call]
    found = [
        f"{_relative(path)}:{node.lineno}"
        for path in _modules(*PRODUCT)
        if not any(_relative(path).startswith(home) for home in allowed)
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call) and _dotted(node.func) == call
    ]
    assert found == []


def _raises(node: ast.AST) -> bool:
    is_call = isinstance(node, ast.Call) and _dotted(node.func) == "raise_translated"
    return is_call or isinstance(node, ast.Raise)


def _catching_everything() -> Iterator[str]:
    for path in _modules(*PRODUCT):
        for node in ast.walk(_tree(path)):
            if not isinstance(node, ast.ExceptHandler) or node.type is None:
                continue
            names = {_dotted(item) for item in ast.walk(node.type) if isinstance(item, ast.Name)}
            re_raises = any(_raises(item) for item in ast.walk(node))
            if names & {"Exception", "BaseException"} and not re_raises:
                yield f"{_relative(path)}:{node.lineno}"


def test_only_named_boundaries_catch_everything() -> None:
    unnamed = [
        place for place in _catching_everything() if not place.startswith(tuple(CATCHES_EVERYTHING))
    ]
    assert unnamed == []


def test_the_list_of_boundaries_is_not_stale() -> None:
    places = list(_catching_everything())
    stale = [
        home for home in CATCHES_EVERYTHING if not any(place.startswith(home) for place in places)
    ]
    assert stale == []


def test_no_queue_is_waited_for_with_a_timeout() -> None:
    """``SimpleQueue.get(timeout=...)`` may wait for ever in CPython: an item that comes just as the
    time is over leaves the queue's lock free, and the next call counts its rest anew, maybe below
    zero, which means endless. ``app/end_watch.py`` does not call again after a timeout."""
    found = [
        f"{_relative(path)}:{node.lineno}"
        for path in _modules("connectd", "spark_jobs")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and any(keyword.arg == "timeout" for keyword in node.keywords)
    ]
    assert [place.partition(":")[0] for place in found] == ["connectd/app/end_watch.py"]


def test_no_test_sleeps() -> None:
    """Waiting for a process or a broker polls with a deadline in the harness, nowhere else."""
    found = [
        f"{_relative(path)}:{node.lineno}"
        for path in _modules("tests")
        if not _relative(path).startswith(("tests/harness/", "tests/demo/", "tests/simulation/"))
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call) and _dotted(node.func) == "time.sleep"
    ]
    assert found == []


def test_nothing_is_left_for_later_without_a_name() -> None:
    """The words stand here because this is what refuses them everywhere in the product."""
    marker = re.compile(r"\b(TODO|FIXME|XXX)\b|NotImplementedError")
    found = [
        f"{_relative(path)}:{number}"
        for path in _modules(*PRODUCT)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if marker.search(line)
    ]
    assert found == []


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    """The words stand here because this is what refuses them in every other file of the tests."""
    marker = re.compile(r"pytest\.(mark\.)?(skip|skipif|xfail|importorskip)\b")
    found = [
        f"{_relative(path)}:{number}"
        for path in _modules("tests")
        if path != Path(__file__).resolve()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if marker.search(line)
    ]
    assert found == []
