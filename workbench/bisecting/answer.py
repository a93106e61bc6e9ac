"""What an environment is asked to be: good, bad, or not to be told, as git's skip."""

from enum import StrEnum


class Answer(StrEnum):
    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "cannot tell"
