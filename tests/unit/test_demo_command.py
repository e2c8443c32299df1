"""`make demo`: what may be asked for, what is said of what may not, and what a run is set to."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ops.local.demo import cut_off, exports, main, pointed_at, read_arguments, write_settings
from ops.local.emulator import Emulator
from ops.local.marketplace import generate
from ops.local.orders import marketplace_of, parse_orders
from stacks.settings import read_cdk_json

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[2]


def test_without_arguments_a_thousand_customers_are_made_up() -> None:
    arguments = read_arguments([])
    assert (arguments.customers, arguments.keep, arguments.orders, arguments.port) == (1000, False, None, None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--customers", "0"], "'0' must be a whole number from 1 to 1000000"),
        (["--customers", "many"], "'many' must be a whole number"),
        (["--port", "70000"], "'70000' must be a port from 1 to 65535"),
        (["--orders", "orders.txt"], "--orders and --week belong together"),
        (["--week", "1997-W11"], "--orders and --week belong together"),
        (["--rate", "fax=20"], "'fax=20' must be like sms=20"),
        (["--rate", "sms=fast"], "'sms=fast' must be like sms=20"),
    ],
)
def test_what_does_not_fit_is_named(given: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        read_arguments(given)
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_a_missing_log_ends_it_with_one_line_before_anything_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--orders", str(tmp_path / "nowhere.txt"), "--week", "1997-W11"]) == 1
    said = capsys.readouterr()
    assert said.err == f"--orders: cannot read {tmp_path / 'nowhere.txt'}: No such file or directory\n"


def test_a_week_that_is_none_ends_it_before_the_log_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--orders", "nowhere.txt", "--week", "1997-11"]) == 1
    assert capsys.readouterr().err.startswith("--week: '1997-11' is not an ISO week")


def test_a_channel_is_slowed_down_in_every_region(tmp_path: Path) -> None:
    rates = read_arguments(["--rate", "sms=20"]).rates
    path = write_settings(
        generate(10, now=NOW), tmp_path / "settings.json", provider_url="http://127.0.0.1:8025", rates=rates
    )
    regions = read_cdk_json(ROOT / "cdk.json", path).regions.values()
    assert [(one.channels.sms.rate_per_second, one.channels.email.rate_per_second) for one in regions] == [
        (20, 500)
    ] * 2


def test_a_runs_settings_fit_and_leave_each_region_where_it_was(tmp_path: Path) -> None:
    path = write_settings(
        generate(1000, now=NOW), tmp_path / "run" / "settings.json", provider_url="http://127.0.0.1:8025"
    )
    regions = read_cdk_json(ROOT / "cdk.json", path).regions
    assert {name: region.region for name, region in regions.items()} == {"us": "us-east-1", "eu": "eu-west-1"}
    assert all(region.channels.email.batch_size == 5 for region in regions.values())
    assert all(region.attention_after_s == 60 for region in regions.values())


def test_more_deliveries_are_left_alone_for_longer_and_one_channel_has_the_larger_batches(tmp_path: Path) -> None:
    log = [f"{number} 19970312 1 11.77" for number in range(1, 4001)]
    orders = list(parse_orders(log, name="orders.txt"))
    shop = marketplace_of(orders, "1997-W11", now=NOW, kept_for=timedelta(days=60))
    regions = json.loads(
        write_settings(shop, tmp_path / "settings.json", provider_url="http://127.0.0.1:8025").read_text(
            encoding="utf-8"
        )
    )["regions"]
    assert regions["us"]["attention_after_s"] == 100
    assert regions["us"]["channels"]["email"]["batch_size"] == 10


def test_the_command_line_is_told_where_the_emulator_is_and_no_account(tmp_path: Path) -> None:
    told = exports(Emulator(tmp_path, port=4566))
    assert told["AWS_ENDPOINT_URL"] == "http://127.0.0.1:0"
    assert told["AWS_CONFIG_FILE"] == told["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull
    assert all(name.startswith("AWS_") for name in told)


def test_this_process_forgets_the_emulator_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "somebody")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with pointed_at(Emulator(tmp_path)):
        assert "AWS_PROFILE" not in os.environ
        assert os.environ["AWS_ENDPOINT_URL"].startswith("http://127.0.0.1:")
    assert os.environ["AWS_PROFILE"] == "somebody"
    assert "AWS_ENDPOINT_URL" not in os.environ


def test_invocations_that_ran_out_of_time_are_counted_once_each(tmp_path: Path) -> None:
    log = tmp_path / "emulator.log"
    log.write_text(
        "WARNING [lambda_runtime] Lambda email timed out after 5s \u2014 killing worker\n"
        "WARNING [lambda] ESM: Lambda email failed (errorMessage=Task timed out after 5.00 seconds)\n"
        "Task timed out after 5.00 seconds\n",
        encoding="utf-8",
    )
    assert cut_off(log) == 1
