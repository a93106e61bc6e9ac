"""The autotuner as a stage, with a stand-in for FlashInfer's: it is asked by name, as the real one is."""

import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import pytest

from workbench.worker import builds, trial, tuning


class Runner:
    pass


def stand_in(monkeypatch, answers=(5, 7)):
    module = ModuleType("flashinfer.autotuner")

    class AutoTuner:
        tuning_now = False
        stats = SimpleNamespace(failed_profiling_count={"gemm1": {"a", "b"}})
        known: dict = {}  # noqa: RUF012

        @classmethod
        def get(cls):
            return cls()

        def clear_cache(self):
            self.known.clear()

        def reset_statistics(self):
            pass

        def choose_one(self, custom_op, runners, **more):
            if AutoTuner.tuning_now:
                self.known[custom_op] = answers[len(self.known)]
            return runners[0], self.known.get(custom_op, -1)

    @contextmanager
    def autotune(tune_mode):
        AutoTuner.tuning_now = True
        yield
        AutoTuner.tuning_now = False

    module.AutoTuner, module.autotune = AutoTuner, autotune
    monkeypatch.setitem(sys.modules, "flashinfer", ModuleType("flashinfer"))
    monkeypatch.setitem(sys.modules, "flashinfer.autotuner", module)
    monkeypatch.setattr(tuning.values, "synchronize", lambda device: None)
    return AutoTuner


def tuned(call):
    told, stages = {}, []
    tuning.tuned(call, stages.append, lambda **facts: told.update(facts), trial.Stopped)
    return told["tuning"], stages


def test_what_was_chosen_is_told_for_each_operation(monkeypatch):
    tuner = stand_in(monkeypatch)
    original = tuner.choose_one

    def call():
        for op in ("gemm1", "gemm2"):
            tuner.get().choose_one(op, [Runner()], gemm_idx=1)

    told, stages = tuned(call)
    assert stages == ["tune"]
    assert told["chosen"] == {"gemm1": "Runner 5", "gemm2": "Runner 7"}
    assert told["failed"] == 2 and told["seconds"] >= 0
    assert tuner.choose_one is original


def test_what_was_tuned_is_forgotten_before_a_default_trial(monkeypatch):
    tuner = stand_in(monkeypatch)

    def chosen():
        return tuner.get().choose_one("gemm1", [Runner()])[1]

    tuned(chosen)
    assert chosen() == 5
    tuning.forget()
    assert chosen() == -1


def test_every_trial_begins_without_what_was_tuned_before_it(monkeypatch):
    asked = []

    def prepare(function, inputs):
        asked.append("prepare")
        raise NotImplementedError("no such case")

    monkeypatch.setattr(tuning, "forget", lambda: asked.append("forget"))
    monkeypatch.setattr(trial.values, "digest", lambda inputs: "")
    kernel = SimpleNamespace(inputs=dict, prepare=prepare)
    with pytest.raises(trial.Stopped, match="no such case"):
        trial.ready({"case": {}, "mode": "graph", "sm": "9.0"}, kernel, None, [].append, lambda **facts: None)
    assert asked == ["forget", "prepare"]


def test_nothing_is_forgotten_where_no_autotuner_was_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "flashinfer.autotuner", raising=False)
    tuning.forget()


def test_a_call_that_asks_nothing_is_not_called_tuned(monkeypatch):
    stand_in(monkeypatch)
    with pytest.raises(trial.Stopped, match="asks the autotuner nothing") as stopped:
        tuned(lambda: None)
    assert stopped.value.reason == "not_exercised"


def test_an_environment_without_an_autotuner(monkeypatch):
    monkeypatch.setitem(sys.modules, "flashinfer", None)
    with pytest.raises(trial.Stopped, match="no autotuner"):
        tuned(lambda: None)


def test_a_call_whose_every_try_failed_is_not_called_tuned(monkeypatch):
    tuner = stand_in(monkeypatch, answers=(-1, -1))
    with pytest.raises(trial.Stopped, match="no tactic that the autotuner tried has run") as stopped:
        tuned(lambda: tuner.get().choose_one("gemm1", [Runner()]))
    assert stopped.value.reason == "not_exercised"
    tuner.stats = SimpleNamespace(failed_profiling_count={})
    assert tuned(lambda: tuner.get().choose_one("gemm1", [Runner()]))[0]["chosen"] == {"gemm1": "Runner -1"}


def test_a_refused_build_that_the_tuner_has_caught_ends_the_trial(monkeypatch):
    """As 0.6.11.post1's tuner does, which waits with a module of its own and skips what fails."""
    tuner = stand_in(monkeypatch)
    monkeypatch.setitem(builds._NOW, "refusal", trial.Stopped("not_run", "--no-build compiles nothing"))
    with pytest.raises(trial.Stopped, match="--no-build"):
        tuned(lambda: tuner.get().choose_one("gemm1", [Runner()]))


def test_tactics_that_a_case_sets_are_answered_whatever_was_tuned(monkeypatch):
    from workbench.kernels import cutlass_moe

    tuner = stand_in(monkeypatch)
    seen = []

    def call():
        seen.extend(tuner.get().choose_one("op", ["runner"], gemm_idx=each)[1] for each in (1, 2))

    call.outputs = []
    cutlass_moe._at([3, 4], call)()
    assert seen == [3, 4]
    assert tuner.get().choose_one("op", ["runner"], gemm_idx=1)[1] == -1
