"""One call of the control plane: renewed keys once, as on the data plane (``test_wire``)."""

from __future__ import annotations

import asyncio

import pytest
from botocore.exceptions import ClientError

from connectd.aws.blocking import BlockingCalls
from connectd.aws.control import ControlPlane
from connectd.aws.signing import FrozenCredentials
from connectd.errors import AccessDeniedError, RetriableError
from tests.unit.aws.doubles import CALL, ScriptedKeys

FIRST = FrozenCredentials("FIRST", "secret", "old")
SECOND = FrozenCredentials("SECOND", "secret", "new")


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "DescribeTable")


def answer(keys: ScriptedKeys, *script: ClientError | str) -> str:
    steps = iter(script)

    def method() -> str:
        step = next(steps)
        if isinstance(step, ClientError):
            raise step
        return step

    async def called() -> str:
        blocking = BlockingCalls(threads_max=1)
        try:
            return await ControlPlane(blocking=blocking, keys=keys, deadline_s=5).call(CALL, method)
        finally:
            await blocking.close(deadline_s=5)

    return asyncio.run(called())


def test_an_expired_token_is_renewed_once() -> None:
    keys = ScriptedKeys(FIRST, SECOND)
    assert answer(keys, refusal("ExpiredTokenException"), "good") == "good"
    assert keys.renewals == 1


def test_new_credentials_that_have_run_out_too_are_the_caller_s_to_wait_for() -> None:
    expired = refusal("ExpiredTokenException")
    with pytest.raises(RetriableError, match="renewed just before"):
        answer(ScriptedKeys(FIRST, SECOND), expired, expired)


@pytest.mark.parametrize(
    ("keys", "script"),
    [
        (ScriptedKeys(FIRST), ("ExpiredTokenException",)),
        (ScriptedKeys(FIRST, SECOND), ("AccessDeniedException",)),
        (ScriptedKeys(FIRST, SECOND), ("ExpiredTokenException", "AccessDeniedException")),
    ],
    ids=["nothing to renew", "denied", "denied afterwards"],
)
def test_what_no_renewal_mends_is_final(keys: ScriptedKeys, script: tuple[str, ...]) -> None:
    with pytest.raises(AccessDeniedError, match=script[-1]):
        answer(keys, *map(refusal, script))
