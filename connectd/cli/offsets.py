"""``connectd offsets``: positions of a connector, looked at and moved by hand."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectd.app.exit_code import ExitCode
from connectd.cli import screen, worker_api
from connectd.errors import ConfigError, NotFoundError

if TYPE_CHECKING:
    from connectd.cli.offset_places import Entry, Place
    from connectd.cli.screen import Commands

_HELP = """
Shows, alters or resets the offsets of a source connector: how far it has come in each of its source
partitions (a table, a shard, a file).

  connectd offsets list orders
  connectd offsets list orders --json > orders.offsets
  connectd offsets alter orders '{"filename":"a.txt"}' '{"position":120}'
  connectd offsets alter orders '{"filename":"a.txt"}' null       (removes it: read from the start)
  connectd offsets alter orders --from orders.offsets             (what list --json has printed)
  connectd offsets reset orders
  connectd offsets reset orders --where table_name=customers       (only those of this table)

A running worker is asked by its REST API (--url, or CONNECTD_URL in the environment), and changes
nothing unless the connector is stopped: curl -X PUT localhost:8083/connectors/orders/stop before,
…/resume after.

  connectd offsets list orders --url https://user:password@worker-1:8083

The file of a standalone worker that does not run is read and written directly:

  connectd offsets list --file /var/lib/connectd/offsets           (all connectors in it)
  connectd offsets reset orders --file /var/lib/connectd/offsets

Exit codes:
  0  done
  1  the worker refused, or did not answer; the disk refused
  2  usage, or a file that cannot be used; interrupted
"""

_URL = worker_api.DEFAULT_URL
_WHERE = "only partitions with this member, such as table_name=orders"


def add(commands: Commands) -> None:
    """Declare the command and its three verbs."""
    parser = screen.add_command(commands, "offsets", "show, alter or reset positions", _HELP)
    verbs = parser.add_subparsers(title="what to do", metavar="VERB", required=True)
    place = argparse.ArgumentParser(add_help=False)
    where = place.add_mutually_exclusive_group()
    where.add_argument("--url", help=f"a worker's REST API (default: CONNECTD_URL, or {_URL})")
    where.add_argument("--file", type=Path, help="offset file of a standalone worker that is down")
    listing = verbs.add_parser("list", parents=[place], help="show the offsets of a connector")
    listing.add_argument("connector", nargs="?", help="may be left out with --file")
    listing.add_argument("--where", type=_member, metavar="NAME=VALUE", help=_WHERE)
    listing.add_argument("--json", action="store_true", help="print JSON instead of a table")
    listing.set_defaults(command=_list)
    altering = verbs.add_parser("alter", parents=[place], help="write some offsets")
    altering.add_argument("connector")
    altering.add_argument("partition", nargs="?", help="a JSON object")
    altering.add_argument("offset", nargs="?", help="a JSON object, or null to remove it")
    altering.add_argument(
        "--from", dest="source", help='file with {"offsets": [...]}, - for standard input'
    )
    altering.set_defaults(command=_alter)
    resetting = verbs.add_parser("reset", parents=[place], help="remove all offsets of a connector")
    resetting.add_argument("connector")
    resetting.add_argument("--where", type=_member, metavar="NAME=VALUE", help=_WHERE)
    resetting.set_defaults(command=_reset)


def _place(options: argparse.Namespace) -> Place:
    from connectd.cli import offset_places

    if options.file is not None:
        return offset_places.FilePlace(options.file)
    url = options.url or os.environ.get("CONNECTD_URL") or _URL
    return offset_places.WorkerPlace(url)


def _list(options: argparse.Namespace) -> int:
    from connectd.cli.offset_places import FilePlace

    place = _place(options)
    if options.connector is None:
        if not isinstance(place, FilePlace):
            raise ConfigError("name a connector; only the offsets in a --file are listed together")
        names = place.connectors()
    else:
        names = [options.connector]
    entries = {name: _meant(place.read(name), options.where) for name in names}
    if options.json:
        offsets = {name: {"offsets": found} for name, found in entries.items()}
        with screen.telling():
            screen.print_json(offsets if options.connector is None else offsets[options.connector])
        return ExitCode.CLEAN
    rows = [
        (name, _compact(entry["partition"]), _compact(entry["offset"]))
        for name, found in entries.items()
        for entry in found
    ]
    with screen.telling():
        screen.print_table(("CONNECTOR", "PARTITION", "OFFSET"), rows)
    return ExitCode.CLEAN


def _alter(options: argparse.Namespace) -> int:
    done = _place(options).alter(options.connector, _wanted(options))
    with screen.telling():
        print(done)
    return ExitCode.CLEAN


def _reset(options: argparse.Namespace) -> int:
    place, connector = _place(options), options.connector
    if options.where is None:
        done = place.reset(connector)
    else:
        entries = _meant(place.read(connector), options.where)
        if not entries:
            raise NotFoundError(f"{connector} has no offsets where {'='.join(options.where)}")
        done = place.alter(connector, [{**entry, "offset": None} for entry in entries])
    with screen.telling():
        print(done)
    return ExitCode.CLEAN


def _member(text: str) -> tuple[str, str]:
    name, is_there, value = text.partition("=")
    if not name or not is_there:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, found {text!r}")
    return name, value


def _meant(entries: list[Entry], where: tuple[str, str] | None) -> list[Entry]:
    """Those whose partition has the member; all of them where none is asked for."""
    if where is None:
        return entries
    name, value = where

    def text(member: object) -> str:
        return member if isinstance(member, str) else _compact(member)

    return [
        entry
        for entry in entries
        if name in entry["partition"] and text(entry["partition"][name]) == value
    ]


def _wanted(options: argparse.Namespace) -> list[Entry]:
    if options.source is None:
        if options.offset is None:
            raise ConfigError("expected a partition and an offset, or --from FILE")
        partition = _parse(options.partition, "the partition")
        offset = _parse(options.offset, "the offset")
        return [_checked({"partition": partition, "offset": offset}, "what was given")]
    if options.partition is not None:
        raise ConfigError("expected a partition and an offset, or --from FILE, found both")
    document = _parse(_read(options.source), options.source)
    entries = document.get("offsets") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ConfigError(f'{options.source}: expected {{"offsets": [...]}}')
    return [_checked(entry, options.source) for entry in entries]


def _checked(entry: object, source: str) -> Entry:
    if (
        not isinstance(entry, dict)
        or not isinstance(entry.get("partition"), dict)
        or not isinstance(entry.get("offset"), dict | None)
    ):
        raise ConfigError(
            f"{source}: expected a JSON object as partition, and another or null as offset, found "
            f"{_compact(entry)[:200]}"
        )
    return {"partition": entry["partition"], "offset": entry.get("offset")}


def _read(source: str) -> str:
    if source == "-":
        return sys.stdin.read()
    try:
        return Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"cannot read the file {source}: {reason}") from error


def _parse(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{what} is not JSON: {error}") from error


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
