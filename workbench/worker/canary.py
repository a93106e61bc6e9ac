"""Proves in a fresh process that the GPU is sound: allocate, multiply, check. Exit code 0 means sound."""

import sys


def main():
    import torch

    a = torch.arange(1024 * 1024, device="cuda", dtype=torch.float32).remainder_(17).reshape(1024, 1024)
    product = (a @ torch.eye(1024, device="cuda")).sum(dtype=torch.float64)
    expected = a.double().sum()
    torch.cuda.synchronize()
    if float(product) != float(expected):
        sys.exit(f"the GPU multiplied wrongly: {float(product)} is not {float(expected)}")


if __name__ == "__main__":
    main()
