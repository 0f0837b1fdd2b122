"""Plays scenarios at one side, on a worker of the kind that each of them asks for."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from tests.conformance.rest import sides
from tests.conformance.rest.driving import WAIT_S, Driver
from tests.conformance.rest.sides import Side
from tests.conformance.rest.steps import Scenario, Worker


class Stage:
    """Starts a worker of a kind when the first scenario asks for it; plays no scenario twice."""

    def __init__(self, side: Side, bootstrap: str, *, patience_s: float = WAIT_S) -> None:
        """``patience_s``: how long a polled step waits for its answer."""
        self._side = side
        self._bootstrap = bootstrap
        self._patience_s = patience_s
        self._drivers: dict[Worker, Driver] = {}
        self._played: dict[str, dict[str, Any]] = {}
        self._stack = ExitStack()

    def play(
        self, scenario: Scenario, *, on_step: Callable[[], object] = lambda: None
    ) -> dict[str, Any]:
        """The transcript of ``scenario`` at this side."""
        if scenario.name not in self._played:
            driver = self._driver(scenario.worker)
            self._played[scenario.name] = driver.play(scenario, on_step=on_step)
        return self._played[scenario.name]

    def _driver(self, worker: Worker) -> Driver:
        if worker not in self._drivers:
            directory = tempfile.TemporaryDirectory(prefix="conformance-")
            running = sides.running(
                self._side,
                worker,
                self._bootstrap,
                f"run-{uuid.uuid4().hex[:8]}",
                Path(self._stack.enter_context(directory)),
                patience_s=self._patience_s,
            )
            self._drivers[worker] = self._stack.enter_context(running)
        return self._drivers[worker]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
