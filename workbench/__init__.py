"""Times FlashInfer kernels across versions and GPU families, and shows where they break.

Read in this order: kernels/ (what is measured), environments (where), worker/ (how, inside an environment),
planning and runner (drive the workers), judge (what it means), results (what is kept), and then matrix,
figures and report (how it looks). Measuring and showing never import each other; they meet in results.
"""

from workbench.results import Outcome, Result, Results, Trial, load

__all__ = ["Outcome", "Result", "Results", "Trial", "load"]

__version__ = "0.1.0"
