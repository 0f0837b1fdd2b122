"""Plays a scenario at one worker and writes down, normalised, what it answered."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tests.conformance.rest.exchange import Answer, send
from tests.conformance.rest.internal_topics import InternalTopics
from tests.conformance.rest.normalisation import Normaliser
from tests.conformance.rest.steps import NOT_SENT, Scenario, Step, compact
from tests.harness.processes import wait_for

WAIT_S: Final = 60.0
MOMENTARY: Final = ("because a rebalance is expected", "due to stale configuration")
WAITED_IN_VAIN: Final = "waited in vain for"
WAIT_AFTER_ONE_IN_VAIN_S: Final = 0.2
"""What follows a wait in vain will mostly wait in vain too; one long wait is enough."""


@dataclass
class Driver:
    """One worker as the script sees it."""

    address: str
    """Its host:port."""
    run: str
    """The word for ``{run}``."""
    directory: Path
    """The directory for ``{dir}``."""
    topics: InternalTopics
    versions: tuple[str, ...] = ()
    """The worker's own version numbers."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent with every request."""
    patience_s: float = WAIT_S

    def play(
        self, scenario: Scenario, *, on_step: Callable[[], object] = lambda: None
    ) -> dict[str, Any]:
        """The transcript of ``scenario``: every step's answer, and the records it left."""
        for name, text in scenario.files.items():
            (self.directory / name).write_text(text, encoding="utf-8")
        self.topics.skip()
        patience_s = self.patience_s
        steps = []
        for step in scenario.steps:
            answer, awaited = self._ask(step, patience_s)
            if not awaited:
                patience_s = WAIT_AFTER_ONE_IN_VAIN_S
            steps.append(self._entry(step, answer, awaited))
            on_step()
        self._delete_connectors(patience_s)
        return {
            "scenario": scenario.name,
            "about": scenario.about,
            "steps": steps,
            "records": self.topics.records_of_scenario(self._normaliser),
        }

    def _entry(self, step: Step, answer: Answer, awaited: bool) -> dict[str, Any]:
        entry = {
            **sent_of(step),
            "answer": self._normaliser.answer(answer, keep=step.keep),
        }
        if not awaited:
            assert step.until is not None
            entry[WAITED_IN_VAIN] = step.until.what
        return entry

    @property
    def _normaliser(self) -> Normaliser:
        return Normaliser(
            {
                self.address: "<worker>",
                str(self.directory): "<dir>",
                self.run: "<run>",
                **dict.fromkeys(self.versions, "<version>"),
            }
        )

    def _ask(self, step: Step, patience_s: float) -> tuple[Answer, bool]:
        """The answer, and whether it is the awaited one (always, for a step that is not polled)."""
        until = step.until
        if until is None:
            return self._send(step), True
        answers: list[Answer] = []
        missed_at = time.monotonic()

        def met() -> bool:
            nonlocal missed_at
            answers.append(self._send(step))
            if until.met(answers[-1]):
                return time.monotonic() >= missed_at + until.stays_s
            missed_at = time.monotonic()
            return False

        awaited = wait_for(met, deadline_s=patience_s)
        return answers[-1], awaited

    def _send(self, step: Step) -> Answer:
        body = None if step.body is None else self._filled(step.body).encode()
        headers = {name: self._filled(value) for name, value in step.headers.items()}
        if step.signed:
            headers |= self._signature(body or b"")
        headers = {
            name: value for name, value in {**self.headers, **headers}.items() if value != NOT_SENT
        }
        path = self._filled(step.path)
        answers: list[Answer] = []

        def answered() -> bool:
            answers.append(send(self.address, step.method, path, body, headers))
            return not _rebalancing(answers[-1])

        wait_for(answered, deadline_s=self.patience_s)
        return answers[-1]

    def _filled(self, text: str) -> str:
        filled = text.replace("{dir}", str(self.directory)).replace("{run}", self.run)
        return filled.replace("{worker}", self.address)

    def _signature(self, body: bytes) -> dict[str, str]:
        key = self.topics.session_key
        mac = hmac.new(base64.b64decode(key["key"]), body, hashlib.sha256)
        return {
            "X-Connect-Request-Signature-Algorithm": key["algorithm"],
            "X-Connect-Authorization": base64.b64encode(mac.digest()).decode(),
        }

    def _delete_connectors(self, patience_s: float) -> None:
        """Leave a worker without connectors, as every scenario expects it."""
        names = self._plain_send("GET", "/connectors").body or []
        for name in names:
            self._plain_send("DELETE", f"/connectors/{quote(name, safe='')}")
        for name in names:
            path = f"/connectors/{quote(name, safe='')}/status"

            def gone(path: str = path) -> bool:
                return self._plain_send("GET", path).status == 404

            wait_for(gone, deadline_s=patience_s)

    def _plain_send(self, method: str, path: str) -> Answer:
        return send(self.address, method, path, None, self.headers)


def _rebalancing(answer: Answer) -> bool:
    """Whether it is the answer of a worker that is about to rebalance: clients ask again."""
    message = answer.body.get("message") if isinstance(answer.body, dict) else None
    return isinstance(message, str) and any(each in message for each in MOMENTARY)


def sent_of(step: Step) -> dict[str, Any]:
    """The request of a step as a transcript has it, placeholders and all."""
    sent: dict[str, Any] = {"step": step.name, "request": f"{step.method} {step.path}"}
    headers = {name: value for name, value in step.headers.items() if name != "Content-Type"}
    if step.headers.get("Content-Type", "application/json") != "application/json":
        headers["Content-Type"] = step.headers["Content-Type"]
    if headers:
        sent["headers"] = headers
    if step.body is not None:
        sent |= _readable(step.body)
    return sent


def _readable(body: str) -> dict[str, Any]:
    try:
        parsed = json.loads(body)
    except ValueError:
        return {"raw": body}
    return {"body": parsed} if compact(parsed) == body else {"raw": body}
