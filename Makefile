# The only door to this repository's tools: `make help` lists them.
# Paths are relative throughout, so a checkout may lie under a path with spaces.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

RUN := .venv/bin/

# Thousands of processes are started, each of which would compile the whole product.
unexport PYTHONDONTWRITEBYTECODE

# What a developer waits for, and what needs more than the embedded PostgreSQL.
FAST := not (slow or crash or pg15 or campaign)
REAL := (crash or pg15) and not (slow or campaign)

# Tests make thousands of small databases: in memory where there is room, since a disk
# that is busy takes ten times as long for each.
MEMORY := $(shell [ -w /dev/shm ] && df -Pk /dev/shm | awk 'NR == 2 && $$4 > 6000000 { print "TMPDIR=/dev/shm" }')

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: .venv/.runtime ## Settle and fulfil 6,919 real orders against a failing panel, then check
	$(RUN)counterfoil demo

.PHONY: test
test: .venv/.dev ## Run the tests that need nothing but the embedded PostgreSQL
	$(MEMORY) $(RUN)pytest -n 3 --dist worksteal -m "$(FAST)" $(ARGS)

.PHONY: test-crash
test-crash: .venv/.dev ## Run the tests that kill processes or need PostgreSQL 15
	$(MEMORY) $(RUN)pytest -n 5 --dist worksteal -m "$(REAL)" $(ARGS)

.PHONY: campaign
campaign: .venv/.dev ## Run the long tests: many random schedules, faults and examples
	$(RUN)pytest -m "campaign or slow" --hypothesis-profile=campaign --timeout=3600 \
		--junit-xml=build/campaign.xml $(ARGS)
	@echo "Report with the time of each test: build/campaign.xml"

.PHONY: check
check: style types imports spelling architecture ## Check style, types, imports, spelling and architecture (-k: all of it)

.PHONY: style types imports spelling architecture
style: .venv/.dev
	$(RUN)ruff check
	$(RUN)ruff format --check
types: .venv/.dev
	$(RUN)mypy
	$(RUN)pyright
imports: .venv/.dev
	$(RUN)lint-imports
	$(RUN)deptry .
spelling: .venv/.dev
	$(RUN)codespell
architecture: .venv/.dev
	$(RUN)pytest -q tests/architecture

.PHONY: fmt
fmt: .venv/.dev ## Format the code and repair what ruff can repair
	$(RUN)ruff format
	$(RUN)ruff check --fix

.PHONY: bench
bench: .venv/.dev ## Measure against the plain-SQL floor in the same run
	$(RUN)python -m bench $(ARGS)

.PHONY: bench-peers
bench-peers: .venv/.dev .venv-bench/.peers bench/peers/node/node_modules/.peers ## Measure side by side with other job queues on PostgreSQL
	$(RUN)python -m bench.peers $(ARGS)

.PHONY: deploy-test
deploy-test: .venv/.dev ## Boot deploy/ (in containers where an engine answers) and send 100 orders through
	$(RUN)python -m deploy.trial $(ARGS)

.PHONY: bench-http
bench-http: .venv/.dev ## Measure the API beside a bare route of the same framework (ARGS=all: lists and bulk too)
	$(RUN)python -m bench.http $(ARGS)

.PHONY: configuration
configuration: .venv/.dev ## Write docs/configuration.md, as the settings struct declares it
	PYTHONPATH=. $(RUN)python scripts/configuration.py

.PHONY: contract
contract: .venv/.dev ## Write docs/openapi.json, as the routes declare the API
	PYTHONPATH=. $(RUN)python scripts/contract.py

.PHONY: lock
lock: .venv/.dev ## Resolve the requirements files anew (UPGRADE=1 takes newer releases)
	$(COMPILE) $(OURS) --output-file requirements.txt
	$(COMPILE) $(OURS) --group dev --constraint requirements.txt --output-file requirements-dev.txt
	$(COMPILE) bench/peers/requirements.in --output-file bench/peers/requirements.txt

COMPILE = $(RUN)uv pip compile --quiet --universal --python-version 3.13 \
	--generate-hashes --no-emit-index-url --custom-compile-command "make lock" \
	$(if $(UPGRADE),--upgrade)
OURS = pyproject.toml --group build

.PHONY: clean
clean: ## Remove the virtual environment, caches and build results; data under var/ stay
	rm -rf .venv .venv-bench bench/peers/node/node_modules .python build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +

# A checkout that was moved or copied has a .venv of the old place: make it anew.
ifneq "$(shell cat .venv/.here 2>/dev/null)" "$(CURDIR)"
.PHONY: .venv/.runtime .venv/.dev .venv-bench/.peers
endif

.venv/.runtime: requirements.txt pyproject.toml
	@scripts/venv.sh requirements.txt
	@touch $@

# Holds the runtime too: `make demo` after `make test` installs nothing.
.venv/.dev: requirements-dev.txt requirements.txt pyproject.toml
	@scripts/venv.sh requirements-dev.txt
	@touch $@ .venv/.runtime

# The queues that the bench compares with ours: none of them is our dependency. Who
# cannot be installed is left out, and the report says so above its table.
.venv-bench/.peers: bench/peers/requirements.txt .venv/.dev
	@echo "Installing bench/peers/requirements.txt into .venv-bench ..."
	@$(RUN)python -m venv --clear .venv-bench && \
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check \
		--require-hashes --requirement bench/peers/requirements.txt && touch $@ || { \
		rm -rf .venv-bench; \
		echo "The peers in Python could not be installed: they are left out."; \
	}

bench/peers/node/node_modules/.peers: bench/peers/node/package-lock.json
	@if ! command -v node >/dev/null || ! command -v npm >/dev/null; then \
		echo "There is no node or no npm here: graphile-worker and pg-boss are left out."; \
	elif ! (cd bench/peers/node && npm ci --silent && touch node_modules/.peers); then \
		echo "npm could not install graphile-worker and pg-boss: they are left out."; \
	fi
