"""Whether an email has a summary: made once, the same in every attempt, and never in the way of the digest."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from functions.core.composition import Composer, Moment
from functions.core.customer import Consent
from functions.core.delivery import Delivery, SkipReason
from functions.core.envelope import EmailEnvelope, Envelope, TextEnvelope, WebhookEnvelope, fingerprint
from functions.core.identity import Channel, Topic
from functions.core.ports import ModelError, Summaries, TokenBudget
from functions.core.settlement import claimed
from functions.core.summarising import Summariser, SummaryWriter
from functions.core.summary import Answer, Recipe, SummaryNote
from functions.names import LANGUAGES
from tests.conformance.summaries import SummariesConformance, TokenBudgetConformance
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.customers import InMemoryCustomers
from tests.fakes.examples import PERIOD, SITE_URL, a_claim, a_delivery, a_profile, a_reminder, an_activity
from tests.fakes.readers import Page
from tests.fakes.summaries import (
    LIMITS,
    RECIPE,
    SENTENCE,
    FakeModel,
    InMemorySummaries,
    InMemoryTokenBudget,
    an_answer,
)

IN_TIME = Moment(SUNDAY_EVENING, SUNDAY_EVENING + LIMITS.timeout)
WEEK = PERIOD.isoformat()
THROTTLED = ModelError("ThrottlingException", spent=False)
TIMED_OUT = ModelError("ReadTimeoutError", spent=True)


@dataclass
class Desk:
    """A composer of emails whose digests are summarised, and one customer in whose week something happened."""

    model: FakeModel = field(default_factory=FakeModel)
    kept: InMemorySummaries = field(default_factory=InMemorySummaries)
    budget: InMemoryTokenBudget = field(default_factory=InMemoryTokenBudget)
    customers: InMemoryCustomers = field(default_factory=InMemoryCustomers)
    used: list[tuple[str, int, int]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.customers.add(a_profile(), an_activity())
        self.customers.remind(a_reminder())
        self.writer = SummaryWriter(
            RECIPE, LIMITS, self.model, self.budget, self.kept, used=self._note_used, failed=self._note_failed
        )
        self.on = Composer(
            self.customers, "digest@example.com", SITE_URL, summariser=Summariser(self.kept, self.writer)
        )
        self.off = replace(self.on, summariser=Summariser(self.kept))

    def email(
        self, delivery: Delivery | None = None, *, composer: Composer | None = None, moment: Moment = IN_TIME
    ) -> EmailEnvelope:
        envelope = (composer or self.on).compose(delivery or a_delivery(), moment)
        assert isinstance(envelope, EmailEnvelope)
        return envelope

    @property
    def plain(self) -> str:
        return fingerprint(self.email(composer=replace(self.on, summariser=None)))

    def _note_used(self, recipe: Recipe, answer: Answer) -> None:
        self.used.append((recipe.prompt_version, answer.input_tokens, answer.output_tokens))

    def _note_failed(self, delivery_id: str, error: Exception) -> None:
        self.failed.append(f"{delivery_id} {type(error).__name__}")


@pytest.fixture
def desk() -> Desk:
    return Desk()


def after_first_attempt(email: EmailEnvelope) -> Delivery:
    """The row once an attempt with this email has claimed it."""
    delivery = a_delivery()
    return claimed(delivery, replace(a_claim(), summary=email.summary))


# --- a digest with a summary ------------------------------------------------------------------------------------------


def test_a_summary_opens_both_forms_of_the_email_and_says_who_wrote_it(desk: Desk) -> None:
    email = desk.email()
    page = Page(email.html)
    assert f"{SENTENCE}Written by AI from the entries below." in page.text.replace("\n", "")
    assert f"\n\n{SENTENCE}\nWritten by AI from the entries below.\n\n1 order\n" in email.text
    assert SENTENCE not in email.subject


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rest_of_the_email_is_the_plain_one_in_every_language(desk: Desk, language: str) -> None:
    desk.customers.add(a_profile(locale=language))
    plain = desk.email(composer=desk.off)
    desk.model.will(an_answer("A week with a single lamp in it."))
    with_summary = desk.email()
    opening, text, closing = with_summary.text.partition("A week with a single lamp in it.")
    assert text
    _, _, rest = closing.lstrip("\n").partition("\n\n")
    assert opening.rstrip("\n") + "\n" + rest == plain.text
    assert with_summary.subject == plain.subject


def test_what_a_model_writes_is_text_and_never_markup(desk: Desk) -> None:
    desk.model.will(an_answer("You ordered one lamp & nothing 'else' this week."))
    assert "one lamp &amp; nothing &#39;else&#39; this week" in desk.email().html


def test_the_envelope_tells_the_row_what_it_was_made_with_and_shows_no_word_of_it(desk: Desk) -> None:
    email = desk.email()
    assert email.summary == SummaryNote(RECIPE, "written", 700, 40)
    assert SENTENCE not in repr(email) + repr(desk.kept.held)
    assert fingerprint(email) == fingerprint(replace(email, summary=None))


@pytest.mark.parametrize("channel", [Channel.SMS, Channel.WEBHOOK])
def test_texts_and_webhooks_have_none(desk: Desk, channel: Channel) -> None:
    assert isinstance(desk.on.compose(a_delivery(channel=channel), IN_TIME), TextEnvelope | WebhookEnvelope)
    assert desk.model.prompts == []


def test_reminders_have_none(desk: Desk) -> None:
    desk.email(a_delivery(topic=Topic.REMINDER))
    assert desk.model.prompts == []


def test_nothing_is_asked_about_somebody_who_opted_out(desk: Desk) -> None:
    desk.customers.add(a_profile(consent={(Topic.DIGEST, Channel.EMAIL): Consent.OPTED_OUT}))
    assert desk.on.compose(a_delivery(), IN_TIME) is SkipReason.OPTED_OUT
    assert desk.model.prompts == []


# --- the same in every attempt ----------------------------------------------------------------------------------------


def test_a_digest_that_waits_for_its_first_attempt_is_summarised_once(desk: Desk) -> None:
    emails = [desk.email() for _ in range(3)]
    assert len(desk.model.prompts) == 1
    assert len({fingerprint(email) for email in emails}) == 1


def test_a_retry_sends_the_summary_of_the_first_attempt(desk: Desk) -> None:
    first = desk.email()
    desk.model.will(an_answer("You ordered something else entirely this week."))
    assert fingerprint(desk.email(after_first_attempt(first))) == fingerprint(first)
    assert len(desk.model.prompts) == 1


@pytest.mark.parametrize("failure", [THROTTLED, TIMED_OUT, an_answer("Evil, see evil.com for more.")])
def test_a_retry_of_a_plain_digest_is_plain_although_the_model_would_answer_now(
    desk: Desk, failure: ModelError | Answer
) -> None:
    desk.model.will(failure)
    first = desk.email()
    assert fingerprint(first) == desk.plain
    assert fingerprint(desk.email(after_first_attempt(first))) == desk.plain
    assert len(desk.model.prompts) == 1


def test_a_retry_after_summaries_were_switched_off_still_has_its_own(desk: Desk) -> None:
    first = desk.email()
    assert fingerprint(desk.email(after_first_attempt(first), composer=desk.off)) == fingerprint(first)


def test_a_retry_after_summaries_were_switched_on_stays_plain(desk: Desk) -> None:
    first = desk.email(composer=desk.off)
    assert fingerprint(desk.email(after_first_attempt(first))) == desk.plain
    assert desk.model.prompts == []


def test_of_two_summaries_made_at_once_the_first_that_was_kept_is_sent_by_both(desk: Desk) -> None:
    others: list[Envelope] = []

    def another_consumer() -> None:
        desk.model.while_asked = lambda: None
        desk.model.will(an_answer("You ordered one thing, says the other."), an_answer())
        others.append(desk.email())

    desk.model.while_asked = another_consumer
    mine = desk.email()
    assert len(desk.model.prompts) == 2
    assert "says the other" in mine.text
    assert fingerprint(mine) == fingerprint(others[0])


def test_whose_claim_holds_decides_between_a_summary_and_a_plain_digest_made_at_once(desk: Desk) -> None:
    desk.model.will(THROTTLED)
    plain_one = desk.email()
    with_summary = desk.email()
    assert fingerprint(plain_one) != fingerprint(with_summary)
    assert fingerprint(desk.email(after_first_attempt(plain_one))) == fingerprint(plain_one)
    assert fingerprint(desk.email(after_first_attempt(with_summary))) == fingerprint(with_summary)


def test_later_claims_do_not_change_what_the_row_says_of_the_summary(desk: Desk) -> None:
    row = after_first_attempt(desk.email())
    assert claimed(row, a_claim()).summary == row.summary


# --- the plain digest, whatever goes wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (THROTTLED, "ThrottlingException"),
        (TIMED_OUT, "ReadTimeoutError"),
        (RuntimeError("canary"), "RuntimeError"),
        (an_answer(stop_reason="max_tokens"), "max_tokens"),
        (an_answer(stop_reason="guardrail_intervened"), "guardrail_intervened"),
        (an_answer(""), "unfit"),
        (an_answer("See https://evil.example for your lamp."), "unfit"),
    ],
)
def test_a_digest_goes_out_plain_and_its_row_says_why(
    desk: Desk, answer: Answer | ModelError | RuntimeError, outcome: str
) -> None:
    desk.model.will(answer)
    email = desk.email()
    assert fingerprint(email) == desk.plain
    assert email.summary is not None
    assert (email.summary.outcome, email.summary.written) == (outcome, False)


def test_what_is_kept_and_cannot_be_read_keeps_no_first_attempt_back_and_changes_no_later_one(desk: Desk) -> None:
    first = desk.email()
    desk.kept.broken = True
    plain = desk.email()
    assert fingerprint(plain) == desk.plain
    assert fingerprint(desk.email(after_first_attempt(plain))) == desk.plain
    with pytest.raises(ConnectionError):
        desk.email(after_first_attempt(first))


def test_a_fault_of_our_own_is_told_without_its_words(desk: Desk) -> None:
    desk.model.will(RuntimeError("Canary blue lamp"))
    desk.email()
    assert desk.failed == [f"{a_delivery().delivery_id} RuntimeError"]


def test_without_time_for_the_model_before_the_send_it_is_not_asked(desk: Desk) -> None:
    almost = Moment(SUNDAY_EVENING, SUNDAY_EVENING + LIMITS.timeout - timedelta(milliseconds=1))
    email = desk.email(moment=almost)
    assert email.summary is not None
    assert email.summary.outcome == "no_time"
    assert desk.model.prompts == []


def test_an_answer_that_may_not_be_printed_is_not_asked_for_twice(desk: Desk) -> None:
    desk.model.will(an_answer("See evil.com for your lamp."))
    assert [fingerprint(desk.email()) for _ in range(2)] == [desk.plain] * 2
    assert len(desk.model.prompts) == 1


def test_who_is_erased_while_the_model_writes_leaves_nothing_behind(desk: Desk) -> None:
    desk.model.while_asked = lambda: desk.kept.erased.add("c-417")
    email = desk.email()
    assert email.summary is not None
    assert email.summary.outcome == "not_kept"
    assert fingerprint(email) == desk.plain
    assert desk.kept.held == {}


# --- tokens -----------------------------------------------------------------------------------------------------------


def test_a_week_s_budget_is_charged_with_what_was_used_and_that_is_told_by_prompt_version(desk: Desk) -> None:
    desk.email()
    assert desk.budget.used == {WEEK: 740}
    assert desk.used == [("weekly-summary-v1", 700, 40)]


def test_a_week_that_has_fewer_tokens_left_than_a_digest_may_take_goes_on_without(desk: Desk) -> None:
    desk.budget.tokens_per_period = LIMITS.tokens_per_digest + 739
    assert desk.email().summary == SummaryNote(RECIPE, "written", 700, 40)
    desk.customers.add(a_profile("c-2"), an_activity())
    refused = desk.email(a_delivery("c-2"))
    assert refused.summary == SummaryNote(RECIPE, "over_budget")
    assert desk.budget.used == {WEEK: 740}
    assert desk.email(a_delivery("c-2", period="2026-11-23")).summary == SummaryNote(RECIPE, "written", 700, 40)


@pytest.mark.parametrize(("failure", "used"), [(THROTTLED, 0), (TIMED_OUT, LIMITS.tokens_per_digest)])
def test_a_call_without_an_answer_counts_as_what_it_may_have_used(desk: Desk, failure: ModelError, used: int) -> None:
    desk.model.will(failure)
    desk.email()
    assert desk.budget.used[WEEK] == used
    assert desk.used == []


def test_a_prompt_leaves_room_for_the_answer_within_the_digest_s_budget(desk: Desk) -> None:
    for number in range(20):
        desk.customers.add(a_profile(), replace(an_activity(f"a-{number}"), title="\u00e9" * 150))
    desk.email()
    (prompt,) = desk.model.prompts
    assert prompt.size <= LIMITS.tokens_per_digest - RECIPE.max_output_tokens
    assert prompt.facts.count('"title"') < 20


def test_a_budget_that_no_entry_fits_into_asks_nothing(desk: Desk) -> None:
    small = replace(desk.writer, limits=replace(LIMITS, tokens_per_digest=RECIPE.max_output_tokens + 500))
    email = desk.email(composer=replace(desk.on, summariser=Summariser(desk.kept, small)))
    assert email.summary == SummaryNote(RECIPE, "too_large")
    assert desk.budget.used == {}
    assert desk.model.prompts == []


# --- looking ahead ----------------------------------------------------------------------------------------------------


def test_a_look_ahead_shows_what_is_kept_and_has_nothing_written(desk: Desk) -> None:
    ahead = replace(desk.on, summariser=Summariser(desk.kept, looks_ahead=True))
    assert fingerprint(desk.email(composer=ahead)) == desk.plain
    first = desk.email()
    assert fingerprint(desk.email(composer=ahead)) == fingerprint(first)
    assert len(desk.model.prompts) == 1


# --- the fakes do as the tables do ------------------------------------------------------------------------------------


class TestInMemorySummaries(SummariesConformance):
    @pytest.fixture
    def summaries(self) -> Summaries:
        kept = InMemorySummaries()
        kept.erased.add("c-404")
        return kept


class TestInMemoryTokenBudget(TokenBudgetConformance):
    @pytest.fixture
    def budget(self) -> TokenBudget:
        return InMemoryTokenBudget(1000)
