"""`make screenshots`: what the pages look like with the data of `make demo`, for a person to look at.

All pages at 360 and 1920 px, light and dark, go to .cache/screenshots; the pictures of the README to docs/images.
"""

import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from realestate import embedded, settings
from realestate.storage.postgres import PostgresStore
from realestate.web.app import create_app
from tests.web.browser import ARGUMENTS, path_of_browser
from tests.web.server import serving

FOLDER = Path(".cache/screenshots")
IMAGES = Path("docs/images")
BAKU = "/listings?where=city%3DBak%C4%B1+operation%3Dsale"
PAGES = {
    "overview": "/",
    "listings": "/listings",
    "baku": BAKU,
    "market": "/market",
    "operations": "/operations",
    "coverage": "/operations/coverage/bina",
}
#: The pictures of the README: page, width, height, dark.
SHOWN = {"listings": (BAKU, 1440, 1000, False), "overview": ("/", 1440, 760, True)}


def settle(page: Page) -> None:
    """Wait until scripts and the map are ready."""
    page.wait_for_selector("body[data-ready=yes]")
    if page.query_selector("#map"):
        page.wait_for_selector("#map[data-state=ready][data-map=loaded][data-drawn=yes]", timeout=120_000)


def take(browser: Browser, url: str, to: Path, width: int, height: int, *, dark: bool, whole: bool) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
    page = context.new_page()
    page.goto(url)
    settle(page)
    page.screenshot(path=to, full_page=whole)
    context.close()
    print(to)


def first_listing(browser: Browser, address: str) -> str:
    """The path of the first listing of a search."""
    page = browser.new_page()
    page.goto(address + BAKU)
    path = page.locator("#results tbody a").first.get_attribute("href")
    page.close()
    return path or "/"


def main() -> None:
    home = settings.REALESTATE_HOME / "demo"
    path = path_of_browser()
    if not embedded.is_used(home) or path is None:
        sys.exit("screenshots: run `make demo` first, and install chromium")
    with embedded.services(home) as own, sync_playwright() as playwright:
        app = create_app(lambda: PostgresStore(own.store_url), own.redis_url)
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        with serving(app) as address:
            for name, page in {**PAGES, "listing": first_listing(browser, address)}.items():
                for width in (360, 1920):
                    for dark in (False, True):
                        to = FOLDER / f"{name}-{width}-{'dark' if dark else 'light'}.png"
                        take(browser, address + page, to, width, 1080, dark=dark, whole=True)
            for name, (page, width, height, dark) in SHOWN.items():
                take(browser, address + page, IMAGES / f"{name}.png", width, height, dark=dark, whole=False)
        browser.close()


if __name__ == "__main__":
    main()
