# Needs Python 3.11 or newer and make; everything else is set up here, in .venv.
PYTHON ?= python3
TORCH ?= torch==2.13.0
BIN := .venv/bin
VERSIONS := 0.6.8.post1 0.6.11.post1
KERNELS := fp4_quantize mxfp4_swiglu trtllm_attention

.PHONY: report test check lab setup run pages clean

report: run pages

# 0: nothing against, 1: something found, 3: not enough data. All of them make a report; 2 does not.
run: .venv/measuring
	$(BIN)/workbench run $(KERNELS:%=--kernel %) $(VERSIONS:%=--environment flashinfer==%) \
		--results results/local; test $$? -ne 2

pages: .venv/measuring
	$(BIN)/workbench report --results results --results results/local --site site

test: .venv/measuring
	$(BIN)/python -m pytest tests
	$(BIN)/python -m pytest --nbval --nbval-current-env --nbval-cell-timeout 120 notebooks

check: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests -m "not slow"

lab: .venv/measuring
	$(BIN)/jupyter lab notebooks

setup: .venv/measuring

.venv/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[test]'
	touch $@

# torch for the environments to inherit. pip, not uv: pip also finds a CPU build that lies on the disk.
# Where a torch is there already, or to measure with another one: make TORCH=torch==2.11.0
.venv/measuring: .venv/ready
	$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check '$(TORCH)'
	touch $@

clean:
	rm -rf site .environments .mypy_cache .ruff_cache .pytest_cache
