"""The comparison with other queues: what could go wrong in it without anybody noticing."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import pytest

from bench.alternatives import contestants, servers
from bench.alternatives.crash import Aftermath
from bench.alternatives.figures import MS, Crash, Row, Run, rows_of
from bench.alternatives.job import Death, NullProvider, Task, composing, how_many, sends
from bench.alternatives.race import ContestantError, Planned, Reading, between


class KilledError(Exception):
    """The process would be gone."""


def killed(_group: int, _signal: int) -> NoReturn:
    raise KilledError


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task(tmp_path, 40, datetime(2026, 11, 29, 20, tzinfo=UTC), fails_every=20)


def test_what_a_task_is_survives_the_way_into_a_process(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    for one in (task, replace(task, dies=Death.AFTER)):
        for name, value in one.environment.items():
            monkeypatch.setenv(name, value)

        assert Task.from_environment() == one


def test_one_of_twenty_fails_once_whoever_tries_again(task: Task) -> None:
    ids = list(task.delivery_ids)

    refused = [one for one in ids if not NullProvider(task).send(one)]
    again = [one for one in refused if not NullProvider(task).send(one)]

    assert refused == [ids[0], ids[20]]
    assert again == []
    assert sends(task.folder) == Counter(ids)


def test_sends_are_counted_with_their_duplicates(task: Task) -> None:
    first, second, *_ = list(task.delivery_ids)[1:]
    assert how_many(task) == 0

    for one in (first, second, first):
        NullProvider(task).send(one)

    assert how_many(task) == 3
    assert sends(task.folder) == {first: 2, second: 1}


@pytest.mark.parametrize(("death", "sent"), [(Death.BEFORE, 0), (Death.AFTER, 1)])
def test_a_worker_dies_once_on_the_side_of_the_send_that_it_was_told(
    task: Task, monkeypatch: pytest.MonkeyPatch, death: Death, sent: int
) -> None:
    doomed = replace(task, fails_every=0, dies=death)
    before, marked = list(doomed.delivery_ids)[doomed.marked - 1 : doomed.marked + 1]
    monkeypatch.setattr(os, "killpg", killed)

    with pytest.raises(KilledError):
        NullProvider(doomed).send(marked)

    assert how_many(doomed) == sent
    assert all(NullProvider(doomed).send(one) for one in (before, marked))  # whoever takes over lives


def test_everybody_composes_the_email_of_the_delivery_in_hand(task: Task) -> None:
    compose = composing(task)

    texts = {compose(one).html for one in list(task.delivery_ids)[:3]}

    assert len(texts) == 3  # each has a link of its own to leave
    assert all("Blue lamp" in text for text in texts)


def test_a_figure_is_the_median_of_its_rounds_with_its_spread() -> None:
    assert Row.of("ours", "worker", MS, [4.0, 1.0, 2.0]) == Row("ours", "worker", MS, 2.0, 1.0, 4.0, 3)
    with pytest.raises(ValueError, match="ours, worker: no round"):
        Row.of("ours", "worker", MS, [])


def test_figures_are_by_delivery_and_those_of_two_processes_are_not_mixed_in() -> None:
    alone, both = (between(Reading(10.0, 100, 1.0, 0.5), Reading(12.0, 900, 1.0 + cpu_s, 0.9)) for cpu_s in (1.6, 8.0))
    runs = [Run(1, Planned(1000, 0.25, 0.5), alone), Run(2, Planned(1000, 9.0, 9.0), both)]

    figures = {row.figure: round(row.median, 6) for row in rows_of("ours", runs, note="", server="")}

    assert figures == {
        "planner": 0.25,
        "worker": 2.0,
        "server, planning": 0.5,
        "server, carrying": 0.5,
        "throughput, 1 at work": 400.0,
        "throughput, 2 at work": 400.0,
    }


def test_a_race_that_was_over_before_it_was_looked_at_is_no_figure() -> None:
    reading = Reading(10.0, 100, 1.0, 0.5)

    with pytest.raises(ContestantError, match="more deliveries"):
        between(reading, reading)


def test_who_has_no_server_has_no_figure_of_one() -> None:
    runs = [Run(1, Planned(10, 1.0, 0.0), between(Reading(0, 0, 0, 0), Reading(1, 10, 1, 0)))]

    assert not [row for row in rows_of("ours", runs, note="", server=None) if "server" in row.figure]


def test_what_a_crash_left_behind_is_told_trial_by_trial() -> None:
    quiet = Aftermath(3, Counter({"a": 1, "b": 1, "c": 1}), {"accepted": 3})
    sad = Aftermath(3, Counter({"a": 2, "b": 1}), {"accepted": 1, "queued": 1, "uncertain": 1})

    assert Crash.of("ours", Death.AFTER, [quiet, sad]) == Crash(
        "ours", Death.AFTER, 3, given_twice=[0, 1], never_given=[0, 1], left_open=[0, 1], in_doubt=[0, 1]
    )


def test_everything_that_is_missing_is_named_at_once_with_the_way_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "DEBIAN", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(contestants, "BENCH_PYTHON", tmp_path / "python")

    missing = "\n".join(contestants.missing())

    assert all(way in missing for way in ("make bench-setup", "install postgresql", "install redis-server"))
