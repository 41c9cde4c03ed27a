"""Runs one variant, or all variants of a group interleaved."""

import json
import os
import re
import signal
import subprocess
import sys
from statistics import median

from groups import GIB, MIB
from peers import Unavailable

CALLGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")


class Measurement:
    """The results of one variant over all rounds, per unit of its group."""

    def __init__(self, group, variant):
        self.group, self.variant = group, variant
        self.runs = []  # the output of the program
        self.failure = None
        self.instructions = None

    def per_unit(self, run, value):
        return value / (run["bytes"] / GIB if self.group.unit == "GiB" else run["operations"])

    def values(self, metric):
        parts = {"cpu": ("user", "system")}.get(metric, (metric,))
        return [self.per_unit(run, sum(run[part] for part in parts)) for run in self.runs]

    def median(self, metric):
        """The median; None if nothing was measured."""
        if metric == "instructions":
            return self.instructions
        return median(self.values(metric)) if self.runs else None

    def least(self, metric):
        return min(self.values(metric)) if self.runs else None


def measure(group, variants, programs, peers, rounds, quick):
    """Measures all variants in turn, A B C … C B A …, so that a slow minute of the machine affects all of them."""
    measurements = [Measurement(group, variant) for variant in variants]
    for number in range(rounds):
        for measurement in measurements if number % 2 == 0 else measurements[::-1]:
            if measurement.failure:
                continue
            show_progress(f"{group.id} round {number + 1} of {rounds}: {measurement.variant.name}")
            try:
                command = command_line(group, measurement.variant, programs.path, peers, quick=quick)
                measurement.runs.append(run(command, group.time_limit))
            except Unavailable as reason:
                measurement.failure = str(reason)
    show_progress("")
    return measurements


def command_line(group, variant, path, peers, quick=False, size=None, under=()):
    size = size or max(1, int((group.quick_size if quick else group.size) * variant.share))
    program = [*under, str(path(variant.program)), variant.row]
    return [*peers.client_prefix(group, variant), *program, *peers.arguments(variant, group, size)]


def run(command, time_limit, errors=None):
    # A separate process group, so that a program's children (lftp.py starts lftp) end with it.
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        output, error_output = process.communicate(timeout=time_limit)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"not finished after {time_limit} s") from None
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if errors is not None:
        errors.append(error_output)
    if process.returncode != 0:
        raise Unavailable((error_output.strip().splitlines() or [f"status {process.returncode}"])[-1])
    return json.loads(output)


def count_instructions(measurement, programs, peers, repetitions=1):
    """Counts user instructions per unit (per MiB for bulk data): the slope between two sizes, so that start-up cancels out.

    The number of reads of bulk data depends on the scheduler; the lowest count of several repetitions does not."""
    group, variant = measurement.group, measurement.variant
    show_progress(f"{group.id} instructions: {variant.name}")
    try:
        commands = [command_line(group, variant, programs.stripped, peers, size=size, under=CALLGRIND)
                    for size in group.instruction_sizes]
        counts = [min(collected(command, group.time_limit) for _ in range(repetitions)) for command in commands]
    except Unavailable as reason:
        print(f"{group.id} {variant.name}: no instruction count: {reason}", file=sys.stderr)
        return
    finally:
        show_progress("")
    small, large = group.instruction_sizes
    measurement.instructions = (counts[1] - counts[0]) / (large - small) * (MIB if group.unit == "GiB" else 1)


def collected(command, time_limit):
    errors = []
    run(command, time_limit, errors)
    found = re.search(r"Collected : (\d+)", errors[0])
    if not found:
        raise Unavailable("callgrind printed no count")
    return int(found.group(1))


def show_progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
