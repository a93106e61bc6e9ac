"""Our stopwatch and five others on calls of known length: a kernel that spins by the GPU's own clock, and real calls.

    python benchmarks/truth.py FOLDER_OF_PACKAGES > truth.json       # FlashInfer, triton_kernels and cuda-bench in it

Needs a GPU, nvcc, torch and triton. One sitting, one process for each outside tool that wants its own.
"""

import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LENGTHS_US = (3, 10, 30, 100, 300, 1000, 5000)
SPIN = r"""
extern "C" __global__ void spin(unsigned long long ns, unsigned long long* took) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); } while (now - begin < ns);
  *took = now - begin;
}
extern "C" void run(unsigned long long ns, unsigned long long* took, cudaStream_t stream) {
  spin<<<1, 1, 0, stream>>>(ns, took);
}
"""


def spins():
    """Length -> (call, its last length by the GPU's own clock, in microseconds)."""
    import torch

    folder = Path(tempfile.mkdtemp())
    (folder / "spin.cu").write_text(SPIN)
    command = ["nvcc", "-O2", "-arch=sm_90", "-shared", "-Xcompiler", "-fPIC", "-o", folder / "spin.so"]
    subprocess.run([*command, folder / "spin.cu"], check=True)
    library = ctypes.CDLL(str(folder / "spin.so"))
    took = torch.zeros(1, dtype=torch.int64, device="cuda")

    def call(ns):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        library.run(ctypes.c_ulonglong(ns), ctypes.c_void_p(took.data_ptr()), stream)

    return {f"spin {us} us": (lambda us=us: call(us * 1000)) for us in LENGTHS_US}, lambda: took.item() / 1e3


def real():
    """Calls as they are measured, by name."""
    import torch

    from workbench.kernels import mxfp4_swiglu, trtllm_attention

    a = torch.randn(4096, 4096, device="cuda").bfloat16()
    big, small = torch.empty(2**28, device="cuda", dtype=torch.int8), torch.randn(2**21, device="cuda")
    other, out, total = torch.empty_like(big), torch.empty_like(a), torch.empty_like(small)
    found = {
        "matmul 4096 bf16": lambda: torch.mm(a, a, out=out),
        "copy 256 MiB": lambda: other.copy_(big),
        "add 8 MiB": lambda: torch.add(small, small, out=total),
    }
    for kernel, cases in (
        (mxfp4_swiglu, ({"tokens": 16}, {"tokens": 1024})),
        (trtllm_attention, ({"batch": 64},)),
    ):
        module, _, name = kernel.API.rpartition(".")
        function = getattr(__import__(module, fromlist=[name]), name)
        for wanted in cases:
            case = next(case for case in kernel.CASES if wanted.items() <= case.items())
            call = kernel.prepare(function, kernel.inputs(**case))
            found[f"{kernel.__name__.rpartition('.')[2]} {wanted}"] = call
    return found


def ours(call):
    from workbench.worker import stopwatch

    facts = stopwatch.measure(call, "cuda", "default")
    named = {"ours": "median_us", "ours: events": "events_median_us", "ours: busy": "busy_median_us"}
    found = {name: facts[key] for name, key in named.items()}
    return {**found, "timer": facts["timer"], "noise": facts["noise"], "taken": facts["taken"]}


def others(call):
    from triton.testing import do_bench, do_bench_cudagraph

    found = {"triton do_bench": do_bench(call, return_mode="median") * 1e3}
    try:
        import torch

        with torch.cuda.stream(torch.cuda.Stream()):
            found["triton do_bench_cudagraph"] = do_bench_cudagraph(call, return_mode="median") * 1e3
    except Exception as problem:
        found["triton do_bench_cudagraph"] = str(problem)[:80]
    try:
        from flashinfer.testing import bench_gpu_time

        found["flashinfer bench_gpu_time"] = statistics.median(bench_gpu_time(call)) * 1e3
    except Exception as problem:
        found["flashinfer bench_gpu_time"] = str(problem)[:80]
    return found


def nvbench(calls, file):
    import torch
    from cuda import bench

    for name, call in calls.items():

        def run(state, call=call):
            def launch(launched):
                with torch.cuda.stream(torch.cuda.ExternalStream(launched.get_stream().addressof())):
                    call()

            state.exec(launch)

        bench.register(run).set_name(name)
    bench.run_all_benchmarks(["truth", "--json", file, "--timeout", "2"])


def main(packages, do="all", file=""):
    sys.path[:0] = [packages, str(Path(__file__).parent.parent)]
    spinning, took = spins()
    if do == "ncu":
        for call in spinning.values():
            call()
        return
    calls = {**spinning, **real()}
    if do == "nvbench":
        return nvbench(calls, file)
    rows = []
    for name, call in calls.items():
        row = {"call": name, **ours(call), **others(call)}
        if name in spinning:
            row["by the GPU's clock"] = took()
        rows.append(row)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
