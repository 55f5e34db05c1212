"""A crawl of lalafo by the site's tree of categories: the names of a category go through the queue to its listings."""

from pathlib import Path

from redis import Redis

from realestate.spiders.lalafo_category_words import TREE
from realestate.storage.postgres import PostgresStore
from tests.end_to_end.conftest import PYTHON, Simulate, compared, finished, running


def test_the_tree_of_categories_leads_to_every_listing(
    simulate: Simulate, env: dict[str, str], server: Redis, store: PostgresStore, tmp_path: Path
) -> None:
    simulated = simulate(120)
    variables = {**env, "SIMULATOR_URL": simulated.url}
    with running([PYTHON, "-m", "scrapy", "crawl", "lalafo"], variables, tmp_path / "worker.log") as worker:
        tree = f"{simulated.portals['lalafo']}{TREE}?category_id=2029&expand=url&page=1&per-page=40"
        server.lpush("lalafo:start_urls", tree)
        finished(server, "lalafo")
        assert worker.stop() == 0
    comparison = compared(store, simulated, "lalafo")
    assert comparison.expected == 120
    assert comparison.right, (comparison.missing, comparison.unexpected, comparison.wrong[:5])
    assert "ERROR" not in worker.text()
