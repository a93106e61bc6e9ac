import example_forensics as forensics
import example_results as examples

from workbench.matrix import Matrix
from workbench.planned import Aside, faulty, forensic, of_libraries, planned
from workbench.results import Results


def dial() -> Results:
    return Results(
        (examples.one("dial", {"dial": 0.01}, examples.OLD), examples.one("k", {"n": 1}, examples.OLD))
    )


def test_forensic_modes_and_instruments_are_left_out() -> None:
    found = forensics.results()
    assert {result.trial.mode for result in planned(found)} == {"eager", "graph"}
    assert {result.trial.mode for result in forensic(found)} == {"fenced", "fenced_start", "sanitized"}
    assert len(planned(found)) + len(forensic(found)) == len(found)
    assert [result.trial.kernel for result in planned(dial())] == ["k"]


def test_what_is_left_out_is_counted_and_led_to() -> None:
    aside = Aside(forensics.results())
    assert "5 trials in forensic modes" in repr(aside)
    assert '<a href="05_forensics.html">page 05</a>' in aside._repr_html_()
    assert "1 trials of our own kernels, instruments of the stopwatch" in repr(Aside(dial()))
    nothing = Aside(examples.results())
    assert repr(nothing) == "" and "<p>" not in nothing._repr_html_()


def test_a_page_of_forensic_modes_alone_says_where_they_are() -> None:
    matrix = Matrix(planned(forensic(forensics.results())))
    assert "05_forensics" in matrix.text() and "05_forensics" in matrix._repr_html_()


def test_problems_and_empty_choices_stay_said() -> None:
    assert planned(Results((), ("a torn line",), "12 trials, none of kernel 'x'")).problems == (
        "a torn line",
    )
    assert "none of kernel 'x'" in planned(Results((), (), "12 trials, none of kernel 'x'")).nothing


def test_kernels_that_fail_in_known_ways_are_the_proof_of_page_05() -> None:
    zoo = examples.one("gpu_faults", {"how": "right", "place": 0}, examples.OLD, mode="fenced")
    found = Results((zoo, *examples.results()))
    assert list(faulty(found)) == [zoo] and zoo not in tuple(of_libraries(found))
    assert "1 trials of kernels that fail in known ways" in repr(Aside(found))
