import base64
import re
import struct
from dataclasses import replace

import example_results as examples
import pytest

from workbench.figures import ends, floor_share, latency, side_by_side, timed_kernels
from workbench.results import Result, Results
from workbench.showing import panels
from workbench.showing.beside import apart
from workbench.showing.plot import Plot, rounded
from workbench.showing.shown import Shown
from workbench.showing.tables import MOST_ROWS
from workbench.showing.timings import timings

KERNEL = "example_quantize"


@pytest.fixture(scope="module")
def results() -> Results:
    return examples.results()


def test_latency_says_its_data(results: Results) -> None:
    shown = repr(latency(results, KERNEL))
    assert shown.startswith("example_quantize: time on the device\n")
    assert re.search(r"Example GPU A  16 +graph  example 1 +4\.5", shown)
    assert len(shown.splitlines()) == 3 + 40
    assert shown.splitlines()[1] == "case: hidden=2880; samples: 21"  # the same in all rows: said once
    assert shown == repr(latency(results, KERNEL))


def test_only_steady_and_right_trials_have_a_time(results: Results) -> None:
    shown = latency(results, "example_attention").frame()
    assert set(shown["environment"]) == {examples.OLD}  # all of the other's trials ended badly
    assert "131072" not in " ".join(shown["case"])  # and this one is flaky


def test_share_of_the_floor_names_launch_bound_points(results: Results) -> None:
    shown = floor_share(results, KERNEL).frame()
    small = shown["floor_us"].astype(float) < 2
    assert set(shown[small]["share_percent"]) == {"launch-bound"}
    assert (shown[~small]["share_percent"].astype(float) > 0).all()
    assert "launch-bound" in floor_share(results, KERNEL).note


def test_versions_beside_each_other_are_no_verdict(results: Results) -> None:
    plot = side_by_side(results, KERNEL, examples.OLD, examples.NEW)
    assert "This is no verdict" in plot.note
    assert list(plot.frame()["samples"]) == ["21 | 21"] * 20
    assert "ratio" in plot.heads


def test_what_two_names_share_is_said_once() -> None:
    names = ("flashinfer 0.6.8 + x 1 + y 2", "flashinfer 0.6.11 + x 1 + y 2")
    assert apart(*names) == (("flashinfer 0.6.8", "flashinfer 0.6.11"), ["both + x 1 + y 2"])
    assert apart("a", "a") == (("a", "a"), [])
    time = examples.timed(5.0, 1.0, 1)
    results = [
        examples.one("k", {"tokens": n, "hidden": 7}, name, mode=mode, time=time)
        for n in (1, 2) for name in names for mode in ("eager", "graph")
    ]  # fmt: skip
    plot = side_by_side(Results(tuple(results)), "k", *names)
    assert plot.title == "k: flashinfer 0.6.8 beside flashinfer 0.6.11, both + x 1 + y 2, Example GPU A"
    left, right = plot.draw().axes
    assert [each.get_title(loc="left") or each.get_title() for each in (left, right)] == ["eager", "graph"]
    assert [label.get_text() for label in left.get_yticklabels()] == ["tokens=1", "tokens=2"]


def test_nothing_is_cut_without_a_mark() -> None:
    assert panels.wrapped("one two three four", 8, 2) == "one two\nthree …"
    assert "…" not in panels.wrapped("one two three four", 10, 2)


def test_long_data_is_cut_and_said() -> None:
    rows = tuple((str(number), "x") for number in range(MOST_ROWS + 7))
    plot = Plot("Long", "", "", ("number", "name"), rows, lambda: None)
    table = Shown("Long", ("number", "name"), rows, note="A note.")
    assert "and 7 more rows: `.frame()` has all of them" in repr(plot) and len(plot.frame()) == len(rows)
    assert "and 7 more rows" in repr(table) and repr(table).endswith("A note.")
    assert "<p>and 7 more rows</p>" in table.html() and table.html().count("<tr>") == MOST_ROWS + 1
    assert "more row" not in repr(Plot("Short", "", "", ("number", "name"), rows[:MOST_ROWS], lambda: None))


