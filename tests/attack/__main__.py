"""`python -m tests.attack --minutes 10 --seed 1 [--store mongodb]`; `make attack` passes MINUTES, SEED and STORE."""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.attack.kill_loop import attack


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="repeat an attack; a random one by default")
    parser.add_argument("--store", choices=["postgresql", "mongodb"], default="postgresql")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    folder = Path(tempfile.mkdtemp(prefix="realestate-attack-"))
    print(f"attack with seed {seed} for {options.minutes:g} minutes; logs: {folder}", flush=True)
    report = attack(folder, options.minutes * 60, seed, options.store, say=lambda line: print(line, flush=True))
    print(report)
    return 0 if report.right else 1


if __name__ == "__main__":
    sys.exit(main())
