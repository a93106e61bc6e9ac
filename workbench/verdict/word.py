"""What became of one trial, in one word."""

from enum import StrEnum


class Word(StrEnum):
    BROKEN = "broken"  # newly crashed, hung, wrong, implausible, failed, unsupported or missing
    SLOWER = "slower"
    NOT_KNOWN = "not known"  # nothing was run on a side, or what was run says nothing of the kernel
    UNDECIDED = "undecided"  # right on both sides, and whether it is slower cannot be told
    CHANGED = "changed fault"
    UNCHANGED = "unchanged fault"
    MENDED = "mended"
    FASTER = "faster"
    NOT_SLOWER = "not slower"  # the interval holds no slowdown that matters; it may hold a gain
    SAME = "same"
    UNTIMED = "right, time not judged"  # the time holds the host's work; another mode shows the device's


AGAINST = (Word.BROKEN, Word.SLOWER)
OPEN = (Word.NOT_KNOWN, Word.UNDECIDED)
PASSED = (Word.MENDED, Word.FASTER, Word.NOT_SLOWER, Word.SAME, Word.UNTIMED)