def test_one_sided_times_are_left_out_and_said(results: Results) -> None:
    plot = side_by_side(results, "example_attention", examples.OLD, examples.NEW)
    assert not plot.rows
    assert "nothing to show" in repr(plot)


@pytest.mark.parametrize("kernel", ["example_quantize", "example_attention"])
def test_pictures_are_pictures_and_have_words(results: Results, kernel: str) -> None:
    for plot in (latency(results, kernel), floor_share(results, kernel)):
        data, facts = plot._repr_mimebundle_()
        picture = base64.b64decode(data["image/png"])
        width, height = struct.unpack(">II", picture[16:24])
        assert 600 < width < 1300 and 300 < height < 4000
        assert len(facts["image/png"]["alt"]) > 40
        assert data["text/plain"] == repr(plot)
        assert plot._repr_png_() == picture  # the same each time


def test_pair_pictures_are_drawn(results: Results) -> None:
    assert side_by_side(results, KERNEL, examples.OLD, examples.NEW).png().startswith(b"\x89PNG")


def test_hostile_names_are_drawn_as_they_are() -> None:
    hostile = examples.TAGS + "\x1b[31m $x^2$"
    results = [
        examples.one(hostile, {"tokens": tokens}, hostile, time=examples.timed(5.0, 1.0, 1))
        for tokens in (1, 16)
    ]
    plot = latency(Results(tuple(results)), hostile)
    assert plot.png().startswith(b"\x89PNG")
    assert "\x1b" not in repr(plot)


def test_cases_without_numbers_are_a_table() -> None:
    time = examples.timed(5.0, None, 1)
    results = [examples.one("k", {"layout": layout}, "example 1", time=time) for layout in ("linear", "8x4")]
    shown = latency(Results(tuple(results)), "k")
    assert isinstance(shown, Shown) and [row[1] for row in shown.rows] == ["layout=8x4", "layout=linear"]
    assert not floor_share(Results(tuple(results)), "k").rows


def test_many_panels_are_cut_and_said() -> None:
    time = examples.timed(5.0, 1.0, 1)
    results = [
        examples.one("k", {"tokens": tokens, "hidden": hidden}, "example 1", time=time)
        for hidden in range(100, 112)
        for tokens in (1, 16)
    ]
    plot = latency(Results(tuple(results)), "k")
    assert "4 more panels are in the data only" in plot.note
    assert len(plot.rows) == 24
    assert plot.png().startswith(b"\x89PNG")


def test_odd_times_are_no_times() -> None:
    odd = [
        {},
        {"samples_us": []},
        {"median_us": "fast"},
        {"median_us": -1},
        {"floor_us": [], "median_us": True},
    ]
    results = [
        examples.one("k", {"tokens": place}, "example 1", time=time) for place, time in enumerate(odd, 1)
    ]
    assert not latency(Results(tuple(results)), "k").rows


def test_no_results_say_how_to_get_some() -> None:
    for plot in (
        latency(Results(), "k"),
        floor_share(Results(), "k"),
        side_by_side(Results(), "k", "a", "b"),
    ):
        data, _ = plot._repr_mimebundle_()
        assert "workbench run" in repr(plot)
        assert "image/png" not in data
        assert "workbench run" in data["text/html"]
        assert plot._repr_png_() is None
    assert timed_kernels(Results()) == []
    assert len(ends(Results())) == 2


def test_ends_are_the_first_and_last_by_name(results: Results) -> None:
    assert ends(results) == (examples.OLD, examples.NEW)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0123456, "0.0123"),
        (1.005, "1"),
        (12.345, "12.3"),
        (123456.0, "123000"),
        (0.00002, "0.000020"),
    ],
)
def test_numbers_have_three_digits(value: float | None, text: str) -> None:
    assert rounded(value) == text


def test_a_plot_without_rows_draws_nothing() -> None:
    def never() -> None:
        raise AssertionError("drawn")

    assert "nothing to show" in repr(Plot("t", "a", "n", ["x"], [], never))  # type: ignore[arg-type]


