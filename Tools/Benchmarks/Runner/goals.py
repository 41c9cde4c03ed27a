"""Goals such as `cpu <= 1.02 x C read`."""

import re

PATTERN = re.compile(r"(cpu|wall|memory|instructions) <= ([0-9.]+)(?: (ns)| x (.+))?")


class Goal:
    """A goal, its measured value, and whether the value meets it (None: not measured in this run)."""

    def __init__(self, text, measurement, measurements):
        match = PATTERN.fullmatch(text)
        if not match:
            raise ValueError(f"not a goal: {text}")
        self.text = text
        metric, limit, anchor = match[1], float(match[2]), match[4]
        value = measurement.median(metric)
        if anchor:
            base = {other.variant.name: other for other in measurements}.get(anchor)
            base = base.median(metric) if base else None
            value = value / base if value is not None and base else None
        self.value = value
        if match[3] and value is not None:
            value *= 1e9
        # A ratio is compared as printed: with two decimals, or three below 0.1.
        digits = 0 if not anchor else 2 if limit >= 0.1 else 3
        self.met = None if value is None else round(value, digits) <= limit
        self.shown = "" if value is None else f"{value:.{digits}f}"

    @property
    def verdict(self):
        return {None: "not measured", True: "met", False: "MISSED"}[self.met]


def check(groups):
    """Rejects a goal that names an unknown variant, which would otherwise count as 'not measured'."""
    for group in groups:
        names = {variant.name for variant in group.variants}
        for variant in group.variants:
            for text in variant.goals:
                match = PATTERN.fullmatch(text)
                if not match or (match[4] and match[4] not in names):
                    raise SystemExit(f"bench: {group.id}: bad goal '{text}'")
