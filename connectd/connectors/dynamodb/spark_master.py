"""Whether anybody listens where a standalone Spark should have its masters.

Spark itself asks in vain for a minute and then says so in the middle of stack traces.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import Final

ASK_S: Final = 1.0

_SCHEME: Final = "spark://"


async def refusal(master: str, *, ask_s: float = ASK_S) -> str:
    """Why no master can be reached: each of them refuses or is not known; "" when that is not so.

    Other kinds of masters are not asked. One that does not answer in time may do so later.
    """
    if not master.startswith(_SCHEME):
        return ""
    addresses = master.removeprefix(_SCHEME).split(",")
    found = await asyncio.gather(*(_refusal(each, ask_s) for each in addresses))
    return "; ".join(found) if all(found) else ""


async def _refusal(address: str, ask_s: float) -> str:
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(ask_s):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except TimeoutError:
        return ""
    except OSError as error:
        number = error.errno or 0  # those of resolving names are negative
        return f"{address}: {os.strerror(number) if number > 0 else error}"
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return ""
