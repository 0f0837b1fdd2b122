"""AWS Signature Version 4, from the side that checks it.

Written from AWS's description of the canonical request, so that it is a second opinion on the
client's signer. The services here take only ``POST /`` without a query string.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping

CREDENTIAL = re.compile(
    r"Credential=(?P<key>[^/,\s]+)/(?P<scope>(?P<day>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)"
    r"/aws4_request),\s*SignedHeaders=(?P<signed>[^,\s]+)"
)


def signature_of(
    method: str, path: str, headers: Mapping[str, str], body: bytes, secret: str
) -> str:
    """The signature that a request should carry; "" for one that is not signed at all.

    ``headers`` have lower-case names.
    """
    match = CREDENTIAL.search(headers.get("authorization", ""))
    if match is None:
        return ""
    signed = match["signed"].split(";")
    canonical = [
        method,
        path,
        "",
        *(f"{name}:{' '.join(headers.get(name, '').split())}" for name in signed),
        "",
        match["signed"],
        hashlib.sha256(body).hexdigest(),
    ]
    to_sign = "\n".join(
        (
            "AWS4-HMAC-SHA256",
            headers.get("x-amz-date", ""),
            match["scope"],
            hashlib.sha256("\n".join(canonical).encode()).hexdigest(),
        )
    )
    key = f"AWS4{secret}".encode()
    for part in (match["day"], match["region"], match["service"], "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, to_sign.encode(), "sha256").hexdigest()
