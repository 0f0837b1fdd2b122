"""The Resource Groups Tagging API: GetResources.

The script can make it lie as AWS does while it catches up: tables in another order, tables left
out for some calls, deleted tables that still show.
"""

from __future__ import annotations

import base64
from typing import Any

from tests.fakes.account import Account
from tests.fakes.wire import AwsError, Operation, Payload, Reply, refuse_unknown

PAGE_DEFAULT = 50
PAGE_MAX = 100

_KNOWN = frozenset(
    {
        "PaginationToken",
        "ResourceARNList",
        "ResourceTypeFilters",
        "ResourcesPerPage",
        "TagFilters",
    }
)


class TaggingService:
    """GetResources over the account's tables."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self.order: list[str] = []  # table names that come first, in this order
        self.omitted: dict[str, int] = {}  # table name: calls that leave it out
        self.operations: dict[str, Operation] = {"GetResources": self.get_resources}

    def get_resources(self, payload: Payload) -> Reply:
        """One page of the resources that satisfy every filter."""
        refuse_unknown("GetResources", payload, _KNOWN)
        per_page = payload.get("ResourcesPerPage", PAGE_DEFAULT)
        if not isinstance(per_page, int) or not 1 <= per_page <= PAGE_MAX:
            raise AwsError(
                "InvalidParameterException",
                f"ResourcesPerPage: found {per_page}, expected a number from 1 to {PAGE_MAX}",
            )
        start = _start(payload.get("PaginationToken"))
        found = [
            (arn, tags) for arn, tags in self._visible() if tags and _matches(arn, tags, payload)
        ]
        page = found[start : start + per_page]
        token = ""
        if start + per_page < len(found):
            token = base64.b64encode(b"%d" % (start + per_page)).decode()
        resources = [
            {
                "ResourceARN": arn,
                "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
            }
            for arn, tags in page
        ]
        return Reply.of(
            {"PaginationToken": token, "ResourceTagMappingList": resources}, count=len(page)
        )

    def _visible(self) -> list[tuple[str, dict[str, str]]]:
        account = self._account
        rank = {name: at for at, name in enumerate(self.order)}
        tables = sorted(
            account.tables.values(), key=lambda table: (rank.get(table.name, len(rank)), table.name)
        )
        visible = [(t.arn, t.tags) for t in tables if t.name not in self.omitted]
        self.omitted = {name: left - 1 for name, left in self.omitted.items() if left > 1}
        live = {table.arn for table in tables}
        visible += [(arn, tags) for arn, (tags, _) in account.ghosts.items() if arn not in live]
        account.ghosts = {
            arn: (tags, left - (arn not in live))
            for arn, (tags, left) in account.ghosts.items()
            if arn in live or left > 1
        }
        return visible


def _start(token: str | None) -> int:
    if not token:
        return 0
    try:
        return int(base64.b64decode(token, validate=True))
    except ValueError:
        raise AwsError("PaginationTokenExpiredException") from None


def _matches(arn: str, tags: dict[str, str], payload: Payload) -> bool:
    types: list[str] = payload.get("ResourceTypeFilters") or []
    if types and not any(wanted in ("dynamodb", "dynamodb:table") for wanted in types):
        return False
    arns: list[str] = payload.get("ResourceARNList") or []
    if arns and arn not in arns:
        return False
    filters: list[dict[str, Any]] = payload.get("TagFilters") or []
    return all(
        wanted["Key"] in tags
        and (not wanted.get("Values") or tags[wanted["Key"]] in wanted["Values"])
        for wanted in filters
    )
