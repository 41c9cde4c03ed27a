"""Prints the tables, and creates the JSON output."""

import os
import platform

from goals import Goal


def seconds(value):
    for unit, factor in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if value >= 0.1 * factor if unit == "s" else value >= factor:
            return f"{value / factor:.{3 if unit == 's' else 2}f} {unit}"
    return f"{value * 1e9:.1f} ns" if value > 0 else "0"


def ratio(value, base):
    return f"{value / base:.2f}" if value is not None and base else "-"


def shortened(text, width=90):
    return text if len(text) <= width else text[: width - 1] + "…"


def goals_of(measurement, measurements, counting):
    goals = [Goal(text, measurement, measurements) for text in measurement.variant.goals]
    return [goal for goal in goals if counting or not goal.text.startswith("instructions")]


def table(group, measurements, rounds, counting):
    """The table of a group; its ratios are relative to the first variant."""
    if not measurements:
        return f"{group.id}  {group.title}: no variant without rivals\n"
    first = measurements[0]
    if "memory" in group.metrics:
        header = ["variant", "memory"]
    else:
        header = ["variant", "CPU x", "min x", "wall x", "CPU", "user", "system", "wall"]
    header += ["instr."] if counting and group.instruction_sizes else []
    rows = []
    for measurement in measurements:
        goals = goals_of(measurement, measurements, counting)
        cells = [measurement.variant.name]
        if measurement.failure:
            cells += ["failed: " + shortened(measurement.failure)]
        elif "memory" in group.metrics:
            cells += [f"{measurement.median('memory'):,.0f} B"]
        else:
            cells += [
                ratio(measurement.median("cpu"), first.median("cpu")),
                ratio(measurement.least("cpu"), first.least("cpu")),
                ratio(measurement.median("wall"), first.median("wall")),
                *(seconds(measurement.median(metric)) for metric in ("cpu", "user", "system", "wall")),
            ]
        if "instr." in header and not measurement.failure:
            cells += [f"{measurement.instructions:,.0f}" if measurement.instructions is not None else "-"]
        rows.append((cells, goals))
    placement = {"split": "client and servers on separate CPUs", "shared": "all on one CPU", "free": "not pinned"}
    title = f"{group.id}  {group.title}: per {group.unit}, median of {rounds}, {placement[group.placement]}"
    return "\n".join([title, *lines(header, rows)]) + "\n"


def lines(header, rows):
    whole = [cells for cells, _ in rows if len(cells) == len(header)] + [header]
    widths = [max(len(cells[column]) for cells in whole) for column in range(len(header))]
    widths[0] = max(len(cells[0]) for cells, _ in rows + [(header, None)])
    goal_texts = [goal.text for _, goals in rows for goal in goals] + ["goal"]
    goal_width = max(map(len, goal_texts))

    def line(cells, goal=("", "", "")):
        left = "  ".join(cell.ljust(width) if column == 0 else cell.rjust(width)
                         for column, (cell, width) in enumerate(zip(cells, widths)))
        total = sum(widths) + 2 * (len(widths) - 1)
        return f"  {left.ljust(total)}  {goal[0].ljust(goal_width)}  {goal[1].rjust(7)}  {goal[2]}".rstrip()

    yield line(header, ("goal", "", ""))
    for cells, goals in rows:
        shown = [(goal.text, goal.shown, goal.verdict) for goal in goals] or [("", "", "")]
        yield line(cells, shown[0])
        for goal in shown[1:]:
            yield line([""] * len(header), goal)


def summary(results, counting):
    """The counts of goals, and one line per missed goal."""
    verdicts = [(group.id, measurement.variant.name, goal)
                for group, measurements in results for measurement in measurements
                for goal in goals_of(measurement, measurements, counting)]
    missed = [f"  {group} {name}: {goal.text}, is {goal.shown}" for group, name, goal in verdicts if goal.met is False]
    counts = [sum(goal.met is value for _, _, goal in verdicts) for value in (True, False, None)]
    return "\n".join([f"goals: {counts[0]} met, {counts[1]} missed, {counts[2]} not measured", *missed])


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 platform.machine())
    load = os.getloadavg()[0]
    return {"cpu": model, "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release(), "load": round(load, 2)}


def as_json(results, counting):
    return {
        "machine": machine(),
        "groups": [
            {
                "id": group.id, "title": group.title, "unit": group.unit,
                "variants": [
                    {
                        "name": measurement.variant.name, "failure": measurement.failure,
                        **{metric: measurement.median(metric) for metric in (*group.metrics, "instructions")},
                        "runs": measurement.runs,
                        "goals": [{"goal": goal.text, "value": goal.value, "met": goal.met}
                                  for goal in goals_of(measurement, measurements, counting)],
                    }
                    for measurement in measurements
                ],
            }
            for group, measurements in results
        ],
    }
