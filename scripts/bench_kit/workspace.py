"""Files shared by the runs of a benchmark: texts, tokenizers, tokenized texts, configs."""
import glob, json, os, pathlib

from . import process
from .tasks import TASKS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "scripts" / "bench_peers"


class Absent(Exception):
    """Something that a case needs is missing on this machine."""


def found_pattern(patterns):
    """The first pattern that matches a file."""
    for pattern in patterns:
        if glob.glob(str(ROOT / pattern)):
            return pattern
    raise Absent("no text: none of " + ", ".join(patterns))


def found_texts(patterns):
    return sorted(glob.glob(str(ROOT / found_pattern(patterns))))


def found_items(case, key):
    """The texts of `train` or `held_out` as data items of Weft's config."""
    return [TASKS[case.task].item(file) for file in found_texts(case.texts[key])]


def plain_texts(files, output):
    """Writes the text column of tables as lines, to train tokenizers."""
    with open(output, "w", encoding="utf-8") as out:
        for file in files:
            with open(file, encoding="utf-8") as rows:
                column = next(rows).rstrip("\n").split("\t").index("text")
                out.writelines(row.rstrip("\n").split("\t")[column] + "\n" for row in rows)
    return output


class Workspace:
    def __init__(self, folder, weft, environments):
        self.folder, self.weft, self.environments = pathlib.Path(folder), pathlib.Path(weft), environments
        self.folder.mkdir(parents=True, exist_ok=True)

    def tokenizer(self, case):
        """The directory of the tokenizer that Weft and the peers both use."""
        if case.pretrained:
            folder = ROOT / case.pretrained
            if not (folder / "tokenizer.json").exists():
                raise Absent(f"{case.pretrained} does not exist (scripts/get_minilm downloads it)")
            return folder
        found = found_texts(case.texts["train"])
        kind = pathlib.Path(found[0]).parent.name
        folder = self.folder / "-".join(["tokenizer", kind, *map(str, case.tokenizer.values()), str(case.vocabulary)])
        if not (folder / "tokenizer.json").exists():
            task = TASKS[case.task]
            files = [plain_texts(found, self.folder / f"{kind}.txt")] if task.is_table else task.files(found)
            inputs = [word for file in files for word in ("--input", file)]
            options = [word for key, value in case.tokenizer.items() for word in (f"--{key.replace('_', '-')}", value)]
            process.run([self.weft, "tokenizer", "train", *inputs, "--output", folder, "--vocab-size", case.vocabulary, *options])
        return folder

    def corpus(self, case):
        """The folder of the prepared data that the peers read."""
        task, found = TASKS[case.task], found_texts(case.texts["train"])
        if task.is_of_images:
            folder, options = self.folder / f"corpus-{pathlib.Path(found[0]).parent.name}", ["-", 0]
        else:
            tokenizer = self.tokenizer(case)
            folder = self.folder / f"corpus-{case.task}-{tokenizer.name}-{case.length}"
            options = [tokenizer / "tokenizer.json", case.length]
        if not (folder / "about.json").exists():
            process.run([self.environments.python("transformers"), PEERS / "prepare.py", case.task, folder, *options, *task.files(found)])
        return folder

    def config(self, case, name, seed=1, **training):
        """Writes Weft's config of a case (JSON is YAML) and returns its path."""
        task = TASKS[case.task]
        files = {key: found_items(case, key) for key in case.texts}
        config = dict(
            data=dict(train=files["train"], evaluate=files.get("held_out", []), cache_dir=str(self.folder / "cache"), **task.data),
            objective=dict(type=task.objective),
            train=dict(duration="1000000 steps", batch_sequences=case.batch, clip_norm=1.0, precision=case.precision,
                       optimizer=dict(type="adamw", lr=1e-3, weight_decay=0.01), schedule=dict(type="constant"),
                       evaluate_every=None, save_every=None) | training,
            run=dict(directory=str(self.folder / name), seed=seed, device=case.device))
        if case.length:
            config["data"]["length"] = case.length
        if case.pretrained:
            config["init_from"] = str(self.tokenizer(case))
        else:
            config["model"] = dict(preset=case.preset) | case.model
        if not case.pretrained and not task.is_of_images:
            config["tokenizer"] = dict(file=str(self.tokenizer(case)))
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps(config, indent=2))
        return path

    def peer_options(self, case, peer, seed):
        start = ["--pretrained", self.tokenizer(case)] if case.pretrained else ["--preset", case.preset]
        return [case.task, "--corpus", self.corpus(case), *start, "--precision", case.precision, "--device", case.device, "--batch",
                case.batch, "--seed", seed,
                *peer.options]

    def environment(self, case):
        """Compiled kernels of the peers are cached in the work directory."""
        return {**case.environment, "TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor"), "PYTHONPATH": str(PEERS),
                "PYTHONDONTWRITEBYTECODE": "1"}


def weft_binary():
    return pathlib.Path(os.environ.get("WEFT", ROOT / "build" / "weft"))
