"""Reads Protobuf as anybody else does: the registered text through protoc, the data through it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from confluent_kafka.schema_registry.confluent import meta_pb2
from confluent_kafka.schema_registry.confluent.type import decimal_pb2
from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    timestamp_pb2,
    wrappers_pb2,
)
from google.type import date_pb2, timeofday_pb2
from grpc_tools import protoc

_KNOWN = (
    descriptor_pb2.DESCRIPTOR,
    meta_pb2.DESCRIPTOR,
    decimal_pb2.DESCRIPTOR,
    timestamp_pb2.DESCRIPTOR,
    wrappers_pb2.DESCRIPTOR,
    date_pb2.DESCRIPTOR,
    timeofday_pb2.DESCRIPTOR,
)


def message_class(text: str, index: int = 0) -> Any:
    """The class of a message of a file.

    Raises:
        ValueError: protoc does not take the file.
    """
    pool = descriptor_pool.DescriptorPool()
    known = descriptor_pb2.FileDescriptorSet()
    for each in _KNOWN:
        each.CopyToProto(known.file.add())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "known.bin").write_bytes(known.SerializeToString())
        (path / "offered.proto").write_text(text, encoding="utf-8")
        arguments = [
            f"--descriptor_set_in={path / 'known.bin'}",
            f"--proto_path={path}",
            f"--descriptor_set_out={path / 'out.bin'}",
            "offered.proto",
        ]
        if protoc.main(["protoc", *arguments]) != 0:
            raise ValueError(f"protoc refuses: {text}")
        offered = descriptor_pb2.FileDescriptorSet.FromString((path / "out.bin").read_bytes())
    if offered.file[0].package != "google.protobuf":
        for each in known.file:
            pool.AddSerializedFile(each.SerializeToString())
    pool.AddSerializedFile(offered.file[0].SerializeToString())
    file = pool.FindFileByName("offered.proto")
    name = offered.file[0].message_type[index].name
    return message_factory.GetMessageClass(file.message_types_by_name[name])
