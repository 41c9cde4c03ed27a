"""Compares NetKit with the floors and with alternatives in one run, and prints ratios and goals."""

import argparse
import json
import resource
import shutil
import signal
import sys

import goals
import guard
import report
from groups import CFNETWORK, FLOORS, GROUPS, NO_LOSS, OURS, TLS_FLOORS
from measuring import count_instructions, measure
from peers import Peers, Unavailable
from programs import ROOT, Programs


def parse_arguments():
    parser = argparse.ArgumentParser(prog="Scripts/bench", description=__doc__)
    parser.add_argument("groups", metavar="GROUP", nargs="*", help="a row such as 1a, or 1 for all rows that begin with 1 (default: all)")
    parser.add_argument("--rounds", type=int, help="rounds of every group (default: the group's own)")
    parser.add_argument("--quick", action="store_true", help="small sizes and 3 rounds, to check that everything works")
    parser.add_argument("--instructions", action="store_true", help="also count user instructions (callgrind, slow)")
    parser.add_argument("--guard", action="store_true",
                        help="count only instructions and memory of the hot rows, and compare with Data/guard.json "
                             "(exit status 1 if a row is more than 2 %% worse)")
    parser.add_argument("--record", action="store_true", help="with --guard: record the figures instead")
    parser.add_argument("--json", metavar="FILE", help="write every measured value to this file")
    parser.add_argument("--list", action="store_true", help="print groups, variants and goals, and exit")
    parser.add_argument("--no-rivals", action="store_true", help="only the floors and NetKit (builds no dependency)")
    parser.add_argument("--no-build", action="store_true", help="use the programs without building them")
    return parser.parse_args()


def chosen(names):
    unknown = [name for name in names if not any(group.id.startswith(name) for group in GROUPS)]
    if unknown:
        raise SystemExit(f"bench: unknown group {unknown[0]}; known: {', '.join(group.id for group in GROUPS)}")
    return [group for group in GROUPS if not names or group.id.startswith(tuple(names))]


def list_groups(groups):
    for group in groups:
        print(f"{group.id}  {group.title}")
        for variant in group.variants:
            print(f"      {variant.name:32}{'; '.join(variant.goals)}".rstrip())


def end_on_signal(number, frame):
    print(f"\nbench: {signal.Signals(number).name}", file=sys.stderr)
    raise SystemExit(128 + number)


def main():
    arguments = parse_arguments()
    goals.check(GROUPS)
    groups = chosen(arguments.groups)
    if arguments.record and not arguments.guard:
        raise SystemExit("bench: --record requires --guard")
    if arguments.list:
        return list_groups(groups)
    if (arguments.instructions or arguments.guard) and not shutil.which("valgrind"):
        raise SystemExit("bench: valgrind is not installed (Scripts/bootstrap --bench)")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_on_signal)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # thousands of idle connections

    peers = Peers(lambda: programs.path("bench-peer"), ROOT / "Data")
    programs = Programs(peers.directory, build=not arguments.no_build)
    results = []
    try:
        if arguments.guard:
            return guard_rows(arguments, programs, peers)
        print(", ".join(f"{name} {value}" for name, value in report.machine().items()) + "\n")
        for group in groups:
            results.append((group, measure_group(group, arguments, programs, peers)))
    finally:
        peers.close()
    print(report.summary(results, arguments.instructions))
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(report.as_json(results, arguments.instructions), file, indent=1)
    return 1 if any(measurement.failure for _, measurements in results for measurement in measurements) else 0


def guard_rows(arguments, programs, peers):
    groups = guard.guarded(arguments.groups)
    if not groups:
        raise SystemExit(f"bench: no guarded row matches; known: {', '.join(guard.ROWS)}")
    path = ROOT / "Data" / "guard.json"
    measured = guard.figures(groups, programs, peers)
    if arguments.record:
        guard.record(path, measured)
        return 1 if None in measured.values() else 0
    return 1 if guard.verdict(path, measured) else 0


def measure_group(group, arguments, programs, peers):
    own = (FLOORS, TLS_FLOORS, OURS, NO_LOSS, CFNETWORK)
    variants = [variant for variant in group.variants if not arguments.no_rivals or variant.program in own]
    for program in ("bench-peer", *(variant.program for variant in variants)):
        try:
            programs.path(program)  # builds before the clock starts
        except Unavailable:
            pass  # every variant of it reports this
    rounds = arguments.rounds or (3 if arguments.quick else group.rounds)
    measurements = measure(group, variants, programs, peers, rounds, arguments.quick)
    if arguments.instructions and group.instruction_sizes:
        for measurement in measurements:
            if not measurement.failure:
                count_instructions(measurement, programs, peers)
    print(report.table(group, measurements, rounds, arguments.instructions), flush=True)
    return measurements


if __name__ == "__main__":
    sys.exit(main())
