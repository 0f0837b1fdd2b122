from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, overload

from connectd.connectors.dynamodb.decode import Raw, StreamRecord
from connectd.model.record import EncodedRecord

_Mould = TypeVar("_Mould", bound=tuple[Any, ...])  # begins with the members of payload.Mould

class PageItems(Sequence[Raw]):
    @overload
    def __getitem__(self, index: int) -> Raw: ...
    @overload
    def __getitem__(self, index: slice) -> PageItems: ...
    def __len__(self) -> int: ...

def split_page(body: bytes | memoryview) -> tuple[PageItems, bytes] | None: ...

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
        key_form: str = ...,
        value_form: str = ...,
    ) -> None: ...
    def items(
        self,
        items: Iterable[Raw],
        head: bytes,
        tail: bytes,
        portable: Callable[[Raw], EncodedRecord],
    ) -> list[EncodedRecord]: ...
    def changes(
        self,
        records: Iterable[StreamRecord],
        mould_of: Callable[[StreamRecord], _Mould],
        portable: Callable[[StreamRecord, _Mould], tuple[bytes, bytes]],
        *,
        identity_of: Callable[[StreamRecord], bytes | None] | None,
        wants_old: bool,
    ) -> list[EncodedRecord]: ...
