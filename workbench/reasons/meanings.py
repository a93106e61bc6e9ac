"""What each reason means to a reader, and what to do about it: (meaning, advice) in plain words."""

from __future__ import annotations

from collections.abc import Mapping

MEANINGS: Mapping[str, tuple[str, str]] = {
    "ok": ("It ran and the answer is right.", "Nothing."),
    "slower": (
        "The answer is right; the second version takes longer.",
        "Look at the single shapes, eager and graph times: a longer host path is not a slower kernel.",
    ),
    "inconclusive": (
        "The difference cannot be told from noise or from the tuner's choice.",
        "Measure more processes, interleaved, with the same tactic; draw no conclusion until then.",
    ),
    "wrong_numbers": (
        "It ran, and the answer is off: not finite, all zeros, or too far from the reference.",
        "Do not use this version for this kernel. Check the quantisation step before the kernel too.",
    ),
    "undefined_value": (
        "A kernel read memory that nobody had written, or two threads raced for a value: the answer hangs on chance.",
        "Read the kernel at the place named. The tools are strict: some code does so on purpose.",
    ),
    "does_nothing": (
        "It was compiled, not run: a kernel of it has no instruction that writes anything.",
        "Called there it would end without an error and leave its outputs as they were: use another backend.",
    ),
    "measurement_invalid": (
        "The time cannot be true, or the two times were taken in different ways.",
        "Discard it; check timer, cache state, clocks and tactic, then measure again.",
    ),
    "unsupported_arch": (
        "The library has no such kernel for this GPU family.",
        "Use another backend on this GPU; a rebuild or a download does not help.",
    ),
    "no_kernel_for_config": (
        "The GPU is supported, this shape, type or activation is not.",
        "Try another shape or type, or a newer version; compare with the neighbouring cases.",
    ),
    "api_changed": (
        "The function is gone, moved, or takes other arguments in this version.",
        "Adapt the call. The signatures of both versions show which side changed.",
    ),
    "component_missing": (
        "The package that has the function is not installed in this environment.",
        "Add it to the environment if the kernel is wanted there.",
    ),
    "import_error": (
        "A package cannot be imported, so no kernel was reached.",
        "Read the first error of the import; check the Python version and the package's own needs.",
    ),
    "jit_compile_failure": (
        "The kernel could not be compiled or linked on this machine.",
        "Read the first compiler error: a missing header or library, or source too new for the compiler.",
    ),
    "version_skew": (
        "Packages, binaries or tools in the environment do not fit each other.",
        "Install matching versions, clear the cached binaries, run again; this says nothing of the kernel.",
    ),
    "graph_capture_failure": (
        "The call cannot be captured in a CUDA graph.",
        "Look for allocation, copies or synchronisation in the call; it may still be fine without a graph.",
    ),
    "no_kernel_image": (
        "The binary holds no code for this GPU, though the kernel may support it.",
        "Rebuild for this GPU or clear the cached binaries; check the architecture list of the build.",
    ),
    "resource_exhausted": (
        "The kernel wants more shared memory or registers than the GPU has per block.",
        "Use smaller tiles or fewer stages; freeing GPU memory does not help.",
    ),
    "bad_argument": (
        "The library refused the arguments, such as a workspace that is too small.",
        "Mend the call; this is no difference between versions unless the other one accepts it.",
    ),
    "channel_corrupted": (
        "What the worker reported could not be read.",
        "Run again; if it stays, look for a library that writes to the worker's channel.",
    ),
    "unknown": (
        "It failed with a text that fits no rule.",
        "Read the output of the attempt; report the text so that a rule can be added.",
    ),
    "illegal_memory_access": (
        "A kernel on the GPU touched memory that is not its own.",
        "The Python frame is no evidence. Repeat alone, with the memory checker, to find the kernel.",
    ),
    "misaligned_address": (
        "A kernel used an address that is not aligned for its access.",
        "Check strides and offsets of the inputs; repeat with the memory checker.",
    ),
    "illegal_instruction": (
        "The GPU met an instruction it cannot execute: mostly corruption or a race, not a wrong build.",
        "Repeat several times; after good iterations suspect a race.",
    ),
    "launch_failure": (
        "A kernel could not be launched, or failed on the GPU without naming a cause.",
        "Check the launch's shape; if the GPU shows errors of its own, take it out of use.",
    ),
    "segfault_abort": (
        "The process crashed on the host.",
        "Keep the result if it was complete before the crash; otherwise read the stack below the last call.",
    ),
    "exited_early": (
        "The worker was gone before its last stage and left no error.",
        "Run again; look for a library that ends the process.",
    ),
    "hang_timeout": (
        "It did not end in time and was stopped, or others waited in vain for it.",
        "Busy GPU: a spinning kernel. Busy compiler: raise the limit. Neither: a lock or a lost partner.",
    ),
    "oom": (
        "The GPU's memory ran out.",
        "Use a smaller case, or free the GPU; check what else runs on it.",
    ),
    "oom_host": (
        "The machine's memory ran out: a compiler or the process was killed.",
        "Compile with fewer jobs, or use a machine with more memory.",
    ),
    "not_built": (
        "The environment could not be made.",
        "Read the installer's last lines; the versions may not exist together.",
    ),
    "not_exercised": (
        "Another kernel ran in place of the wanted one.",
        "Do not read its time as the wanted kernel's; find out why it fell back.",
    ),
    "not_run": (
        "It was stopped from outside, never started, or had no GPU to run on.",
        "Run it again, where there is a GPU; nothing is known of it.",
    ),
    "node_lost": ("The cluster lost the node before it was done.", "Submit it again; what is stored stays."),
    "cancelled": ("Its job was cancelled before it was done.", "Submit it again; what is stored stays."),
    "time_limit": (
        "Its job reached the cluster's time limit.",
        "Submit it again, with a longer --time or smaller jobs; what is stored stays.",
    ),
    "refused": (
        "The cluster did not take the job: no such GPU, partition or feature.",
        "Mend the constraint map, or ask where that GPU is.",
    ),
    "missing_cubin": (
        "A kernel that the library downloads was not there and could not be fetched.",
        "Install the package with the kernels or allow the download, then run again.",
    ),
    "driver_mismatch": (
        "The driver does not fit the CUDA libraries.",
        "Check for a second libcuda, then update the driver or use a stack built for it.",
    ),
    "env_problem": (
        "The machine or the environment stopped it: no GPU, a full disk, a missing tool, a wrong path.",
        "Mend the machine and run again; this says nothing of the kernel.",
    ),
    "notebook_kernel_missing": (
        "The notebook's own kernel is not installed; no cell ran.",
        "Register it, or name one that exists.",
    ),
    "notebook_kernel_died": (
        "The process behind the notebook ended while cells were running.",
        "Look for a crash or for the machine's memory; run the measurement in a worker of its own.",
    ),
    "notebook_output_lost": (
        "The notebook ran, and its output is cut, incomplete or unreadable.",
        "Print less, keep results in files, and avoid values that JSON does not have.",
    ),
    "notebook_error_swallowed": (
        "A cell failed and the runner still reported success.",
        "Read the cell's output; treat the page as failed.",
    ),
    "notebook_bad_param": (
        "A parameter did not reach the notebook as the value that was meant.",
        "Check its type in the parameters cell; lists and numbers must not be passed as text.",
    ),
    "notebook_nondeterministic": (
        "Stored and new output differ in what changes from run to run.",
        "Leave such output out of the comparison, or make it repeatable.",
    ),
}
