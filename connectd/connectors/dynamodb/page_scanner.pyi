from collections.abc import Callable, Iterable

from connectd.connectors.dynamodb.decode import Raw
from connectd.model.record import EncodedRecord

class PageScanner:
    def __init__(
        self,
        key_names: tuple[bytes, ...],
        key_letters: str,
        key_heads: tuple[bytes, ...],
        key_tail: bytes,
        *,
        is_plain: bool,
        sanitises: bool,
    ) -> None: ...
    def page(
        self,
        items: Iterable[Raw],
        head: bytes,
        tail: bytes,
        portable: Callable[[Raw], EncodedRecord],
    ) -> list[EncodedRecord]: ...
    def record(self, item: Raw, head: bytes, tail: bytes) -> tuple[bytes, bytes] | None: ...
    def key(self, item: Raw) -> bytes | None: ...
    def document(self, item: Raw) -> bytes | None: ...
