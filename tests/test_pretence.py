"""The GPU that is not there: what it says of itself, and tensors on it."""

from typing import Any

import pytest

from workbench import gpus
from workbench.worker import compiled, pretence, triton_driver

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")


@pytest.mark.parametrize(
    ("sm", "kib"), [("9.0", 227), ("10.0", 227), ("10.3", 227), ("12.0", 99), ("12.1", 99)]
)
def test_shared_memory_a_block_is_the_familys(sm: str, kib: int) -> None:
    with pretence.gpu(sm) as card:
        properties = torch.cuda.get_device_properties(0)
        assert properties.shared_memory_per_block_optin == kib * 1024
        assert f"{properties.major}.{properties.minor}" == sm
        assert torch.cuda.get_device_capability() == (card.major, card.minor)
    assert not card.chosen and not card.unknown
    assert torch.cuda.get_device_capability is not card


def test_what_differs_from_card_to_card_is_told_and_what_nobody_knows_is_doubted() -> None:
    with pretence.gpu("9.0") as card:
        assert torch.cuda.get_device_properties(0).multi_processor_count == 132
        assert not hasattr(torch.cuda.get_device_properties(0), "clock_rate")
    assert compiled.faked(card) == [
        "multi_processor_count 132 (as of NVIDIA H200)", "clock_rate: not known", "tensors without values",
    ]  # fmt: skip
    assert "clock_rate" in compiled.doubtful(ValueError("anything"), card)


def test_tensors_say_they_are_on_the_gpu_and_those_made_from_values_have_them() -> None:
    with pretence.gpu("12.0"):
        big = torch.empty(2**20, 2**20, device="cuda")  # four terabytes, if it took any memory
        assert big.device == torch.device("cuda", 0) and big.is_cuda and big.half().is_cuda
        chosen = torch.tensor([3, 1, 2], device="cuda")
        order = torch.argsort(chosen)
        assert order.tolist() == [1, 2, 0] and order.is_cuda
        assert big[order].shape == (3, 2**20)
        assert big.cuda() is big and torch.zeros(2).cuda().is_cuda
        assert (
            torch.zeros(2, device=torch.device("cuda")).is_cuda and torch.zeros(2).to(chosen.device).is_cuda
        )
        assert torch.as_tensor(numpy.arange(4), device="cuda").tolist() == [0, 1, 2, 3]
        assert torch.zeros(2).device == torch.device("cpu")
    assert torch.zeros(2).device == torch.device("cpu")


def test_page_locked_memory_is_plain_memory_there() -> None:
    with pretence.gpu("9.0"):
        host = torch.empty(8, dtype=torch.uint8, device="cpu", pin_memory=True)
        assert host.device == torch.device("cpu") and host.shape == (8,)


def test_a_failure_below_the_stand_in_is_doubtful_and_the_librarys_own_is_not() -> None:
    with pretence.gpu("9.0") as card:
        try:
            torch.ones(2, device="cuda").sum().item()
        except Exception as problem:
            assert compiled.doubtful(problem, card)
        try:
            assert card.shared_memory_per_block_optin < 0
        except AssertionError as problem:
            assert compiled.doubtful(problem, card) == ""


@pytest.mark.parametrize(
    "past_it",
    [
        lambda tensor: torch.utils.dlpack.to_dlpack(tensor),  # as tvm_ffi packs what a call is given
        lambda tensor: tensor.tolist(),
        lambda tensor: tensor.numpy(),
        lambda tensor: tensor.untyped_storage()[0],
        lambda tensor: tensor.nonzero(),
        lambda tensor: bool(tensor.sum()),
    ],
)
def test_a_failure_over_tensors_without_values_is_doubtful_where_no_frame_says_so(past_it: Any) -> None:
    with pretence.gpu("9.0") as card:
        tensor = torch.empty(2, device="cuda")
        with pytest.raises(Exception, match="meta") as raised, torch._C.DisableTorchFunction():
            past_it(tensor)
    assert compiled.doubtful(raised.value, card)


@pytest.mark.parametrize("said", ["META['BLOCK'] is unknown", "no metadata on metal", "bad meta-parameters"])
def test_other_words_that_begin_alike_are_the_librarys_own(said: str) -> None:
    assert compiled.doubtful(ValueError(said), pretence.Card("9.0")) == ""


def test_the_driver_notes_what_it_lacks() -> None:
    card = pretence.Card("9.0")
    driver = triton_driver.StandIn(card)
    assert driver.get_device_capability() == (9, 0)
    with pytest.raises(AttributeError, match="no get_everything"):
        driver.get_everything()
    assert card.unknown == ["driver.get_everything"]


def test_an_unread_cubin_keeps_its_trial() -> None:
    assert "older cuobjdump" in triton_driver.read(b"no cubin", "false")["unread"]


@pytest.mark.parametrize("written", ["120", "12.0", "sm_120", "SM120", "sm120a"])
def test_a_family_may_be_written_as_people_do(written: str) -> None:
    assert gpus.given(written) == gpus.Gpu("SM120, compiled only", "12.0", "", "", 0.0, real=False)


@pytest.mark.slow
def test_what_a_device_launches_is_told_in_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way of a real GPU, with a driver that stands in for its own; each launch counts, also of a kept kernel."""
    triton = pytest.importorskip("triton")
    from pathlib import Path

    from workbench import cuobjdump
    from workbench.worker import trial

    monkeypatch.setattr(compiled, "HEARD", {})
    kernel = trial.load(str(Path(__file__).parent / "kernels" / "compiling.py"))
    command = {"device": "cuda", "sm": "9.0", "case": {"what": "copies"}, "cuobjdump": cuobjdump.find()}
    told: list[dict[str, object]] = []
    with pretence.gpu("9.0") as card:
        triton.runtime.driver.set_active(triton_driver.StandIn(card))
        for _ in range(2):
            compiled.run(
                command,
                kernel,
                trial.Stage(lambda **_: None),
                lambda **more: told.append(more),
                trial.Stopped,
            )
    first, second = (each["forensic"]["launched"] for each in told if "forensic" in each)  # type: ignore[index]
    assert first == second and [each["name"] for each in first["kernels"]] == ["copies"]
