"""``FakeAws``: DynamoDB, DynamoDB Streams, the tagging API and STS as one object.

``handle`` takes an HTTP request and gives the answer; ``call`` does the same without HTTP. There
is no socket, thread or timer in here: delays are told in the answer and kept by the server.

A request passes, in this order: who is it (``identity``), may it (``Denial``), how often
(``throttles``), what goes wrong (``faults``), the operation itself, the hooks that follow it. All
of it is noted in the journal.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from tests.fakes import requests
from tests.fakes.account import Account
from tests.fakes.clock import FakeClock
from tests.fakes.control import Control, Parts
from tests.fakes.faults import DAMAGES, NETWORK_ERRORS, Call, Faults, Injection
from tests.fakes.identity import Identities
from tests.fakes.journal import Entry, Journal
from tests.fakes.service_items import ItemService
from tests.fakes.service_streams import StreamService
from tests.fakes.service_sts import SecurityTokenService, xml_error
from tests.fakes.service_tables import TableService
from tests.fakes.service_tagging import TaggingService
from tests.fakes.throttles import RateLimits, TableCapacity
from tests.fakes.wire import Answer, AwsError, Ending, Operation, Payload, Reply, not_implemented

CONTROL_PATH = "/_control"
_JSON_1_0 = "application/x-amz-json-1.0"
_JSON_1_1 = "application/x-amz-json-1.1"
_HTML = b"<html><body><h1>503 Service Temporarily Unavailable</h1></body></html>"


class FakeAws:
    """The whole fake. ``control`` scripts it; ``clock`` is its time."""

    def __init__(
        self,
        clock: FakeClock | None = None,
        *,
        region: str = "eu-west-1",
        partitions: int = 1,
    ) -> None:
        self.clock = clock or FakeClock.running()
        self.account = Account(self.clock, region=region)
        self.account.default_partitions = partitions
        capacity = TableCapacity(self.clock)
        streams = StreamService(self.account)
        tagging = TaggingService(self.account)
        self._rates = RateLimits(self.clock)
        self._faults = Faults()
        self._identities = Identities(self.clock, self.account.account_id)
        self._sts = SecurityTokenService(self.account, self._identities)
        self.journal = Journal()
        self._operations: dict[str, Mapping[str, Operation]] = {
            "dynamodb": {
                **TableService(self.account, capacity).operations,
                **ItemService(self.account, capacity).operations,
            },
            "streams": streams.operations,
            "tagging": tagging.operations,
        }
        self.control = Control(
            Parts(
                account=self.account,
                capacity=capacity,
                faults=self._faults,
                identities=self._identities,
                journal=self.journal,
                rates=self._rates,
                streams=streams,
                tagging=tagging,
            )
        )

    # -- entrances -----------------------------------------------------------------------------

    def handle(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer one HTTP request; ``headers`` have lower-case names."""
        path = path.partition("?")[0]
        if path == CONTROL_PATH:
            return Answer(*self.control.handle(body), headers={"Content-Type": "application/json"})
        if method != "POST":
            health = f"healthy: dynamodb.{self.account.region}.amazonaws.com "
            return Answer(200, health.encode(), headers={"Content-Type": "text/plain"})

        def identify() -> str:
            return self._identities.principal_of(method, path, headers, body)

        target = headers.get("x-amz-target")
        number = self.journal.next_number()
        if target is None:
            return self._handle_query(identify, body, number)
        return self._handle_json(identify, target, body, number)

    def call(self, service: str, operation: str, payload: Payload) -> Any:
        """Perform an operation without HTTP; ``service``: dynamodb, streams or tagging.

        Raises:
            AwsError: as AWS would answer. Delays and network faults are not applied here.
        """
        call = requests.describe_call(self.account, service, operation, payload)
        number = self.journal.next_number()
        outcome = self._perform(call, lambda: self._identities.user, payload, number)
        if isinstance(outcome.result, AwsError):
            raise outcome.result
        return orjson.loads(outcome.result.body or b"null")

    # -- JSON services -------------------------------------------------------------------------

    def _handle_json(
        self, identify: Callable[[], str], target: str, body: bytes, number: int
    ) -> Answer:
        try:
            service, operation = requests.service_and_operation(target)
            payload = requests.parse_json(body)
        except AwsError as error:
            return self._json_answer("dynamodb", _Outcome(error), number)
        call = requests.describe_call(self.account, service, operation, payload)
        return self._json_answer(service, self._perform(call, identify, payload, number), number)

    def _json_answer(self, service: str, outcome: _Outcome, number: int) -> Answer:
        result = outcome.result
        status, content = (
            (result.status, result.json_body())
            if isinstance(result, AwsError)
            else (200, result.body)
        )
        headers = {
            "Content-Type": _JSON_1_1 if service == "tagging" else _JSON_1_0,
            "x-amzn-RequestId": _request_id(number),
        }
        if outcome.damage == "HtmlError":
            headers["Content-Type"] = "text/html"
            status, content = 503, _HTML
        elif service != "tagging":
            crc = zlib.crc32(content) ^ (outcome.damage == "BadCrc")
            headers["x-amz-crc32"] = str(crc)
        return Answer(status, content, headers, outcome.delay_s, outcome.ending)

    def _perform(
        self, call: Call, identify: Callable[[], str], payload: Payload, number: int
    ) -> _Outcome:
        operation = self._operations[call.service].get(call.operation)

        def run() -> Reply:
            if operation is None:
                raise AwsError("UnknownOperationException")
            return operation(payload)

        return self._guarded(call, identify, run, number)

    # -- STS -----------------------------------------------------------------------------------

    def _handle_query(self, identify: Callable[[], str], body: bytes, number: int) -> Answer:
        parameters = requests.parse_query(body)
        operation = parameters.get("Action", "")
        call = Call("sts", operation, resource=parameters.get("RoleArn"))
        callers: list[str] = []

        def identify_once() -> str:
            callers.append(identify())
            return callers[0]

        def run() -> Reply:
            content = self._sts.run(operation, callers[0], parameters, _request_id(number))
            return Reply(content)

        outcome = self._guarded(call, identify_once, run, number)
        status, content = (
            xml_error(outcome.result, _request_id(number))
            if isinstance(outcome.result, AwsError)
            else (200, outcome.result.body)
        )
        headers = {"Content-Type": "text/xml", "x-amzn-RequestId": _request_id(number)}
        return Answer(status, content, headers, outcome.delay_s, outcome.ending)

    # -- the way that every call takes ---------------------------------------------------------

    def _guarded(
        self, call: Call, identify: Callable[[], str], run: Callable[[], Reply], number: int
    ) -> _Outcome:
        principal, injection, delay_s = "", None, 0.0
        result: Reply | AwsError
        try:
            principal = identify()
            if self._faults.is_denied(call):
                raise _access_denied(principal, call)
            self._rates.check(call.operation, call.table, call.shard_id)
            injection, delay_s = self._faults.strike(call)
            result = _result_of(call, injection, run)
        except AwsError as error:
            result = error
        self._note(call, principal, result, injection, number)
        for hook in self._faults.hooks_due(call):
            self.control.run(hook.command, hook.arguments)
        return _Outcome(result, delay_s, injection)

    def _note(
        self,
        call: Call,
        principal: str,
        result: Reply | AwsError,
        injection: Injection | None,
        number: int,
    ) -> None:
        code, count, units = None, 0, 0.0
        if isinstance(result, AwsError):
            code = result.code
        else:
            count, units = result.count, result.units
        self.journal.add(
            Entry(
                number=number,
                at_s=self.clock.now_s(),
                service=call.service,
                operation=call.operation,
                table=call.table,
                shard_id=call.shard_id,
                principal=principal,
                error=injection.error if injection is not None else code,
                count=count,
                units=units,
            )
        )


