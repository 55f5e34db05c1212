"""Chromium for tests: Debian's, driven by Playwright, without any traffic of its own."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

#: The gate sets this: a machine without chromium must not pass it.
DEMANDED = "REALESTATE_DEMAND_BROWSER"
SKIPPED = "no chromium on the PATH"
#: What Chromium would otherwise load by itself, and what lets it draw maps without a graphics card.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")


def path_of_browser() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running Chromium. Skips the test where none is installed; fails it where one is demanded."""
    path = path_of_browser()
    if path is None:
        if os.environ.get(DEMANDED):
            pytest.fail(f"{DEMANDED} is set, but there is {SKIPPED}: apt-get install chromium")
        pytest.skip(f"{SKIPPED}: the pages are not tested in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()
