"""DynamoDB's attribute values to and from plain Python.

Rows hold text, whole numbers, booleans, lists and maps only. Written by hand because boto3's serializer goes through
Decimal and costs several times the CPU on the planner's hot path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

Plain: TypeAlias = Any  # str | int | bool | list[Plain] | dict[str, Plain]


def to_value(plain: Plain) -> AttributeValueTypeDef:
    """Return the attribute value of a plain one; TypeError for what rows do not hold."""
    if isinstance(plain, str):
        return {"S": str(plain)}
    if isinstance(plain, bool):
        return {"BOOL": plain}
    if isinstance(plain, int):
        return {"N": str(plain)}
    if isinstance(plain, dict):
        return {"M": to_item(plain)}
    if isinstance(plain, list | tuple):
        return {"L": [to_value(one) for one in plain]}
    msg = f"a row cannot hold a {type(plain).__name__}"
    raise TypeError(msg)


def to_item(plain: Mapping[str, Plain]) -> dict[str, AttributeValueTypeDef]:
    """Return a DynamoDB item; attributes that are None are left out."""
    return {name: to_value(value) for name, value in plain.items() if value is not None}


def from_value(value: Mapping[str, Any]) -> Plain:
    """Return the plain form of an attribute value; numbers become int."""
    ((kind, held),) = value.items()
    if kind == "N":
        return int(held)
    if kind == "M":
        return from_item(held)
    if kind == "L":
        return [from_value(one) for one in held]
    return held


def from_item(item: Mapping[str, Any]) -> dict[str, Plain]:
    """Return the plain form of an item."""
    return {name: from_value(value) for name, value in item.items()}
