"""What keeps a deployment from writing to somebody at night, or to somebody at all."""

from __future__ import annotations

from functions import names
from tests.infrastructure.templates import Template


def test_every_consumer_is_told_when_to_keep_quiet_and_whom_it_may_write_to(template: Template) -> None:
    told = {
        channel: {
            name: template.consumer(channel)["Environment"]["Variables"][name]
            for name in (names.ENV_QUIET_HOURS, names.ENV_RECIPIENTS)
        }
        for channel in ("email", "sms")
    }
    assert told == {
        "email": {names.ENV_QUIET_HOURS: "", names.ENV_RECIPIENTS: "null"},
        "sms": {names.ENV_QUIET_HOURS: "21:00-08:00", names.ENV_RECIPIENTS: "null"},
    }
