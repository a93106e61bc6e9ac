"""Where the tensors of a call lie. A tool says at which address something went wrong; this says in which tensor."""

from typing import Any

from . import reach

MOST, LONGEST_NAME = 200, 200


def places(call, inputs):
    """{name, address, bytes} of each storage, once. What the library allocates during the call has no name here."""
    found: dict[int, dict[str, Any]] = {}
    for name, tensor in reach.tensors(call, inputs):
        storage = tensor.untyped_storage()
        if storage.nbytes() and len(found) < MOST:
            place = {"name": name[:LONGEST_NAME], "address": storage.data_ptr(), "bytes": storage.nbytes()}
            found.setdefault(place["address"], place)
    return list(found.values())
