"""The guard of the hot rows: compares their instructions and memory with the figures recorded in Data/guard.json.

Instruction counts do not depend on the load of the machine, so two commits can be compared at any time. They do depend on
the toolchain and the C libraries: after a change of these, record again on the commit before yours.
"""

import json

from groups import GROUPS
from measuring import Measurement, count_instructions, measure

ROWS = ("1a", "1b", "2a", "2b", "2d", "3a", "4a", "4b", "5a", "5b", "6a", "6b", "12f", "12f2", "12g", "12g2", "12h", "12i")
LIMIT = 1.02  # a row may exceed its record by 2 %
BULK_LIMIT = 1.10  # for bulk data, whose number of reads depends on the scheduler and varies by at least 5 %
REPETITIONS = 7  # for bulk data, of which the lowest count is used


def guarded(names):
    """The groups to count: all hot rows, or the named ones."""
    return [group for group in GROUPS if group.id in ROWS and (not names or group.id.startswith(tuple(names)))]


def figures(groups, programs, peers):
    """The figures by name, such as `4a ours, async: instructions a request`; None for a failed row."""
    result = {}
    for group in groups:
        for variant in (variant for variant in group.variants if variant.name.startswith("ours")):
            if "memory" in group.metrics:
                measurement = measure(group, [variant], programs, peers, group.rounds, quick=False)[0]
                name, value = f"{group.id} {variant.name}: bytes a {group.unit}", measurement.median("memory")
            else:
                measurement = Measurement(group, variant)
                programs.path(variant.program)
                count_instructions(measurement, programs, peers, REPETITIONS if group.unit == "GiB" else 1)
                unit = "MiB" if group.unit == "GiB" else group.unit
                name, value = f"{group.id} {variant.name}: instructions a {unit}", measurement.instructions
            result[name] = None if value is None else round(value)
            print(f"  {name:52} {'failed' if value is None else f'{value:,.0f}':>12}", flush=True)
    return result


def record(path, measured):
    """Writes the figures, and keeps those of rows that were not measured."""
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**known, **measured}, indent=1) + "\n")


def verdict(path, measured):
    """Prints each figure beside its record; returns the number of figures that exceed the limit or are missing."""
    known = json.loads(path.read_text())
    print(f"\n  {'row':52} {'recorded':>12} {'now':>12} {'ratio':>7}")
    worse = 0
    for name, value in measured.items():
        base = known.get(name)
        if value is None or not base:
            worse += 1
            print(f"  {name:52} {base or '-':>12} {'failed' if value is None else value:>12}          NOT COMPARED")
            continue
        ratio = value / base
        is_worse = ratio > (BULK_LIMIT if name.endswith("MiB") else LIMIT)
        worse += is_worse
        print(f"  {name:52} {base:>12,} {value:>12,} {ratio:7.3f}  {'WORSE' if is_worse else ''}".rstrip())
    print(f"\n  guard: {len(measured) - worse} of {len(measured)} figures within {LIMIT:.2f} x of the record"
          f" ({BULK_LIMIT:.2f} x for bulk data)")
    return worse
