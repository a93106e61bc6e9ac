"""Where NVIDIA's disassembler is: on the PATH, in its own wheel beside the workbench, else in Triton's."""

import shutil
import sysconfig
from functools import cache
from pathlib import Path

NAME = "cuobjdump"
INSTALL = "install the CUDA toolkit's, or: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm"
PLACES = (f"nvidia/cu*/bin/{NAME}", f"nvidia/cuda_cuobjdump/bin/{NAME}", f"triton/backends/nvidia/bin/{NAME}")


@cache
def find() -> str:
    """Its path; its bare name where there is none, and then whoever needs it says what to install.

    An older one does not know newer families: Triton 3.6's reads SM90, SM100 and SM120, and neither SM103 nor SM121.
    """
    site = Path(sysconfig.get_path("purelib"))
    found = (str(file) for place in PLACES for file in sorted(site.glob(place), reverse=True))
    return shutil.which(NAME) or next(found, NAME)
