"""Where bundles are unpacked: beside the environments of the current folder."""

from pathlib import Path

FOLDER = Path(".environments") / "bundles"
