"""Whether a scan has failed because its table is no more, or is another one under the same name.

Whoever scans, here or on Spark, fails in the words of the call that failed, at a moment at which
the table may exist again. What has happened is asked of DescribeTable, and told in one way.
"""

from __future__ import annotations

from connectd.connectors.dynamodb.offsets import TableState
from connectd.connectors.dynamodb.source_api import TableDescription
from connectd.connectors.dynamodb.table_scope import TableScope
from connectd.errors import FatalTaskError, RetriableError, TableGoneError

_RESTART = (
    "restart the connector's failed tasks (POST /connectors/<its name>/restart?"
    "includeTasks=true&onlyFailed=true)"
)

KEYS_STAY = (
    "keys of the old table that the new one does not have stay in the topic (connectd reconcile "
    "--repair-extra removes them)"
)


def is_another(state: TableState, description: TableDescription) -> bool:
    """Whether a table is not the one that a state is of, although it is called so."""
    return state.table_id is not None and state.table_id != description.table_id


async def look(scope: TableScope, state: TableState, failure: FatalTaskError) -> None:
    """Return if the table that ``state`` is of still exists, or nobody can tell.

    Raises:
        TableGoneError: it does not; caused by the failure.
    """
    was = f"table {scope.table} was deleted"
    try:
        description = await scope.api.dynamodb.describe_table(scope.table)
    except TableGoneError:
        raise TableGoneError(
            f"{was} while it was scanned, it does not exist; create it again and {_RESTART}, or "
            "take it out of the configuration"
        ) from failure
    except (RetriableError, FatalTaskError):
        return  # what has failed says more
    if is_another(state, description):
        raise TableGoneError(
            f"{was} and made anew while it was scanned; {_RESTART}: the new one is scanned from "
            f"its beginning then, and {KEYS_STAY}"
        ) from failure
    if description.status == "DELETING":
        raise TableGoneError(
            f"{was} while it was scanned, it is being deleted now; create it again and {_RESTART}, "
            "or take it out of the configuration"
        ) from failure
