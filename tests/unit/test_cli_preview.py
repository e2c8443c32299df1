"""`digest preview --sample`: what messages look like, without a deployment."""

from __future__ import annotations

import json
import stat
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from functions.core.planning import DIGEST_TEMPLATE, REMINDER_TEMPLATE
from functions.names import LANGUAGES
from ops.cli import main
from ops.cli.workplace import Workplace
from ops.deployment import Deployment
from tests.fakes.clock import FakeClock
from tests.fakes.readers import told_in_page, told_in_text


def preview(*arguments: str, status: int = 0) -> None:
    with pytest.raises(SystemExit) as left:
        main(["preview", *arguments], workplace=Workplace(Deployment([]), FakeClock()))
    assert left.value.code == status


def test_a_sample_shows_what_a_digest_says(capsys: pytest.CaptureFixture[str]) -> None:
    preview("--sample")
    shown = capsys.readouterr().out.splitlines()
    assert shown[:5] == [
        "a sample: weekly-digest-v1, in en",
        "  To       s***@example.com",
        "  From     digest@example.com",
        "  Subject  Your week Nov 16\u2009\u2013\u200922: 2 orders, 1 price drop, 1 message",
        "  Size     5 KB of HTML, and the text",
    ]
    assert "- Order: 2 \u00d7 Blue desk lamp ($49.95)" in shown
    assert shown[-1] == "Unsubscribe: https://shop.example.com/unsubscribe/***"


def test_a_sample_text_tells_its_length(capsys: pytest.CaptureFixture[str]) -> None:
    preview("--sample", "--channel", "sms")
    assert capsys.readouterr().out.splitlines() == [
        "a sample: weekly-digest-v1, in en",
        "  To       +1******0123",
        "  From     DIGEST",
        "  Length   1 segment: 105 of 160 septets (GSM-7)",
        "",
        "Your week Nov 16 - 22: 2 orders for $1,284.45, 1 price drop, 1 message. https://shop.example.com/activity",
    ]


def test_a_sample_webhook_is_the_json_that_an_endpoint_gets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = tmp_path / "body.txt"
    preview("--sample", "--channel", "webhook", "--out", str(body))
    shown = capsys.readouterr().out.splitlines()
    assert shown[1:3] == ["  To       https://hooks.example.com/***", "  From     the signature says"]
    assert shown[3] == f"  Length   {body.stat().st_size:,} bytes of JSON"
    preview("--sample", "--channel", "webhook", "--json")
    assert json.loads(capsys.readouterr().out)["body"] == json.loads(body.read_text(encoding="utf-8"))
    assert json.loads(body.read_text(encoding="utf-8"))["type"] == "digest.weekly"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("channel", ["email", "sms"])
def test_there_is_a_sample_of_everything_in_every_language(
    language: str, channel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for what, template in (([], DIGEST_TEMPLATE), (["--reminder", "invoice-9"], REMINDER_TEMPLATE)):
        preview("--sample", "--locale", language, "--channel", channel, "--json", *what)
        told = json.loads(capsys.readouterr().out)
        assert (told["language"], told["template_id"], told["would_be_sent"]) == (language, template, True)
        assert told.get("segments", 1) == 1


def test_a_file_holds_the_message_itself_and_is_nobody_elses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    html, text = tmp_path / "digest.html", tmp_path / "digest.txt"
    preview("--sample", "--out", str(html))
    preview("--sample", "--out", str(text))
    assert told_in_page(html.read_text("utf-8")) == told_in_text(text.read_text("utf-8"))
    assert "/unsubscribe/***" not in html.read_text("utf-8")
    assert stat.S_IMODE(html.stat().st_mode) == 0o600
    assert f"Written  {html}" in capsys.readouterr().out.replace("\n", "")


def test_it_opens_in_a_browser_from_a_file_that_only_its_owner_reads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []

    def show(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(webbrowser, "open", show)
    preview("--sample", "--open")
    (shown,) = (Path(unquote(urlsplit(url).path)) for url in opened)
    assert shown.suffix == ".html"
    assert stat.S_IMODE(shown.stat().st_mode) == 0o600
    assert "Blue desk lamp" not in capsys.readouterr().out


def test_without_a_browser_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    preview("--sample", "--open", status=1)
    assert "--open: there is no browser here; write the message with --out FILE instead" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    preview("--sample", "--out", str(tmp_path / "absent" / "digest.html"), status=1)
    assert "--out: cannot write" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "option", "words"),
    [
        ([], "--customer", "name a customer with --customer, or take the --sample"),
        (["--sample", "--customer", "c-1"], "--customer", "name a customer"),
        (["--customer", "person@example.com"], "--customer", "looks like an email address"),
        (["--customer", "c-1", "--locale", "de"], "--locale", "goes with --sample only"),
        (["--sample", "--locale", "ja"], "--locale", "must be one of en, de, fr, es"),
        (["--sample", "--period", "2026-11-17"], "--period", "2026-11-17 is no Monday"),
        (["--sample", "--period", "last"], "--period", "must be an ISO date"),
        (["--sample", "--period", "2026-11-16", "--reminder", "e"], "--period", "a reminder has no week"),
        (["--sample", "--template", "reminder-v1"], "--template", "must be a digest of this release: weekly-digest-v1"),
        (["--sample", "--out", "digest.pdf"], "--out", "must end in .html or .txt"),
        (["--sample", "--channel", "sms", "--out", "digest.html"], "--out", "must end in .txt"),
    ],
)
def test_what_does_not_go_together_is_told_with_the_option(
    arguments: list[str], option: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    preview(*arguments, status=2)
    told = " ".join(capsys.readouterr().err.replace("\u2502", " ").split())
    assert option in told
    assert words in told
