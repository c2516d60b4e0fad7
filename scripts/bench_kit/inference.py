"""Inference of Weft and of its peers: what they run, how the time is measured, and how well the results agree. The kinds of inference are
predicting (classes), embedding, translating, generating and tokenizing."""
import contextlib, dataclasses, json, math, os, pathlib, random, shutil

from . import process, stats
from .workspace import PEERS, ROOT, found_pattern, found_texts

FEW = 64                      # texts of the run that measures the start-up time of Weft
FEW_NEW, NEW = 16, 144        # generated tokens: the time of few is subtracted from that of many
PROMPT = 32                   # tokens
BEAMS, LONGEST = 5, 80        # of translations


class TooShort(process.Failed):
    """The time of all is not longer than that of a few."""


@dataclasses.dataclass(frozen=True)
class Work:
    """The same for Weft and the peers."""
    model: object
    input: object
    few: object = None         # input of the run whose time is subtracted
    count: int = 0             # texts or tokens of the time that remains
    truth: object = None       # labels or reference translations


def threads_of(case):
    return case.threads or int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0)))


def precision_of_weft(precision):
    return ["--int8"] if precision == "int8" else ["--precision", precision]


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_lines(path):
    return pathlib.Path(path).read_text(encoding="utf-8").splitlines()


def trained(place, case, family, steps, rate):
    """A model of Weft for all precisions of a case."""
    model = place.folder / f"{family}-model"
    if not (model / "last").exists():
        config = place.config(case, f"{family}-model", duration=f"{steps} steps", save_every=f"{steps} steps", precision="fp32",
                              optimizer=dict(type="adamw", lr=rate, weight_decay=0.01))
        process.run([place.weft, "train", config, "--resume", "never"])
    return model / "last"


def family_of(name):
    """The name of a case without its precision."""
    return name.rsplit("-", 1)[0]


def texts_and_few(place, name, rows):
    path = place.folder / f"{family_of(name)}.jsonl"
    return dict(input=write_lines(path, rows), few=write_lines(path.with_suffix(".few.jsonl"), rows[:FEW]), count=len(rows) - FEW)


def predicting(place, case, name):
    """A briefly trained classifier, so that its predictions differ."""
    rows, labels = [], []
    for file in found_texts(case.texts["train"]):
        header, *lines = [line.split("\t") for line in read_lines(file)]
        rows += [dict(text=cells[header.index("text")]) for cells in lines]
        labels += [cells[header.index("label")] for cells in lines]
    return Work(trained(place, case, family_of(name), 150, 3e-4), truth=labels, **texts_and_few(place, name, rows))


def embedding(place, case, name):
    rows = [dict(text=line.strip()) for file in found_texts(case.texts["train"]) for line in read_lines(file) if line.strip()]
    return Work(place.tokenizer(case), **texts_and_few(place, name, rows))


def translating(place, case, name):
    """Trained a little longer, so that translations end."""
    source = found_texts(case.texts["held_out"])[0]
    lines = read_lines(source)
    few = place.folder / f"{family_of(name)}.few.txt"
    few.write_text(lines[0] + "\n", encoding="utf-8")
    return Work(trained(place, case, family_of(name), 1200, 1e-3), pathlib.Path(source), few, len(lines) - 1,
                pathlib.Path(source).with_suffix(".de"))


def generating(place, case, name):
    """Random weights and prompts."""
    model, draw = trained(place, case, family_of(name), 1, 1e-9), random.Random(1)
    vocabulary = json.loads((model / "config.json").read_text())["vocab_size"]
    prompts = [dict(ids=[draw.randrange(1, vocabulary) for _ in range(PROMPT)]) for _ in range(case.batch)]
    return Work(model, write_lines(place.folder / f"{family_of(name)}.jsonl", prompts), count=case.batch * (NEW - FEW_NEW))


def tokenizing(place, case, name):
    return Work(place.tokenizer(case), ROOT / found_pattern(case.texts["held_out"]))


# What the answers of a run are worth, compared with the truth and with those of Weft in fp32.


def same_classes(place, work, answers, exact):
    labels, others = [json.loads(line)["label"] for line in read_lines(answers)], [json.loads(line)["label"] for line in read_lines(exact)]
    return {"same class": share_equal(labels, others), "accuracy": share_equal(labels, work.truth)}


def share_equal(ours, theirs):
    return sum(a == b for a, b in zip(ours, theirs)) / len(theirs)


def cosines(place, work, answers, exact):
    """The mean cosine, and the smallest."""
    def vectors(path):
        found = [json.loads(line) for line in read_lines(path)]
        return [each["embedding"] if isinstance(each, dict) else each for each in found]
    found = [sum(map(float.__mul__, a, b)) / math.sqrt(sum(x * x for x in a) * sum(x * x for x in b))
             for a, b in zip(vectors(answers), vectors(exact))]
    return {"mean cosine": stats.mean(found), "smallest cosine": min(found)}


def same_translations(place, work, answers, exact):
    told = process.run([place.weft, "score", "--hypotheses", answers, "--references", work.truth, "--metric", "bleu"])
    return {"BLEU": json.loads(told["output"].splitlines()[-1])["bleu"], "same text": share_equal(read_lines(answers), read_lines(exact))}


def same_beginnings(place, work, answers, exact):
    """The share of the text before the first difference: a token that differs changes all after it."""
    ours, theirs = ([json.loads(line)["text"] for line in read_lines(path)] for path in (answers, exact))
    return {"same text": sum(len(os.path.commonprefix(pair)) for pair in zip(ours, theirs)) / max(sum(map(len, theirs)), 1)}


