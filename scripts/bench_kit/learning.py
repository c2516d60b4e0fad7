"""Equal training: Weft and a peer train on the same number of tokens with the same schedule and several seeds, and `weft evaluate` evaluates
both on the same held-out texts (for masked language models with the same masks). Optimizer and schedule are the same."""
import json, shutil

from . import cases, process, stats
from .rounds import say
from .workspace import PEERS, found_items


def evaluated(place, case, folder):
    files = [word for item in found_items(case, "held_out") for word in ("--data", json.dumps(item))]
    return json.loads(process.run([place.weft, "evaluate", folder, *files, *case.learning.writing])["output"])


def weft_learns(place, case, name, seed):
    told = case.learning
    config = place.config(case, f"{name}-learning-{seed}", seed, duration=f"{told.tokens} tokens",
                          schedule=dict(type="linear", warmup=f"{told.tokens // 10} tokens"), save_every=f"{told.tokens} tokens",
                          optimizer=dict(type="adamw", lr=told.rate, betas=list(told.betas), weight_decay=told.decay))
    process.run([place.weft, "train", config, "--resume", "never"], place.environment(case))
    model = (place.folder / f"{name}-learning-{seed}" / "last").resolve()
    return model, evaluated(place, case, model)


def peer_learns(place, case, peer, seed, like):
    """The peer's model is evaluated with the tokenizer and the settings of Weft's."""
    folder = place.folder / f"peer-learning-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    told = case.learning
    process.run([place.environments.python(peer.environment), PEERS / peer.program, *place.peer_options(case, peer, seed), "--tokens", told.tokens,
                 "--rate", told.rate, "--betas", *told.betas, "--decay", told.decay, "--save", folder], place.environment(case))
    for file in like.iterdir():
        if file.is_file() and not (folder / file.name).exists():
            shutil.copy(file, folder)
    return evaluated(place, case, folder)


def measured(place, case, name, wanted, seeds):
    """Held-out metrics of every program and seed."""
    keys, table = case.learning.metrics, cases.peers_of(case)
    peers = [peer for peer in case.learning.peers if peer in wanted]
    told = {who: {key: [] for key in keys} for who in ["weft", *peers]}
    for seed in range(1, seeds + 1):
        model, judged = weft_learns(place, case, name, seed)
        for who in told:
            if who != "weft":
                judged = peer_learns(place, case, table[who], seed, model)
            for key in keys:
                told[who][key].append(judged[key])
            say(f"{name} learning, seed {seed}, {who}: " + ", ".join(f"{key} {judged[key]:.4f}" for key in keys))
    return dict(tokens=case.learning.tokens, rate=case.learning.rate, seeds=seeds, programs={
        who: {key: dict(mean=stats.mean(values), deviation=stats.sample_std(values), all=values) for key, values in found.items()}
        for who, found in told.items()})
