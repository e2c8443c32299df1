"""The console in a real browser: a stuck delivery is found, read and redriven, and a channel paused, in three steps.

It takes the system's own Chromium. Screenshots of what was seen stay in out/console.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from functions import names
from functions.adapters.clock import utc_now
from functions.adapters.traffic import DynamoTraffic
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel
from functions.core.traffic import GatePosition
from ops.local.provider_faults import FaultKind, ProviderFault
from ops.local.running_region import RunningRegion
from ops.local.simulated_provider import SimulatedProvider
from tests.e2e.people import Mailboxes, Person, eventually, import_people, rows_of

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
SCREENSHOTS = Path(__file__).parents[2] / "out" / "console"
SANDRA = Person("console-sandra", "us", digest_channels="email")
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
MOST_STEPS = 3
MOST_TABS = 120
PATIENCE_MS = 20_000
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

# What can be pressed or typed into, and is called nothing.
UNNAMED = """() => {
    const name = one => [one.textContent, one.ariaLabel, ...[...(one.labels ?? [])].map(label => label.textContent)];
    return [...document.querySelectorAll('a[href], button:not([hidden]), summary, select, input:not([type=hidden])')]
        .filter(one => !name(one).join('').trim())
        .map(one => one.outerHTML.slice(0, 120));
}"""
# Text that stands out from what is behind it by less than it takes to be read.
LEAST_CONTRAST = 4.5
FAINT = """least => {
    const rgb = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const linear = part => part <= 10.3 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4;
    const light = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    const behind = one => {
        for (let at = one; at; at = at.parentElement) {
            const colour = rgb(getComputedStyle(at).backgroundColor);
            if (colour.length === 3 || colour[3] > 0) return colour;
        }
        return [255, 255, 255];
    };
    const contrast = one => {
        const style = getComputedStyle(one);
        const two = [light(rgb(one.ownerSVGElement ? style.fill : style.color)), light(behind(one))];
        return (Math.max(...two) + 0.05) / (Math.min(...two) + 0.05);
    };
    return [...document.querySelectorAll('body *')]
        .filter(one => [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
        .filter(one => one.checkVisibility())
        .filter(one => contrast(one) < least)
        .map(one => `${contrast(one).toFixed(2)} ${one.outerHTML.slice(0, 120)}`);
}"""

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium here; on Debian and Ubuntu: apt install chromium"
)


class Visitor:
    """Somebody at the first page, whose steps are counted: whatever is pressed is one."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.steps = 0
        self.console: list[str] = []
        page.on("console", lambda message: self.console.append(message.text))
        page.goto(address)

    def widget(self, title: str) -> Locator:
        return self.page.locator("section.widget").filter(has=self.page.get_by_role("heading", name=title, exact=True))

    def press(self, what: Locator) -> None:
        self.steps += 1
        what.click()

    def tab_to(self, name: str, within: Locator) -> None:
        """Go on by the tabulator until what is called `name` has the focus."""
        wanted = within.get_by_label(name, exact=True)
        for _ in range(MOST_TABS):
            self.page.keyboard.press("Tab")
            if wanted.evaluate("element => element === document.activeElement"):
                return
        raise AssertionError(f"{name}: not reached by the keyboard")


@pytest.fixture(scope="module")
def us(regions: Mapping[str, RunningRegion]) -> RunningRegion:
    return regions["us"]


@pytest.fixture(scope="module")
def stuck(
    us: RunningRegion, provider: SimulatedProvider, cloud: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Delivery:
    """A delivery that the provider refused once, and would take now."""
    provider.will(ProviderFault(kind=FaultKind.REJECTED, to=SANDRA.email))
    import_people([SANDRA], tmp_path_factory.mktemp("sandra"), cloud)
    us.wake(names.OUTPUT_PLANNER_SCHEDULE)
    return eventually(partial(row_once, us, Status.DEAD_LETTER), waking=us, within_s=60, what="the refused delivery")


def row_once(region: RunningRegion, status: Status) -> Delivery | None:
    row = rows_of(region, SANDRA).get(Channel.EMAIL)
    return row if row is not None and row.status is status else None


@pytest.fixture(scope="module")
def address(stuck: Delivery, cloud: Mapping[str, str]) -> Iterator[str]:  # noqa: ARG001 - there is something to see
    """Where `digest console` serves the region."""
    program = Path(sys.executable).with_name("digest")
    command = [str(program), "console", "--region", "us", "--port", "0", "--json"]
    with subprocess.Popen(command, env={**cloud}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = "".join(iter(process.stdout.readline, "}\n")) + "}"
        yield json.loads(told)["url"]
        process.terminate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visitor(browser: Browser, address: str) -> Iterator[Visitor]:
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    context.set_default_timeout(PATIENCE_MS)
    visitor = Visitor(context.new_page(), address)
    yield visitor
    assert visitor.console == [], "the browser complains, such as of what its policy does not allow"
    context.close()


def test_the_page_is_seen_whole_on_a_phone_and_on_a_wide_screen_in_light_and_dark(
    browser: Browser, address: str
) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page = browser.new_page()
    page.goto(address)
    assert page.get_by_role("heading", level=1).inner_text().startswith("us: ")
    assert page.evaluate(UNNAMED) == []
    for width in (400, 1600):
        page.set_viewport_size({"width": width, "height": 1000})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(FAINT, LEAST_CONTRAST) == []
            page.screenshot(path=SCREENSHOTS / f"service-{width}-{scheme}.png", full_page=True)
    page.close()


def test_a_channel_is_paused_by_keyboard_alone(visitor: Visitor, us: RunningRegion) -> None:
    traffic = DynamoTraffic(us.deployment.dynamodb, us.deployment.control_table)
    visitor.page.set_viewport_size({"width": 400, "height": 1000})
    visitor.page.keyboard.press("Tab")
    assert visitor.page.locator(":focus").inner_text() == "Skip to what this page says"
    visitor.page.keyboard.press("Enter")
    channels = visitor.widget("Channels")
    visitor.tab_to("Why, for whoever asks", channels)
    visitor.page.keyboard.type("INC-47: wrong prices")
    for name in ("Pause: sms", "Yes: Pause: sms"):
        visitor.tab_to(name, channels)
        if name.startswith("Yes"):
            visitor.page.screenshot(path=SCREENSHOTS / "pause-400.png", full_page=True)
        visitor.steps += 1
        visitor.page.keyboard.press("Enter")
    visitor.page.get_by_text("sms is paused.").wait_for()
    visitor.page.screenshot(path=SCREENSHOTS / "paused-400.png", full_page=True)
    try:
        assert traffic.gate(Channel.SMS).position(utc_now()) is GatePosition.HALTED
        assert visitor.steps <= MOST_STEPS
    finally:
        traffic.resume(Channel.SMS)


def test_a_stuck_delivery_is_found_read_and_redriven_in_three_steps(
    visitor: Visitor, stuck: Delivery, us: RunningRegion, mailboxes: Mailboxes
) -> None:
    attention = visitor.widget("What needs attention")
    visitor.press(attention.get_by_role("button", name=str(stuck.delivery_id)))
    page = visitor.page
    page.get_by_role("heading", name=f"{stuck.delivery_id}: dead letter").wait_for()
    assert page.get_by_text("rejected").first.is_visible()
    page.screenshot(path=SCREENSHOTS / "story.png", full_page=True)
    page.get_by_label("Why, for whoever asks").fill("INC-48: the address is mended")
    visitor.press(page.get_by_text("Redrive", exact=True).first)
    page.get_by_text("1 delivery. It is sent again, under the same id.").wait_for()
    page.screenshot(path=SCREENSHOTS / "confirmation.png", full_page=True)
    visitor.press(page.get_by_role("button", name="Yes: Redrive"))
    page.get_by_text("Redriven: on its way to its consumer.").wait_for()
    assert visitor.steps <= MOST_STEPS
    eventually(partial(row_once, us, Status.ACCEPTED), within_s=60, what="the redriven delivery accepted")
    assert len(mailboxes.of(SANDRA)) == 1
