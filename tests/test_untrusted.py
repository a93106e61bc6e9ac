"""Texts from elsewhere: what a message says, without what differs from one time to the next."""

import pytest

from workbench.untrusted import normalised


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("worst row off by 0.374 (row 63, column 763 of 768: 54.0 for -15.44, 1 element as far off)",
         "worst row off by 0.0505 (row 4095, column 2 of 768: -33.0 for 27.4, 8 elements as far off)"),
        ("fault at 0x7f00 of 16957440 bytes", "fault at 0x7fff of 2211840 bytes"),
        ("in /home/one/lib/x.py", "in /opt/other/lib/x.py"),
    ],
)  # fmt: skip
def test_messages_that_differ_in_numbers_are_one(one, other):
    assert normalised(one) == normalised(other)


def test_messages_that_say_something_else_stay_apart():
    assert normalised("needs flashinfer 0.6.8") != normalised("needs flashinfer 0.6.11")
    assert normalised("4 bytes read, 1 byte after `w`") != normalised("4 bytes read, 1 byte after `x`")
    assert normalised("SM90 is not supported") != normalised("SM120 is not supported")
