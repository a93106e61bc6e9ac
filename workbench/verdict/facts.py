"""A verdict as plain values, for a bot. The answer is `answer`; names of keys stay, new ones may come."""

from typing import Any

from workbench.verdict import beside
from workbench.verdict.deciding import Family, Verdict
from workbench.verdict.ends import End
from workbench.verdict.pair import Pair
from workbench.verdict.parts import headline
from workbench.verdict.settling import settling
from workbench.verdict.word import OPEN

SCHEMA = 1


def facts(verdict: Verdict) -> dict[str, Any]:
    answered, rows = beside.locks(verdict)
    return {
        "schema": SCHEMA,
        "answer": str(verdict.answer),
        "headline": headline(verdict),
        "baseline": verdict.baseline,
        "candidate": verdict.candidate,
        "current": verdict.current,
        "families": [_family(verdict, family) for family in verdict.families],
        "question": answered,
        "packages": [vars(row) | {"kind": str(row.kind)} for row in rows],
        "problems": list(verdict.results.problems),
        "beside": {
            "signatures": beside.signatures(verdict),
            "latent": beside.latent(verdict),
            "reported": beside.reported(verdict),
            "compiled": beside.compiled(verdict),
        },
    }


def _family(verdict: Verdict, family: Family) -> dict[str, Any]:
    settle = settling(verdict, family)
    return {
        "family": family.name,
        "gpus": family.gpus,
        "answer": str(family.answer),
        "votes": family.votes,
        "why": list(family.why),
        "counts": {str(word): count for word, count in family.counts().items()},
        "not_known": len(family.having(*OPEN)),
        "overall": vars(family.overall) if family.overall else None,
        "run_again": family.together.again if family.together else None,
        "deciding": [_pair(pair) for pair in family.deciding],
        "trials": [_pair(pair) for pair in family.pairs],
        "settle": [{"what": line, "command": settle.command} for line in settle.lines],
    }


def _pair(pair: Pair) -> dict[str, Any]:
    trial, change = pair.trial, pair.change
    return {
        "id": trial.id,
        "kernel": trial.kernel,
        "case": trial.case,
        "mode": trial.mode,
        "gpu": trial.gpu,
        "word": str(pair.word),
        "why": pair.why,
        "weight": pair.weight,
        "required": pair.required,
        "run_again": pair.again,
        "before": _end(pair.before),
        "after": _end(pair.after),
        "ratio": change.ratio if change else None,
        "low": change.low if change else None,
        "high": change.high if change else None,
        "processes": list(change.processes) if change else None,
    }


def _end(end: End | None) -> dict[str, Any] | None:
    if end is None:
        return None
    result = end.result
    return {
        "outcome": str(result.outcome), "reason": result.reason, "stage": result.stage, "processes": end.processes,
        "faults": end.faults, "id": result.trial.id,
    }  # fmt: skip
