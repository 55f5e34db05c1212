"""The adversary decides the same for the same seed, in the shares of its profile. No network, and a fake clock."""

from collections import Counter
from itertools import count
from typing import Any

import pytest
from multidict import CIMultiDict

from realestate.simulator.adversary import PROFILES, Adversary, Visit
from realestate.simulator.adversary.adversary import LOOP_PATH, NEW_LAYOUT, SPELL_BEGINS, SPELL_ENDS, Treatment
from realestate.simulator.site import Response

BASE = "http://portal.test"
HONEST = CIMultiDict({"User-Agent": "us/1 (+mailto:us@example.org)", "Accept": "text/html", "Accept-Language": "en"})
PAGE = Response("listing", b'<html><body class="home">' + b"a home " * 500 + b"</body></html>")


def adversary(profile: str, *, seed: int = 3, listings: int = 10**9) -> Adversary:
    """An adversary. By default the portal is so large that neither the empty pages nor the new layout are reached."""
    return Adversary(profile, "emlak", BASE, seed=seed, size=lambda: listings)


class Crawl:
    """A visitor that sends requests slowly, at irregular intervals."""

    def __init__(self, adversary: Adversary) -> None:
        self.adversary = adversary
        self._steps = count()

    def ask(self, target: str, address: str = "127.0.0.2", response: Response = PAGE) -> Treatment:
        step = next(self._steps)
        return self.adversary.treat(Visit(address, target, HONEST), response, step * 10.0 + step * 7 % 5)


def outcome(treatment: Treatment) -> tuple[Any, ...]:
    response = treatment.response
    return treatment.manner, response.status, response.body, response.location, response.extra


@pytest.mark.parametrize("profile", PROFILES)
def test_the_faults_are_those_of_the_profile_in_its_shares(profile: str) -> None:
    crawl, requests = Crawl(adversary(profile)), 20_000
    for number in range(requests):
        crawl.ask(f"/{number}.html")
    record = crawl.adversary.as_record()
    shares = PROFILES[profile].faults
    assert (record["requests"], record["refused"]) == (requests, 0)
    assert set(record["faults"]) == set(shares)
    for fault, share in shares.items():
        assert record["faults"][fault] / requests == pytest.approx(share, rel=0.3)
    assert record["fault_share"] == pytest.approx(sum(shares.values()), rel=0.15, abs=0.001)


def test_a_decision_depends_on_the_seed_the_url_and_the_number_of_requests_for_it() -> None:
    def outcomes(seed: int, address: str) -> list[tuple[Any, ...]]:
        crawl = Crawl(adversary("hostile", seed=seed))
        return [outcome(crawl.ask(f"/{number % 40}.html", address)) for number in range(200)]

    assert outcomes(3, "127.0.0.2") == outcomes(3, "127.0.0.2")
    assert outcomes(3, "127.0.0.2") != outcomes(4, "127.0.0.2")
    assert outcomes(3, "127.0.0.2") != outcomes(3, "127.0.0.3")


def test_the_order_of_visitors_does_not_change_decisions() -> None:
    targets = [f"/{number}.html" for number in range(100)]
    forth, back = Crawl(adversary("hostile")), Crawl(adversary("hostile"))
    outcomes = {target: outcome(forth.ask(target)) for target in targets}
    assert {target: outcome(back.ask(target)) for target in reversed(targets)} == outcomes


def test_a_repeated_request_gets_the_page() -> None:
    crawl, attempts = Crawl(adversary("hostile")), Counter[int]()
    for number in range(1_000):
        tries = next(n for n in count(1) if outcome(crawl.ask(f"/{number}.html"))[:3] == ("whole", 200, PAGE.body))
        attempts[tries] += 1
    assert 100 < sum(attempts.values()) - attempts[1] < 400
    assert max(attempts) < 10


def test_a_redirect_loop_never_ends_but_the_first_url_works_when_requested_again() -> None:
    crawl = Crawl(adversary("hostile"))
    first = next(f"/{n}" for n in count() if LOOP_PATH in (crawl.ask(f"/{n}").response.location or ""))
    nowhere = Response("other", b"not found", 404)
    target, seen = LOOP_PATH + "a", []
    for _ in range(30):
        led = crawl.ask(target, response=nowhere).response
        assert (led.status, led.location is not None) == (302, True)
        target = str(led.location).removeprefix(BASE)
        seen.append(target)
    assert set(seen) == {LOOP_PATH + "a", LOOP_PATH + "b"}
    assert any(crawl.ask(first).response.status == 200 for _ in range(5))


def test_profiles_without_these_faults_have_no_loops_and_no_login_page() -> None:
    nowhere = Response("other", b"not found", 404)
    for profile in ("gentle", "normal"):
        crawl = Crawl(adversary(profile))
        assert [crawl.ask(target, response=nowhere).response for target in (LOOP_PATH + "a", "/login")] == [nowhere] * 2


def test_for_some_time_half_of_the_pages_are_empty_and_later_the_layout_changes() -> None:
    listings = 2_000
    crawl = Crawl(adversary("hostile", listings=listings))
    empty, relaid = [], []
    for number in range(1, listings + 1):
        body = crawl.ask(f"/{number}.html").response.body
        empty += [number] if b"<main></main>" in body else []
        relaid += [number] if b"r2-home" in body else []
    spell = (SPELL_ENDS - SPELL_BEGINS) * listings
    assert SPELL_BEGINS * listings <= min(empty) <= max(empty) <= SPELL_ENDS * listings
    assert len(empty) / spell == pytest.approx(0.5 * 0.8, rel=0.3)
    assert min(relaid) >= NEW_LAYOUT * listings
    assert len(relaid) == pytest.approx(crawl.adversary.as_record()["new_layout"], rel=0.1)
    assert crawl.adversary.as_record()["faults"]["empty"] == len(empty)


def test_a_response_without_a_body_is_not_damaged() -> None:
    crawl, moved = Crawl(adversary("hostile")), Response("listing", b"", 301, location="/elsewhere")
    feedback = {crawl.ask(f"/{number}", response=moved).manner for number in range(2_000)}
    assert feedback == {"whole", "reset"}


def test_refusals_are_counted_by_address_and_reason() -> None:
    strict, now = adversary("strict"), 50.0
    for _ in range(5):
        strict.treat(Visit("127.0.0.2", "/", HONEST), PAGE, now)
    strict.treat(Visit("127.0.0.3", "/", {"User-Agent": "curl/8", "Accept-Language": "en"}), PAGE, now)
    strict.treat(Visit("127.0.0.3", "/", {**HONEST, "Via": "1.1 exit"}), PAGE, now)
    clients = strict.clients()
    assert clients["127.0.0.2"]["refusals"] == {"rate": 1, "held": 1}
    assert clients["127.0.0.3"]["refusals"] == {"agent": 1, "proxy": 1}
    assert (clients["127.0.0.2"]["requests"], clients["127.0.0.2"]["refused"]) == (5, 2)
    record = strict.as_record()
    assert (record["requests"], record["refused"], record["refused_share"]) == (7, 4, 4 / 7)


def test_bans_and_the_requests_they_refuse_are_counted() -> None:
    hostile = adversary("hostile")
    for _ in range(10):
        hostile.treat(Visit("127.0.0.2", "/", HONEST), PAGE, 50.0)
    outcomes = hostile.clients()["127.0.0.2"]
    assert (outcomes["bans"], outcomes["banned"], outcomes["refused"]) == (1, 6, 7)
