"""The commands: one file each, found by being in this folder. A name with `_` in front is shared by several."""
