"""Runs Weft and the peers of a case alternately and combines the results of all rounds."""
import sys

from . import cases, inference, process, stats
from .tasks import TASKS
from .workspace import PEERS, found_pattern


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
    return process.run_json([place.environments.python(peer.environment), PEERS / peer.program, *place.peer_options(case, peer, seed), "--steps",
                             steps, "--warmup", case.warmup + peer.settling], place.environment(case))


KINDS = {"training": dict(weft=weft_training, peer=peer_training),
         **{kind: dict(weft=inference.weft, peer=inference.peer) for kind in inference.INFERENCE}}


def able(place, case, wanted):
    """The peers that can run here, and for each other one the reason."""
    table = cases.peers_of(case)
    reasons = {name: place.environments.why_absent(name) for name in {table[peer].environment for peer in wanted}}
    problems = {peer: f"{table[peer].title}: {reasons[table[peer].environment]}" for peer in wanted if reasons[table[peer].environment]}
    for problem in problems.values():
        say(f"skipped: {problem}")
    return [peer for peer in wanted if peer not in problems], problems


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
                problems[peer] = f"{table[peer].title}: {problem}"
                say(f"{name}: {peer} is not measured: {problem}")
    return {who: told for who, told in runs.items() if told and who not in problems}, problems


def versions(place, case, runs):
    """For each environment whose peers have run, the versions of all its packages."""
    used = {cases.peers_of(case)[peer].environment for peer in runs if peer != "weft"}
    return {name: place.environments.packages(name) for name in sorted(used)}


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
        for key in ("parameters", "ms_per_step_median", "product_share", "optimizer_share", "padding_share"):
            if key in told[0]:
                programs[who][key] = stats.median([run[key] for run in told])
        if "quality" in told[0]:
            programs[who]["quality"] = stats.medians([run["quality"] for run in told])
        if who != "weft":
            programs[who]["weft_times"] = stats.ratio([run["rate"] for run in ours], [run["rate"] for run in told])
            programs[who]["weft_memory"] = programs["weft"]["peak_mib"] / programs[who]["peak_mib"]
    problems = {**problems, **other_models(programs)}
    texts = found_pattern(case.texts["held_out" if case.kind in ("translating", "tokenizing") else "train"])
    every = [run for told in runs.values() for run in told]
    return dict(name=name, title=case.title, kind=case.kind, unit=cases.unit_of(case), precision=case.precision, texts=texts,
                batch=case.batch, length=case.length, threads=case.threads, environment=case.environment, rounds=len(ours), programs=programs,
                problems=problems, weft_medians=stats.medians(ours), others=max(run["others"] for run in every),
                withheld=max(run["withheld"] for run in every), runs=runs)
