# Everything a fresh machine needs: `make demo` and `make test`. Both make the environment in .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(shell find plugin -name '*.cc' -o -name '*.h*') setup.py

.PHONY: all build developing demo test test-slow fuzz docs lint format clean lock licences sbom audit advisories wheel

all: build

# Every file is checked against its hash in requirements/, which `make lock` makes of constraints.txt and pyproject.toml.
PINNED := $(BIN)/python -m pip install --quiet --require-hashes --requirement

# What running needs, and `report` for the charts of the demo's page.
$(VENV)/.installed: pyproject.toml requirements/run.txt
	@sh tests/setup/prerequisites.sh "$(PYTHON)"
	@echo "Installing what running needs: numpy, scikit-learn, ast-grep, vl-convert and others; 480 MB on disk."
	$(PYTHON) -m venv $(VENV)
	$(PINNED) requirements/run.txt
	KERNELPOINT_WITHOUT_CPP=1 $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# What training, tests and checks need besides; PyTorch's CPU build where pip finds it, else the registry's, with CUDA.
$(VENV)/.developing: $(VENV)/.installed requirements/develop.txt requirements/torch.txt
	@echo "Installing what tests need besides: PyTorch, Dask, pytest, mypy and others; 1 to 5 GB on disk, by the build of PyTorch."
	$(PINNED) requirements/develop.txt
	$(PINNED) requirements/torch-cpu.txt --no-deps 2>/dev/null || $(PINNED) requirements/torch.txt --no-deps
	$(BIN)/python -m pip show torch | grep '^Version:.*+cpu' >/dev/null || $(PINNED) requirements/torch-cuda.txt --no-deps
	@touch $@

# An editable install: Python files are used where they stand, so only C++ needs building again.
$(VENV)/.built: $(VENV)/.installed $(NATIVE)
	$(BIN)/python setup.py --quiet build_ext --inplace
	@touch $@

build: $(VENV)/.built

developing: build $(VENV)/.developing

demo: build
	$(BIN)/kernelpoint demo

# Tests start hundreds of programs; compiled Python files make each start shorter.
unexport PYTHONDONTWRITEBYTECODE

# One process more than there are cores, or WORKERS of them: some wait for programs that they started. A file's tests stay
# together, so that what they share is made once.
WORKERS ?= $(shell expr 1 + $$(nproc))
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test: developing lint
	$(PYTEST) -m "not slow"

test-slow: developing
	$(PYTEST)

# With clang its libFuzzer is used, else the driver in tests/fuzz; then Python's readers and the state machines (hypothesis).
fuzz: developing
	$(BIN)/python tests/fuzz/run_targets.py --seconds $(or $(SECONDS),60)
	EXAMPLES=$(or $(EXAMPLES),300) $(PYTEST) tests/damage/test_any_bytes.py tests/damage/test_any_host.py tests/damage/test_any_coordinator.py

docs: developing
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "open build/docs/index.html"

lint: developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@find plugin lab tests examples *_patch -name '*.c' -o -name '*.cc' -o -name '*.h' -o -name '*.hpp' | xargs $(BIN)/clang-format --dry-run --Werror

format: developing
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@find plugin lab tests examples *_patch -name '*.c' -o -name '*.cc' -o -name '*.h' -o -name '*.hpp' | xargs $(BIN)/clang-format -i

# The supply chain. Its tools have an environment of their own.
TOOLS := build/tools
$(TOOLS)/.installed: requirements/tools.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --require-hashes --requirement requirements/tools.txt
	@touch $@

# After an edit of constraints.txt or pyproject.toml. TORCH_CPU=FILES.whl: CPU builds of PyTorch whose hashes are kept too.
lock: $(TOOLS)/.installed
	PATH="$(CURDIR)/$(TOOLS)/bin:$$PATH" $(PYTHON) tests/setup/lock.py $(TORCH_CPU)

licences: developing
	$(BIN)/python tests/setup/licences.py

sbom: developing $(TOOLS)/.installed
	$(TOOLS)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o build/sbom.cdx.json $(BIN)/python
	@echo "build/sbom.cdx.json"

audit: $(TOOLS)/.installed
	$(PYTHON) tests/setup/audit.py $(TOOLS)/bin/pip-audit requirements/develop.txt requirements/torch.txt

# Advisories in the OSV format that lie in $ADVISORIES; nothing is asked of the network.
advisories:
	$(PYTHON) tests/setup/advisories.py "$(ADVISORIES)" requirements/develop.txt requirements/torch.txt

# A source archive, and a wheel made of it for each of these versions of Python that is here. A wheel needs this machine's C
# library or a newer one, and its version of Python.
PYTHONS ?= python3.10 python3.11 python3.12 python3.13
PLATFORM = manylinux_$(shell getconf GNU_LIBC_VERSION | sed 's/glibc //; s/\./_/')_$(shell uname -m)
wheel: $(VENV)/.installed
	rm -rf build/dist
	$(BIN)/python setup.py --quiet sdist --dist-dir build/dist
	@for python in $(PYTHONS); do \
	  if $$python --version >/dev/null 2>&1; then \
	    echo "wheel of $$python"; \
	    $$python -m pip wheel --quiet --no-deps --config-settings=--build-option=--plat-name=$(PLATFORM) --wheel-dir build/dist build/dist/kernelpoint-*.tar.gz || exit 1; \
	  else echo "no wheel of $$python: it is not here"; fi; \
	done
	ls build/dist

clean:
	rm -rf $(VENV) build python/kernelpoint.egg-info python/kernelpoint/lib python/kernelpoint/bin python/kernelpoint/*.so
