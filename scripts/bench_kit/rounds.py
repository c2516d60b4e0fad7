"""Runs Weft and the peers of a case alternately and combines the results of all rounds."""
import json, sys

from . import cases, process, stats
from .tasks import TASKS
from .workspace import PEERS, found_pattern, found_texts

FEW = 64   # texts of the run that measures the start-up time of `weft predict`


def say(line):
    print(f"[bench] {line}", file=sys.stderr, flush=True)


def weft_training(place, case, name, steps, seed):
    config = place.config(case, f"{name}-weft", seed)
    told = process.run_json([place.weft, "bench", config, "--steps", steps, "--warmup", case.warmup], place.environment(case))
    steps_per_s = told["real_tokens_per_s"] / told["tokens_per_step"]
    counted = told["sequences_per_step"] if TASKS[case.task].is_of_images else told["tokens_per_step"]
    return {**told, "rate": counted * steps_per_s, "product_share": told["matrix_products_ms"] * steps_per_s / 1e3,
            "optimizer_share": told["optimizer_ms"] / told["ms_per_step_median"]}


def peer_training(place, case, peer, name, steps, seed):
    return process.run_json([place.python, PEERS / "train.py", *place.peer_options(case, peer, seed), "--steps", steps, "--warmup",
                             case.warmup + peer.settling], place.environment(case))


def prediction_model(place, case, name):
    """A briefly trained classifier, so that its predictions differ; its texts, and a few of them."""
    model, texts = place.folder / f"{name}-model", place.folder / f"{name}.jsonl"
    if not (model / "last").exists():
        config = place.config(case, f"{name}-model", duration="150 steps", save_every="150 steps",
                              optimizer=dict(type="adamw", lr=3e-4, weight_decay=0.01))
        process.run([place.weft, "train", config, "--resume", "never"])
    rows = []
    for file in found_texts(case.texts["train"]):
        with open(file, encoding="utf-8") as lines:
            column = next(lines).rstrip("\n").split("\t").index("text")
            rows += [json.dumps(dict(text=line.rstrip("\n").split("\t")[column])) + "\n" for line in lines]
    texts.write_text("".join(rows))
    few = texts.with_suffix(".few.jsonl")
    few.write_text("".join(rows[:FEW]))
    return model / "last", texts, few, len(rows)


def weft_prediction(place, case, name, steps, seed):
    """The time of all texts minus that of a few, to exclude start-up and loading as for the peers."""
    model, texts, few, count = prediction_model(place, case, name)

    def once(file):
        return process.run([place.weft, "predict", model, "--input", file, "--output", place.folder / f"{name}-weft.jsonl",
                            "--precision", case.precision],
                           place.environment(case))
    start, whole = once(few), once(texts)
    rate = (count - FEW) / max(whole["seconds"] - start["seconds"], 1e-9)
    return dict(rate=rate, sequences=count, start_seconds=start["seconds"],
                **{key: whole[key] for key in ("seconds", "peak_mib", "others", "withheld")})


def agreement(ours, theirs):
    """Fraction of the texts for which both predict the same class."""
    with open(ours, encoding="utf-8") as a, open(theirs, encoding="utf-8") as b:
        pairs = [(json.loads(x)["label"], json.loads(y)["label"]) for x, y in zip(a, b)]
    return sum(x == y for x, y in pairs) / len(pairs)


def peer_prediction(place, case, peer, name, steps, seed):
    model, texts, _, _ = prediction_model(place, case, name)
    output = place.folder / f"{name}-peer.jsonl"
    told = process.run_json([place.python, PEERS / "predict.py", model, "--input", texts, "--output", output, "--precision", case.precision,
                             "--length", case.length, *peer.options], place.environment(case))
    return {**told, "rate": told["sequences_per_s"], "same_class": agreement(place.folder / f"{name}-weft.jsonl", output)}


KINDS = {"training": dict(weft=weft_training, peer=peer_training), "predicting": dict(weft=weft_prediction, peer=peer_prediction)}


def run_rounds(place, case, name, wanted, pairs, steps):
    """All runs: Weft, the first peer, the second, ..., then Weft again. A peer that fails once is skipped afterwards."""
    kind, table, unit = KINDS[case.kind], cases.peers_of(case), cases.unit_of(case)
    runs, problems = {"weft": [], **{peer: [] for peer in wanted}}, {}
    for at in range(1, pairs + 1):
        runs["weft"].append(kind["weft"](place, case, name, steps, at))
        say(f"{name} {at}/{pairs} weft: {runs['weft'][-1]['rate']:,.0f} {unit}")
        for peer in [peer for peer in wanted if peer not in problems]:
            try:
                runs[peer].append(kind["peer"](place, case, table[peer], name, steps, at))
                say(f"{name} {at}/{pairs} {peer}: {runs[peer][-1]['rate']:,.0f} {unit}")
            except process.Failed as problem:
                problems[peer] = str(problem)
                say(f"{name}: {peer} does not run on this machine: {problem}")
    return {who: told for who, told in runs.items() if told and who not in problems}, problems


def other_models(programs):
    """A line for each peer whose model size differs from Weft's: not a fair comparison. Weft also counts parameters that are not trained."""
    ours = programs["weft"].get("parameters")
    return {f"{who} parameters": f"unequal models: {told['title']} has {told['parameters']:,.0f} parameters, Weft {ours:,.0f}"
            for who, told in programs.items() if ours and abs(told["parameters"] - ours) > 2e-3 * ours}


def summary(case, name, runs, problems):
    """Results of a case: the spread of the rounds of each program, and the speedup of Weft."""
    table, ours = cases.peers_of(case), runs["weft"]
    programs = {}
    for who, told in runs.items():
        programs[who] = dict(title="Weft" if who == "weft" else table[who].title, rate=stats.spread([run["rate"] for run in told]),
                             peak_mib=stats.median([run["peak_mib"] for run in told]))
        for key in ("parameters", "ms_per_step_median", "product_share", "optimizer_share", "padding_share", "same_class"):
            if key in told[0]:
                programs[who][key] = stats.median([run[key] for run in told])
        if who != "weft":
            programs[who]["weft_times"] = stats.ratio([run["rate"] for run in ours], [run["rate"] for run in told])
            programs[who]["weft_memory"] = programs["weft"]["peak_mib"] / programs[who]["peak_mib"]
    problems = {**problems, **other_models(programs)}
    texts = found_pattern(case.texts["train"])
    every = [run for told in runs.values() for run in told]
    return dict(name=name, title=case.title, kind=case.kind, unit=cases.unit_of(case), precision=case.precision, texts=texts,
                batch=case.batch, length=case.length, environment=case.environment, rounds=len(ours), programs=programs,
                problems=problems, weft_medians=stats.medians(ours), others=max(run["others"] for run in every),
                withheld=max(run["withheld"] for run in every), runs=runs)
