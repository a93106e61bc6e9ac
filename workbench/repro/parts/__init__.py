"""What a repro file is put together from, beside the kernel's own file: one attempt, and how it is told.

These are real modules, so that linters and tests see them; `script.py` takes from them by name what a trial
needs. Python 3.10 syntax, torch inside functions (in the file it stands on top).
"""
