"""Finds neighbours among many trials: a pair that differs in one thing has all else in common, so both have one key."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.results import Standing, Trial

from .flips import state
from .lock import components

Key = tuple[str, ...]


class Near:
    """Standings by what they share."""

    def __init__(self, standings: Mapping[Trial, Standing]) -> None:
        self.standings = list(standings.values())
        self.states = [state(each) for each in self.standings]
        self.places = {trial: place for place, trial in enumerate(standings)}
        self.sharing: dict[Key, list[int]] = {}
        for place, each in enumerate(self.standings):
            if self.states[place] in ("faults", "right"):
                for key in _keys(each):
                    self.sharing.setdefault(key, []).append(place)

    def opposite(self, trial: Trial) -> dict[Trial, Standing]:
        """The trial, and those that may differ from it in one thing and end the other way, in their order."""
        own = self.places[trial]
        shared = {place for key in _keys(self.standings[own]) for place in self.sharing.get(key, ())}
        other = sorted(place for place in shared if self.states[place] != self.states[own])
        return {self.standings[place].result.trial: self.standings[place] for place in (own, *other)}


def _keys(standing: Standing) -> Iterator[Key]:
    trial = standing.result.trial
    call = (trial.kernel, trial.gpu, trial.mode)
    yield (*call, "case", _text(trial.case))
    lock = _text(components(standing.result))
    cases = [trial.case, *_without_one(trial.case)]
    yield from {(*call, "lock", lock, _text(case)) for case in cases}


def _without_one(case: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return ({name: value for name, value in case.items() if name != left_out} for left_out in case)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
