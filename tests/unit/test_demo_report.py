"""What a person reads, and what a machine reads, when a local run is over."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from functions.core.delivery import Status
from functions.core.identity import Channel
from ops.local.emulator import Email, Text
from ops.local.faults import Fault, Verdict, verdict_of
from ops.local.marketplace import Expectation, generate
from ops.local.reckoning import RegionEvidence, reckon
from ops.local.report import Run, answer, as_html, as_json, example_of, summary_table, write_report
from tests.unit.test_demo_reckoning import ALL_WELL, MESSAGES, a_row, with_rows

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
BODY = '<!doctype html><p class="x">1 "order" & more</p>'


def a_fault(*, held: bool = True) -> Fault:
    return Fault(
        "a message that does not parse",
        "us",
        "it was sent",
        "the dead-letter queue",
        "it is there",
        verdict_of(held=held),
    )


def a_run(*evidence: RegionEvidence, faults: tuple[Fault, ...] = (a_fault(),)) -> Run:
    found = evidence or (ALL_WELL, replace(ALL_WELL, name="eu"))
    return Run(
        marketplace=generate(3, now=NOW),
        began_at=NOW,
        wall_s=41.26,
        evidence=found,
        reckonings=[reckon(one) for one in found],
        faults=faults,
        settled_from_outbox=1,
        emails=[Email("us-east-1", "m-1-email", "digest@example.com", ("c1@example.com",), "Your week", BODY, "", NOW)],
        texts=[Text("us-east-1", "m-1-sms", "DIGEST", "+12025550101", "Your week: 1 order.")],
    )


def test_the_figures_of_a_region_have_just_the_promised_names() -> None:
    held = as_json(a_run())
    assert (held["customers"], held["wall_s"]) == (3, 41.3)
    assert set(held["regions"]) == {"us", "eu"}
    assert held["regions"]["us"] == {
        "planned": 5,
        "accepted": 4,
        "skipped": {"empty": 1},
        "dead_letter": 0,
        "expired": 0,
        "uncertain": 0,
        "open": 0,
        "provider_received": 4,
        "duplicates": 0,
        "dlq": 1,
        "planner_ms": 1234,
        "latency_ms": {"p50": 1000, "p95": 1000, "p99": 1000},
    }


def test_both_files_are_written_and_the_one_for_machines_is_json(tmp_path: Path) -> None:
    write_report(a_run(), tmp_path / "demo")
    held = json.loads((tmp_path / "demo" / "report.json").read_text(encoding="utf-8"))
    assert held["faults"][0]["verdict"] == "as expected"
    assert all(check["holds"] for check in held["checks"])
    assert (tmp_path / "demo" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_first_line_says_that_everybody_got_theirs() -> None:
    assert answer(a_run()) == "Yes: all 8 digests that somebody wanted arrived, each once."
    assert "<h1>Yes: all 8 digests" in as_html(a_run())


def test_the_first_line_owns_up_to_a_delivery_of_which_nobody_is_certain() -> None:
    evidence = replace(with_rows(a_row("2", status=Status.UNCERTAIN)), received=[MESSAGES[0], *MESSAGES[2:]])
    run = a_run(evidence)
    assert run.agrees
    assert answer(run) == (
        "Nearly: 3 of 4 digests arrived, each once; 1 may have been sent, and waits for a person to decide."
    )


def test_the_first_line_says_no_when_a_sum_does_not_agree_and_the_sums_are_open() -> None:
    run = a_run(replace(ALL_WELL, received=MESSAGES[1:]))
    assert not run.agrees
    assert answer(run) == "No: 2 sums do not agree."
    assert "<details open>" in as_html(run)


def test_a_fault_that_did_not_end_as_expected_is_a_failure_in_words() -> None:
    run = a_run(faults=(a_fault(held=False),))
    assert not run.agrees
    assert answer(run) == "Yes, but 1 fault did not end as expected."
    assert "not as expected</span>" in as_html(run)


def test_a_fault_whose_moment_never_came_is_no_failure_and_says_so() -> None:
    run = a_run(faults=(replace(a_fault(), verdict=Verdict.NOT_DONE),))
    assert run.agrees
    assert "<strong>could not be done</strong>" in as_html(run)


class Assets(HTMLParser):
    """Whatever a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [f"{tag} {name}" for name, _ in attrs if name in {"src", "href", "srcset", "poster"}]


def test_the_page_fetches_nothing() -> None:
    page = as_html(a_run())
    assets = Assets()
    assets.feed(page)
    assert assets.fetched == []
    assert not re.search(r"url\(|@import|<script", page)


def test_an_email_is_shown_in_a_frame_in_which_nothing_can_run() -> None:
    page = as_html(a_run())
    assert "<iframe sandbox srcdoc=" in page
    assert "1 &#34;order&#34; &amp; more" in page
    assert '<p class="x">' not in page


def test_the_example_is_one_customers_email_and_text() -> None:
    example = example_of(a_run(), ALL_WELL)
    assert example is not None
    assert (example.customer_id, example.subject, example.text) == ("1", "Your week", "Your week: 1 order.")


def test_each_region_shows_what_arrived_there_and_through_whom() -> None:
    evidence = [
        replace(ALL_WELL, name=name, rows=[replace(a_row(customer), provider=provider)])
        for name, customer, provider in (("us", "1", "ses"), ("eu", "2", "http"))
    ]
    run = a_run(*evidence)
    another = replace(run.emails[0], message_id="m-2-email", subject="Ihre Woche")
    page = as_html(replace(run, emails=[*run.emails, another]))
    assert "US: email through Amazon SES" in page
    assert "To customer 1. Subject: Your week" in page
    assert "EU: email through the HTTP email provider" in page
    assert "To customer 2. Subject: Ihre Woche" in page
    assert page.count("<iframe") == 2


def test_without_any_email_the_page_says_so() -> None:
    nothing = replace(
        ALL_WELL,
        rows=[a_row("3", status=Status.SKIPPED)],
        received=[],
        expected={Channel.EMAIL: Expectation(skipped=ALL_WELL.expected[Channel.EMAIL].skipped)},
    )
    page = as_html(a_run(nothing))
    assert "No email did." in page
    assert "None was accepted." in page


@pytest.mark.parametrize("people", ["c1@example.com", "+12025550101"])
def test_nobodys_address_stands_on_the_page_or_in_the_json(people: str) -> None:
    run = a_run()
    assert people not in as_html(run)
    assert people not in json.dumps(as_json(run))


def test_the_table_fits_a_terminal_of_80_columns() -> None:
    console = Console(width=80, record=True, force_terminal=False, color_system=None)
    console.print(summary_table(a_run()))
    lines = console.export_text().splitlines()
    assert len(lines) == 1 + 4
    assert all(len(line) <= 80 and "…" not in line for line in lines)
