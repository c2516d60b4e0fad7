"""What is measured: a table of cases, each with the peers that it is measured against. A new family of models is new rows here, a row in
bench_peers/tasks.py and nothing else."""
import dataclasses
from typing import Optional

# Files of a user's own under corpora/, as for configs/; the sample runs on what the repository has.
SAMPLE = dict(train=["data/corpus/*.txt"], held_out=["data/held_out.txt"])
WIKITEXT = dict(train=["corpora/lm_wikitext2/train.txt"], held_out=["corpora/lm_wikitext2/valid.txt"])
SPAM = dict(train=["corpora/sms_spam/train.tsv"], held_out=["corpora/sms_spam/test.tsv"])
TREC = dict(train=["corpora/cls_trec/train.tsv"], held_out=["corpora/cls_trec/test.tsv"])

# LibTorch's own switches, for Weft and the peers alike. Weft's kernels follow ATen's.
AVX2_ONLY = dict(ONEDNN_MAX_CPU_ISA="AVX2", ATEN_CPU_CAPABILITY="avx2")


@dataclasses.dataclass(frozen=True)
class Peer:
    title: str
    options: tuple      # of bench_peers/train.py or predict.py
    settling: int = 0   # steps more before those that count, while it compiles


# All train with fused AdamW, autocast where bf16, and pad a batch only up to its own longest text.
TRAINING_PEERS = {
    "eager": Peer("transformers", ()),
    "grouped": Peer("transformers, grouped by length", ("--grouped",)),
    "compiled": Peer("transformers, grouped, torch.compile", ("--grouped", "--compile"), settling=6),
    "plain": Peer("plain PyTorch loop, grouped", ("--grouped", "--library", "plain")),
}
PREDICTING_PEERS = {
    "eager": Peer("transformers, batches as they come", ()),
    "grouped": Peer("transformers, sorted by length", ("--grouped",)),
}


@dataclasses.dataclass(frozen=True)
class Learning:
    """Equal learning: both train on so many tokens with one schedule, then `weft evaluate` judges both."""
    tokens: int
    rate: float
    figures: tuple = ("eval_loss",)
    peers: tuple = ("eager",)


@dataclasses.dataclass(frozen=True)
class Case:
    title: str
    task: str                           # row of bench_peers/tasks.py
    precision: str
    texts: dict                         # train, held_out: the first of each that exists is taken
    peers: tuple
    preset: Optional[str] = None        # built anew; else
    pretrained: Optional[str] = None    # a Hugging Face directory
    vocabulary: int = 8192
    batch: int = 32                     # sequences a step
    length: int = 128                   # longest sequence
    steps: int = 20                     # counted, of Weft and of each peer
    warmup: int = 5                     # before them
    kind: str = "training"              # or predicting
    environment: dict = dataclasses.field(default_factory=dict)
    learning: Optional[Learning] = None


MINI_MLM = Case("bert-mini, masked language model", "mlm", "bf16", WIKITEXT, ("eager", "grouped", "compiled", "plain"),
                preset="bert-mini", learning=Learning(200_000, 1e-3))
BASE_MLM = Case("BERT-base, masked language model", "mlm", "bf16", WIKITEXT, ("eager", "compiled"), preset="bert-base",
                vocabulary=30522, steps=4, warmup=2)
SPAM_MINI = Case("bert-mini, classification of SMS", "classify", "bf16", SPAM, ("eager", "grouped", "plain"), preset="bert-mini",
                 vocabulary=6000, steps=40, learning=Learning(200_000, 3e-4, ("eval_loss", "eval_accuracy")))
TREC_MINILM = Case("MiniLM (22 M), classification of questions", "classify", "bf16", TREC, ("eager", "grouped", "compiled"),
                   pretrained="pretrained/all-minilm-l6-v2", steps=40, learning=Learning(120_000, 1e-4, ("eval_loss", "eval_accuracy")))


def but(case, **changes):
    return dataclasses.replace(case, **changes)


SAMPLE_MLM = Case("bert-tiny, masked language model on the texts of data/", "mlm", "fp32", SAMPLE,
                  ("eager", "grouped", "compiled", "plain"), preset="bert-tiny", vocabulary=2048, learning=Learning(60_000, 2e-3))

CASES = {
    "sample-mlm-fp32": SAMPLE_MLM,
    "bert-mini-mlm-bf16": MINI_MLM,
    "bert-mini-mlm-fp32": but(MINI_MLM, precision="fp32", peers=("eager", "compiled"), learning=None),
    "bert-base-mlm-bf16": BASE_MLM,
    "bert-base-mlm-fp32": but(BASE_MLM, precision="fp32", peers=("eager",)),
    "bert-mini-spam-bf16": SPAM_MINI,
    "minilm-trec-bf16": TREC_MINILM,
    "bert-mini-mlm-fp32-avx2": but(MINI_MLM, title="bert-mini, masked language model, AVX2 only", precision="fp32",
                                   peers=("eager", "compiled"), environment=AVX2_ONLY, steps=10, learning=None),
    "bert-mini-predict-bf16": but(SPAM_MINI, title="bert-mini, classes of SMS", kind="predicting", peers=("eager", "grouped"),
                                  learning=None),
    "minilm-predict-bf16": but(TREC_MINILM, title="MiniLM (22 M), classes of questions", kind="predicting",
                               peers=("eager", "grouped"), learning=None),
}


def peers_of(case):
    return TRAINING_PEERS if case.kind == "training" else PREDICTING_PEERS
