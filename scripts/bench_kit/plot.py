"""SVG plots without any library, readable on light and dark backgrounds."""
import math
from xml.sax.saxutils import escape

STYLE = """
<style>
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .small { font-size: 10.5px; fill: #57606a } .head { font-weight: 600 }
  .bar { fill: #2f6fba } .dot { fill: #2f6fba } .line { stroke: #2f6fba } .other { stroke: #b0632a } .odot { fill: #b0632a }
  .axis { stroke: #8c959f } .whisker { stroke: #24292f }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 } .axis { stroke: #6e7681 } .whisker { stroke: #e6edf3 }
    .bar, .dot { fill: #5b9be6 } .line { stroke: #5b9be6 } .other { stroke: #e0965c } .odot { fill: #e0965c }
  }
</style>"""


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(str(words))}</text>'


def line(x1, y1, x2, y2, kind, more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}" {more}/>'


def drawing(width, height, title, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" height="{height:.0f}" '
            f'role="img" aria-label="{escape(title)}">{STYLE}\n' + "\n".join(parts) + "\n</svg>\n")


def bars(results):
    """Speedup of Weft in training relative to each peer: a bar for the ratio of medians, a whisker for the range of the rounds."""
    width, left, span, step = 760, 330, 330, 19
    found = [(case, told) for case in results["cases"].values() if case["kind"] == "training"
             for told in case["programs"].values() if "weft_times" in told]
    longest = max([told["weft_times"]["most"] for _, told in found] + [2.0])
    scale = span / longest
    parts, y, last = [text(8, 20, "Speedup of Weft relative to the peer", "head")], 34, None
    for case, told in found:
        if case["name"] != last:
            last, y = case["name"], y + 24
            parts.append(text(8, y - 4, f"{case['title']}, {case['precision']}", "head"))
        at, middle = told["weft_times"], y + step / 2
        parts += [text(left - 8, middle + 4, told["title"], "small", "end"), line(left, y, left, y + step, "axis"),
                  f'<rect x="{left}" y="{y + 3}" width="{at["median"] * scale:.1f}" height="{step - 6}" rx="2" class="bar"/>',
                  line(left + scale, y, left + scale, y + step, "axis", 'stroke-dasharray="2 3"'),
                  line(left + at["least"] * scale, middle, left + at["most"] * scale, middle, "whisker"),
                  text(left + max(at["most"], 1.0) * scale + 8, middle + 4, f"{at['median']:.1f}×")]
        y += step
    parts.append(text(left + scale, y + 16, "1×: equal speed", "small", "middle"))
    return drawing(width, y + 28, "Speedup of Weft relative to the peers", parts)


def ticks(low, high):
    """Round numbers within the range: powers of ten if there are enough, else also 2 and 5 times these, else the ends."""
    powers = [10.0 ** power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    for factors in ((1,), (1, 2, 5)):
        found = [factor * power for power in powers for factor in factors if low <= factor * power <= high]
        if len(found) >= 2:
            return found
    return [low, high]


def short(value):
    return f"{value / 1000:.3g}k" if value >= 10000 else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def log_axes(xs, ys, frame):
    """Range of the y axis with a margin, and the function from values to their place in the frame (left, top, width, height)."""
    x0, y0, width, height = frame
    low, high = min(ys) * 0.8, max(ys) * 1.25

    def place(x, y):
        across = math.log(x / xs[0]) / math.log(xs[-1] / xs[0])
        return x0 + across * width, y0 + height * (1 - math.log(y / low) / math.log(high / low))
    return low, high, place


def panel(told, x0, y0, width, height):
    """One sweep on logarithmic axes: measurements, the fitted power law, and the matrix products."""
    xs = [point["x"] for point in told["points"]]
    series = [(told["measure"], told["fit"], "dot", "line")]
    if "products_fit" in told:
        series.append(("products_ms", told["products_fit"], "odot", "other"))
    low, high, place = log_axes(xs, [point[key] for key, *_ in series for point in told["points"]], (x0, y0, width, height))
    unit = "ms per step" if told["measure"] == "ms_per_step" else "seconds"
    parts = [text(x0 - 34, y0 - 26, told["title"], "head"),
             text(x0 - 34, y0 - 11, f"{unit}; exponent {told['fit']['exponent']:.2f}", "small"),
             line(x0, y0 + height, x0 + width, y0 + height, "axis"), line(x0, y0, x0, y0 + height, "axis")]
    for value in ticks(low, high):
        parts.append(text(x0 - 5, place(xs[0], value)[1] + 4, short(value), "small", "end"))
    for value in (xs[0], xs[len(xs) // 2], xs[-1]) if len(xs) > 2 else xs:
        parts.append(text(place(value, low)[0], y0 + height + 15, short(value), "small", "middle"))
    for key, fit, dot, stroke in series:
        ends = [place(x, min(max(fit["factor"] * x ** fit["exponent"], low), high)) for x in (xs[0], xs[-1])]
        parts.append(line(*ends[0], *ends[1], stroke, 'stroke-width="1.5"'))
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="{dot}"/>' for x, y in (place(p["x"], p[key]) for p in told["points"])]
    return parts


def growth(results):
    """A panel for each sweep, three in a row."""
    wide, tall, columns = 250, 210, 3
    parts = [text(8, 18, "Scaling of the cost of a step: measured (blue), only matrix products (brown), fitted power laws", "head")]
    for at, told in enumerate(results["growth"].values()):
        parts += panel(told, 50 + wide * (at % columns), 76 + tall * (at // columns), 170, 110)
    rows = -(-len(results["growth"]) // columns)
    return drawing(760, 40 + tall * max(rows, 1), "Scaling of the cost of a step", parts)


def curves(title, lines):
    """Lines {name: [(x, y), ...]} on logarithmic axes, each named at its end."""
    x0, y0, width, height, colors = 60, 40, 520, 320, 8
    xs = sorted({x for points in lines.values() for x, _ in points})
    low, high, place = log_axes(xs, [y for points in lines.values() for _, y in points], (x0, y0, width, height))
    parts = [text(8, 20, title, "head"), line(x0, y0 + height, x0 + width, y0 + height, "axis"), line(x0, y0, x0, y0 + height, "axis")]
    parts += [text(x0 - 6, place(xs[0], value)[1] + 4, short(value), "small", "end") for value in ticks(low, high)]
    parts += [text(place(value, low)[0], y0 + height + 16, f"{value:,}", "small", "middle") for value in xs]
    last = -math.inf  # names do not overlap
    for at, (name, points) in enumerate(sorted(lines.items(), key=lambda item: -item[1][-1][1])):
        color = f"hsl({360 * at // colors} 55% 50%)"
        joined = " ".join("{:.1f},{:.1f}".format(*place(*point)) for point in points)
        x, y = place(*points[-1])
        last = max(y + 4, last + 14)
        parts += [f'<polyline points="{joined}" fill="none" stroke="{color}" stroke-width="2"/>',
                  line(x + 3, y, x + 14, last - 4, "axis"), text(x + 18, last, name)]
    return drawing(760, y0 + height + 30, title, parts)
