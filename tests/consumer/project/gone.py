# ruff: noqa
from unittest import mock

import flashinfer
import flashinfer.decode


def use(x, monkeypatch):
    flashinfer.decode.gone_soon(x)  # forth missing
    keep = flashinfer.decode.gone_soon  # forth missing
    flashinfer.decode._private_helper = use  # forth missing
    flashinfer.decode.BatchDecodeWithPagedKVCacheWrapper.forward = use  # forth missing
    flashinfer.decode.BatchDecodeWithPagedKVCacheWrapper.run = use
    setattr(flashinfer.decode, "gone_soon", use)  # forth missing
    monkeypatch.setattr(flashinfer.decode, "_private_helper", use)  # forth missing
    monkeypatch.setattr("flashinfer.quantization.only_old", use)  # forth missing
    mock.patch("flashinfer.decode.gone_soon")  # forth missing
    mock.patch.object(flashinfer.decode, "gone_soon")  # forth missing
    maybe = getattr(flashinfer.decode, "gone_soon", None)  # forth missing
    print(flashinfer.__version__, flashinfer.__file__, flashinfer.decode.__name__)
    return flashinfer.never_there(x)  # forth missing # back missing