class _Outcome:
    """A result, and what is to happen on its way back."""

    def __init__(
        self, result: Reply | AwsError, delay_s: float = 0.0, injection: Injection | None = None
    ) -> None:
        code = injection.error if injection is not None and injection.error else ""
        self.result = result
        self.delay_s = delay_s
        self.ending = NETWORK_ERRORS.get(code, Ending.KEEP)
        self.damage = code if code in DAMAGES else None


def _result_of(call: Call, injection: Injection | None, run: Callable[[], Reply]) -> Reply:
    """Run an operation under an injection; delivered damage needs the true answer first."""
    code = injection.error if injection is not None else None
    is_network = code in NETWORK_ERRORS
    needs_answer = code in ("Truncated", "BadCrc")
    if injection is None or injection.is_applied or needs_answer:
        try:
            reply = run()
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise not_implemented(f"{call.operation} with such parameters: {error!r}") from error
        if injection is None or needs_answer or is_network:
            return reply
    assert injection is not None
    if is_network or code in DAMAGES:
        return Reply(b"{}")
    assert code is not None
    raise AwsError(code, injection.message, **injection.extra)


def _access_denied(principal: str, call: Call) -> AwsError:
    resource = f" on resource: {call.resource}" if call.resource else ""
    return AwsError(
        "AccessDeniedException",
        f"User: {principal} is not authorized to perform: {call.action}{resource} because no "
        f"identity-based policy allows the {call.action} action",
    )


def _request_id(number: int) -> str:
    return f"{number:032X}VV4KQNSO5AEMVJF66Q9ASUAAJG"[-52:]
