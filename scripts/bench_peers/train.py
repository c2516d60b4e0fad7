#!/usr/bin/env python3
"""A peer of `weft bench`: the same training steps in `transformers` or in a plain PyTorch loop, on prepared data.

Prints one JSON line. Counts tokens without padding, or images. A step is timed from the finished batch to the cleared gradients;
creating the batch is not timed (for Weft it is).

    pip install torch transformers tokenizers numpy
    python3 scripts/bench_peers/train.py mlm --corpus DIR --preset bert-mini --precision bf16 [--grouped] [--compile] [--library plain]
"""
import argparse, json, os, random, sys, time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
import torch

import tasks


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=list(tasks.TASKS))
    parser.add_argument("--corpus", required=True, help="folder that prepare.py has written")
    parser.add_argument("--library", choices=["transformers", "plain"], default="transformers")
    parser.add_argument("--preset", choices=list(tasks.PRESETS), help="sizes of a new model")
    parser.add_argument("--pretrained", help="directory of a model to start with, instead")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="bf16")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20, help="steps that count")
    parser.add_argument("--warmup", type=int, default=5, help="steps before them")
    parser.add_argument("--tokens", type=int, help="instead of steps: train on this number of tokens (without padding), with a schedule")
    parser.add_argument("--save", help="where to write the trained model")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--betas", type=float, nargs=2, default=(0.9, 0.999))
    parser.add_argument("--decay", type=float, default=0.01, help="of the weights")
    parser.add_argument("--grouped", action="store_true", help="batches of texts of like length")
    parser.add_argument("--compile", action="store_true", help="once for every shape where grouped, else for the one shape")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def trained_weights(model):
    return [weight for weight in model.parameters() if weight.requires_grad]


def optimizer_of(model, options):
    matrices = [weight for weight in trained_weights(model) if weight.dim() > 1]
    others = [weight for weight in trained_weights(model) if weight.dim() <= 1]
    return torch.optim.AdamW([dict(params=matrices, weight_decay=options.decay), dict(params=others, weight_decay=0.0)], lr=options.rate,
                             betas=tuple(options.betas), fused=True)


def linear_rate(share, warmup=0.1):
    """Up to 1 over the first tenth of the run, then down to 0."""
    return share / warmup if share < warmup else max(0.0, (1 - share) / (1 - warmup))


class Peer:
    def __init__(self, options):
        random.seed(options.seed)
        torch.manual_seed(options.seed)
        self.options, self.task = options, tasks.TASKS[options.task]
        self.corpus = self.task["corpus"](options.corpus)
        self.model = self.task[options.library](self.corpus, options).to(options.device).train()
        self.forward = torch.compile(self.model, dynamic=options.grouped) if options.compile else self.model
        self.optimizer = optimizer_of(self.model, options)
        self.groups = self.corpus.groups(options.batch, options.grouped, options.seed)

    def published_model(self):
        """The model as a class of transformers."""
        if self.options.library == "transformers":
            return self.model
        model = self.task["transformers"](self.corpus, self.options)
        model.load_state_dict(self.model.published_weights())
        return model

    def batch(self):
        """The next batch, its number of tokens, and the number with padding."""
        rows = next(self.groups)
        return self.task["batch"](self.corpus, rows), sum(map(self.corpus.size, rows)), self.corpus.cells(rows)

    def step(self, batch):
        device = self.options.device
        batch = {name: part.to(device) for name, part in batch.items()}
        with torch.autocast(device, dtype=torch.bfloat16, enabled=self.options.precision == "bf16"):
            told = self.forward(**batch)
            loss = told if torch.is_tensor(told) else told.loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if device == "cuda":
            torch.cuda.synchronize()
        return loss.detach()


def timed_steps(peer, options):
    seconds, counts, cells, losses = [], [], [], []
    for step in range(options.warmup + options.steps):
        batch, real, padded = peer.batch()
        begin = time.perf_counter()
        loss = peer.step(batch)
        spent = time.perf_counter() - begin
        if step >= options.warmup:
            seconds.append(spent)
            counts.append(real)
            cells.append(padded)
            losses.append(float(loss))
    order = sorted(seconds)
    middle = order[len(order) // 2]
    return dict(steps=options.steps, rate=sum(counts) / sum(seconds), count_per_step=sum(counts) / len(counts),
                ms_per_step_median=middle * 1e3, slowest_step_ms=order[-1] * 1e3, padding_share=1 - sum(counts) / sum(cells),
                loss=losses[-1])


def trained(peer, options):
    """Trains on a number of real tokens with the learning rate rising, then falling."""
    tokens, steps, begin = 0, 0, time.perf_counter()
    while tokens < options.tokens:
        batch, real, _ = peer.batch()
        for group in peer.optimizer.param_groups:
            group["lr"] = options.rate * linear_rate(tokens / options.tokens)   # at the start of the step, as in Weft
        loss = peer.step(batch)
        tokens, steps = tokens + real, steps + 1
    seconds = time.perf_counter() - begin
    if options.save:
        peer.published_model().eval().save_pretrained(options.save)
    return dict(tokens=tokens, steps=steps, loss=float(loss), train_seconds=seconds)


def main():
    options = arguments()
    if not options.preset and not options.pretrained:
        sys.exit("error: one of --preset and --pretrained must be given")
    peer = Peer(options)
    told = trained(peer, options) if options.tokens else timed_steps(peer, options)
    if options.device == "cuda":
        told["peak_gpu_mib"] = torch.cuda.max_memory_allocated() / 2**20
    print(json.dumps(dict(library=options.library, threads=torch.get_num_threads(),
                          parameters=sum(weight.numel() for weight in trained_weights(peer.model)), **told)), flush=True)


if __name__ == "__main__":
    main()
