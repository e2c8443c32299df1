"""What EventBridge makes of an event: whether a rule's pattern holds, and what its input transformer writes.

As documented: a variable whose path the event does not have stays empty; text is put in as it is; an object or a list
is put in as JSON where it stands by itself.
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_STEP = re.compile(r"([^.\[\]]+)(?:\[(\d+)\])?")  # `bouncedRecipients[0]`


def matches(pattern: Any, event: Any) -> bool:
    """Whether an event has what a pattern asks for: an object in an object, one of a list's values for each value."""
    if isinstance(pattern, Mapping):
        return isinstance(event, Mapping) and all(matches(wanted, event.get(name)) for name, wanted in pattern.items())
    held = event if isinstance(event, list) else [event]
    return any(one in pattern for one in held)


def transformed(transformer: Mapping[str, Any], event: Mapping[str, Any], *, ingested_at: str) -> str:
    """Return what a rule's target is handed."""
    found = {name: _at(path, event) for name, path in transformer["InputPathsMap"].items()}
    found["aws.events.event.ingestion-time"] = ingested_at
    return re.sub(r"<([^<>]+)>", lambda match: _written(found[match[1]]), transformer["InputTemplate"])


def _at(path: str, event: Any) -> Any:
    for name, position in _STEP.findall(path.removeprefix("$.")):
        event = event.get(name) if isinstance(event, Mapping) else None
        if position:
            event = event[int(position)] if isinstance(event, list) and len(event) > int(position) else None
    return event


def _written(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, Mapping | list) else str(value)
