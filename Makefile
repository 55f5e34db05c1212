# Each target sets up what it needs. A fresh machine needs only make and Python 3.11 or newer
# (3.11 and 3.12 bring their own Redis; above, `redis-server` must be on the PATH).
PYTHON ?= $(firstword $(foreach python,python3.12 python3.11 python3 python,\
	$(if $(shell $(python) -c 'import sys, venv; sys.version_info >= (3, 11) and print(1)' 2>/dev/null),$(python))))
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test check bench performance peers format fresh lock clean

demo: $(READY)
	$(BIN)/realestate demo

# The server MongoDB's tests may need is built first: all their processes would wait for it, each to its timeout.
test: $(READY)
	$(BIN)/python -m tests.mongodb
	$(BIN)/python -m pytest -n auto --dist loadgroup

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

# Beside peers; an hour or two, on a machine with nothing else to do.
bench: peers
	$(BIN)/python -m bench

# The same, into docs/performance.md, with its numbers and its picture.
performance: peers
	$(BIN)/python -m bench --write docs

# One that cannot be had is left out.
peers: $(READY)
	-$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation -e '.[bench]'

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Both README commands, from a fresh clone of what is committed, in an empty folder.
fresh:
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && git clone --quiet . "$$folder/realestate" \
		&& $(MAKE) -C "$$folder/realestate" demo && $(MAKE) -C "$$folder/realestate" test

$(READY): requirements-dev.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or newer is needed, with its venv module" >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(READY)

# Every version with its hashes and no registry address: `pip install -r` reads it, whatever the registry.
LOCK := uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-annotate --no-emit-index-url --no-emit-find-links
lock: $(READY)
	$(BIN)/pip install --quiet uv
	$(BIN)/$(LOCK) --extra dev -o requirements-dev.lock
	$(BIN)/$(LOCK) -c requirements-dev.lock -o requirements.lock

clean:
	rm -rf .venv .realestate .cache .mypy_cache .pytest_cache .ruff_cache
