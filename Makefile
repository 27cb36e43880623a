# Two commands do everything on a fresh machine: `make brain` and `make test`.
# Set-up output goes to stderr, so that the brain owns stdout from its first byte.
PYTHON ?= python3
# The build of torch that training and tests use: cpu (default), cuda, or a backend of uv such as cu126; the
# address of a wheel index to take it from instead. See setup_torch.py.
TORCH ?=
TORCH_INDEX ?=
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PY := $(BIN)/python
PIP := $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt
# pip compiles every module that it installs, on one core; of what training and tests need, most is never imported.
PIP_LARGE = $(PIP) --no-compile
# What an extra of pyproject.toml needs, without the package itself, which would compile the kernel once more.
NEEDS = $$($(PY) -c "import sys, tomllib; extras = tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']; print(*(need for name in sys.argv[1:] for need in extras[name]))" $(1))
# Many tests start processes. Where Python is told to write no bytecode, each one would compile torch and all else anew.
PYTEST = PYTHONDONTWRITEBYTECODE= $(PY) -m pytest -q
# Neighbours share fixtures, as a browser or a run of training: each takes a third, and helps in the end. Many wait for
# processes that they have started, so that three keep two cores busy.
PARALLEL = $(PYTEST) -n 3 --dist worksteal
KERNEL := $(wildcard engine/*.pyx engine/*.pxd engine/*/*.pyx engine/*/*.pxd engine/*/*/*.pxd engine/*/*.h engine/*/*/*.h training/*/*.pyx training/*/*.h)

.PHONY: brain play board train dist docs check test test-cluster bench lint debug sanitize clean help
help:
	@echo "make brain   set up .venv, compile the kernel, speak the Gomocup protocol on stdin/stdout"
	@echo "make play    set up the same and a terminal library, play a game in the terminal"
	@echo "make board   set up the same and a small web server, open the board in the browser"
	@echo "make train   set up what training needs, without tests; TORCH=cuda takes torch's build with CUDA (2.7 GB)"
	@echo "make dist    pack the brain, play a game with it, write dist/tengen-VERSION-PLATFORM.zip"
	@echo "make docs    build the documentation as a site in build/docs"
	@echo "make check   run the fast tests of rules, threats, search, protocol, games, arena, settings"
	@echo "make test    set up everything, run the tests; TORCH=cuda as above"
	@echo "make test-cluster  add Ray (80 MB), run the tests of self-play on a cluster"
	@echo "make bench   print the search signature and the speed of this machine"
	@echo "make lint    ruff, mypy, cython-lint, import borders, commit messages since origin"
	@echo "make debug   rebuild the kernel with bounds checks (make clean brings the release build back)"
	@echo "make sanitize  search many positions with a kernel that is watched for wrong memory and arithmetic"
	@echo "make clean   remove the kernel, the packed brain and the environment's stamps"

brain: $(VENV)/brain.stamp
	@$(PY) -m protocol $(ARGS)

play: $(VENV)/play.stamp
	@$(PY) -m arena.play $(ARGS)

board: $(VENV)/board.stamp
	@$(PY) -m board $(ARGS)

train: $(VENV)/train.stamp
	@echo "training is set up: $(PY) -m training.selfplay --run-dir runs/mine --preset laptop --minutes 60"

dist: $(VENV)/dist.stamp
	@$(PY) -m release.build $(ARGS)

docs: $(VENV)/docs.stamp
	@$(PY) -m sphinx -q -W --keep-going -c docs . build/docs $(ARGS)
	@echo "build/docs/docs/index.html"

check: $(VENV)/test.stamp
	@$(PARALLEL) -m "not alone and not cluster" @tests/check.txt $(ARGS)

test: $(VENV)/test.stamp
	@$(PARALLEL) -m "not alone and not cluster" $(ARGS)
	@$(PYTEST) -m alone tests/perf tests/protocol tests/release $(ARGS)

test-cluster: $(VENV)/test.stamp $(VENV)/ray.stamp
	@$(PYTEST) -m cluster tests/integration $(ARGS)

bench: $(VENV)/brain.stamp
	@$(PY) -m engine bench
	@$(PY) -m engine speed

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/mypy engine protocol board arena training tengen
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cython-lint --max-line-length 120 engine training
	$(BIN)/lint-imports
	$(PY) -m tests.architecture.commits

debug: $(VENV)/brain.stamp
	TENGEN_DEBUG=1 $(PY) setup.py -q build_ext --inplace --force >&2

sanitize: $(VENV)/brain.stamp
	@$(PY) -m tests.sanitize $(ARGS)

clean:
	rm -rf build dist $(VENV)/*.stamp $(wildcard engine/*.so engine/*/*.so training/*/*.so engine/*.c engine/*/*.c training/*/*.c)

$(PY):
	@echo "setting up $(VENV)" >&2
	@$(PYTHON) -m venv $(VENV) </dev/null >&2

$(VENV)/brain.stamp: $(PY) constraints.txt pyproject.toml setup.py $(KERNEL)
	@echo "installing the runtime and compiling the kernel" >&2
	@$(PIP) setuptools cython </dev/null >&2
	@$(PIP) --no-build-isolation -e . </dev/null >&2
	@touch $@

$(VENV)/play.stamp: $(VENV)/brain.stamp
	@$(PIP) $(call NEEDS,play) </dev/null >&2
	@touch $@

$(VENV)/board.stamp: $(VENV)/brain.stamp
	@$(PIP) $(call NEEDS,board) </dev/null >&2
	@touch $@

$(VENV)/dist.stamp: $(VENV)/play.stamp $(VENV)/board.stamp
	@echo "installing what packing needs" >&2
	@$(PIP) pyinstaller psutil </dev/null >&2
	@touch $@

$(VENV)/docs.stamp: $(PY) constraints.txt pyproject.toml
	@echo "installing what the documentation needs" >&2
	@$(PIP) $(call NEEDS,docs) </dev/null >&2
	@touch $@

# A stamp for each answer to TORCH: another answer looks again, none keeps what is there.
$(VENV)/torch$(TORCH).stamp: $(VENV)/brain.stamp setup_torch.py
	@$(PY) setup_torch.py --kind "$(TORCH)" --index "$(TORCH_INDEX)" </dev/null >&2
	@rm -f $(VENV)/torch*.stamp
	@touch $@

$(VENV)/train.stamp: $(VENV)/brain.stamp $(VENV)/torch$(TORCH).stamp
	@echo "installing what training needs" >&2
	@$(PIP_LARGE) $(call NEEDS,training) </dev/null >&2
	@touch $@

$(VENV)/test.stamp: $(VENV)/brain.stamp $(VENV)/torch$(TORCH).stamp
	@echo "installing what training and the tests need" >&2
	@$(PIP_LARGE) $(call NEEDS,training dev) </dev/null >&2
	@touch $(VENV)/train.stamp $@

$(VENV)/ray.stamp: $(VENV)/train.stamp
	@echo "installing Ray" >&2
	@$(PIP) $(call NEEDS,ray) </dev/null >&2
	@touch $@
