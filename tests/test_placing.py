"""Where tensors are put, that they stay what they were, and what is said of it; the memory is a fake."""

import pytest
from fake_memory import PAGE, FakeMemory, named

from workbench.worker import placing, poison

torch = pytest.importorskip("torch")


@pytest.fixture
def memory():
    return FakeMemory()


def put(memory, edge="end", only=None, **tensors):
    made = placing.Fence(memory, edge, only=only)
    made.put(list(tensors.items()))
    return made


@pytest.mark.parametrize("size", [1, 15, 16, 17, 64, PAGE - 1, PAGE, PAGE + 1])
@pytest.mark.parametrize("alignment", [16, 256])
def test_what_is_placed_is_aligned_within_and_as_near_as_can_be(size, alignment):
    low, high = 10 * PAGE, 12 * PAGE
    at_end = placing.place(low, high, size, "end", alignment)
    assert at_end % alignment == 0 and at_end + size <= high < at_end + size + alignment
    assert placing.place(low, high, size, "start", alignment) == low


def test_the_last_byte_lies_before_the_fence_and_the_first_after_one(memory):
    x = torch.arange(64.0)
    facts = put(memory, x=x).facts()
    assert x.data_ptr() + 256 == memory.rooms[0][1]
    assert facts["tensors"] == [{"name": "x", "bytes": 256, "gap_bytes": 0}]
    put(memory, edge="start", x=x)
    assert x.data_ptr() == memory.rooms[1][0]
    assert torch.equal(x, torch.arange(64.0))
    assert x.untyped_storage().nbytes() == 256  # and nothing beside it is torch's


def test_what_is_not_tight_is_said(memory):
    facts = put(memory, x=torch.ones(5, dtype=torch.uint8)).facts()
    assert facts["tensors"] == [{"name": "x", "bytes": 5, "gap_bytes": 11}]


def test_the_bytes_around_are_poison(memory):
    x = torch.ones(5, dtype=torch.uint8)
    put(memory, x=x)
    around = memory.bytes(x.data_ptr() - 64, 80)
    assert (around[:64] == poison.BYTE).all() and (around[69:] == poison.BYTE).all()


def test_views_that_overlap_move_together_and_still_see_each_other(memory):
    whole = torch.arange(24.0).reshape(4, 6)
    turned, part = whole.t(), whole[1:, 2:4]
    wanted = part.clone()
    facts = put(memory, turned=turned, part=part, whole=whole).facts()
    assert len(memory.rooms) == 1
    assert torch.equal(part, wanted)
    whole[1, 2] = -1
    assert part[0, 0] == -1 and turned[2, 1] == -1
    assert named(facts)["part"]["gap_bytes"] == 8  # its end is two columns before the whole's


def test_parts_of_one_storage_that_do_not_overlap_are_each_fenced(memory):
    q, k = torch.arange(128.0).chunk(2)
    facts = put(memory, q=q, k=k).facts()
    assert [each["gap_bytes"] for each in facts["tensors"]] == [0, 0]
    assert torch.equal(torch.cat((q, k)), torch.arange(128.0))


def test_only_the_extent_that_is_used_is_taken(memory):
    big = torch.arange(1 << 16, dtype=torch.uint8)
    x = big[100:164]
    wanted = x.clone()
    facts = put(memory, edge="start", x=x).facts()  # x lay 4 bytes after a multiple of 16
    assert facts["tensors"] == [{"name": "x", "bytes": 64, "gap_bytes": 4}]
    assert x.data_ptr() % 16 == 4 and torch.equal(x, wanted)


def test_types_of_all_sizes_share_a_storage(memory):
    raw = torch.arange(64, dtype=torch.uint8)
    wide, half = raw[16:32].view(torch.complex128), raw[18:30].view(torch.bfloat16)
    before = [wide.clone(), half.clone()]
    put(memory, wide=wide, half=half)
    assert torch.equal(wide, before[0]) and torch.equal(half.view(torch.uint8), before[1].view(torch.uint8))


@pytest.mark.parametrize("made", ["detached", "parameter", "expanded", "scalar", "inference"])
def test_tensors_of_every_making_move(memory, made):
    with torch.inference_mode(made == "inference"):
        x = torch.arange(4.0)
    x = {
        "detached": lambda: torch.nn.Parameter(x).detach(),
        "parameter": lambda: torch.nn.Parameter(x),
        "expanded": lambda: x[:, None].expand(4, 3),
        "scalar": lambda: x[1],
        "inference": lambda: x,
    }[made]()
    wanted = x.tolist()
    put(memory, x=x)
    assert memory.holds(x.data_ptr()) and x.tolist() == wanted


def test_what_cannot_move_is_said(memory):
    sparse, meta = torch.eye(2).to_sparse(), torch.empty(2, device="meta")
    lazy = torch.ones(2, dtype=torch.complex64).conj()
    facts = put(memory, sparse=sparse, meta=meta, lazy=lazy, empty=torch.empty(0)).facts()
    assert [each["name"] for each in facts["not_fenced"]] == ["sparse", "meta", "lazy"]
    assert not facts["tensors"] and all(each["why"] for each in facts["not_fenced"])


def test_only_the_named_ones_are_fenced(memory):
    x, y = torch.ones(4), torch.ones(4)
    facts = put(memory, only=["y", "z"], x=x, y=y).facts()
    assert named(facts) == {"y": {"bytes": 16, "gap_bytes": 0}}
    assert not memory.holds(x.data_ptr())
    assert facts["only"] == ["y", "z"]
    assert facts["not_fenced"] == [{"name": "z", "why": "no such tensor was met"}]
