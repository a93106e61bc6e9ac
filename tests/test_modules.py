"""Compile-only trials of FlashInfer's modules, with a builder that compiles nothing."""

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbench import cuobjdump, environments, gpus, modules, planning, runner
from workbench.environments import BuildError, Built, parse
from workbench.options import Options
from workbench.prebuilding import Made, Recipe, Toolkit, Without, packing
from workbench.worker import cubins
from workbench.worker.builds import LARGE_SOURCES
from workbench.worker.modules import Module

ENVIRONMENT = parse("flashinfer==0.6.8.post1")
KERNEL = dict(name="k", registers=4, spill_bytes=0, shared_bytes=1024, instructions=2, does_nothing=True)


@pytest.fixture
def planned() -> planning.Planned:
    kernel = planning.built_in("fp4_quantize")
    return planning.plan([kernel], [ENVIRONMENT], ["compiled"], gpus.given("90"))[0]


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """What stands in for prebuilding: `asked` are its requests, `made` what became of the module."""
    recipe = Recipe("fp4_quantization_90", tmp_path / "build.ninja", {"a.o": Path("a.cu")})
    answers = SimpleNamespace(
        recipes=[recipe], without=[], asked=[], made=Made(recipe.name, "", "made", 1, 1), read=[KERNEL]
    )

    def make(recipe: Recipe, built: Any, *_: Any, arch: str, output: Path, **__: Any) -> Made:
        if answers.made.state == "made":
            recipe.library.write_bytes(b"whole")
            packing.pack(recipe.library, packing.place_of(built, output, arch, recipe.name), {})
        return answers.made

    def ask(built: Any, kernel: Any, arch: str, cuda_home: Path, workspace: Path) -> SimpleNamespace:
        answers.asked.append((kernel.cases, arch))
        return SimpleNamespace(recipes=answers.recipes, without=answers.without)

    def read(file: str, tool: str) -> list[dict[str, Any]]:
        if isinstance(answers.read, Exception):
            raise answers.read
        return list(answers.read)

    monkeypatch.setattr(modules.prebuilding, "find", lambda: Toolkit(tmp_path, "13.0.88"))
    monkeypatch.setattr(modules.prebuilding, "ask", ask)
    monkeypatch.setattr(modules.prebuilding, "make", make)
    monkeypatch.setattr(cubins, "read", read)
    return answers


def told(planned: planning.Planned, folder: Path, **options: Any) -> Any:
    inherited = {"flashinfer-python": "0.6.8.post1"}
    built = SimpleNamespace(python=Path("python"), environment=ENVIRONMENT, packages={}, inherited=inherited)
    progress = SimpleNamespace(say=print, building=lambda *_: None)
    made = Options(results=folder, environments_folder=folder, **options)
    return modules.compile_only(planned, built, made, progress)  # type: ignore[arg-type]


def test_the_module_of_the_case_is_compiled_for_the_family(
    planned: planning.Planned, builder: SimpleNamespace, tmp_path: Path
) -> None:
    found = told(planned, tmp_path)
    assert builder.asked == [((planned.trial.case,), "9.0a")]
    assert (found.end, found.stage) == ("done", "done")
    made = found.facts["forensic"]["compiled"]
    assert (made["sm"], made["nvcc"], made["kernels"]) == ("9.0", "13.0.88", [KERNEL])


def test_the_compilers_first_error_is_the_exception(
    planned: planning.Planned, builder: SimpleNamespace, tmp_path: Path
) -> None:
    builder.made = Made("m", "", "failed", 1, 1, why="a.cu(3): error: no such thing")
    found = told(planned, tmp_path)
    assert (found.end, found.facts["exception"]["message"]) == ("exception", "a.cu(3): error: no such thing")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (dict(read=RuntimeError("cuobjdump: no")), cuobjdump.INSTALL),
        (dict(recipes=[Recipe("moe", Path("b.ninja"), {f"{n}.o": Path("a.cu") for n in range(181)})]), "--build"),
    ],
)  # fmt: skip
def test_what_was_not_compiled_is_not_run_and_says_why(
    planned: planning.Planned, builder: SimpleNamespace, tmp_path: Path, spoil: dict[str, Any], says: str
) -> None:
    vars(builder).update(spoil)
    found = told(planned, tmp_path)
    assert found.end == "stopped" and found.facts["stopped"]["reason"] == "not_run"
    assert says in found.facts["stopped"]["message"]


