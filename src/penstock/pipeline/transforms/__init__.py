"""Kafka's own single message transforms, on whole batches (KIP-66, KIP-440, KIP-585, KIP-821), and PythonFunction.

Each is what Java's class of that name is, in settings, results and messages; ``java_name`` is what configurations call
it. A dict of a schemaless map is kept in the order that Java's map has, since that order shows in what is written (see
``map_order``).
"""

from __future__ import annotations

from penstock.pipeline.transforms.cast import CastKey, CastValue
from penstock.pipeline.transforms.extract_field import ExtractFieldKey, ExtractFieldValue
from penstock.pipeline.transforms.filter import Filter
from penstock.pipeline.transforms.flatten import FlattenKey, FlattenValue
from penstock.pipeline.transforms.header_from import HeaderFromKey, HeaderFromValue
from penstock.pipeline.transforms.headers import DropHeaders, InsertHeader
from penstock.pipeline.transforms.hoist_field import HoistFieldKey, HoistFieldValue
from penstock.pipeline.transforms.insert_field import InsertFieldKey, InsertFieldValue
from penstock.pipeline.transforms.mask_field import MaskFieldKey, MaskFieldValue
from penstock.pipeline.transforms.python_function import PythonFunction
from penstock.pipeline.transforms.replace_field import ReplaceFieldKey, ReplaceFieldValue
from penstock.pipeline.transforms.routers import RegexRouter, TimestampRouter
from penstock.pipeline.transforms.set_schema_metadata import SetSchemaMetadataKey, SetSchemaMetadataValue
from penstock.pipeline.transforms.timestamp_converter import TimestampConverterKey, TimestampConverterValue
from penstock.pipeline.transforms.value_to_key import ValueToKey

__all__ = [
    "CastKey",
    "CastValue",
    "DropHeaders",
    "ExtractFieldKey",
    "ExtractFieldValue",
    "Filter",
    "FlattenKey",
    "FlattenValue",
    "HeaderFromKey",
    "HeaderFromValue",
    "HoistFieldKey",
    "HoistFieldValue",
    "InsertFieldKey",
    "InsertFieldValue",
    "InsertHeader",
    "MaskFieldKey",
    "MaskFieldValue",
    "PythonFunction",
    "RegexRouter",
    "ReplaceFieldKey",
    "ReplaceFieldValue",
    "SetSchemaMetadataKey",
    "SetSchemaMetadataValue",
    "TimestampConverterKey",
    "TimestampConverterValue",
    "TimestampRouter",
    "ValueToKey",
]
