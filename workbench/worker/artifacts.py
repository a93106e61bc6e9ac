"""Asks in one second whether kernels that are fetched at run time can be had.

FlashInfer itself retries for up to a minute on each call where the vendor's server cannot be reached.
"""

import functools
import importlib
import importlib.util
import os
import socket
from urllib.parse import urlsplit

WAIT_S = 1.0


def require(stopped):
    """Raises `stopped` where there is neither a package of cubins nor a server to fetch them from."""
    if importlib.util.find_spec("flashinfer_cubin") is not None:
        return
    reachable, text = _server()
    if not reachable:
        raise stopped("missing_cubin", text + "; install flashinfer-cubin of the same version to run offline")


@functools.lru_cache(maxsize=1)
def _server():
    where = urlsplit(_repository())
    if not where.hostname:
        return True, ""  # this version does not say where; let the call find out
    port = where.port or (443 if where.scheme == "https" else 80)
    try:
        socket.setdefaulttimeout(WAIT_S)
        socket.create_connection((where.hostname, port), timeout=WAIT_S).close()
    except OSError as problem:
        return False, f"the artifact server cannot be reached ({type(problem).__name__})"
    finally:
        socket.setdefaulttimeout(None)
    return True, ""


def _repository():
    told = os.environ.get("FLASHINFER_CUBINS_REPOSITORY")
    for name in ("flashinfer.jit.cubin_loader", "flashinfer.jit.env", "flashinfer.artifacts"):
        if told:
            break
        try:
            told = getattr(importlib.import_module(name), "FLASHINFER_CUBINS_REPOSITORY", None)
        except ImportError:
            continue
    return told or ""
