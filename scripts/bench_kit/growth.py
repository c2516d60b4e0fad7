"""Scaling of the cost of a step: sweeps of `weft bench` over one quantity each, with power laws fitted to the measurements."""
import dataclasses, pathlib

from . import cases, process, stats
from .rounds import say
from .workspace import found_texts

TOKENS = 8192   # per step, unless the sweep varies the batch


@dataclasses.dataclass(frozen=True)
class Sweep:
    title: str          # the varied quantity
    values: tuple
    settings: object    # value -> the config keys that differ
    note: str = ""      # what is kept constant
    measure: str = "ms_per_step"


def of_length(value):
    return {"data.length": value, "model.position.length": value, "data.pack": "stream"}


def of_width(value):
    return {"model.dim": value, "model.attention.heads": value // 64, "model.feed_forward.width": 4 * value}


SWEEPS = {
    "length": Sweep("tokens per sequence", (128, 256, 512, 1024, 2048, 4096, 8192), of_length, f"{TOKENS} tokens per step"),
    "width": Sweep("width", (128, 256, 512, 768), of_width, "head size 64"),
    "depth": Sweep("layers", (1, 2, 4, 8, 16), lambda value: {"model.layers": value}),
    "vocabulary": Sweep("vocabulary", (2048, 4096, 8192, 16384, 30000), lambda value: {"vocabulary": value}),
    "batch": Sweep("tokens per step", (1024, 2048, 4096, 8192, 16384), lambda value: {"train.batch_tokens": value}),
    "threads": Sweep("threads", (1, 2), lambda value: {"train.threads": value}),
    "corpus": Sweep("corpus, lines", (10000, 20000, 40000, 80000, 160000), lambda value: {"lines": value},
                    "time to build the token store; text repeated if necessary", "build_seconds"),
}
USUAL = "bert-mini-mlm-bf16"   # default case of the sweeps


def shortened(place, case, lines):
    """A file with the first lines of the corpus, repeated if it is too short."""
    path = pathlib.Path(place.folder) / f"first-{lines}.txt"
    kept = []
    for file in found_texts(case.texts["train"]):
        with open(file, encoding="utf-8") as text:
            kept += [line for line in text if line.strip()]
    repeated = kept * -(-lines // len(kept))
    path.write_text("".join(repeated[:lines]), encoding="utf-8")
    return path


def corpus_seconds(place, case, config, lines, overrides):
    """The wall time of `weft data build` with an empty cache, minus that with a complete cache."""
    path = shortened(place, case, lines)
    cache = place.folder / f"cache-{lines}"
    for file in cache.glob("*") if cache.exists() else ():
        file.unlink()
    command = [place.weft, "data", "build", config, "--set", f"data.train.0.path={path}", "--set", f"data.cache_dir={cache}", *overrides]
    cold, warm = process.run(command), process.run(command)
    return dict(x=lines, build_seconds=max(cold["seconds"] - warm["seconds"], 1e-3), peak_mib=cold["peak_mib"], others=cold["others"])


def step_cost(place, config, value, overrides, steps):
    told = process.run_json([place.weft, "bench", config, "--steps", steps, "--warmup", 2, *overrides])
    mean = 1e3 * told["tokens_per_step"] / told["real_tokens_per_s"]
    return dict(x=value, ms_per_step=mean, products_ms=told["matrix_products_ms"], real_tokens_per_s=told["real_tokens_per_s"],
                tokens_per_step=told["tokens_per_step"], peak_mib=told["peak_mib"], others=told["others"])


def point(place, case, sweep, value, steps):
    """Cost at one value of a sweep."""
    settings = {"train.batch_tokens": TOKENS, "train.batch_sequences": "null", **sweep.settings(value)}
    case = cases.variant(case, vocabulary=settings.pop("vocabulary", case.vocabulary))
    lines = settings.pop("lines", None)
    config = place.config(case, f"growth-{case.vocabulary}")
    overrides = [word for key, held in settings.items() for word in ("--set", f"{key}={held}")]
    if lines:
        return corpus_seconds(place, case, config, lines, overrides)
    return step_cost(place, config, value, overrides, steps)


def middle_of(found):
    """Medians over the rounds at one value."""
    return {key: stats.median([point[key] for point in found]) for key in found[0]}


def rounds_of(place, case, sweep, rounds, steps):
    """Every value once, then all of them again, so that other load affects all of them equally. Values that fail are skipped."""
    found = {value: [] for value in sweep.values}
    for _ in range(rounds):
        for value in list(found):
            try:
                told = point(place, case, sweep, value, steps)
            except process.Failed as problem:
                say(f"growth, {sweep.title} {value}: {problem}")
                del found[value]
                continue
            found[value].append(told)
            say(f"growth, {sweep.title} {value}: {told[sweep.measure]:,.1f} {'ms' if sweep.measure == 'ms_per_step' else 's'}")
    return [middle_of(told) for told in found.values()]


def measured(place, case, name, rounds, steps):
    """One sweep with its fit; None if fewer than two values succeed."""
    points = rounds_of(place, case, SWEEPS[name], rounds, steps)
    if len(points) < 2:
        return None
    return {**fitted(SWEEPS[name], points), "case": case.title, "precision": case.precision, "rounds": rounds}


def fitted(sweep, points):
    xs, ys = [found["x"] for found in points], [found[sweep.measure] for found in points]
    told = dict(title=sweep.title, note=sweep.note, measure=sweep.measure, points=points, fit=stats.fitted_power(xs, ys),
                ends=stats.end_powers(xs, ys))
    if "products_ms" in points[0]:
        told["products_fit"] = stats.fitted_power(xs, [found["products_ms"] for found in points])
    return told
