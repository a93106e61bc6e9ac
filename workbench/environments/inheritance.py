"""What an environment takes from an existing interpreter: all of its packages, by one .pth file.

A .pth file is read under `python -I` too, and its folders come after the environment's own: own versions win.
"""

from pathlib import Path

FILE = "_inherited.pth"
TIED = ("flashinfer-cubin", "flashinfer-jit-cache")  # FlashInfer refuses to start beside another version's


def link(site: Path, folders: list[str], hidden: list[str]) -> None:
    """Makes `folders` of the host visible from `site`, all but the distributions `hidden`.

    `addsitedir` rather than the bare path, for the host's .pth files (editable installs, nvidia-cutlass-dsl).
    Plain ASCII, since older Pythons read this file in the locale's encoding.
    """
    lines = [f"import sys; sys.modules[{name.replace('-', '_')!r}] = None" for name in hidden]
    lines += [f"import site; site.addsitedir({folder!a})" for folder in folders]
    (site / FILE).write_text("\n".join(lines) + "\n", encoding="ascii")


def mismatched(own: dict[str, str], host: dict[str, str]) -> list[str]:
    """The host's distributions that belong to another FlashInfer than the environment's own."""
    from packaging.version import Version

    version = own.get("flashinfer-python")
    if version is None:
        return []
    return [
        name for name in TIED if name in host and name not in own and Version(host[name]).public != version
    ]
