"""The question of a bisection, and the runs that are made for it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench import environments, planning, runner
from workbench.environments import Built, Environment
from workbench.gpus import Gpu
from workbench.options import Options
from workbench.planning import Kernel, Planned
from workbench.results import Result
from workbench.store import load
from workbench.verdict.ends import of_the_machine
from workbench.verdict.policy import DEFAULT, Policy

from .answer import Answer
from .deciding import Until, answer_of


@dataclass(frozen=True)
class Asked:
    """The question that is put to each environment. `kernel` has one case; `folders` hold stored results.

    `repeats`: attempts that must agree. `reference`: the good end, for `slower`. `anew`: what is stored says nothing.
    """

    kernel: Kernel
    mode: str
    gpu: Gpu | None
    until: Until
    repeats: int
    options: Options
    policy: Policy = DEFAULT
    folders: tuple[str, ...] = ()
    reference: Environment | None = None
    anew: bool = False

    def planned(self, *chosen: Environment) -> list[Planned]:
        return planning.plan([self.kernel], chosen, [self.mode], self.gpu)


class Runs:
    """The runs that are made for one probe, and the attempts that count in it."""

    def __init__(self, asked: Asked):
        self.asked = asked
        self.made: list[str] = []

    def __call__(self, planned: Sequence[Planned], **how: Any) -> None:
        summary = runner.run(planned, self.asked.gpu, replace(self.asked.options, **how))
        if summary.stopped:
            raise KeyboardInterrupt
        self.made.append(summary.run)

    def attempts(self, planned: Planned, built: Built) -> list[Result]:
        """Those at this trial with this kernel file and these packages, wherever they are stored; no reruns."""
        return [
            each
            for each in load(*self.asked.folders)
            if each.trial == planned.trial
            and (each.kernel_hash, each.environment_hash) == (planned.kernel.hash, built.hash)
            and each.attempt > 0
            and not each.rerun
            and (each.run in self.made or self._still_says(each))
        ]

    def _still_says(self, stored: Result) -> bool:
        """What once was not run, for want of a network or a node, may be run now."""
        told = answer_of(stored, self.asked.until) != Answer.UNKNOWN or not of_the_machine(stored)
        return told and not self.asked.anew


def build(asked: Asked, environment: Environment) -> Built:
    """As a run builds it. Raises BuildError."""
    return environments.build(
        environment, folder=asked.options.environments_folder, wheels=asked.options.wheels
    )
