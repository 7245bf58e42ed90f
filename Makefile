# Two commands on a fresh Debian or Ubuntu: `make up` and `make test`. `make help` shows the rest.
.DEFAULT_GOAL := help
.PHONY: help setup up demo doctor test check soak bench fmt openapi clean
BIN := .venv/bin
# Extra arguments: make up ARGS="--port 0 --workers 2"
ARGS ?=

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what is missing: system packages, .venv, locked dependencies
	@scripts/setup.sh --dev

up: ## Start everything on this machine; prints URL and token; Ctrl-C stops it
	@scripts/setup.sh
	@$(BIN)/quire up $(ARGS)

demo: ## Do one job of each kind for real, show the results, exit
	@scripts/setup.sh
	@$(BIN)/quire demo $(ARGS)

doctor: ## Check every part and say how to fix what is wrong
	@scripts/setup.sh
	@$(BIN)/quire doctor $(ARGS)

test: check ## The same as check

check: setup ## Everything CI runs: format, lint, types, imports, all tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)

soak: setup ## The long fault runs that check leaves out
	$(BIN)/pytest -m soak $(ARGS)

bench: setup ## Measure the engine against its targets
	$(BIN)/python -m bench.jobs $(ARGS)

fmt: setup ## Format the code and fix what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

openapi: setup ## Write contracts/ from the applications
	$(BIN)/python scripts/openapi.py $(ARGS)

clean: ## Remove .venv and caches; keeps the data directory
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
