"""Arithmetic of the benchmark: medians, ratios of rounds, fitted powers."""
import math
from statistics import mean, median, stdev


def sample_std(values):
    """Standard deviation of a sample; nothing is known from one value."""
    return stdev(values) if len(values) > 1 else None


def spread(values):
    """Median with the least and the greatest."""
    return dict(median=median(values), least=min(values), most=max(values), all=list(values))


def ratio(ours, theirs):
    """How many times `theirs` is `ours`: the ratio of the medians, with the least and greatest ratio of one round, whose two runs
    followed each other and so saw the machine alike."""
    rounds = [a / b for a, b in zip(ours, theirs)]
    return dict(median=median(ours) / median(theirs), least=min(rounds), most=max(rounds), all=rounds)


def medians(objects):
    """The median of each number of objects that are alike, at any depth; what is no number is left out."""
    told = {}
    for key, value in objects[0].items():
        values = [each[key] for each in objects if key in each]
        if isinstance(value, dict):
            told[key] = medians(values)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            told[key] = median(values)
    return told


def fitted_power(xs, ys):
    """The exponent p and the factor c of y = c x^p, by least squares on the logarithms; r2 says how straight the line is."""
    us, vs = [math.log(x) for x in xs], [math.log(y) for y in ys]
    centre_u, centre_v = mean(us), mean(vs)
    across = sum((u - centre_u) ** 2 for u in us)
    slope = sum((u - centre_u) * (v - centre_v) for u, v in zip(us, vs)) / across
    offset = centre_v - slope * centre_u
    left = sum((v - offset - slope * u) ** 2 for u, v in zip(us, vs))
    total = sum((v - centre_v) ** 2 for v in vs)
    return dict(exponent=slope, factor=math.exp(offset), r2=1 - left / total if total > 0 else 1.0)


def end_powers(xs, ys):
    """The exponents between the first two and between the last two points: where they differ, the line bends."""
    def between(i, j):
        return math.log(ys[j] / ys[i]) / math.log(xs[j] / xs[i])
    return dict(first=between(0, 1), last=between(-2, -1))
