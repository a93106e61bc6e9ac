import pytest

from workbench.kernels import _routing

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("routing", ["uniform", "skewed"])
@pytest.mark.parametrize("experts, top_k", [(32, 4), (64, 6), (128, 4)])
def test_each_token_goes_to_different_experts(experts, top_k, routing):
    chosen = _routing.choose(200, experts, top_k, routing)
    assert all(len(set(row)) == top_k and min(row) >= 0 and max(row) < experts for row in chosen)


def test_it_is_the_same_for_ever():
    assert _routing.choose(2, 32, 4, "uniform") == ((30, 7, 23, 2), (25, 28, 0, 8))


def test_skewed_has_a_busy_expert_and_idle_ones_and_uniform_has_neither():
    skewed, uniform = (
        torch.bincount(torch.tensor(_routing.choose(256, 128, 4, routing)).flatten(), minlength=128)
        for routing in ("skewed", "uniform")
    )
    assert skewed.max() > 100 and (skewed == 0).any()
    assert uniform.max() < 30 and (uniform > 0).all()


def test_touched_counts_experts_that_have_tokens():
    assert _routing.touched(1, 32, 4, "uniform") == 4
    assert _routing.touched(8192, 128, 4, "uniform") == 128


def test_sorting_by_expert_keeps_the_order_of_tokens():
    position, rows = _routing.sorted_rows(torch.tensor([[2, 0], [0, 2], [2, 3]]), 4)
    assert position.tolist() == [1, 2, 0, 3, 4, 5]
    assert rows.tolist() == [2, 0, 3, 1]


def test_another_word_is_refused():
    with pytest.raises(ValueError, match="skewed"):
        _routing.choose(1, 32, 4, "random")
