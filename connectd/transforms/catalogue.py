"""Every transform and predicate by its class name: Kafka's by their Java names, then our own."""

from __future__ import annotations

from typing import Any, Final

from connectd.transforms import (
    cast,
    content_router,
    extract_field,
    headers,
    insert_field,
    mask_field,
    predicates,
    replace_field,
    routers,
    schema_metadata,
    structure,
    timestamp_converter,
    unwrap,
)

_PACKAGE: Final = "org.apache.kafka.connect.transforms."

TRANSFORMATIONS: Final[dict[str, type[Any]]] = {
    f"{_PACKAGE}{name}": cls
    for name, cls in {
        "Cast$Key": cast.CastKey,
        "Cast$Value": cast.CastValue,
        "DropHeaders": headers.DropHeaders,
        "ExtractField$Key": extract_field.ExtractFieldKey,
        "ExtractField$Value": extract_field.ExtractFieldValue,
        "Filter": routers.Filter,
        "Flatten$Key": structure.FlattenKey,
        "Flatten$Value": structure.FlattenValue,
        "HeaderFrom$Key": headers.HeaderFromKey,
        "HeaderFrom$Value": headers.HeaderFromValue,
        "HoistField$Key": structure.HoistFieldKey,
        "HoistField$Value": structure.HoistFieldValue,
        "InsertField$Key": insert_field.InsertFieldKey,
        "InsertField$Value": insert_field.InsertFieldValue,
        "InsertHeader": headers.InsertHeader,
        "MaskField$Key": mask_field.MaskFieldKey,
        "MaskField$Value": mask_field.MaskFieldValue,
        "RegexRouter": routers.RegexRouter,
        "ReplaceField$Key": replace_field.ReplaceFieldKey,
        "ReplaceField$Value": replace_field.ReplaceFieldValue,
        "SetSchemaMetadata$Key": schema_metadata.SetSchemaMetadataKey,
        "SetSchemaMetadata$Value": schema_metadata.SetSchemaMetadataValue,
        "TimestampConverter$Key": timestamp_converter.TimestampConverterKey,
        "TimestampConverter$Value": timestamp_converter.TimestampConverterValue,
        "TimestampRouter": routers.TimestampRouter,
        "ValueToKey": structure.ValueToKey,
    }.items()
} | {
    "connectd.transforms.ContentRouter": content_router.ContentRouter,
    "connectd.transforms.UnwrapDynamoDb": unwrap.UnwrapDynamoDb,
}
"""Class name to class: Kafka's, then our own."""

PREDICATES: Final[dict[str, type[Any]]] = {
    f"{_PACKAGE}predicates.{name}": cls
    for name, cls in {
        "HasHeaderKey": predicates.HasHeaderKey,
        "RecordIsTombstone": predicates.RecordIsTombstone,
        "TopicNameMatches": predicates.TopicNameMatches,
    }.items()
} | {
    "connectd.transforms.predicates.FieldValueMatches": content_router.FieldValueMatches,
}
"""Class name to class: Kafka's, then our own."""
