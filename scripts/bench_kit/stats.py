"""Statistics of the benchmark: medians, ratios of rounds, fitted power laws."""
import math
from statistics import mean, median, stdev


def sample_std(values):
    """Sample standard deviation; None for a single value."""
    return stdev(values) if len(values) > 1 else None


def spread(values):
    """Median, minimum and maximum."""
    return dict(median=median(values), least=min(values), most=max(values), all=list(values))


def ratio(ours, theirs):
    """Ratio of the medians of `ours` and `theirs`, with the smallest and largest ratio of a single round, whose two runs
    were made one after the other and under similar load."""
    rounds = [a / b for a, b in zip(ours, theirs)]
    return dict(median=median(ours) / median(theirs), least=min(rounds), most=max(rounds), all=rounds)


def medians(objects):
    """The median of each number in objects of the same structure, at any depth; other values are omitted."""
    told = {}
    for key, value in objects[0].items():
        values = [each[key] for each in objects if key in each]
        if isinstance(value, dict):
            told[key] = medians(values)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            told[key] = median(values)
    return told


def fitted_power(xs, ys):
    """The exponent p and the factor c of y = c x^p, by least squares on the logarithms; r2 measures the quality of the fit."""
    us, vs = [math.log(x) for x in xs], [math.log(y) for y in ys]
    centre_u, centre_v = mean(us), mean(vs)
    across = sum((u - centre_u) ** 2 for u in us)
    slope = sum((u - centre_u) * (v - centre_v) for u, v in zip(us, vs)) / across
    offset = centre_v - slope * centre_u
    left = sum((v - offset - slope * u) ** 2 for u, v in zip(us, vs))
    total = sum((v - centre_v) ** 2 for v in vs)
    return dict(exponent=slope, factor=math.exp(offset), r2=1 - left / total if total > 0 else 1.0)


def end_powers(xs, ys):
    """The exponents between the first two and between the last two points; different values mean that it is not a power law."""
    def between(i, j):
        return math.log(ys[j] / ys[i]) / math.log(xs[j] / xs[i])
    return dict(first=between(0, 1), last=between(-2, -1))
