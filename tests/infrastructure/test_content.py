"""What decides about the content of messages."""

from __future__ import annotations

from functions import names
from tests.infrastructure.templates import Template


def test_only_texts_are_cut_and_to_what_the_settings_say(template: Template) -> None:
    segments = {
        channel: template.consumer(channel)["Environment"]["Variables"].get(names.ENV_SMS_SEGMENTS)
        for channel in ("email", "sms")
    }
    assert segments == {"email": None, "sms": "2"}
