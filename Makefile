# Needs Python 3.11 or newer and make; everything else is set up here, in .venv.
PYTHON ?= python3
TORCH ?= torch==2.13.0
BIN := .venv/bin
# Two processes, and each file in one of them: what a file shares is made once, and its limits are of two cores.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder
VERSIONS := 0.6.8.post1 0.6.11.post1
TRITON_KERNELS := triton_kernels@sglang-kernel==0.4.2.post1
KERNELS := fp4_quantize cutlass_moe mxfp4_swiglu trtllm_attention
TRITON ?= triton==3.6.0

# Images like to set this to 1; then each of the many processes here would compile all that it imports anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: report test check lab setup run pages clean

report: run pages
	@echo "To run workbench yourself: . .venv/bin/activate, or $(BIN)/workbench"

# 0: nothing against, 1: something found, 3: not enough data. All of them make a report; 2 does not.
run: .venv/measuring
	$(BIN)/workbench run $(KERNELS:%=--kernel %) --results results/local \
		$(foreach version,$(VERSIONS),--environment 'flashinfer==$(version) $(TRITON_KERNELS)'); test $$? -ne 2

pages: .venv/measuring
	$(BIN)/workbench report --results results $$(test -d results/local && echo --results results/local) --site site

test: .venv/measuring
	$(PYTEST) --nbval --nbval-current-env --nbval-cell-timeout 120 tests notebooks

check: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) tests -m "not slow and not network"

lab: .venv/measuring
	$(BIN)/jupyter lab notebooks

setup: .venv/measuring
	@echo "Ready. To run workbench yourself: . .venv/bin/activate, or $(BIN)/workbench"

.venv/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[test]'
	touch $@

# torch and triton for the environments to inherit. pip, not uv: pip also finds a CPU build that lies on the disk.
# To measure with others: make TORCH=torch==2.11.0
.venv/measuring: .venv/ready
	$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check '$(TORCH)'
	$(BIN)/python -c 'import triton' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check '$(TRITON)'
	touch $@

clean:
	rm -rf site .environments .mypy_cache .ruff_cache .pytest_cache