def test_what_this_machine_could_not_build_is_taken_up_by_the_next_run(
    planned: planning.Planned, builder: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {"flashinfer-python": "0.6.8.post1"}
    built = Built(ENVIRONMENT, Path("python"), "0123456789", there, {}, "3.12", {}, 0.0)
    monkeypatch.setattr(environments, "build", lambda *_, **__: built)
    monkeypatch.setattr(environments, "changed", lambda each: "")
    options = Options(results=tmp_path / "r", environments_folder=tmp_path, quiet=True)
    builder.read = [{**KERNEL, "does_nothing": False}]
    for state in ("not made", "made"):
        builder.made = Made("m", "", state, 1, 1, why="ninja is not there")
        summary = runner.run([planned], gpus.given("90"), options)
        assert (summary.skipped, summary.outcomes) == (
            0,
            {"not_run" if state == "not made" else "compiled": 1},
        )


def test_no_build_reads_what_was_compiled_before_and_compiles_nothing(
    planned: planning.Planned,
    builder: SimpleNamespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = builder.recipes[0].library
    library.write_bytes(b"who")  # of a linker that was killed
    found = told(planned, tmp_path, no_build=True)
    assert found.end == "stopped" and "--no-build" in found.facts["stopped"]["message"]
    assert told(planned, tmp_path).end == "done"
    monkeypatch.setattr(modules.prebuilding, "make", lambda *_, **__: pytest.fail("it was compiled"))
    assert told(planned, tmp_path, no_build=True).end == "done"
    builder.recipes[0].objects.update({f"{n}.o": Path(f"{n}.cu") for n in range(LARGE_SOURCES)})
    assert told(planned, tmp_path, no_build=True).end == "done"
    library.write_bytes(b"who")
    assert "--no-build" in told(planned, tmp_path, no_build=True).facts["stopped"]["message"]


@pytest.mark.parametrize(
    ("ended", "end"),
    [
        (dict(stage="first_call", stopped={"reason": "missing_cubin", "message": "fetched"}), "stopped"),
        (dict(stage="prepare", stopped={"reason": "unsupported_arch", "message": "SM90 alone"}), "stopped"),
        (dict(stage="first_call", exception={"type": "TypeError", "message": "no output"}), "exception"),
        (dict(stage="find", exception={"type": "AttributeError", "message": "no such thing"}), "exception"),
    ],
)  # fmt: skip
def test_a_call_that_came_to_no_module_says_how_far_it_came(
    planned: planning.Planned, builder: SimpleNamespace, tmp_path: Path, ended: dict[str, Any], end: str
) -> None:
    builder.recipes, builder.without = [], [Without(case={}, **ended)]
    found = told(planned, tmp_path)
    assert (found.stage, found.end, found.facts[end]) == (ended["stage"], end, ended[end])


def test_an_environment_that_has_no_answer_is_not_run(
    planned: planning.Planned, builder: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(*_: Any) -> None:
        raise BuildError("flashinfer 0.6.8.post1 does not say which modules it needs")

    monkeypatch.setattr(modules.prebuilding, "ask", ask)
    assert told(planned, tmp_path).facts["stopped"]["reason"] == "not_run"


def kernel_that(**more: Any) -> Any:
    """A kernel of a function that every Python has."""
    made = dict(API="math.hypot", inputs=dict, prepare=lambda function, inputs: lambda: function(3, 4))
    return SimpleNamespace(**{**made, **more})


def fetching() -> None:
    exec(compile("raise RuntimeError('Artifact not found')", "/lib/flashinfer/jit/cubin_loader.py", "exec"))


def driverless() -> None:
    raise RuntimeError("cudaErrorInsufficientDriver (error code: 35)\nmore")


def refused(**_: Any) -> bool:
    raise NotImplementedError("its kernels are for SM100")


@pytest.mark.parametrize(
    ("more", "stage", "ended"),
    [
        (dict(), "first_call", ("stopped", "not_run", "calls no module")),
        (dict(prepare=lambda function, inputs: fetching), "first_call", ("stopped", "missing_cubin", "Artifact")),
        (dict(prepare=lambda function, inputs: driverless), "first_call", ("stopped", "not_run", "the driver")),
        (dict(needs_artifacts=refused), "prepare", ("stopped", "unsupported_arch", "for SM100")),
        (dict(SMS=(90, 120)), "prepare", ("stopped", "unsupported_arch", "for SM90 and SM120 alone")),
        (dict(SMS=(90, 100)), "first_call", ("stopped", "not_run", "calls no module")),
        (dict(prepare=lambda function, inputs: function.none), "prepare", ("exception", "AttributeError", "none")),
        (dict(prepare=lambda function, inputs: lambda: function(a=1)), "first_call", ("exception", "TypeError", "")),
        (dict(NEEDS={"no_such": "no-such"}), "import", ("stopped", "component_missing", "flashinfer==X no-such==Y")),
        (dict(API="math.no_such"), "find", ("exception", "AttributeError", "no_such")),
        (dict(API="no_such.function"), "import", ("exception", "ModuleNotFoundError", "no_such")),
    ],
)  # fmt: skip
def test_a_call_is_followed_as_far_as_it_goes(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], stage: str, ended: tuple[str, str, str]
) -> None:
    pytest.importorskip("torch")
    from workbench.worker import modules, trial

    monkeypatch.setattr(trial, "load", lambda file: kernel_that(**more))
    monkeypatch.setattr(modules, "recorded", lambda asked: contextlib.nullcontext([]))
    (found,) = modules.answer(dict(kernel_file="", cases=[{}], sm="10.0"))["without"]
    ((kind, facts),) = {
        name: told for name, told in found.items() if name in ("stopped", "exception")
    }.items()
    assert (found["stage"], kind, facts.get("reason", facts.get("type"))) == (stage, *ended[:2])
    assert ended[2] in facts["message"]


def test_a_package_that_is_needed_is_told_before_anything_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from workbench.worker import trial

    monkeypatch.setattr(trial, "load", lambda file: kernel_that(NEEDS={"no_such": "no-such"}))
    monkeypatch.setattr(trial.compiled, "run", lambda *_: pytest.fail("compiled"))
    command = dict(kernel_file="", mode="compiled", device="cuda", sm="9.0", case={})
    with pytest.raises(trial.Stopped, match="no-such"):
        trial.run(command, lambda name: None, lambda **facts: None)


def built_with(monkeypatch: pytest.MonkeyPatch, sms: tuple[int, ...], **command: Any) -> list[str]:
    """The stages that a trial of such a kernel came to on an SM100 until it was built or refused."""
    from workbench.worker import trial

    stages: list[str] = []
    stage = trial.Stage(lambda stage: stages.append(stage))
    kernel = kernel_that(SMS=sms, build=lambda: stages.append("compiled"))
    monkeypatch.setattr(trial, "load", lambda file: kernel)
    monkeypatch.setattr(trial, "BUILT", set())
    monkeypatch.setattr(trial.compiled, "run", lambda *_: stages.append("compiled"))
    more = dict(kernel_file="", sm="10.0", case={}, build_only=True)
    trial.run({**more, **command}, stage, lambda **facts: None)
    return stages


@pytest.mark.parametrize(
    "command",
    [
        dict(mode="eager", device="cuda"),
        dict(mode="compiled", device="cuda"),
        dict(mode="compiled", device="given"),
    ],
    ids=lambda command: " ".join(command.values()),
)
def test_a_family_that_the_kernels_file_leaves_out_stops_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, command: dict[str, str]
) -> None:
    from workbench.worker import trial

    assert "compiled" in built_with(monkeypatch, (90, 100), **command)
    with pytest.raises(
        trial.Stopped, match="by this kernel's file the library has it for SM90 alone"
    ) as told:
        built_with(monkeypatch, (90,), **command)
    assert told.value.reason == "unsupported_arch"


def test_a_refused_family_is_told_as_the_files_own_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages know it by this stage: see `planned.is_declared`."""
    from workbench.worker import trial

    stage = trial.Stage(lambda stage: None)
    with pytest.raises(trial.Stopped, match="SM100, SM103 and SM107 alone"):
        trial.on_its_family(kernel_that(SMS=(100, 103, 107)), "12.0", stage)
    assert stage.name == "prepare"
    for sm, sms in (("10.7", dict(SMS=(100, 103, 107))), ("12.0", {}), ("", dict(SMS=(90,)))):
        trial.on_its_family(kernel_that(**sms), sm, stage)


def test_on_the_cpu_no_family_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "compiled" in built_with(monkeypatch, (90,), mode="eager", device="cpu", sm="10.0")


def test_only_flashinfers_kernels_are_modules(planned: planning.Planned) -> None:
    triton = planning.plan(
        [planning.built_in("mxfp4_swiglu")], [ENVIRONMENT], ["compiled"], gpus.given("90")
    )[0]
    real = planning.plan(
        [planning.built_in("fp4_quantize")], [ENVIRONMENT], ["eager"], gpus.Gpu("H", "9.0", "u", "1", 1.0)
    )[0]
    assert [modules.is_one(each) for each in (planned, triton, real)] == [True, False, False]


def test_a_stand_in_is_called_however_its_function_is_named():
    called = []
    module = Module(called)
    assert module.moe_sort(1) is module and module["moe_permute"](2) is module
    assert called == ["moe_sort", "moe_permute"]
