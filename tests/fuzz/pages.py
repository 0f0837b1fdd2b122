"""Pages, whole and damaged, through both tiers of the direct path: same bytes, same errors.

``python -m tests.fuzz.pages --pages 1000000`` makes pages from a seed and compares the compiled
tier with the portable one, the oracle. A third of the items are damaged; some pages are damaged as
a whole before they are split. The bodies of scans are split by both tiers, too: what the compiled
one accepts has msgspec's items and other members, and it hands back no body that is sound.

``--sanitize`` does the same with an extension that is compiled for it with the sanitizers for
addresses and undefined behaviour, in a child process that is their own: a step outside of memory
ends it; ``--portable`` has it compiled as for machines without SSE2. For a million pages:
``PYTHONMALLOC=pymalloc python -m tests.fuzz.pages --sanitize ...``, then Python's smallest objects
are not watched, and the rest goes five times as fast.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Final, cast

import msgspec

import hatch_build
from connectd.connectors import dynamodb
from connectd.connectors.dynamodb import decode, tiers
from connectd.connectors.dynamodb.decode import Raw, ScanPage, StreamChange, StreamRecord
from connectd.connectors.dynamodb.envelope import EnvelopeSettings, InitSyncState, SourceInfo
from connectd.connectors.dynamodb.keys import KeyAttribute, KeySchema
from connectd.connectors.dynamodb.payload import ScanPayload, StreamPayload
from connectd.connectors.dynamodb.plan import JSON_CONVERTER, TablePlan
from connectd.connectors.dynamodb.tiers import Tier
from connectd.errors import ConvertError
from connectd.model import text_marks
from connectd.model.record import (
    Conversion,
    ConverterSpec,
    EncodedPage,
    EncodedRecord,
    RoutedRecord,
    SourceRecord,
)
from connectd.model.schema import Struct
from connectd.model.text_marks import TextForm
from tests.fuzz.damage import damaged
from tests.fuzz.exact_memory import ExactMemory
from tests.kit.random_items import ItemMaker

ROOT: Final = Path(__file__).resolve().parents[2]

SANITIZERS: Final = (
    "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer",
    "-O1", "-g",
)  # fmt: skip

PORTABLE: Final = ("-U__SSE2__",)

_POOL: Final = 8
_POOL_PAGES: Final = 800
"""Items are made for so many pages, then others. They are few: the portable tier has moulds for
what it meets a third time."""

_SPEC: Final = ConverterSpec(JSON_CONVERTER, (("schemas.enable", "false"),))
_INFO: Final = SourceInfo("orders", InitSyncState.RUNNING, 1557387726273)
_KEYS: Final[tuple[tuple[tuple[str, Any], ...], ...]] = (
    (("id", "S"),),
    (("id", "S"), ("at", "N")),
    (("M", "B"), ('q"uote', "S")),
)
_IDENTITIES: Final = (None, b'{"Type":"Service","PrincipalId":"dynamodb.amazonaws.com"}', b"[]")

Outcome = list[EncodedRecord] | str
Encode = Callable[[TablePlan, TextForm | None], Outcome]
"""A page as bytes: as the direct path has it, or by specimens for converters with that form."""

_FORMS: Final = (None, None, *TextForm)

_CAPACITY: Final = b'"ConsumedCapacity":{"TableName":"orders","CapacityUnits":-1.25e+1}'
_BODIES: Final = (
    b'{"Count":%d,"Items":[%b]}',
    b'{"Count":%d,"Items":[%b],"LastEvaluatedKey":{"id":{"S":"\\u00e9\\n"}},"ScannedCount":10}',
    b"{" + _CAPACITY + b',"Count":%d,"Items":[%b],"ScannedCount":0}',
    b'{"Count":%d,"Items":[%b],"LastEvaluatedKey":null,' + _CAPACITY + b',"More":[true,{},[]]}',
)
"""Of Scan answers: the number of items, and these."""


@dataclass(frozen=True)
class DifferenceError(Exception):
    """A page on which the tiers disagree."""

    what: str
    portable: Outcome
    compiled: Outcome

    def __str__(self) -> str:
        return f"{self.what}\n  portable: {self.portable!r}\n  compiled: {self.compiled!r}"


class Fuzzer:
    """Makes pages and compares; ``counts`` says what became of them."""

    def __init__(self, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self._random = Random(seed)
        self._memory = ExactMemory()
        self._plans: list[TablePlan] = []
        self._compiled: dict[int, TablePlan] = {}
        self._pools: dict[KeySchema, list[bytes]] = {}
        self._pool: list[bytes] = []

    def run(self, pages: int) -> None:
        """Compare so many pages.

        Raises:
            DifferenceError: on the first one that is not the same.
        """
        for number in range(pages):
            if number % _POOL_PAGES == 0:
                self._refill()
            self._page()

    def _refill(self) -> None:
        self._plans = _plans()
        self._compiled = {id(plan): replace(plan, tier=Tier.COMPILED) for plan in self._plans}
        maker = ItemMaker(self._random.getrandbits(64))
        for key in _KEYS:
            items = [maker.spelled(maker.item(key)) for _ in range(_POOL)]
            self._pools[_schema(key)] = items

    def _page(self) -> None:
        random = self._random
        plan = random.choice(self._plans)
        self._pool = self._pools[plan.key_schema]
        texts = [self._text() for _ in range(random.choice((1, 1, 2, 3)))]
        kind = random.randrange(5)
        with self._memory as memory:
            if kind == 0:
                body = damaged(self._body(texts), random)
                self._compare_splits(memory, body)
                self._compare(plan, _scan_of(body), texts)
                sound = self._body(random.choices(self._pool, k=len(texts)))
                is_split = self._compare_splits(memory, sound)
                self.counts["sound and split" if is_split else "sound and handed back"] += 1
            elif kind < 3:
                items = [cast("Raw", memory.copy(text)) for text in texts]
                self._compare(plan, _scan(items), texts)
            else:
                records = [self._change(memory, text) for text in texts]
                self._compare(plan, _stream(records), texts)

    def _body(self, texts: Sequence[bytes]) -> bytes:
        return self._random.choice(_BODIES) % (len(texts), b",".join(texts))

    def _compare_splits(self, memory: ExactMemory, body: bytes) -> bool:
        """Whether the compiled splitter accepts a body."""
        whole, found = (_split(body, tier) for tier in (Tier.PORTABLE, Tier.COMPILED))
        if _shown(whole) != _shown(found):
            raise DifferenceError(f"splitting {body!r}", _shown(whole), _shown(found))
        split_page = tiers.page_splitter()
        assert split_page is not None
        exact = split_page(memory.copy(body))
        is_split = not isinstance(found, str) and not isinstance(found.items, list)
        self.counts["split" if is_split else "not split"] += 1
        if isinstance(found, ScanPage) and exact is not None:
            assert [*exact[0]] == [*found.items]
        return is_split

    def _text(self) -> bytes:
        random = self._random
        text = random.choice(self._pool)
        return damaged(text, random) if random.random() < 0.3 else text

    def _change(self, memory: ExactMemory, text: bytes) -> StreamRecord:
        random = self._random
        none = cast("Raw", memory.copy(b""))
        old = cast("Raw", memory.copy(self._text())) if random.random() < 0.3 else none
        image, keys = cast("Raw", memory.copy(text)), cast("Raw", memory.copy(self._text()))
        identity = random.choice(_IDENTITIES) if random.random() < 0.1 else None
        return StreamRecord(
            StreamChange(
                keys=keys,
                sequence_number="1",
                approximate_creation_date_time=float(random.randrange(3)),
                new_image=image if random.random() < 0.8 else none,
                old_image=old,
            ),
            random.choice(("INSERT", "MODIFY", "REMOVE", "REMOVE")),
            Raw(identity or b""),
        )

    def _compare(self, plan: TablePlan, encode: Encode, texts: Sequence[bytes]) -> None:
        form = self._random.choice(_FORMS)
        portable, compiled = encode(plan, form), encode(self._compiled[id(plan)], form)
        self.counts["refused" if isinstance(portable, str) else "written"] += 1
        if portable != compiled:
            raise DifferenceError(
                f"{plan.envelope}, {plan.key_schema}, {form}: {texts!r}", portable, compiled
            )


def _plans() -> list[TablePlan]:
    return [
        TablePlan(
            "orders",
            "orders",
            _schema(key),
            EnvelopeSettings(version, document, old_image=has_more, user_identity=has_more),
            Tier.PORTABLE,
        )
        for key in _KEYS
        for version in ("0.1", "1.0")
        for document in ("typed", "plain")
        for has_more in (False, True)
    ]


def _schema(key: tuple[tuple[str, Any], ...]) -> KeySchema:
    return KeySchema(tuple(KeyAttribute(name, letter) for name, letter in key))


def _scan(items: Sequence[Raw]) -> Encode:
    return lambda plan, form: _outcome(ScanPayload(plan, _INFO, items), form)


def _scan_of(body: bytes) -> Encode:
    def encode(plan: TablePlan, form: TextForm | None) -> Outcome:
        try:
            items = decode.decode_scan_page(body, plan.tier).items
        except ConvertError as error:
            return str(error)
        return _outcome(ScanPayload(plan, _INFO, items), form)

    return encode


def _split(body: bytes, tier: Tier) -> ScanPage | str:
    try:
        return decode.decode_scan_page(body, tier)
    except ConvertError as error:
        return str(error)


def _shown(page: ScanPage | str) -> str:
    if isinstance(page, str):
        return page
    return repr(msgspec.structs.replace(page, items=[bytes(each) for each in page.items]))


def _stream(records: Sequence[StreamRecord]) -> Encode:
    return lambda plan, form: _outcome(StreamPayload(plan, _INFO, records), form)


def _outcome(payload: ScanPayload | StreamPayload, form: TextForm | None) -> Outcome:
    encode = payload.page_encoder(_SPEC, _SPEC)
    assert encode is not None
    try:
        if form is None or not len(payload):  # nobody encodes an empty page by specimens
            return encode().records
        page = payload.encoded_by_specimens(Conversion(_Texts(form).routed, form, form))
    except ConvertError as error:
        return str(error)
    if isinstance(page, EncodedPage):
        return page.records
    return [(each.key, each.value) for each in page.records]


class _Texts:
    """Stands in for converters: writes all texts of a key and of a value in one form."""

    def __init__(self, form: TextForm) -> None:
        self._encode = text_marks.text_encoder(form)

    def routed(self, record: SourceRecord) -> RoutedRecord:
        key, value = self._written(record.key), self._written(record.value)
        return RoutedRecord(record.topic, key, value)

    def _written(self, struct: object) -> bytes | None:
        if not isinstance(struct, Struct):
            return None
        texts = (each for each in struct.values if isinstance(each, str))
        return b"<" + b"|".join(map(self._encode, texts)) + b">"


def sanitized(arguments: Sequence[str], flags: Sequence[str] = ()) -> int:
    """Run this program in a child, on an extension that the sanitizers watch; its exit code."""
    with tempfile.TemporaryDirectory(prefix="connectd-sanitized-") as work:
        hatch_build.build_extension(Path(work), (*SANITIZERS, *flags))
        command = [sys.executable, "-m", "tests.fuzz.pages", *arguments, "--packages", work]
        return subprocess.run(command, cwd=ROOT, env=watched_environ(), check=False).returncode


def watched_environ() -> dict[str, str]:
    """The environment of a Python whose memory the sanitizers watch."""
    libraries = [
        subprocess.run(
            ["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    return {
        "PYTHONMALLOC": "malloc",  # watches Python's own small objects too, at five times the time
        **os.environ,
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python frees little of its own at the end
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def main(arguments: Sequence[str]) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.pages")
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sanitize", action="store_true", help="in a child, on a watched build")
    parser.add_argument("--portable", action="store_true", help="with it: without SSE2")
    parser.add_argument("--packages", type=Path, help="where an extension was built")
    options = parser.parse_args(arguments)
    if options.sanitize:
        flags = PORTABLE if options.portable else ()
        return sanitized(["--pages", str(options.pages), "--seed", str(options.seed)], flags)
    if options.packages is not None:
        place = options.packages / Path(*dynamodb.__name__.split("."))
        dynamodb.__path__.insert(0, str(place))
    if tiers.scanner_class() is None:
        print("there is no compiled tier here: python hatch_build.py .", file=sys.stderr)
        return 2
    fuzzer, began_s = Fuzzer(options.seed), time.monotonic()
    try:
        fuzzer.run(options.pages)
    except DifferenceError as difference:
        print(f"seed {options.seed}: {difference}", file=sys.stderr)
        return 1
    took_s = time.monotonic() - began_s
    print(f"{options.pages} pages alike in {took_s:.0f} s: {dict(fuzzer.counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
