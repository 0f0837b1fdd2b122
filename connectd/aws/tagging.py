"""The Resource Groups Tagging API: which tables carry which tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from connectd.aws.control import ControlPlane
from connectd.aws.errors import Call
from connectd.aws.rate import TokenBucket
from connectd.errors import InvariantError, TransientNetworkError

if TYPE_CHECKING:
    from mypy_boto3_resourcegroupstaggingapi import ResourceGroupsTaggingAPIClient as BotoTagging

TAGGING_CALLS_PER_S = 5.0

TagFilter = tuple[str, Sequence[str]]

# The Java connector's page size (spec dynamodb-connector 2.3); the API allows 100.
_RESOURCES_PER_PAGE = 50
# An account holds at most 10,000 tables per region; twice that many pages of one would be odd.
_PAGES_MAX = 2000


class TaggingClient:
    """Finds tables by tag. ``bucket`` is shared by all that call with the same credentials."""

    def __init__(self, *, client: BotoTagging, control: ControlPlane, bucket: TokenBucket) -> None:
        self._client = client
        self._control = control
        self._bucket = bucket

    async def tables_by_tags(self, filters: Sequence[TagFilter]) -> list[str]:
        """Names of the tables that pass every filter, each once, in the order of the answer.

        A filter is a tag key and the values allowed for it; no values means any value. The order
        differs from call to call: compare results as sets. Raises ``AccessDeniedError`` (the
        action is ``tag:GetResources``), ``ThrottledError``, ``TransientNetworkError``,
        ``InvalidRequestError``.
        """
        call = Call("tag:GetResources", "tables")
        if not filters:
            raise InvariantError(f"{call}: without a filter every tagged table would be found")
        request: dict[str, Any] = {
            "ResourceTypeFilters": ["dynamodb:table"],
            "ResourcesPerPage": _RESOURCES_PER_PAGE,
            "TagFilters": [_tag_filter(key, values) for key, values in filters],
        }
        names: dict[str, None] = {}
        for _ in range(_PAGES_MAX):
            await self._bucket.take()
            answer = await self._control.call(call, self._client.get_resources, **request)
            for resource in answer.get("ResourceTagMappingList", ()):
                name = table_name(resource.get("ResourceARN", ""))
                if name is not None:
                    names[name] = None
            token = answer.get("PaginationToken")
            if not token:
                return list(names)
            request["PaginationToken"] = token
        raise TransientNetworkError(f"{call}: the list has not ended after {_PAGES_MAX} pages")


def _tag_filter(key: str, values: Sequence[str]) -> dict[str, Any]:
    return {"Key": key, "Values": list(values)} if values else {"Key": key}


def table_name(arn: str) -> str | None:
    """The table that an ARN names; None for anything else (an index, a backup, a stream)."""
    resource = arn.split(":", 5)[5:]
    kind, _, name = "".join(resource).partition("/")
    return name if kind == "table" and name and "/" not in name else None
