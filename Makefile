# make demo | test | check | bench: each does its own set-up in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
SERVER = $(VENV)/server.stamp
DEV = $(VENV)/dev.stamp

.PHONY: demo test check bench format clean
demo: $(SERVER)
	$(BIN)/webemu demo $(ARGS)

test: $(DEV)
	$(BIN)/python -m pytest $(ARGS)

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(DEV)
	$(BIN)/python -m benchmarks.run $(ARGS)

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) webemu-data

$(SERVER): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[server]'
	touch $@

$(DEV): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[server,dev]'
	touch $@
