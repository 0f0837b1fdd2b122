"""SCRAM, by the worked example of RFC 7677 and against a broker's half of it."""

from __future__ import annotations

import base64

import pytest

from connectd.errors import AccessDeniedError
from connectd.kafka.group.scram import ScramLogin

CHALLENGE = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
PROOF = b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
VERDICT = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def login(password: str = "pencil") -> ScramLogin:
    return ScramLogin("SCRAM-SHA-256", "user", password, "rOprNGfwEbeRWgbNEkqO")


def test_the_example_of_the_standard() -> None:
    scram = login()
    assert scram.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = CHALLENGE.partition(b",")[0]
    assert scram.final(CHALLENGE) == b"c=biws," + nonce + b"," + PROOF
    scram.check(VERDICT)


def test_another_password_is_another_proof() -> None:
    assert PROOF not in login("pen").final(CHALLENGE)


def test_names_may_hold_what_the_messages_are_made_of() -> None:
    first = ScramLogin("SCRAM-SHA-512", "a=b,c", "p", "n").first()
    assert first == b"n,,n=a=3Db=2Cc,r=n"


@pytest.mark.parametrize(
    ("challenge", "reason"),
    [
        (CHALLENGE.replace(b"r=rOpr", b"r=xOpr"), "nonce"),
        (b"r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce"),
        (CHALLENGE.replace(b"i=4096", b"i=10"), "iterations"),
        (CHALLENGE.replace(b"i=4096", b"i=900000000"), "iterations"),
        (CHALLENGE.replace(b"s=W22", b"s=???"), "Base64"),
        (b"\xff\xfe", "not text"),
    ],
)
def test_a_challenge_of_somebody_else_is_not_answered(challenge: bytes, reason: str) -> None:
    with pytest.raises(AccessDeniedError, match=reason):
        login().final(challenge)


def test_a_broker_that_does_not_know_the_password_is_not_trusted() -> None:
    scram = login()
    scram.final(CHALLENGE)
    forged = b"v=" + base64.b64encode(bytes(32))
    with pytest.raises(AccessDeniedError, match="does not prove"):
        scram.check(forged)


def test_a_refusal_is_told_in_the_brokers_words() -> None:
    scram = login()
    scram.final(CHALLENGE)
    with pytest.raises(AccessDeniedError, match="invalid-proof"):
        scram.check(b"e=invalid-proof")
