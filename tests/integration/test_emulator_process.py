"""The emulator as a process: it starts, answers, says why it cannot, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ops.local.emulator import Emulator, EmulatorError

DEADLINE_S = 20.0


def eventually(happened: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if happened():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that temporary files go to: what is left in it was left behind."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def test_what_was_sent_can_be_read_back_by_region(tmp_path: Path) -> None:
    with Emulator(tmp_path) as emulator:
        ses = emulator.client("sesv2", "eu-west-1")
        ses.create_email_identity(EmailIdentity="digest@example.com")
        sent = ses.send_email(
            FromEmailAddress="digest@example.com",
            Destination={"ToAddresses": ["person@example.net"]},
            Content={"Simple": {"Subject": {"Data": "Your week"}, "Body": {"Text": {"Data": "three orders"}}}},
        )
        emulator.client("sns", "us-east-1").publish(PhoneNumber="+15550100001", Message="three orders")

        assert [email.message_id for email in emulator.emails("eu-west-1")] == [sent["MessageId"]]
        assert emulator.emails("us-east-1") == []
        assert [text.to for text in emulator.texts("us-east-1")] == ["+15550100001"]
        assert emulator.texts("eu-west-1") == []


def test_a_waiting_message_can_be_seen_without_being_received(tmp_path: Path) -> None:
    with Emulator(tmp_path) as emulator:
        sqs = emulator.client("sqs", "us-east-1")
        queue_url = sqs.create_queue(QueueName="email")["QueueUrl"]
        sqs.send_message(QueueUrl=queue_url, MessageBody="{}")

        assert [message.receive_count for message in emulator.queue_messages(queue_url)] == [0]
        assert [message.receive_count for message in emulator.queue_messages(queue_url)] == [0]


def test_what_a_function_logs_and_what_a_queue_holds_become_metrics_that_alarms_stand_on(tmp_path: Path) -> None:
    with Emulator(tmp_path) as emulator:
        logs, cloudwatch = (emulator.client(name, "eu-west-1") for name in ("logs", "cloudwatch"))
        sqs = emulator.client("sqs", "eu-west-1")
        for name, namespace, metric, dimension in (
            ("halted", "DigestDelivery", "ChannelsHalted", {"Name": "region", "Value": "eu"}),
            ("elsewhere", "DigestDelivery", "ChannelsHalted", {"Name": "region", "Value": "us"}),
            ("dead", "AWS/SQS", "ApproximateNumberOfMessagesVisible", {"Name": "QueueName", "Value": "dead"}),
        ):
            cloudwatch.put_metric_alarm(
                AlarmName=name,
                Namespace=namespace,
                MetricName=metric,
                Dimensions=[dimension],
                Statistic="Maximum",
                Period=60,
                EvaluationPeriods=1,
                Threshold=1,
                ComparisonOperator="GreaterThanOrEqualToThreshold",
                TreatMissingData="notBreaching",
            )
        sqs.send_message(QueueUrl=sqs.create_queue(QueueName="dead")["QueueUrl"], MessageBody="{}")
        logs.create_log_group(logGroupName="reconciler")
        logs.create_log_stream(logGroupName="reconciler", logStreamName="one")
        logs.put_log_events(
            logGroupName="reconciler",
            logStreamName="one",
            logEvents=[{"timestamp": round(time.time() * 1000), "message": one_halted_channel()}],
        )

        def states() -> dict[str, str]:
            return {one["AlarmName"]: one["StateValue"] for one in cloudwatch.describe_alarms()["MetricAlarms"]}

        assert eventually(lambda: states() == {"halted": "ALARM", "elsewhere": "OK", "dead": "ALARM"})
        told = cloudwatch.get_metric_data(
            MetricDataQueries=[
                {"Id": "halted", "MetricStat": highest("ChannelsHalted", "eu"), "ReturnData": False},
                {"Id": "share", "Label": "%", "Expression": "100 * halted / 4"},
            ],
            StartTime=time.time() - 600,
            EndTime=time.time() + 60,
        )["MetricDataResults"]
        assert [(one["Id"], one["Label"], one["Values"]) for one in told] == [("share", "%", [25.0])]


def highest(name: str, region: str) -> dict[str, object]:
    about = {
        "Namespace": "DigestDelivery",
        "MetricName": name,
        "Dimensions": [{"Name": "region", "Value": region}],
    }
    return {"Metric": about, "Period": 60, "Stat": "Maximum"}


def one_halted_channel() -> str:
    directive = {"Namespace": "DigestDelivery", "Dimensions": [["region"]], "Metrics": [{"Name": "ChannelsHalted"}]}
    about = {"Timestamp": round(time.time() * 1000), "CloudWatchMetrics": [directive]}
    return json.dumps({"_aws": about, "region": "eu", "ChannelsHalted": [1.0]})


def test_a_busy_port_is_named_with_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        with pytest.raises(EmulatorError, match=rf"port {port} .* is taken: .*name none to get a free one"):
            Emulator(tmp_path, port=port).start()


def test_an_emulator_that_dies_early_says_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = Emulator._server_environment
    monkeypatch.setattr(
        Emulator, "_server_environment", lambda self, folder: {**environment(self, folder), "GATEWAY_PORT": "none"}
    )
    with pytest.raises(EmulatorError, match=r"ended with status [^0](?s:.*)socket\."):
        Emulator(tmp_path).start()


def test_leaving_the_block_ends_every_process_and_removes_every_file(tmp_path: Path, temporary: Path) -> None:
    with Emulator(tmp_path / "run") as emulator:
        assert emulator._process is not None
        process = psutil.Process(emulator._process.pid)
        assert list(temporary.iterdir())
    assert not process.is_running()
    assert list(temporary.iterdir()) == []
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["emulator.log"]


STARTER = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background, it is ignored from birth
from pathlib import Path
from ops.local.emulator import Emulator
with Emulator(Path(sys.argv[1])) as emulator:
    print(emulator._process.pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda ending: ending.name)
def test_the_emulator_goes_with_the_one_who_started_it(tmp_path: Path, temporary: Path, ending: signal.Signals) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert starter.stdout is not None
    with starter.stdout:
        emulator = psutil.Process(int(starter.stdout.readline()))
    starter.send_signal(ending)
    starter.wait(DEADLINE_S)

    assert eventually(lambda: not emulator.is_running() or emulator.status() == psutil.STATUS_ZOMBIE)
    assert eventually(lambda: not list(temporary.iterdir()))
