"""What a person sees while a local run goes on: live on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

import psutil
from rich.console import Console, Group
from rich.live import Live
from rich.progress import Progress as Bar
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from functions.core.identity import Channel
from ops.local.marketplace import Expectation
from ops.local.running_region import Census

PLAIN_LINE_EVERY_S: Final = 5.0
BAR_WIDTH: Final = 24
WORDS: Final[Mapping[Channel, str]] = {
    Channel.EMAIL: "email",
    Channel.SMS: "texts",
    Channel.WEBHOOK: "webhooks",
}
Expectations = Mapping[str, Mapping[Channel, Expectation]]


class Progress:
    """Steps one after the other, then counts per region and channel."""

    def __init__(self, console: Console) -> None:
        self.console = console
        # From the start of the process: importing all this is a part of what a person waits for.
        self._began = time.monotonic() - (time.time() - psutil.Process().create_time())
        self._live: Live | None = None
        self._plain_at = 0.0

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def step(self, text: str) -> None:
        """Say what begins now."""
        self.console.print(f"[dim]{self.elapsed_s:5.1f} s[/dim]  {text}", highlight=False, soft_wrap=True)

    @contextmanager
    def counting(self, total: int) -> Iterator[Callable[[int], None]]:
        """Give a function that is told how many more of `total` are done."""
        with Bar(console=self.console, transient=True, disable=not self.console.is_terminal) as bar:
            task = bar.add_task("", total=total)
            yield lambda done: bar.advance(task, done)

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live = Live(console=self.console, transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def show(self, counted: Mapping[str, Census], expected: Expectations, messages: int) -> None:
        """Show where the deliveries stand, and how many messages the queues still hold."""
        if self._live is not None:
            self._live.update(Group(self._table(counted, expected), self._foot(messages)), refresh=True)
        elif time.monotonic() - self._plain_at >= PLAIN_LINE_EVERY_S:
            self._plain_at = time.monotonic()
            self.step(f"{self._line(counted, expected)}; {messages:,} messages left")

    def _foot(self, messages: int) -> Text:
        return Text(f"{messages:,} messages in the queues, after {self.elapsed_s:.0f} s", style="dim")

    def _line(self, counted: Mapping[str, Census], expected: Expectations) -> str:
        return ", ".join(
            f"{region} " + " ".join(_share(counted[region], channel, one) for channel, one in channels.items())
            for region, channels in expected.items()
        )

    def _table(self, counted: Mapping[str, Census], expected: Expectations) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column("")
        table.add_column("")
        for name in ("accepted", "skipped", "uncertain", "open", "of"):
            table.add_column(name, justify="right")
        for region, channels in expected.items():
            for channel, expectation in channels.items():
                census = counted[region]
                done = census.finished(channel)
                table.add_row(
                    f"{region} {WORDS[channel]}",
                    ProgressBar(total=max(1, expectation.selected), completed=done, width=BAR_WIDTH),
                    f"{census.count('accepted', channel):,}",
                    f"{census.count('skipped', channel):,}",
                    f"{census.count('uncertain', channel):,}",
                    f"{max(0, expectation.selected - done):,}",
                    f"{expectation.selected:,}",
                )
        return table


def _share(census: Census, channel: Channel, expectation: Expectation) -> str:
    return f"{WORDS[channel]} {census.finished(channel):,}/{expectation.selected:,}"
