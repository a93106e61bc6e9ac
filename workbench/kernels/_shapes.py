"""Shapes of real models, and the ladders of sizes that the kernels are measured at."""

TOKENS = (1, 16, 128, 1024, 8192)

# gpt-oss, from the published model configuration: hidden and intermediate size 2880, four experts a token.
GPT_OSS_EXPERTS = {"20b": 32, "120b": 128}
GPT_OSS_HIDDEN = 2880
GPT_OSS_INTERMEDIATE = 2880
GPT_OSS_TOP_K = 4
GPT_OSS_ALPHA = 1.702
GPT_OSS_LIMIT = 7.0
# Four-way tensor parallel: 2880 / 4 = 720, padded to 768 by the callers; gate and up together are twice that.
GPT_OSS_TP4_COLUMNS = 2 * 768

DEEPSEEK_HIDDEN = 7168

# A small mixture in the manner of DeepSeek: many narrow experts.
NARROW = {"experts": 64, "hidden": 2048, "intermediate": 1408, "top_k": 6}


def up_to(tokens: int, multiple: int) -> int:
    """The next multiple, as padded layouts need it."""
    return -(-tokens // multiple) * multiple


def gpt_oss_slice(ranks: int) -> int:
    """The intermediate columns of each rank, padded as callers do: 1472 of 2 ranks, 768 of 4, 384 of 8."""
    return up_to(GPT_OSS_INTERMEDIATE // ranks, 64)