def test_long_cases_do_not_run_together() -> None:
    """What differs may stand at the end of a long case; what all share is said once."""
    long = {f"setting_{letter}": "x" * 20 for letter in "abcdef"}
    results = [
        examples.one(
            "k", {"tokens": tokens, **long, "backend": backend}, "example 1", time=examples.timed(5.0, 1.0, 1)
        )
        for tokens in (1, 16)
        for backend in ("auto", "xqa")
    ]
    found = timings(Results(tuple(results)), "k")
    assert list(panels.grouped(found, "tokens")) == [
        "backend=auto",
        "backend=xqa",
    ]
    note = latency(Results(tuple(results)), "k").note
    assert "21 samples a point. All with setting_a=" in note


def test_a_tuned_time_stands_with_the_tactic_that_was_chosen() -> None:
    def tuned(environment: str, tactic: int) -> Result:
        time = examples.timed(100.0, None, 1) | {"tuning": {"chosen": {"moe::gemm1": f"Runner {tactic}"}}}
        return examples.one("example_moe", {"tokens": 16}, environment, mode="graph+tuned", time=time)

    results = Results((tuned(examples.OLD, 3), tuned(examples.NEW, 4)))
    assert latency(results, "example_moe").rows[0][3] == "graph+tuned [gemm1 Runner 3]"
    (row,) = side_by_side(results, "example_moe", examples.OLD, examples.NEW).rows
    assert row[0] == "graph+tuned [gemm1 Runner 3] | graph+tuned [gemm1 Runner 4]"


def test_environments_of_a_kernel_look_different_the_same_in_its_figures_and_are_named_once() -> None:
    time = {**examples.timed(5.0, 1.0, 1), "floor_us": 2.5}
    results = Results(
        tuple(
            examples.one(kernel, {"tokens": tokens}, f"e{number}", mode=mode, time=time)
            for kernel, numbers in (("k", range(8, 10)), ("other", range(10)))
            for number in numbers
            for mode in ("eager", "graph")
            for tokens in (1, 16)
        )
    )
    looks = panels.Looks.of_all(results, "other")
    assert len({tuple(looks.of((f"e{number}", "eager")).values()) for number in range(10)}) == 10
    first, second = (draw(results, "k").draw() for draw in (latency, floor_share))
    for picture in (first, second):
        lines = [line for legend in picture.legends for line in legend.get_lines()]
        assert [line.get_label() for line in lines] == ["e8", "e9", "eager", "graph"]
        assert lines[0].get_color() != lines[1].get_color()
    colours = [[line.get_color() for line in each.legends[0].get_lines()] for each in (first, second)]
    assert colours[0] == colours[1]


def test_a_single_size_is_no_line_and_stays_in_the_data() -> None:
    sizes = {"a": (1, 16), "b": (1,)}
    results = [
        examples.one("k", {"tokens": tokens, "layout": layout}, "e", time=examples.timed(5.0, 1.0, 1))
        for layout, several in sizes.items()
        for tokens in several
    ]
    plot = latency(Results(tuple(results)), "k")
    assert [axes.get_title() for axes in plot.draw().axes] == ["layout=a"]
    assert "1 more panel is in the data only" in plot.note and len(plot.frame()) == 3
    alone = latency(Results(tuple(results[-1:])), "k")
    assert isinstance(alone, Shown) and len(alone.rows) == 1 and "21 samples a point" in alone.note


def test_the_long_name_of_a_marked_module_is_cut_in_the_note() -> None:
    name = "batch_prefill_" + "dtype_q_bf16_" * 10 + "sm90"
    marked = examples.one("k", {"tokens": 1}, "e", time=examples.timed(5.0, 1.0, 1))
    marked = replace(marked, marks=[f"{name} built ahead: without mask_2", "moe_90 built ahead: bf16 only"])
    note = latency(Results((marked,)), "k").note
    assert "Marked: batch_prefill_dtype_…_q_bf16_sm90 built ahead: without mask_2; moe_90 built ahead" in note