@dataclasses.dataclass(frozen=True)
class Kind:
    unit: str
    work: object               # (place, case, name) -> Work
    command: object            # (case, work) -> words of Weft's command, without input and output
    quality: object = None
    peer_options: object = lambda case, work: ()


INFERENCE = {
    "predicting": Kind("texts/s", predicting, lambda case, work: ["predict", work.model], same_classes,
                       lambda case, work: ["--task", "classify", "--length", case.length]),
    "embedding": Kind("texts/s", embedding, lambda case, work: ["embed", work.model, "--max-length", case.length, "--normalize"], cosines,
                      lambda case, work: ["--task", "embed", "--length", case.length]),
    "translating": Kind("texts/s", translating, lambda case, work: ["generate", work.model, "--plain", "--beams", BEAMS, "--max-new", LONGEST],
                        same_translations, lambda case, work: ["--beams", BEAMS, "--new", LONGEST]),
    "generating": Kind("new tokens/s", generating, lambda case, work: ["generate", work.model, "--greedy"], same_beginnings,
                       lambda case, work: ["--few", FEW_NEW, "--new", NEW]),
    "tokenizing": Kind("MB/s", tokenizing, lambda case, work: ["tokenizer", "bench", "--model", work.model]),
}


@contextlib.contextmanager
def one_core():
    """Programs started meanwhile run on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def weft_once(place, case, work, output, precision, input=None, more=()):
    command = [place.weft, *INFERENCE[case.kind].command(case, work), "--input", input or work.input, "--output", output, "--threads",
               threads_of(case), *precision_of_weft(precision), *more]
    return process.run(command, place.environment(case))


def new_tokens(count):
    return ["--max-new", count, "--min-new", count]


def weft_answers(place, case, name, work):
    """The time of all texts (or tokens) minus that of a few, to exclude start-up and loading as for the peers."""
    output = place.folder / f"{name}-weft.out"
    def once(input=None, more=()):
        return weft_once(place, case, work, output, case.precision, input, more)
    few = dict(more=new_tokens(FEW_NEW)) if case.kind == "generating" else dict(input=work.few)
    once(**few)   # not counted: it may wait for the disk, and for memory that the peer has returned to the host of a virtual machine
    start = once(**few)
    whole = once(**(dict(more=new_tokens(NEW)) if case.kind == "generating" else {}))
    if whole["seconds"] <= start["seconds"]:
        raise TooShort(f"{name}: Weft needed {start['seconds']:.2f} s for a few and {whole['seconds']:.2f} s for all: too little work, or a busy machine")
    return dict(rate=work.count / (whole["seconds"] - start["seconds"]), start_seconds=start["seconds"],
                quality=quality(place, case, name, work, output),
                **{key: whole[key] for key in ("seconds", "peak_mib", "others", "withheld")})


def exact_answers(place, case, name, work):
    """Weft's answers in fp32, computed once."""
    output = place.folder / f"{family_of(name)}-exact.out"
    if not output.exists():
        partial = output.with_suffix(".partial")
        weft_once(place, case, work, partial, "fp32", more=new_tokens(NEW) if case.kind == "generating" else ())
        partial.rename(output)
    return output


def quality(place, case, name, work, output):
    return INFERENCE[case.kind].quality(place, work, output, exact_answers(place, case, name, work))


def weft_tokenizes(place, case, work, seconds):
    told = process.run_json([place.weft, *INFERENCE[case.kind].command(case, work), "--input", work.input, "--seconds", seconds])
    return {**told, "rate": told["bytes_per_s"] / 1e6}


def peer_tokenizes(place, case, program, work, seconds, ours):
    told = process.run_json([*program, "--input", work.input, "--seconds", seconds], place.environment(case))
    if told["tokens"] != ours["tokens"]:
        raise process.Failed(f"{told['tokens']:,} tokens, Weft {ours['tokens']:,} for the same lines")
    return told


def weft(place, case, name, steps, seed):
    work = INFERENCE[case.kind].work(place, case, name)
    if case.kind != "tokenizing":
        return weft_answers(place, case, name, work)
    with one_core():
        told = weft_tokenizes(place, case, work, steps)
    write_lines(place.folder / f"{name}-weft.out", [told])
    return told


def converted(place, case, peer, name, work):
    """The model in the format of the peer's library, written once."""
    path = place.folder / f"{family_of(name)}-{peer.environment}-{case.precision}"
    if not path.exists():
        partial = path.with_name(path.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        process.run([place.environments.python(peer.environment), PEERS / peer.program, work.model, *peer.options,
                     *INFERENCE[case.kind].peer_options(case, work), "--precision", case.precision, "--converted", partial, "--convert",
                     "--input", work.input], place.environment(case))
        partial.rename(path)
    return path


def peer(place, case, peer, name, steps, seed):
    kind = INFERENCE[case.kind]
    work = kind.work(place, case, name)
    program = [place.environments.python(peer.environment), PEERS / peer.program, work.model, *peer.options]
    if case.kind == "tokenizing":
        with one_core():
            return peer_tokenizes(place, case, program, work, steps, json.loads((place.folder / f"{name}-weft.out").read_text()))
    output = place.folder / f"{name}-peer.out"
    more = ["--converted", converted(place, case, peer, name, work)] if peer.converts else []
    told = process.run_json([*program, *kind.peer_options(case, work), "--precision", case.precision, "--threads", threads_of(case), "--input",
                             work.input, "--output", output, *more], {**place.environment(case), "OMP_NUM_THREADS": str(threads_of(case))})
    return {**told, "quality": quality(place, case, name, work, output)}
