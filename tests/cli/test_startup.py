"""Commands import nothing that is slow to import unless they need it."""

import json
import subprocess
import sys
from functools import cache

#: Each takes longer to import than the help may take.
HEAVY = {"scrapy", "twisted", "redis", "psycopg2", "pymongo", "lxml", "selectolax", "aiohttp", "dateparser", "rich"}
SCRIPT = """
import json, sys
from realestate.cli import main
sys.argv = ["realestate", *sys.argv[1:]]
try:
    main()
finally:
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


@cache
def imported(*arguments: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_help_imports_nothing_heavy() -> None:
    assert imported("--help") & HEAVY == set()
    assert imported("crawl", "--help") & HEAVY == set()


def test_the_test_sees_imports() -> None:
    assert {"typer", "realestate"} <= imported("--help")


def test_commands_that_only_read_the_store_or_redis_do_not_import_scrapy() -> None:
    script = """
import sys
import realestate.cli.connections, realestate.cli.terminal
import realestate.jobs.fleet, realestate.queue.dead_letters, realestate.storage
print("scrapy" in sys.modules, "redis" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False True\n"
