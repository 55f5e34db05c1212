"""A worker that writes the same batches over and over until it is killed: `python -m … <address of the store>`."""

import sys
from decimal import Decimal
from itertools import cycle

from realestate.storage import Batch, open_store
from tests.storage.batches import card, gone, page

SIZE = 15


def batches() -> list[Batch]:
    """Two batches for each price: the pages, then their search results and gone pages."""
    made = []
    for number, price in enumerate((350000, 340000, 330000)):
        refs = [str(ref) for ref in range(SIZE)]
        pages = [(page(ref, price=Decimal(price), title=f"Home at {price}"), f"job {number}") for ref in refs]
        cards = [(card(ref, price - 5000), f"job {number}") for ref in refs]
        made += [Batch(pages), Batch([*cards, (gone("0"), f"job {number}")])]
    return made


if __name__ == "__main__":
    store = open_store(sys.argv[1])
    store.migrate()
    for batch in cycle(batches()):
        store.write(batch)
        print(flush=True)
