"""Two digests of machine code are equal where the instructions are, and nowhere else."""

from pathlib import Path

import pytest

from benchmarks import same_code
from workbench.campaign.same_code import load

ROOT = Path(__file__).parents[1]

CODE = """
Fatbin elf code:
================
arch = sm_90a
compressed

\tcode for sm_90
\t\tFunction : {first}
\t.headerflags\t@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;           /* 0x00000a00ff017b82 */
                                                                    /* {control} */
        /*0010*/                   {instruction} ;                  /* 0x000000000000794d */
                                                                    /* 0x000fea0003800000 */
\t\tFunction : second
        /*0000*/                   EXIT ;                           /* 0x000000000000794d */
"""


def digest(text: str = CODE, **facts: str) -> str:
    known = {"first": "kernel_INTERNAL_0a1b2c", "instruction": "EXIT", "control": "0x000fe40000000800"}
    for name, value in (known | facts).items():
        text = text.replace("{" + name + "}", value)
    return str(same_code._digest(same_code._plain(text)))


def test_what_is_no_instruction_does_not_count():
    assert digest() == digest(CODE.replace("compressed\n", "").replace("EF_CUDA_SM90", "another"))
    assert digest() == digest(first="kernel_INTERNAL_ffff"), "a hash of a path, in the names of what is local"
    head, first, second = CODE.partition("\t\tFunction : second")
    title, _, body = head.partition("\t\tFunction : {first}")
    assert digest() == digest(title + first + second + "\t\tFunction : {first}" + body), "in another order"


@pytest.mark.parametrize(
    "change", [{"instruction": "RET"}, {"control": "0x000fe40000000801"}, {"first": "other"}]
)
def test_every_instruction_and_its_control_word_count(change):
    assert digest() != digest(**change)


def test_the_committed_digests_are_of_what_was_run():
    groups = load(ROOT / "results" / "same_code.json")
    (attention,) = [each for each in groups if each.where.get("page") == 32 and each.where["head_dim"] == 128]
    assert len(attention.versions) == 9
    assert attention.versions["0.6.8.post1"] == attention.versions["0.6.11.post1"]
    assert attention.versions["0.6.18.post1"] != attention.versions["0.6.11.post1"]
