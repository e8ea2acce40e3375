# Everything a fresh machine needs: `make demo` and `make test`. Both make the environment in .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(shell find plugin -name '*.cc' -o -name '*.h*') setup.py

.PHONY: all build demo test test-slow docs lint format clean

all: build

$(VENV)/.installed: pyproject.toml constraints.txt
	@sh tests/setup/prerequisites.sh "$(PYTHON)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt setuptools pybind11
	KERNELPOINT_WITHOUT_CPP=1 $(BIN)/python -m pip install --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	@touch $@

# An editable install: Python files are used where they stand, so only C++ needs building again.
$(VENV)/.built: $(VENV)/.installed $(NATIVE)
	$(BIN)/python setup.py --quiet build_ext --inplace
	@touch $@

build: $(VENV)/.built

demo: build
	$(BIN)/kernelpoint demo

test: build lint
	$(BIN)/python -m pytest -m "not slow"

test-slow: build
	$(BIN)/python -m pytest

docs: build
	$(BIN)/python -m pip install --quiet --constraint constraints.txt mkdocs-material
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "open build/docs/index.html"

lint: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@find plugin tests examples *_patch -name '*.c' -o -name '*.cc' -o -name '*.h' -o -name '*.hpp' | xargs $(BIN)/clang-format --dry-run --Werror

format: build
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@find plugin tests examples *_patch -name '*.c' -o -name '*.cc' -o -name '*.h' -o -name '*.hpp' | xargs $(BIN)/clang-format -i

clean:
	rm -rf $(VENV) build python/kernelpoint.egg-info python/kernelpoint/lib python/kernelpoint/bin python/kernelpoint/*.so
