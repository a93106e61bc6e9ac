"""Pins and lock differences as a page shows them; what a result says is never trusted."""

from workbench.figures import ends
from workbench.pages.stacks import Difference, Pins
from workbench.results import Outcome, Result, Results, Trial


def result(environment, packages, pins=None, **time):
    lock = {
        "name": environment,
        "packages": packages,
        "hash": str(packages),
        **({"pins": pins} if pins else {}),
    }
    trial = Trial("k", {"n": 1}, "eager", environment, "cpu")
    return Result(trial, "r", Outcome.OK, "ok", time=time, provenance={"environment": lock})


PIN = {"torch": {"pinned": "==2.9.1", "has": "2.11.0", "from": "inherited", "state": "deviates"}}
A = result("a", {"flashinfer-python": "1", "x": "1"}, PIN)
B = result("b", {"flashinfer-python": "2", "x": "1"}, PIN)
C = result("c", {"flashinfer-python": "2", "x": "2"})


def test_the_question_that_a_comparison_answers_is_said():
    both = Results((A, B, C))
    assert Difference(both, "a", "b").question == "only FlashInfer changed"
    assert Difference(both, "a", "c").question.startswith("more than FlashInfer changed")
    assert Difference(both, "a", "a").question == "nothing differs"
    assert "flashinfer-python" in repr(Difference(both, "a", "b"))


def test_pins_are_shown_with_what_became_of_them():
    page = Pins(Results((A, C)))._repr_html_()
    assert "deviates" in page and "2.9.1" in page
    assert "c: pins" not in page


def test_empty_states_say_how_to_fill_them():
    for empty in (Pins(Results()), Difference(Results(), "a", "b")):
        assert "workbench run" in repr(empty)
        assert "workbench run" in empty._repr_html_()


def test_hostile_locks_are_inert():
    evil = "<script>alert(1)</script>\x1b[2J"
    bad = result("a", {evil: evil, "n": evil}, {evil: {"pinned": evil, "has": 5, "state": evil}, "y": 7})
    both = Results((bad, B))
    for shown in (Pins(both), Difference(both, "a", "b")):
        assert "<script" not in shown._repr_html_()
        assert "\x1b" not in repr(shown) + shown._repr_html_()


def test_the_pair_that_is_shown_by_itself_has_the_most_in_common():
    def timed(environment, count):
        return [
            Result(
                Trial("k", {"n": n}, "eager", environment, "g"), "r", Outcome.OK, "ok", time={"median_us": 1}
            )
            for n in range(count)
        ]

    found = Results((*timed("v 0.6.8", 5), *timed("v 0.6.11", 5), *timed("w 1", 2)))
    assert ends(found) == ("v 0.6.8", "v 0.6.11")
    assert ends(Results()) == ("one environment", "another")
