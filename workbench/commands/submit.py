"""Hand a plan to a cluster: a job a GPU family and group of kernels, all environments in each."""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from workbench.commands import run as command
from workbench.commands._shared import FINE, TOO_LITTLE, UNUSABLE, aside

USAGE = "workbench submit --cluster slurm|local (--plan FILE | options of `workbench run`) [--families SM [SM ...]]"
EXAMPLES = """examples:
  workbench submit --cluster slurm --families SM90 SM100 --kernel fp4_quantize --environment flashinfer==0.6.11.post1
  workbench submit --cluster slurm --constraint-map site.toml --environment sglang==0.5.11 --environment sglang==0.5.12
  workbench submit --cluster slurm --plan plan.json --constraint-map site.toml --partition gpus
  workbench submit --cluster slurm --bundle plan.zip --families SM90      # nodes without a network
  workbench submit --cluster local --kernel mxfp4_swiglu --environment flashinfer==0.6.11.post1 --wait

site.toml says what the engine must be asked for, a table a family; other keys are options of sbatch:
  [SM90]
  constraint = "h100|h200"
  gres = "gpu:1"
  arch = "9.0a"                      # modules are compiled ahead for it
  [cpu]                              # preparing environments, and the pages
  partition = "small"

all options of `workbench run` are options of the plan; a plan file is such options as a JSON object. Before a
family's jobs, one without a GPU builds the environments and, where nvcc is there, the modules that FlashInfer would
compile on the node; CUTLASS MoE, which takes hours, only with --build. Its log is in RESULTS/cluster/ID/log.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    command.arguments(parser)
    add = parser.add_argument
    add("--cluster", choices=("slurm", "local"), required=True, help="local: one job after another, here")
    add(
        "--families", nargs="+", default=[], metavar="SM", help="such as SM90 SM100 (default: all of the map)"
    )
    add("--constraint-map", metavar="FILE", help="how to ask for each family, a TOML file")
    add("--partition", help="for all jobs that need a GPU")
    add("--time", type=int, metavar="MINUTES", help="the limit of a job (default: 240)")
    add("--trials-per-job", type=int, metavar="N", help="a larger plan is split by kernel (default: 500)")
    add("--no-requeue", action="store_true", help="a lost node ends the job; else it waits for another")
    add("--site", default="site", metavar="DIR", help="where the last job writes the pages (default: site)")
    add("--notebooks", default="notebooks", metavar="DIR")
    add("--no-pages", action="store_true", help="no last job")
    add("--wait", action="store_true", help="until all has ended, the pages too; then as `workbench collect`")


def run(options: argparse.Namespace) -> int:
    """3 where a family is refused; with --wait as `workbench status`."""
    from workbench import cluster
    from workbench.cluster.places import cpu_place
    from workbench.cluster.submission import new_id

    options = command.asked(options)
    places = _places(options)
    submission = _submission(options, places, new_id(Path(options.results)))
    if options.dry_run:
        return _show(submission, places, options.json)
    cpu = cpu_place(options.constraint_map)
    said = aside if options.json else print
    cluster.submit(submission, places, cpu, index=options.gpu, requeue=not options.no_requeue, say=said)
    if options.wait:
        return _wait(submission, options.json)
    facts = {"submission": submission.id, "jobs": submission.jobs, "refused": submission.refused}
    print(json.dumps(facts, indent=1) if options.json else _says(submission))
    if not submission.families:
        return UNUSABLE
    return TOO_LITTLE if submission.refused else FINE


def _places(options: argparse.Namespace) -> list[Any]:
    from workbench import cluster, gpus

    families = options.families
    if options.cluster == "local" and not families and not options.constraint_map:
        gpu = gpus.here(options.gpu)
        families = [
            gpu.family if gpu else "SM90"
        ]  # where there is no GPU, it is told of which there might be
    return cluster.read_places(
        options.constraint_map, families, partition=options.partition, time=options.time
    )


def _submission(options: argparse.Namespace, places: list[Any], name: str) -> Any:
    from workbench import cluster
    from workbench.cluster.blocks import MOST_TRIALS

    if options.sm:
        raise ValueError("--sm compiles for a family and needs no GPU: `workbench run --sm` does it here")
    defaults = command.defaults_of_run()
    asked = {each: value for each, value in vars(options).items() if each in defaults}
    command._options(options)  # a mistake is told now, and not by a job
    if (options.trials_per_job or 1) < 1:
        raise ValueError("--trials-per-job is a number of trials, at least 1")
    kernels, environments = command._kernels(options), command._environments(options)
    most = options.trials_per_job or MOST_TRIALS
    anew = name if options.again or options.interleave else ""
    found = cluster.blocks(asked, kernels, environments, places, most, anew)
    if not found:
        raise ValueError("nothing to run: kernels that run on the CPU have the mode eager alone")
    results, site = Path(options.results).absolute(), "" if options.no_pages else options.site
    return cluster.Submission(name, results, options.cluster, found, site=site, notebooks=options.notebooks)


def _show(submission: Any, places: list[Any], as_json: bool) -> int:
    asked = {place.family: dict(place.asked) for place in places}
    rows = [
        {
            "block": block.name,
            "family": block.family,
            "trials": len(block.trials),
            "asks": asked[block.family],
        }
        for block in submission.blocks
    ]
    if as_json:
        print(json.dumps(rows, indent=1))
        return FINE
    for row in rows:
        asks = " ".join(f"--{name}={value}" for name, value in row["asks"].items())
        print(f"{row['block']}  {row['trials']} trials  {asks}")
    return FINE


def _says(submission: Any) -> str:
    from workbench.cluster.submission import PAGES

    count = sum(block.name not in submission.refused for block in submission.blocks)
    made = submission.site and PAGES not in submission.refused
    pages = f", then pages in {submission.site}" if made else ""
    return f"submission {submission.id}: {count} blocks{pages}; see `workbench status {submission.id}`"


def _wait(submission: Any, as_json: bool) -> int:
    from workbench import cluster
    from workbench.commands._submission import exit_code, facts, text

    states, pages = cluster.states(submission), cluster.pages(submission)
    while any(state.under_way for state in (*states.values(), pages) if state):
        time.sleep(0.3 if submission.engine == "local" else 5)
        states, pages = cluster.states(submission), cluster.pages(submission)
    cluster.unfinished(submission, states)
    rows = facts(submission, states)
    print(json.dumps(rows, indent=1) if as_json else text(submission, rows))
    return exit_code(rows)
