import itertools
import re
from pathlib import Path

import example_results as examples
import pytest

from workbench import difference, untrusted
from workbench.matrix import Matrix
from workbench.pages.findings import Findings
from workbench.pages.sources import Sources
from workbench.pages.stacks import Difference, Pins
from workbench.pages.versions import Versions, by_gpu
from workbench.results import OUTCOME_OF_REASON, Outcome, Result, Results, Trial
from workbench.showing import legend
from workbench.showing.grids import grids
from workbench.showing.signatures import differences, parameters

SIMULATED = {  # how linear RGB is seen (Machado, Oliveira and Fernandes 2009, severity 1)
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red cones": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "no green cones": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "no blue cones": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return Matrix(examples.results())


def test_examples_have_every_outcome() -> None:
    assert examples.every_outcome() == set(Outcome)


def test_every_outcome_has_its_own_look() -> None:
    assert set(legend.LEGEND) == set(Outcome)
    looks = legend.LOOKS.values()
    for names in zip(*((look.letter, look.word, look.meaning, look.colour) for look in looks), strict=True):
        assert len(set(names)) == len(Outcome) + 1
    assert all(len(look.letter) == 1 for look in looks)


def test_every_reason_class_has_its_own_sign_and_says_what_to_do() -> None:
    signs = {reason: legend.sign(outcome, reason) for reason, outcome in OUTCOME_OF_REASON.items()}
    assert len(set(signs.values())) == len(signs)
    assert all(
        signs[reason][0] == legend.LEGEND[outcome].letter for reason, outcome in OUTCOME_OF_REASON.items()
    )
    for look in legend.LEGEND.values():
        seconds = {sign[1:] for sign in signs.values() if sign[0] == look.letter}
        assert not any(set(pair) <= seconds for pair in ("il", "mn"))  # too alike
    assert all(all(legend.advice(reason)) for reason in OUTCOME_OF_REASON)
    assert legend.sign(Outcome.CRASHED, "of a newer workbench") == "C"


def test_only_classes_that_occur_are_explained() -> None:
    results = [
        examples.one("k", {"n": place}, examples.OLD, reason, detail="a")
        for place, reason in enumerate(("ok", "segfault_abort", "illegal_memory_access", "segfault_abort"))
    ]
    shown = Matrix(Results(tuple(results)))
    text, page = shown.text(), shown._repr_html_()
    assert "Cs segfault_abort (2)" in text and "Cm illegal_memory_access (1)" in text
    assert "What to do: Keep the result if it was complete before the crash" in text
    assert (
        "<b>Cs</b> <code>segfault_abort</code>, 2 trials: The process crashed on the host. <i>What to do:</i>"
        in page
    )
    assert "oom_host" not in text + page


def test_counts_are_given_once(matrix: Matrix) -> None:
    assert f"{len(matrix.standings)} trials" not in matrix._repr_html_()


@pytest.mark.parametrize("eyes", SIMULATED)
def test_colours_stay_apart(eyes: str) -> None:
    seen = {kind: _lab(_through(SIMULATED[eyes], look.colour)) for kind, look in legend.LOOKS.items()}
    nearest = min(itertools.combinations(seen, 2), key=lambda pair: _apart(seen[pair[0]], seen[pair[1]]))
    assert _apart(seen[nearest[0]], seen[nearest[1]]) > 12, nearest


def test_ink_can_be_read() -> None:
    for look in legend.LOOKS.values():
        light, dark = sorted((_luminance(look.colour), _luminance(look.ink)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, look.word


def test_compiled_is_not_taken_for_ok() -> None:
    compiled = examples.one("k", {"n": 1}, "a", mode="compiled", gpu="SM120, compiled only")
    ran = examples.one("k", {"n": 1}, "a", gpu="Z 1")
    found = Matrix(Results((compiled, ran)))
    assert legend.tally(found.standings.values()) == "1 ok, 1 compiled"
    page, text = found._repr_html_(), found.text()
    assert (
        'class="o-compiled"' in page and "<b>L</b> compiled" in page and "not run: nothing is known" in page
    )
    assert "L compiled: compiled for this family and not run" in text
    assert "SM120, compiled only" in page and "SM120, compiled only" in text
    assert (
        found.text(colour=True).count("\x1b[48;2;195;211;232m") == 2
    )  # its square and its line of the legend


def test_says_in_text_how_trials_ended(matrix: Matrix) -> None:
    assert repr(matrix).startswith("Matrix of 23 rows, 5 columns, 66 trials: 52 ok, 1 wrong")
    assert repr(matrix).endswith("1 not run, 1 flaky")


def test_what_nobody_planned_is_empty_and_not_counted(matrix: Matrix) -> None:
    row = next(row for row in matrix.rows if row.case == "batch=1, length=131072")
    assert [legend.word(square) for square in row.squares][1:] == ["not planned"] * 4
    assert legend.word(row.squares[0]) == "crashed, flaky 2/5"
    assert matrix.frame().loc["example_attention", "batch=1, length=131072", "eager"].iloc[1] == "not planned"
    assert sum(legend.counted(matrix.squares).values()) == 66 + 1  # and once more for the flaky one
    text = matrix.text()
    assert "not planned: no run had this trial in its plan" in text and "- not run: planned" in text


def test_a_machine_without_a_gpu_is_named_and_comes_last() -> None:
    trials = [examples.one("k", {"n": 1}, name, gpu=gpu) for name in ("a", "b") for gpu in ("none", "Z 1")]
    found = Matrix(Results(tuple(trials)))
    assert [head[1] for head in found.heads] == ["Z 1", "Z 1", "none", "none"]
    shown = found._repr_html_() + found.text() + repr(Sources(found.results))
    assert "a (no GPU)" in found.text() and "k, no GPU: 1 row" in found._repr_html_()
    assert "none" not in shown.replace("text-decoration: none", "").replace("none;", "")


def test_a_choice_that_leaves_nothing_says_what_there_is(matrix: Matrix) -> None:
    none = Matrix(matrix.results.only(kernel=["nonsense"]))
    assert none.text().startswith(
        "66 trials, none of kernel 'nonsense'; there are example_attention, example_"
    )
    assert "none of kernel" in none._repr_html_() and "none of kernel" in repr(none)
    both = matrix.results.only(kernel=["example_quantize"], mode=["piecewise"])
    assert both.nothing == "40 trials, none of mode 'piecewise'; there are eager, graph"


def test_without_our_style_words_do_not_run_together(matrix: Matrix) -> None:
    bare = re.sub(r"<style>.*?</style>", "", matrix._repr_html_())
    assert not re.search(r"\w<(small|b)>|</span><span", bare)


def test_marks_lead_to_what_they_mean() -> None:
    marked = examples.one("k", {"n": 1}, "a", marks=["a trimmed module"])
    page = Matrix(Results((marked,)))._repr_html_()
    (goal,) = re.findall(r'class="dagger" href="#([^"]+)"', page)
    assert re.search(rf'id="{goal}".*?a trimmed module', page)


def test_findings_count_what_speaks_against_an_environment(matrix: Matrix) -> None:
    lines = Findings(matrix.results).lines
    assert "example_attention: missing (api_changed), 1 of 23 trials on Example GPU A, in example 2" in lines
    flaky = next(line for line in lines if "illegal_memory_access" in line)
    assert "2 of 23 trials" in flaky and "1 of them flaky" in flaky
    assert not [line for line in lines if "unsupported" in line or "not run" in line]
    assert "nothing is found" in repr(Findings(Results()))
    calm = Findings(Results((examples.one("k", {"n": 1}, "a"),)))
    assert repr(calm) == "1 trials: 1 ok. Nothing speaks against an environment."
    assert not re.search(r"<script|[\x1b\x00]", Findings(matrix.results)._repr_html_())


def two_locks() -> Results:
    """One name, two locks: a repacked wheel, or another machine's torch."""
    trials = []
    for mark, version in (("aaaa0000", "1"), ("bbbb0000", "2")):
        lock = {
            "name": "e",
            "hash": mark * 8,
            "packages": {"lib": version},
            "pins": {"lib": {"pinned": version}},
        }
        known = {"environment": lock, "started": f"2026-01-0{version}T00:00:00Z"}
        found = {"api": "lib.f", "signature": f"(a, b{version})"}
        trials.append(examples.one("k", {"n": 1}, "e", provenance=known, found=found))
    return Results(tuple(trials))


def test_what_two_locks_of_one_name_have_is_not_merged() -> None:
    shown = Versions(two_locks())
    assert shown.environments == ["e [aaaa0000]", "e [bbbb0000]"]
    assert shown.packages == {"lib": {"e [aaaa0000]": "1", "e [bbbb0000]": "2"}}
    assert [row[:3] for row in shown.changes] == [("k", "e [aaaa0000]", "e [bbbb0000]")] * 2
    locks = difference.locks_of(two_locks())
    assert [lock["packages"]["lib"] for lock in locks.values()] == ["1", "2"]
    assert difference.newest(locks, "e")["packages"]["lib"] == "2"
    assert "e [bbbb0000]: pins" in Pins(two_locks())._repr_html_()
    assert Difference(two_locks(), "e [aaaa0000]", "e").question.startswith("more than FlashInfer changed")


def test_columns_are_in_natural_order() -> None:
    names = ("flashinfer 0.6.11", "flashinfer 0.6.8.post1", "flashinfer 0.6.8")
    found = Matrix(Results(tuple(examples.one("k", {"tokens": 1}, name) for name in names)))
    assert [head[0] for head in found.heads] == sorted(names, key=untrusted.natural) == list(reversed(names))


def test_kernels_that_the_readme_names_come_first() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    named = ["cutlass_moe", "fp4_quantize", "mxfp4_swiglu", "trtllm_attention"]
    assert all(f"| {name}" in readme for name in named)
    others = ["batch_decode", "trtllm_moe"]
    made = [examples.one(name, {"n": 1}, "a") for name in (*others, *reversed(named))]
    assert [row.kernel for row in Matrix(Results(tuple(made))).rows] == [*named, *others]


def test_cases_are_in_natural_order_and_shared_parts_said_once(matrix: Matrix) -> None:
    rows = [row for row in matrix.rows if row.kernel == "example_quantize"]
    assert [row.short for row in rows[::2]] == [f"tokens={tokens}" for tokens in examples.TOKENS]
    assert {row.held for row in rows} == {"hidden=2880"}


@pytest.mark.parametrize("columns", ["environment", "gpu", "mode"])
def test_columns_can_be_chosen(columns: str) -> None:
    found = Matrix(examples.results(), columns)
    assert sum(square is not None for square in found.squares) == len(found.standings)


def test_refuses_unknown_columns() -> None:
    with pytest.raises(ValueError, match="columns is one of"):
        Matrix(Results(), "kernel")


def test_every_square_leads_somewhere(matrix: Matrix) -> None:
    page = matrix._repr_html_()
    marks, goals = re.findall(r' id="([^"]+)"', page), re.findall(r'href="#([^"]+)"', page)
    drawn = [
        square for grid in grids(matrix.heads, matrix.rows) for row in grid.rows for square in row.squares
    ]
    assert len(goals) == len(drawn)  # a square that nobody planned leads to the legend
    assert sum(square is not None for square in drawn) == len(matrix.standings)
    assert set(goals) <= set(marks)
    assert len(marks) == len(set(marks))


def test_a_kernel_has_columns_only_where_it_was_planned_and_a_table_for_each_gpu() -> None:
    chosen = [("k", "a", "Z 1"), ("k", "b", "Z 1"), ("k", "a", "Z 2"), ("other", "c", "Z 1")]
    found = Matrix(
        Results(tuple(examples.one(kernel, {"n": 1}, *rest[:1], gpu=rest[1]) for kernel, *rest in chosen))
    )
    drawn = {grid.name: grid.columns for grid in grids(found.heads, found.rows)}
    assert drawn == {"k, Z 1": ["a", "b"], "k, Z 2": ["a"], "other, Z 1": ["c"]}
    page = found._repr_html_()
    assert "Trials by kernel and outcome, Z 2" in page and "not planned" not in page


def test_the_longer_list_goes_down() -> None:
    names = [f"e {number}" for number in range(4)]
    wide = Matrix(Results(tuple(examples.one("k", {"n": 1}, name) for name in names)))
    assert re.findall(r"^e \d", repr(wide.counts()), re.M) == names
    tall = Matrix(Results(tuple(examples.one(name, {"n": 1}, "e") for name in "abcd")))
    assert re.findall(r"^[abcd]  ", repr(tall.counts()), re.M) == [f"{name}  " for name in "abcd"]


def test_same_messages_make_one_reason() -> None:
    details = [f"CUDA error at 0x7f{number:06d}: pid {number + 10000}" for number in range(5)]
    results = [
        examples.one("k", {"tokens": place}, "example 1", "illegal_memory_access", detail=detail)
        for place, detail in enumerate(details)
    ]
    assert Matrix(Results(tuple(results)))._repr_html_().count("<section") == 1


def test_hostile_text_stays_text(matrix: Matrix) -> None:
    page = (
        matrix._repr_html_() + Sources(matrix.results)._repr_html_() + Versions(matrix.results)._repr_html_()
    )
    assert not re.search(r"<script|<img|<b>y|[\x00-\x09\x0b-\x1f\u202e]", page)
    assert "&lt;script&gt;" in page
    assert len(page) < 200_000


def test_terminal_escapes_do_not_reach_the_terminal(matrix: Matrix) -> None:
    text = matrix.text()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert max(map(len, text.splitlines())) < 800


def test_text_has_grid_legend_and_reasons(matrix: Matrix) -> None:
    text = matrix.text()
    assert "column 1: example 1 on Example GPU A" in text
    assert re.search(r"eager +1 +131072 +Cm~ +·", text)
    assert "H hung: ended by the time limit" in text
    assert "H hung: hang_timeout at first_call (1 trial)" in text
    assert "no fact for 120 s" in text
    assert "\x1b[48;2;127;29;21m" in matrix.text(colour=True)


def test_tables_have_captions_and_scopes(matrix: Matrix) -> None:
    page = matrix._repr_html_() + Versions(matrix.results)._repr_html_()
    assert page.count("<table>") == page.count("<caption>") == page.count('role="region"')
    assert not re.search(r"<th(?! scope)[ >]", page.replace("<thead>", ""))


def test_large_matrices_stay_small() -> None:
    reasons = ("ok",) * 9 + ("hang_timeout",)
    results = [
        examples.one(
            "k", {"tokens": tokens}, f"e{column}", reasons[tokens % 10], detail=f"d {'x' * (tokens % 97)}"
        )
        for tokens in range(1500)
        for column in range(6)
    ]
    page = Matrix(Results(tuple(results)))._repr_html_()
    assert len(page) < 1_000_000
    assert "of them counted above but not listed" in page
    assert "<details><summary>k, Example GPU A: 1500 rows" in page
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r' id="([^"]+)"', page))


def test_no_results_say_how_to_get_some() -> None:
    empty = Matrix(Results())
    assert repr(empty) == "Matrix of 0 rows, 0 columns: no results"
    assert "workbench run" in empty.text()
    assert "workbench run" in empty._repr_html_()
    assert empty.frame().empty
    assert "workbench run" in Versions(Results())._repr_html_()


def test_sources_name_what_could_not_be_read() -> None:
    shown = repr(Sources(Results((), ("a.jsonl:3: not an object \x1b[31m",))))
    assert shown == "No results.\nnot read: a.jsonl:3: not an object"


def test_provenance_of_any_shape_is_shown() -> None:
    trial = Trial("k", {}, "eager", "e", "g")
    odd = [{"environment": {"packages": ["a"], "hash": {}}, "gpu": "none"}, {"gpu": []}, {"started": 7}]
    results = Results(tuple(Result(trial, "r", Outcome.OK, "ok", provenance=facts) for facts in odd))
    assert "k" in Matrix(results).text()
    assert repr(Sources(results))
    assert repr(Versions(results))


def test_signatures_are_compared_in_words() -> None:
    before = "(input, scale: Optional[Tensor] = None, size: int = 16) -> Tuple[Tensor, Tensor]"
    after = "(input, scale: Optional[Tensor] = None, backend=<Backend.a: 1>, size: int = 32, *, pdl=None)"
    assert differences(before, after) == [
        "parameter backend inserted as number 3",
        "parameter * added at the end",
        "parameter pdl added at the end",
        "parameter size: int = 16 became int = 32",
    ]
    assert differences(before, before) == []
    assert differences("(a, b, c)", "(b, a)") == ["parameter c removed (was 3)", "order changed: b, a"]
    assert list(parameters("(f: Callable[[int], str] = <function <lambda> at 0x7f>, g=(1, 2))")) == ["f", "g"]


def test_versions_mark_what_differs() -> None:
    shown = Versions(examples.results())
    assert (
        "example_quantize",
        "example 1",
        "example 2",
        "parameter backend inserted as number 4",
    ) in shown.changes
    page = shown._repr_html_()
    differ, _, same = page.partition("<summary>Packages that are the same in all")
    assert ">1.0.0<" in differ and "0.3" not in differ and "0.3" in same


def test_what_another_machine_had_is_no_column_beside_a_gpu() -> None:
    trials = []
    for gpu, torch in (("Z 1", "2.11"), ("none", "2.13")):
        lock = {"name": "e", "hash": torch, "packages": {"torch": torch}}
        trials.append(examples.one("k", {"n": 1}, "e", gpu=gpu, provenance={"environment": lock}))
    first, last = by_gpu(Results(tuple(trials)))
    assert (first.where, first.packages) == ("Z 1", {"torch": {"e": "2.11"}})
    assert (last.where, last.packages) == ("no GPU", {"torch": {"e": "2.13"}})


def _through(eyes: tuple[tuple[float, ...], ...], colour: str) -> list[float]:
    linear = _linear(colour)
    return [sum(part * value for part, value in zip(row, linear, strict=True)) for row in eyes]


def _linear(colour: str) -> list[float]:
    parts = [int(pair, 16) / 255 for pair in re.findall("..", colour[1:])]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def _luminance(colour: str) -> float:
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), _linear(colour), strict=True))


