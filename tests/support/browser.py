"""Debian's Chromium, driven by Playwright; tests are skipped if it is missing."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_PLACES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--no-first-run"
).split()


@contextmanager
def opened_browser() -> Iterator[Any]:
    """A browser without windows, or a skip that says what is missing."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs Playwright: pip install playwright"
    )
    place = next((found for name in _PLACES if (found := shutil.which(name))), None)
    if place is None:
        pytest.skip("needs a browser: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=place, args=_ARGUMENTS)
        yield browser
        browser.close()


class Watched:
    """A page with its console errors and its requests."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.address = address
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)  # other tests share the cores
        self.complaints: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.context.on("request", self._request)

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _request(self, request: Any) -> None:
        if not request.url.startswith(f"{self.address}/"):
            self.elsewhere.append(request.url)

    def open(self, view: str = "") -> Any:
        """The page at one of its views."""
        self.page.goto(f"{self.address}/#{view}")
        return self.page
