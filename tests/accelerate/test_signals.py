"""Signals reach the same receivers with the same arguments as with Scrapy."""

import asyncio
import gc
from typing import Any

import pytest
from scrapy.signalmanager import SignalManager
from twisted.python.failure import Failure

from realestate.accelerate.signals import Signals


class Listener:
    """A receiver with methods of several kinds."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def item(self, item: str) -> str:
        self.heard.append(("item", item))
        return item.upper()

    def all(self, **arguments: Any) -> None:
        self.heard.append(("all", *sorted(arguments)))

    def nothing(self) -> None:
        self.heard.append(("nothing",))

    def who(self, signal: object, sender: object, unknown: str = "default") -> None:
        self.heard.append(("who", signal, sender, unknown))

    def fails(self) -> None:
        raise ValueError("a receiver's own trouble")

    async def later(self, item: str) -> str:
        await asyncio.sleep(0)
        self.heard.append(("later", item))
        return item * 2

    async def fails_later(self) -> None:
        await asyncio.sleep(0)
        raise KeyError("later")


SIGNAL = object()
METHODS = ("item", "all", "nothing", "who", "fails")


@pytest.fixture(params=[SignalManager, Signals], ids=["Scrapy's", "ours"])
def signals(request: pytest.FixtureRequest) -> SignalManager:
    manager: SignalManager = request.param(object())
    return manager


def test_each_receiver_gets_its_arguments_and_an_error_does_not_stop_the_others(
    signals: SignalManager, caplog: pytest.LogCaptureFixture
) -> None:
    listener = Listener()
    for name in METHODS:
        signals.connect(getattr(listener, name), SIGNAL)
    results = [result for _, result in signals.send_catch_log(SIGNAL, item="a", spider=None)]
    assert sorted(listener.heard, key=repr) == sorted(
        [
            ("item", "a"),
            ("all", "item", "sender", "signal", "spider"),
            ("nothing",),
            ("who", SIGNAL, signals.sender, "default"),
        ],
        key=repr,
    )
    assert "A" in results
    assert [type(each.value) for each in results if isinstance(each, Failure)] == [ValueError]
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_an_exception_that_should_not_be_logged_is_not_logged(
    signals: SignalManager, caplog: pytest.LogCaptureFixture
) -> None:
    listener = Listener()
    signals.connect(listener.fails, SIGNAL)
    signals.send_catch_log(SIGNAL, dont_log=ValueError)
    assert caplog.records == []


def test_a_slow_receiver_is_waited_for(signals: SignalManager, caplog: pytest.LogCaptureFixture) -> None:
    listener = Listener()
    for name in ("item", "later", "fails", "fails_later"):
        signals.connect(getattr(listener, name), SIGNAL)
    results = asyncio.run(signals.send_catch_log_async(SIGNAL, item="b"))
    outcomes = {receiver.__name__: result for receiver, result in results}
    assert (outcomes["item"], outcomes["later"]) == ("B", "bb")
    assert (type(outcomes["fails"]), type(outcomes["fails_later"])) == (ValueError, KeyError)
    assert len(caplog.records) == 2


def test_receivers_that_are_added_removed_or_deleted_are_noticed(signals: SignalManager) -> None:
    first, second, third = Listener(), Listener(), Listener()
    signals.connect(first.nothing, SIGNAL)
    signals.send_catch_log(SIGNAL)
    signals.connect(second.nothing, SIGNAL)
    signals.connect(third.nothing, SIGNAL)
    signals.send_catch_log(SIGNAL)
    signals.disconnect(first.nothing, SIGNAL)
    heard = third.heard
    del third
    gc.collect()
    signals.send_catch_log(SIGNAL)
    signals.disconnect_all(SIGNAL)
    signals.send_catch_log(SIGNAL)
    assert [len(first.heard), len(second.heard), len(heard)] == [2, 2, 1]


def test_the_check_for_receivers_is_right() -> None:
    signals, listener = Signals(object()), Listener()
    assert not signals.has_receivers(SIGNAL)
    signals.connect(listener.nothing, SIGNAL)
    assert signals.has_receivers(SIGNAL)