def _lab(linear: list[float]) -> tuple[float, float, float]:
    to_xyz = ((0.4339, 0.3762, 0.1899), (0.2126, 0.7152, 0.0722), (0.0177, 0.1095, 0.8729))
    red, green, blue = (min(1.0, max(0.0, part)) for part in linear)
    x, y, z = (a * red + b * green + c * blue for a, b, c in to_xyz)
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _apart(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5


def test_many_columns_show_letters_and_say_the_words() -> None:
    found = Matrix(Results(tuple(examples.one("k", {"n": 1}, f"e{number}") for number in range(7))))
    page = found._repr_html_()
    assert '<table class="many">' in page and "<b>O</b><span> ok</span>" in page
    few = Matrix(Results(tuple(examples.one("k", {"n": 1}, f"e{number}") for number in range(6))))
    assert '<table class="many">' not in few._repr_html_()


def test_a_finding_of_many_environments_names_the_first_and_the_last() -> None:
    names = [f"e {number}" for number in range(9, 15)]
    bad = [examples.one("k", {"n": 1}, name, "wrong_numbers") for name in names[1:]]
    (line,) = Findings(Results((examples.one("k", {"n": 1}, names[0]), *bad))).lines
    assert line.endswith("in 5 of 6 environments, from e 10 to e 14")


def test_a_hostile_gpu_stays_text_among_versions() -> None:
    lock = {"name": "e", "hash": "h", "packages": {"torch": "1"}}
    trial = examples.one("k", {"n": 1}, "e", gpu="<script>x</script>", provenance={"environment": lock})
    (shown,) = by_gpu(Results((trial,)))
    assert "<script" not in shown._repr_html_() and "&lt;script" in shown._repr_html_()
