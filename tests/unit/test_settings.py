"""What a person sees who types a setting wrong, and what follows from the settings that fit."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stacks.settings import Settings, SettingsError, Target, load_settings, read_cdk_json

ROOT = Path(__file__).resolve().parents[2]
SHIPPED: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
MISSING = object()


def changed(path: str, value: object) -> dict[str, Any]:
    """The shipped context with one entry set, or taken away."""
    context = copy.deepcopy(SHIPPED)
    *above, last = path.split(".")
    entries = context
    for step in above:
        entries = entries[step]
    if value is MISSING:
        del entries[last]
    else:
        entries[last] = value
    return context


def problems(context: Mapping[str, Any]) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as refused:
        load_settings(context)
    return refused.value.problems


def problem(path: str, value: object) -> str:
    (only,) = problems(changed(path, value))
    return only


def shipped() -> Settings:
    return load_settings(SHIPPED)


def test_the_settings_that_we_ship_fit() -> None:
    settings = shipped()
    assert settings.target is Target.AWS
    assert {name: region.region for name, region in settings.regions.items()} == {"us": "us-east-1", "eu": "eu-west-1"}


EMAIL = "regions.us.channels.email"
SMS = "regions.us.channels.sms"


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("target", "gcp", 'target: is "gcp"; must be one of "aws", "emulator"'),
        ("regions", {}, "regions: is {}; must name at least one data region"),
        ("regions.us.region", "Virginia", 'is "Virginia"; must be an AWS region, such as us-east-1'),
        ("regions.us.site_url", "http://shop.example.com", "must be an https address"),
        ("regions.us.site_url", "https://shop.example.com/", "without a slash at its end"),
        ("regions.us.planner.interval_minutes", 7, "is 7; must be one of 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60"),
        ("regions.us.planner.shards", 0, "is 0; must be from 1 to 100"),
        ("regions.us.planner.shards", True, "is true; must be from 1 to 100"),
        ("regions.us.planner.parallel", 0, "is 0; must be from 1 to 100"),
        ("regions.us.planner.parallel", 9, "is 9; must be at most planner.shards, 8"),
        ("regions.us.planner.max_lateness_hours", 168, "must be from 1 to 167"),
        ("regions.us.planner", 5, "must be an object with interval_minutes, shards, max_lateness_hours"),
        ("regions.us.expires_after_hours", 168, "must be from 1 to 167 (nothing is sent later; less than a week"),
        ("regions.us.attention_after_s", "300", 'is "300"; must be from 1 to 86400'),
        ("regions.us.retention.logs_days", 31, "must be one of 1, 3, 5, 7, 14, 30,"),
        ("regions.us.retention.deliveries_days", 7, "must be from 30 to 3650"),
        ("regions.us.deletion_protection", 1, "is 1; must be one of true, false"),
        ("regions.us.alarm_email", "operations", "must be null, or the email address that alarms go to"),
        ("regions.us.paging_email", "on call", "must be null, or the email address of whoever is on call"),
        (f"{EMAIL}.provider", "sns", 'is "sns"; must be'),
        (f"{EMAIL}.sender", "DIGEST", "must be one email address"),
        (f"{EMAIL}.concurrency", 1, "is 1; must be from 2 to 1000"),
        (f"{EMAIL}.concurrency", 1001, "is 1001; must be from 2 to 1000"),
        (f"{EMAIL}.concurrency", 2.5, "is 2.5; must be from 2 to 1000"),
        (f"{EMAIL}.rate_per_second", 0, "must be from 0.01 to 10000"),
        (f"{EMAIL}.batch_size", 11, "must be from 1 to 10"),
        (f"{EMAIL}.timeout_s", 901, "must be from 2 to 900"),
        (f"{EMAIL}.memory_mb", 64, "must be from 128 to 10240"),
        (f"{EMAIL}.backoff_s", [30, 120, 600], "must list at least 4 whole numbers from 0 to 43200"),
        (f"{EMAIL}.backoff_s", [1, 1, 1, 43_201], "must list at least 4 whole numbers from 0 to 43200"),
        (f"{EMAIL}.backoff_s", "30,120", "must list at least 4 whole numbers"),
        (f"{SMS}.sender", "digest@example.com", "must be a sender id (1 to 11 letters and digits"),
        (f"{SMS}.sender", "0155501", "must be a sender id"),
        (f"{SMS}.provider", None, "is null; must be"),
    ],
)
def test_a_wrong_entry_is_named_with_what_would_be_right(path: str, value: object, expected: str) -> None:
    told = problem(path, value)
    assert told.startswith(f"{path}: is ")
    assert expected in told


@pytest.mark.parametrize("sender", ["DIGEST", "Shop24", "+15550100000"])
def test_a_text_may_come_from_a_name_or_a_number(sender: str) -> None:
    assert load_settings(changed(f"{SMS}.sender", sender)).regions["us"].channels.sms.sender == sender


def test_an_unknown_entry_is_answered_with_the_known_ones_closest_first() -> None:
    told = problem("regions.us.channels.email.concurency", 5)
    assert told.startswith("regions.us.channels.email.concurency: is unknown; known here, closest first: concurrency,")


def test_an_unknown_channel_is_refused_and_not_ignored() -> None:
    assert "regions.us.channels.push: is unknown; known here" in problem("regions.us.channels.push", {})


def test_a_missing_entry_is_named_with_what_it_must_be() -> None:
    assert problem("regions.eu.channels.sms.sender", MISSING).startswith(
        "regions.eu.channels.sms.sender: is missing; must be a sender id"
    )
    assert problem("regions.eu.planner", MISSING).startswith("regions.eu.planner: is missing; must be an object with")


def test_everything_that_is_wrong_is_told_at_once() -> None:
    context = changed("regions.us.channels.email.concurrency", 1)
    context["regions"]["eu"]["retention"]["logs_days"] = 31
    context["regions"]["eu"]["planer"] = {}
    assert [line.split(":")[0] for line in problems(context)] == [
        "regions.eu.planer",
        "regions.eu.retention.logs_days",
        "regions.us.channels.email.concurrency",
    ]


@pytest.mark.parametrize("name", ["US", "u", "us-east-1", "northamerica"])
def test_a_data_region_has_a_short_plain_name(name: str) -> None:
    context = copy.deepcopy(SHIPPED)
    context["regions"][name] = context["regions"]["us"]
    assert f"regions.{name}: is {json.dumps(name)}; must be a short name of 2 to 8 letters" in problems(context)[0]


def test_european_customers_are_not_put_into_america_by_a_slip() -> None:
    told = problem("regions.eu.region", "us-east-1")
    assert told.startswith('regions.eu.region: is "us-east-1"; must start with eu-')


def test_a_send_must_answer_before_its_function_is_cut_off() -> None:
    told = problem("regions.us.channels.email.send_timeout_s", 30)
    assert told.startswith("regions.us.channels.email.send_timeout_s: is 30; must be below timeout_s, 30")


def test_retries_must_end_before_the_delivery_expires() -> None:
    told = problem("regions.us.channels.email.backoff_s", [43_200] * 6)
    assert told.startswith("regions.us.channels.email.backoff_s: is [43200, 43200")
    assert "must add up to less than 259200" in told


def test_numbers_that_hang_together_follow_from_the_ones_that_are_typed() -> None:
    region = shipped().regions["us"]
    email = region.channels.email
    assert email.visibility_timeout_s == 6 * email.timeout_s
    assert email.max_receive_count == len(email.backoff_s) + 1 == 6
    assert region.silence_after_s == region.channels.webhook.visibility_timeout_s + 60
    assert region.expires_after_s == 72 * 3600
    assert region.max_lateness_s == 24 * 3600


@pytest.mark.parametrize(("minutes", "timeout_s"), [(1, 50), (5, 270), (60, 900)])
def test_a_wake_up_leaves_time_before_the_next_one(minutes: int, timeout_s: int) -> None:
    region = load_settings(changed("regions.us.planner.interval_minutes", minutes)).regions["us"]
    assert region.planner.timeout_s == timeout_s < region.planner.interval_s


def test_the_slower_channel_decides_when_silence_is_suspicious() -> None:
    region = load_settings(changed("regions.us.channels.sms.timeout_s", 100)).regions["us"]
    assert region.silence_after_s == 6 * 100 + 60


def test_settings_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValueError, match="frozen"):
        shipped().regions["us"].planner.shards = 9  # type: ignore[misc]


# --- files ------------------------------------------------------------------------------------------------------------


def overrides(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "overrides.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_overrides_change_what_they_name_and_leave_the_rest(tmp_path: Path) -> None:
    path = overrides(
        tmp_path,
        '{"target": "emulator", "regions": {"us": {"channels": {"email": {"backoff_s": [1, 1, 2, 2]}}}}}',
    )
    settings = read_cdk_json(ROOT / "cdk.json", path)
    assert settings.target is Target.EMULATOR
    assert settings.regions["us"].channels.email.backoff_s == (1, 1, 2, 2)
    assert settings.regions["us"].channels.email.sender == shipped().regions["us"].channels.email.sender
    assert settings.regions["eu"] == shipped().regions["eu"]


def test_the_cdk_and_the_command_line_read_the_same_settings() -> None:
    assert read_cdk_json(ROOT / "cdk.json") == shipped()


def test_a_wrong_override_is_named_like_any_other_entry(tmp_path: Path) -> None:
    path = overrides(tmp_path, '{"regions": {"us": {"planner": {"shards": 0}}}}')
    with pytest.raises(SettingsError, match=r"^regions\.us\.planner\.shards: is 0; must be from 1 to 100"):
        read_cdk_json(ROOT / "cdk.json", path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "is not JSON: "),
        ("[]", "must hold one JSON object"),
        ('{"region": {}}', "region: is unknown; known here: target, regions"),
    ],
)
def test_a_file_of_overrides_that_cannot_be_used_is_named(tmp_path: Path, text: str, expected: str) -> None:
    path = overrides(tmp_path, text)
    with pytest.raises(SettingsError) as refused:
        read_cdk_json(ROOT / "cdk.json", path)
    assert str(path) in str(refused.value)
    assert expected in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot read .*nowhere\.json: No such file"):
        read_cdk_json(tmp_path / "nowhere.json")
    with pytest.raises(SettingsError, match=r"overrides: cannot read .*nowhere\.json: No such file"):
        read_cdk_json(ROOT / "cdk.json", tmp_path / "nowhere.json")


def test_a_cdk_json_without_context_is_told_where_settings_belong(tmp_path: Path) -> None:
    path = overrides(tmp_path, '{"app": "python app.py"}')
    with pytest.raises(SettingsError, match="has no `context`; the settings `target` and `regions` belong in it"):
        read_cdk_json(path)


def test_a_slip_on_the_cdk_s_command_line_is_noticed() -> None:
    assert problems({**SHIPPED, "override": "x.json"}) == ("override: is unknown; did you mean `overrides`?",)


def test_the_cdk_s_own_context_is_left_alone() -> None:
    assert load_settings({**SHIPPED, "aws:cdk:bundling-stacks": ["**"], "cli-telemetry": False}) == shipped()


def test_every_difference_of_the_emulator_is_a_property_of_its_target() -> None:
    differing = {
        name
        for name, found in vars(Target).items()
        if isinstance(found, property) and getattr(Target.AWS, name) != getattr(Target.EMULATOR, name)
    }
    assert differing == {
        "assumes_bootstrap_roles",
        "speaks_tls",
        "names_batches_apart",
        "reaches_plain_http",
        "judges_emails_by_sender",
        "combines_metrics",
    }


# --- an email provider over HTTPS ---

OPTIONS: dict[str, Any] = {
    "url": "https://api.mail.example/v1",
    "api_key_secret": "digest/email-api-key",
    "key_window_s": 86_400,
    "lookup_window_s": 0,
}


def with_http_provider(**differing: object) -> dict[str, Any]:
    context = changed(f"{EMAIL}.provider", "http")
    context["regions"]["us"]["allowed_hosts"] = ["api.mail.example"]
    context["regions"]["us"]["channels"]["email"]["provider_options"] = {
        name: value for name, value in {**OPTIONS, **differing}.items() if value is not MISSING
    }
    return context


def test_email_may_go_out_over_another_provider() -> None:
    email = load_settings(with_http_provider()).regions["us"].channels.email
    assert email.provider == "http"
    assert email.provider_options is not None
    assert email.provider_options.model_dump() == OPTIONS
    assert not email.provider_options.can_be_asked


@pytest.mark.parametrize(
    ("entry", "value", "expected"),
    [
        ("url", "http://api.mail.example", "must be an https address without a slash at its end"),
        ("url", "https://api.mail.example/", "must be an https address without a slash at its end"),
        ("url", "https://user:password@api.mail.example", "must be an https address"),
        ("url", "https://", "must be an https address"),
        ("url", "http://127.0.0.1:8025", "must be an https address (plain http reaches this machine only"),
        ("api_key_secret", "", "must be the name of a secret in this region's Secrets Manager"),
        ("api_key_secret", "arn:aws:secretsmanager:us-east-1:1:secret:key", "must be the name of a secret"),
        ("api_key_secret", "email-api-secret", "but not one that ends in a hyphen and six characters"),
        ("key_window_s", 59, "must be from 60 to 2592000 (seconds that the provider remembers an idempotency key"),
        ("lookup_window_s", -1, "must be from 0 to 31536000"),
        ("lookup_window_s", None, "is null; must be from 0 to 31536000"),
    ],
)
def test_a_wrong_option_of_a_provider_is_named_with_what_would_be_right(
    entry: str, value: object, expected: str
) -> None:
    (told,) = problems(with_http_provider(**{entry: value}))
    assert told.startswith(f"{EMAIL}.provider_options.{entry}: is ")
    assert expected in told


@pytest.mark.parametrize("entry", list(OPTIONS))
def test_every_option_of_a_provider_is_decided_by_a_person(entry: str) -> None:
    (told,) = problems(with_http_provider(**{entry: MISSING}))
    assert told.startswith(f"{EMAIL}.provider_options.{entry}: is missing; must be ")


def test_an_unknown_option_is_answered_with_the_known_ones_closest_first() -> None:
    (told,) = problems(with_http_provider(key_window=1))
    assert told == (
        f"{EMAIL}.provider_options.key_window: is unknown; known here, closest first: "
        "key_window_s, lookup_window_s, api_key_secret, url"
    )


def test_a_provider_and_its_options_come_together() -> None:
    names_of_options = "must be an object with url, api_key_secret, key_window_s, lookup_window_s"
    assert problem(f"{EMAIL}.provider", "http") == f"{EMAIL}.provider_options: is null; {names_of_options}"
    told = problem(f"{EMAIL}.provider_options", OPTIONS)
    assert told.startswith(f"{EMAIL}.provider_options: is {{")
    assert told.endswith("must be left out (they are those of provider http; this one is ses)")
    told = problem(f"{SMS}.provider_options", {"origination_identity": "pool/pool-1"})
    assert told.endswith("must be left out (they are those of provider eum; this one is sns)")
    assert problem(f"{SMS}.provider", "eum").endswith(
        "an object with origination_identity, configuration_set, max_price"
    )
    assert names_of_options in problem(f"{EMAIL}.provider_options", 5)


def test_retries_must_end_while_the_provider_still_remembers_the_key() -> None:
    (told,) = problems(with_http_provider(key_window_s=1800))
    assert told.startswith(f"{EMAIL}.backoff_s: is [30, 120, 600, 1800, 3600]; must add up to less than")
    assert "key_window_s, 1800 (later ones are unsafe)" in told


@pytest.mark.parametrize("url", ["http://127.0.0.1:8025", "http://localhost:8025", "http://[::1]:8025"])
def test_the_simulator_on_this_machine_needs_no_encryption_in_a_local_run(url: str) -> None:
    context = {**with_http_provider(url=url), "target": "emulator"}
    options = load_settings(context).regions["us"].channels.email.provider_options
    assert options is not None
    assert options.url == url


# --- consent ---

QUIET_EXPECTED = (
    'must be null, or local times of the customer such as {"from": "21:00", "until": "08:00"} (nothing is sent from '
    "the one until the other; never quiet if they are the same)"
)
RECIPIENTS_EXPECTED = (
    "must be null (production: everybody), or a list of at least one address or number that may be written to, whole "
    "or as *@example.com, +1202555* or https://hooks.example.com/* (anybody else is skipped)"
)


def test_texts_are_quiet_at_night_unless_somebody_decides_otherwise() -> None:
    region = load_settings(changed(f"{SMS}.quiet_hours", MISSING)).regions["us"]
    assert (region.channels.sms.quiet_hours_text, region.channels.email.quiet_hours_text) == ("21:00-08:00", "")
    decided = load_settings(changed(f"{SMS}.quiet_hours", None)).regions["us"]
    assert decided.channels.sms.quiet_hours_text == ""


@pytest.mark.parametrize(
    "value",
    ["21:00-08:00", {"from": "21:00"}, {"from": "21:00", "to": "08:00"}, {"from": "24:00", "until": "08:00"}, 21],
)
def test_quiet_hours_that_are_no_two_times_are_refused(value: object) -> None:
    assert problem(f"{EMAIL}.quiet_hours", value) == f"{EMAIL}.quiet_hours: is {json.dumps(value)}; {QUIET_EXPECTED}"


@pytest.mark.parametrize(
    "value", [["qa@example.com"], ["*@example.com", "+1202555*", "+12025550143", "https://hooks.example.com/*"]]
)
def test_a_staging_deployment_names_who_it_may_write_to(value: list[str]) -> None:
    assert load_settings(changed("regions.us.recipients", value)).regions["us"].recipients == tuple(value)


@pytest.mark.parametrize(
    "value",
    [[], "qa@example.com", ["*"], ["*@"], ["+*"], ["+1*"], ["example.com"], [None], ["https://hooks.example.com*"]],
)
def test_a_list_that_allows_nobody_or_everybody_is_refused(value: object) -> None:
    expected = f"regions.us.recipients: is {json.dumps(value)}; {RECIPIENTS_EXPECTED}"
    assert problem("regions.us.recipients", value) == expected


def test_whoever_says_nothing_of_recipients_writes_to_everybody() -> None:
    assert load_settings(changed("regions.us.recipients", MISSING)).regions["us"].recipients is None


# --- where data may go, and the customers' own endpoints ---

WEBHOOK = "regions.us.channels.webhook"


def test_a_regions_emails_go_to_hosts_that_somebody_listed_for_that_region() -> None:
    context = with_http_provider()
    context["regions"]["us"]["allowed_hosts"] = []
    (only,) = problems(context)
    assert only.startswith(f'{EMAIL}.provider_options.url: is "https://api.mail.example/v1"; must lead to one of')
    assert only.endswith("allowed_hosts: none so far")
    context["regions"]["us"]["allowed_hosts"] = ["mail.example", "api.mail.example.attacker.example"]
    (only,) = problems(context)
    assert only.endswith("allowed_hosts: mail.example, api.mail.example.attacker.example")


def test_a_host_that_is_listed_for_one_region_is_not_for_the_other() -> None:
    context = with_http_provider()
    for entry in ("provider", "provider_options"):
        context["regions"]["eu"]["channels"]["email"][entry] = context["regions"]["us"]["channels"]["email"][entry]
    (only,) = problems(context)
    assert only.startswith("regions.eu.channels.email.provider_options.url: is")


@pytest.mark.parametrize(
    "value", ["api.mail.example", ["https://api.mail.example"], ["*.mail.example"], [""], [1], None]
)
def test_an_allow_list_of_hosts_holds_hosts(value: object) -> None:
    assert "must be a list of hosts, such as api.mail.example" in problem("regions.us.allowed_hosts", value)


def test_the_emulator_may_send_to_this_machine_unlisted() -> None:
    context = with_http_provider(url="http://127.0.0.1:8025")
    context["regions"]["us"]["allowed_hosts"] = []
    assert load_settings(context | {"target": "emulator"}).regions["us"].allowed_hosts == ()
    assert any("must be an https address" in one for one in problems(context))


def test_endpoints_are_called_for_five_days_of_failures_unless_somebody_decides_otherwise() -> None:
    region = load_settings(changed(f"{WEBHOOK}.disable_after_days", MISSING)).regions["us"]
    assert region.channels.webhook.disable_after_s == 5 * 86_400
    assert load_settings(changed(f"{WEBHOOK}.disable_after_days", 9)).regions["us"].channels.webhook.sender == ""
    assert "must be from 1 to 30" in problem(f"{WEBHOOK}.disable_after_days", 0)


def test_a_batch_of_endpoints_that_never_answer_is_done_before_its_function_ends() -> None:
    for region in shipped().regions.values():
        webhook = region.channels.webhook
        assert webhook.batch_size * (webhook.send_timeout_s + 2) < webhook.timeout_s


def test_a_webhook_is_not_sent_again_when_its_receiver_may_have_forgotten_it() -> None:
    assert problem(f"{WEBHOOK}.backoff_s", [30, 120, 600, 43_200, 43_200]).endswith(
        "must add up to less than 86400 (seconds that receivers have to know a webhook-id for)"
    )
    assert problem(f"{WEBHOOK}.provider_options", OPTIONS).endswith("must be null (provider webhook has none)")


# --- an HTTP worker ---

WORKER = f"{EMAIL}.http_worker"
SIGNED = {"auth": "signature", "signing_secret": "digest/email-jobs"}


def test_no_channel_has_an_http_worker_unless_it_is_asked_for() -> None:
    for region in shipped().regions.values():
        assert {channel.http_worker for channel in region.channels.by_name().values()} == {None}


def test_an_http_worker_stands_beside_the_queue_unless_it_takes_its_place() -> None:
    worker = load_settings(changed(WORKER, SIGNED)).regions["us"].channels.email.http_worker
    assert worker is not None
    assert (worker.auth, worker.signing_secret, worker.instead_of_queue) == ("signature", "digest/email-jobs", False)


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        ({}, ".auth: is missing; must be one of "),
        ({"auth": "none"}, '.auth: is "none"; must be one of "iam", "signature"'),
        ({"auth": "signature"}, ".signing_secret: is null; must name the secret that jobs are signed with"),
        ({**SIGNED, "auth": "iam"}, ".signing_secret: is "),
        ({**SIGNED, "signing_secret": "digest/email-secret"}, ".signing_secret: is "),
        ({"auth": "iam", "instead_of_queue": 1}, ".instead_of_queue: is 1; must be one of true, false"),
        ({"auth": "iam", "secret": "digest"}, ".secret: is unknown; known here, closest first: "),
        (True, ": is true; must be an object with auth, signing_secret, instead_of_queue"),
    ],
)
def test_a_worker_that_would_let_in_nobody_or_anybody_is_refused(worker: object, expected: str) -> None:
    assert problem(WORKER, worker).startswith(WORKER + expected)


# --- summaries ---

SUMMARY: dict[str, Any] = {
    "model_id": "us.amazon.nova-lite-v1:0",
    "prompt_version": "weekly-summary-v1",
    "tokens_per_digest": 4000,
    "tokens_per_period": 5_000_000,
    "timeout_s": 2,
}


def test_digests_have_no_summary_unless_it_is_set() -> None:
    assert shipped().regions["us"].summary is None


@pytest.mark.parametrize(
    ("region", "model_id", "geography"),
    [
        ("us", "us.amazon.nova-lite-v1:0", "us"),
        ("eu", "eu.anthropic.claude-haiku-4-5-20251001-v1:0", "eu"),
        ("eu", "mistral.mistral-large-2402-v1:0", None),
    ],
)
def test_a_model_or_a_profile_that_stays_in_the_geography_may_write_them(
    region: str, model_id: str, geography: str | None
) -> None:
    settings = load_settings(changed(f"regions.{region}.summary", {**SUMMARY, "model_id": model_id}))
    summary = settings.regions[region].summary
    assert summary is not None
    assert summary.geography == geography


@pytest.mark.parametrize(
    ("entry", "value", "expected"),
    [
        ("model_id", "global.amazon.nova-2-lite-v1:0", "stays in its geography"),
        ("model_id", "nova", "must be the id of a model that runs in this region"),
        ("model_id", "eu.amazon.nova-lite-v1:0", "must be a model or an inference profile of us-east-1"),
        ("prompt_version", "weekly-summary-v0", 'must be "weekly-summary-v1"'),
        ("max_output_tokens", 5, "must be from 50 to 2000"),
        ("temperature", 1.5, "must be null"),
        ("temperature", True, "must be null"),
        ("tokens_per_digest", 2299, "must be at least 2300 (max_output_tokens, and 2000"),
        ("tokens_per_period", 3999, "must be at least tokens_per_digest, 4000"),
        ("timeout_s", 0, "must be from 1 to 60"),
    ],
)
def test_a_wrong_entry_about_summaries_is_named_with_what_would_be_right(
    entry: str, value: object, expected: str
) -> None:
    told = problem("regions.us.summary", {**SUMMARY, entry: value})
    assert told.startswith(f"regions.us.summary.{entry}: is {json.dumps(value)}; ")
    assert expected in told


@pytest.mark.parametrize("entry", ["model_id", "prompt_version", "tokens_per_digest", "tokens_per_period"])
def test_what_summaries_may_cost_and_who_writes_them_is_decided_by_a_person(entry: str) -> None:
    left_out = {name: value for name, value in SUMMARY.items() if name != entry}
    assert f"regions.us.summary.{entry}: is missing" in problem("regions.us.summary", left_out)


def test_a_batch_whose_summaries_all_take_their_time_comes_to_its_end() -> None:
    told = problem("regions.us.summary", {**SUMMARY, "timeout_s": 3})
    assert told.startswith("regions.us.channels.email.timeout_s: is 30; must be above 35 (seconds: batch_size times ")
