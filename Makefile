PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup run test pytest lint slow wheel tables docs clean

setup: $(STAMP)

$(STAMP): pyproject.toml lab/pyproject.toml $(wildcard domains/*/pyproject.toml) constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[all,dev]" -e lab -e domains/traffic -e "domains/crops[test]"
	touch $(STAMP)

run: setup
	$(BIN)/sdmbtl run Drone --budget 18 --out runs/drone

test: setup
	$(MAKE) --no-print-directory --jobs=2 lint pytest

pytest: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

slow: setup
	$(BIN)/python -m pytest -m 'slow or hypothesis' --hypothesis-profile=thorough

wheel: setup
	$(BIN)/python -m pytest -m slow tests/test_wheel.py

tables: setup
	$(BIN)/python lab/experiments/make_tables.py
	$(BIN)/python lab/experiments/describe_matrices.py
	$(BIN)/python lab/experiments/draw.py coverage

docs: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -q -c docs/site . build/docs
	@echo "Open build/docs/index.html"

clean:
	rm -rf $(VENV) build dist
