"""Compares an answer with its reference, row by row, so that one bad row among thousands is seen.

A row is the last dimension. Its error is ||got - wanted|| over ||wanted||, or over a twentieth of the usual
row where that is larger: nearly empty rows would else magnify rounding. A value that is not finite is wrong.
"""

import math

FLOOR = 0.05


def compare(got, wanted, tolerance):
    """Facts: right, error (worst row), total (all rows together), nonfinite (count), tolerance, where."""
    if set(got) != set(wanted):
        return _mismatch(tolerance, f"answers named {sorted(got)}, reference {sorted(wanted)}")
    found = [_one(got[name], wanted[name], name) for name in sorted(wanted)]
    worst = max(found, key=lambda facts: math.inf if facts["error"] is None else facts["error"])
    nonfinite = sum(facts["nonfinite"] for facts in found)
    right = not nonfinite and all(_within(facts["error"], tolerance) for facts in found)
    return {**worst, "nonfinite": nonfinite, "tolerance": tolerance, "right": right}


def _within(error, tolerance):
    return error is not None and error <= tolerance  # None where it could not be told: never right


def _mismatch(tolerance, text):
    facts = {"error": None, "total": None, "nonfinite": 0, "where": text}
    return {**facts, "tolerance": tolerance, "right": False}


def _one(got, wanted, name):
    if hasattr(wanted, "dtype") and hasattr(wanted, "untyped_storage"):
        return _tensors(got, wanted, name)
    return _numbers(got, wanted, name)


def _tensors(got, wanted, name):
    import torch

    if tuple(got.shape) != tuple(wanted.shape):
        return _unequal(name, tuple(got.shape), tuple(wanted.shape))
    if not wanted.numel():
        return _facts(name, 0.0, 0.0, 0, 0)
    width = wanted.shape[-1] if wanted.dim() else 1
    got, wanted = got.reshape(-1, width), wanted.reshape(-1, width).to(got.device)
    nonfinite = int((~torch.isfinite(got.float())).sum())
    off = torch.linalg.vector_norm(got.float() - wanted.float(), dim=-1).double()
    size = torch.linalg.vector_norm(wanted.float(), dim=-1).double()
    usual = float(size.square().mean().sqrt())
    relative = off / size.clamp(min=max(FLOOR * usual, 1e-30))
    row = int(torch.nan_to_num(relative, nan=math.inf).argmax())
    error = float(relative[row])
    total = float(torch.linalg.vector_norm(off) / max(float(torch.linalg.vector_norm(size)), 1e-30))
    return {**_facts(name, error, total, nonfinite, row), "worst": _worst(got[row], wanted[row])}


def _worst(got, wanted):
    """The element of the worst row that is furthest off, and how many of the row share in its error."""
    off = (got.double() - wanted.double()).abs()
    column = int(off.nan_to_num(nan=math.inf).argmax())
    facts = {
        "column": column,
        "of": off.numel(),
        "got": str(float(got[column])),
        "wanted": str(float(wanted[column])),
    }
    return {**facts, "as_far": int((off > off[column] / 10).sum())}


def _numbers(got, wanted, name):
    got, wanted = _flat(got), _flat(wanted)
    if len(got) != len(wanted):
        return _unequal(name, len(got), len(wanted))
    nonfinite = sum(not math.isfinite(value) for value in got)
    off = math.sqrt(sum((a - b) ** 2 for a, b in zip(got, wanted, strict=True)))
    error = off / max(math.sqrt(sum(value**2 for value in wanted)), 1e-30)
    return _facts(name, error, error, nonfinite, 0)


def _flat(value):
    if isinstance(value, (list, tuple)):
        return [number for member in value for number in _flat(member)]
    return [float(value)]


def _facts(name, error, total, nonfinite, row):
    where = f"{name}, row {row}"
    return {"error": _finite(error), "total": _finite(total), "nonfinite": nonfinite, "where": where}


def _finite(number):
    return number if math.isfinite(number) else None


def _unequal(name, got, wanted):
    where = f"{name}: shape {got}, the reference has {wanted}"
    return {"error": None, "total": None, "nonfinite": 0, "where": where}
