"""Table of benchmark cases, each with the peers it is compared with. A new model family needs new entries here, an entry in
tasks.py and one in bench_peers/tasks.py; a new library for inference a file in bench_peers, an environment in environments.py, and a peer here."""
import dataclasses
from typing import Optional

from .inference import INFERENCE
from .tasks import TASKS

# Data files of the user in corpora/, as for configs/; the sample uses the data of the repository.
SAMPLE = dict(train=["data/corpus/*.txt"], held_out=["data/held_out.txt"])
WIKITEXT = dict(train=["corpora/lm_wikitext2/train.txt"], held_out=["corpora/lm_wikitext2/valid.txt"])
SPAM = dict(train=["corpora/sms_spam/train.tsv"], held_out=["corpora/sms_spam/test.tsv"])
TREC = dict(train=["corpora/cls_trec/train.tsv"], held_out=["corpora/cls_trec/test.tsv"])
SHAKESPEARE = dict(train=["corpora/lm_tinyshakespeare/input.txt"])
MULTI30K = dict(train=["corpora/mt_multi30k/train.en"], held_out=["corpora/mt_multi30k/test2016.en"])
WIKITEXT_VALID = dict(train=["corpora/lm_wikitext2/valid.txt"])
NOVELS = dict(train=["corpora/lm_wikitext2/train.txt"], held_out=["corpora/lm_novels/train/*.txt"])   # of a tokenizer
CIFAR10 = dict(train=["corpora/img_cifar10/train.bin"], held_out=["corpora/img_cifar10/test.bin"])

# LibTorch's environment variables, for Weft and the peers. Weft's kernels respect ATen's.
AVX2_ONLY = dict(ONEDNN_MAX_CPU_ISA="AVX2", ATEN_CPU_CAPABILITY="avx2")


@dataclasses.dataclass(frozen=True)
class Peer:
    title: str
    options: tuple                      # of the program
    settling: int = 0                   # additional warm-up steps for compilation
    program: str = "train.py"           # in bench_peers
    environment: str = "transformers"   # of environments.py
    converts: bool = False              # the model into a format of its own, before the first run


# All train with fused AdamW, autocast where bf16, and pad a batch only up to its own longest text.
TRAINING_PEERS = {
    "eager": Peer("transformers", ()),
    "grouped": Peer("transformers, grouped by length", ("--grouped",)),
    "compiled": Peer("transformers, grouped, torch.compile", ("--grouped", "--compile"), settling=6),
    "padded": Peer("plain PyTorch loop", ("--library", "plain")),
    "plain": Peer("plain PyTorch loop, grouped", ("--grouped", "--library", "plain")),
}
# If all sequences have the same length, nothing is padded.
EVEN_PEERS = {
    "eager": Peer("transformers", ()),
    "plain": Peer("plain PyTorch loop", ("--library", "plain")),
    "compiled": Peer("plain PyTorch loop, torch.compile", ("--library", "plain", "--compile"), settling=6),
}


def encoding_peer(title, library, *options, environment="transformers"):
    return Peer(title, ("--library", library, *options), program="encode.py", environment=environment, converts=library != "transformers")


def tokenizing_peer(library):
    return Peer(library, ("--library", library), program="tokenize_lines.py", environment=library)


ENCODING_PEERS = {
    "eager": encoding_peer("transformers, batches as they come", "transformers"),
    "grouped": encoding_peer("transformers, sorted by length", "transformers", "--grouped"),
    "onnxruntime": encoding_peer("ONNX Runtime, sorted by length", "onnxruntime", "--grouped", environment="onnxruntime"),
    "openvino": encoding_peer("OpenVINO, sorted by length", "openvino", "--grouped", environment="openvino"),
}
TRANSLATING_PEERS = {"ctranslate2": Peer("CTranslate2", (), program="translate.py", environment="ctranslate2", converts=True)}
GENERATING_PEERS = {
    "eager": Peer("transformers", ("--library", "transformers"), program="generate.py"),
    "llama.cpp": Peer("llama.cpp (xllamacpp)", ("--library", "llama_cpp"), program="generate.py", environment="xllamacpp", converts=True),
}
TOKENIZING_PEERS = {library: tokenizing_peer(library) for library in ("tokenizers", "tokie", "fastokens", "splintr")}
PEERS = {"training": TRAINING_PEERS, "training on rows of one length": EVEN_PEERS, "predicting": ENCODING_PEERS, "embedding": ENCODING_PEERS,
         "translating": TRANSLATING_PEERS, "generating": GENERATING_PEERS, "tokenizing": TOKENIZING_PEERS}


@dataclasses.dataclass(frozen=True)
class Learning:
    """Equal training: both train on `tokens` tokens with one schedule, then `weft evaluate` evaluates both."""
    tokens: int
    rate: float
    metrics: tuple = ("eval_loss",)
    peers: tuple = ("eager",)
    betas: tuple = (0.9, 0.999)
    decay: float = 0.01
    writing: tuple = ()     # further options of `weft evaluate`, to generate and evaluate texts


@dataclasses.dataclass(frozen=True)
class Case:
    title: str
    task: str                           # row of tasks.py and of bench_peers/tasks.py
    precision: str
    texts: dict                         # train, held_out: the first existing pattern of each is used
    peers: tuple
    preset: Optional[str] = None        # a new model, in training an entry of PRESETS in bench_peers/tasks.py; else
    pretrained: Optional[str] = None    # a Hugging Face directory
    model: dict = dataclasses.field(default_factory=lambda: dict(dropout=0.1, position=dict(length=512)))  # Weft's model keys in addition to the preset
    tokenizer: dict = dataclasses.field(default_factory=dict)   # options of `weft tokenizer train`
    vocabulary: int = 8192
    batch: int = 32                     # sequences (pairs, images) per step; prompts of a generating case
    length: Optional[int] = 128         # maximum sequence length; None for images
    steps: int = 20                     # measured steps of Weft and of each peer; seconds of a tokenizing case
    warmup: int = 5                     # warm-up steps before them
    kind: str = "training"              # or a row of inference.py
    threads: Optional[int] = None       # of inference; None: all cores, or OMP_NUM_THREADS
    device: str = "cpu"                 # or cuda
    environment: dict = dataclasses.field(default_factory=dict)
    learning: Optional[Learning] = None


MINI_MLM = Case("bert-mini, masked language modelling", "mlm", "bf16", WIKITEXT, ("eager", "grouped", "compiled", "plain"),
                preset="bert-mini", learning=Learning(200_000, 1e-3))
BASE_MLM = Case("BERT-base, masked language modelling", "mlm", "bf16", WIKITEXT, ("eager", "compiled"), preset="bert-base",
                vocabulary=30522, steps=4, warmup=2)
SPAM_MINI = Case("bert-mini, SMS classification", "classify", "bf16", SPAM, ("eager", "grouped", "plain"), preset="bert-mini",
                 vocabulary=6000, steps=40, learning=Learning(200_000, 3e-4, ("eval_loss", "eval_accuracy")))
TREC_MINILM = Case("MiniLM (22 M), question classification", "classify", "bf16", TREC, ("eager", "grouped", "compiled"),
                   pretrained="pretrained/all-minilm-l6-v2", steps=40, learning=Learning(120_000, 1e-4, ("eval_loss", "eval_accuracy")))
GPT_MINI = Case("GPT (6 layers, dim 384), causal language modelling", "causal", "bf16", WIKITEXT, ("eager", "plain", "compiled"), preset="gpt-mini",
                model=dict(dropout=0.1, position=dict(length=256)), tokenizer=dict(type="byte_level_bpe", style="gpt2"), batch=16, length=256,
                steps=10, learning=Learning(1_000_000, 1e-3, ("eval_loss", "eval_word_perplexity"), betas=(0.9, 0.95), decay=0.1))
CHAR_GPT = Case("GPT (4 layers, dim 128), character-level", "causal", "bf16", SHAKESPEARE, ("plain", "compiled"), preset="char-gpt",
                model=dict(preset="gpt-mini", layers=4, dim=128, dropout=0.0, attention=dict(heads=4), position=dict(length=64)),
                tokenizer=dict(type="characters", style="gpt2"), vocabulary=100, batch=12, length=64, steps=200, warmup=20)
LSTM = Case("LSTM (2 layers of 512, dim 256), causal language modelling", "recurrent", "bf16", WIKITEXT, ("plain",), preset="lstm",
            model=dict(preset="gpt-mini", layers=2, dim=256, dropout=0.1, attention=dict(heads=4), block="r",
                       recurrent=dict(cell="lstm", width=512, forget_bias=1), position=dict(type="none")),
            tokenizer=dict(type="byte_level_bpe", style="gpt2"), length=128)
MULTI30K_PAIRS = Case("Transformer (4 + 4 layers, dim 256), English to German", "translate", "bf16", MULTI30K, ("eager", "padded", "plain"),
                      preset="transformer-multi30k", vocabulary=8000, batch=256, steps=10,
                      model=dict(preset="transformer-base", dim=256, layers=4, attention=dict(heads=4, dropout=0.0), dropout=0.2,
                                 feed_forward=dict(width=512), position=dict(length=256)),
                      tokenizer=dict(type="unigram", style="marian", character_coverage=1.0, normalization="nfkc"),
                      learning=Learning(1_000_000, 1e-3, ("eval_loss", "eval_bleu", "eval_chrf"), ("eager", "padded"), betas=(0.9, 0.98),
                                        writing=("--generate", "--beams", "5", "--max-new", "80")))
VIT_MINI = Case("ViT (6 layers, dim 192), image classification", "images", "bf16", CIFAR10, ("eager", "plain", "compiled"), preset="vit-mini",
                model={}, batch=64, length=None)


BASE_GPU = Case("BERT-base on a GPU, masked language modelling", "mlm", "bf16", WIKITEXT, ("eager", "grouped", "compiled", "plain"),
                preset="bert-base", vocabulary=30522, batch=256, length=512, warmup=10, device="cuda")
GPT2_GPU = Case("GPT-2 (124 M) on a GPU, causal language modelling", "causal", "bf16", WIKITEXT, ("eager", "plain", "compiled"), preset="gpt2",
                model=dict(dropout=0.0), tokenizer=dict(type="byte_level_bpe", style="gpt2"), vocabulary=50257, batch=32, length=1024,
                warmup=10, device="cuda")


def variant(case, **changes):
    return dataclasses.replace(case, **changes)


SPAM_PREDICT = variant(SPAM_MINI, title="bert-mini, SMS classification (inference)", kind="predicting", peers=("eager", "grouped"), learning=None)
MINILM_PREDICT = variant(TREC_MINILM, title="MiniLM (22 M), question classification (inference)", kind="predicting", learning=None)
MINILM_EMBED = variant(MINILM_PREDICT, title="MiniLM (22 M), embeddings of paragraphs", kind="embedding", texts=WIKITEXT_VALID, length=256)
TRANSLATE = variant(MULTI30K_PAIRS, title="Transformer (2 + 2 layers, dim 128), English to German with 5 beams", kind="translating", batch=64,
                    model=dict(preset="transformer-base", dim=128, layers=2, attention=dict(heads=4, dropout=0.0), dropout=0.1,
                               feed_forward=dict(width=512), position=dict(length=256)),
                    threads=1, peers=("ctranslate2",), learning=None)
GPT2_GENERATE = Case("GPT-2 (12 layers, dim 768), greedy decoding of one text", "causal", "bf16", WIKITEXT, ("eager", "llama.cpp"), preset="gpt2",
                     model=dict(dropout=0.0), tokenizer=dict(type="byte_level_bpe", style="gpt2"), vocabulary=50257, batch=1, length=64,
                     kind="generating")
LLAMA_GENERATE = variant(GPT2_GENERATE, title="Llama (SmolLM: 30 layers, dim 576), greedy decoding of one text", preset="smollm-135m", model={})
TOKENIZER = Case("byte-level BPE, 32,000 pieces", "mlm", "ids", NOVELS, ("tokenizers", "tokie", "fastokens", "splintr"), preset="bert-mini",
                 tokenizer=dict(type="byte_level_bpe", style="gpt2"), vocabulary=32000, length=None, steps=2, kind="tokenizing", threads=1)


def in_precisions(name, case, **peers):
    """The case once for each precision, with the peers that know it."""
    return {f"{name}-{precision}": variant(case, precision=precision, peers=names) for precision, names in peers.items()}


SAMPLE_MLM = Case("bert-tiny, masked language modelling on the texts of data/", "mlm", "fp32", SAMPLE,
                  ("eager", "grouped", "compiled", "plain"), preset="bert-tiny", vocabulary=2048, learning=Learning(200_000, 2e-3))

CASES = {
    "sample-mlm-fp32": SAMPLE_MLM,
    "bert-mini-mlm-bf16": MINI_MLM,
    "bert-mini-mlm-fp32": variant(MINI_MLM, precision="fp32", peers=("eager", "compiled"), learning=None),
    "bert-base-mlm-bf16": BASE_MLM,
    "bert-base-mlm-fp32": variant(BASE_MLM, precision="fp32", peers=("eager",)),
    "bert-mini-spam-bf16": SPAM_MINI,
    "minilm-trec-bf16": TREC_MINILM,
    "gpt-mini-causal-bf16": GPT_MINI,
    "char-gpt-bf16": CHAR_GPT,
    "char-gpt-fp32": variant(CHAR_GPT, precision="fp32"),
    "lstm-causal-bf16": LSTM,
    "lstm-causal-fp32": variant(LSTM, precision="fp32"),
    "transformer-multi30k-bf16": MULTI30K_PAIRS,
    "vit-cifar10-bf16": VIT_MINI,
    "bert-mini-mlm-fp32-avx2": variant(MINI_MLM, title="bert-mini, masked language modelling, AVX2 only", precision="fp32",
                                   peers=("eager", "compiled"), environment=AVX2_ONLY, steps=10, learning=None),
    "bert-base-mlm-gpu": BASE_GPU,
    "gpt2-causal-gpu": GPT2_GPU,
    "bert-mini-predict-bf16": SPAM_PREDICT,
    **in_precisions("minilm-predict", MINILM_PREDICT, fp32=("eager", "grouped", "onnxruntime", "openvino"), bf16=("eager", "grouped", "openvino"),
                    int8=("onnxruntime", "openvino")),
    **in_precisions("minilm-embed", MINILM_EMBED, fp32=("grouped", "onnxruntime", "openvino"), bf16=("grouped", "openvino"),
                    int8=("onnxruntime", "openvino")),
    **in_precisions("multi30k-translate", TRANSLATE, **dict.fromkeys(("fp32", "bf16", "int8"), TRANSLATE.peers)),
    **in_precisions("gpt2-generate", GPT2_GENERATE, fp32=("eager", "llama.cpp"), bf16=("eager", "llama.cpp"), int8=("llama.cpp",)),
    **in_precisions("gpt2-generate8", variant(GPT2_GENERATE, title="GPT-2 (12 layers, dim 768), greedy decoding of 8 texts", batch=8),
                    fp32=("eager", "llama.cpp"), bf16=("eager", "llama.cpp"), int8=("llama.cpp",)),
    **in_precisions("llama-generate", LLAMA_GENERATE, fp32=("eager", "llama.cpp"), bf16=("eager", "llama.cpp"), int8=("llama.cpp",)),
    "tokenizer-gpt2": variant(TOKENIZER, title="byte-level BPE, 32,000 pieces, as GPT-2"),
    "tokenizer-qwen2": variant(TOKENIZER, title="byte-level BPE, 32,000 pieces, as Qwen2", tokenizer=dict(type="byte_level_bpe", style="qwen2")),
    "tokenizer-wordpiece": variant(TOKENIZER, title="WordPiece, 30,000 pieces", tokenizer={}, vocabulary=30000, peers=("tokenizers", "tokie")),
    "tokenizer-unigram": variant(TOKENIZER, title="unigram, 16,000 pieces", tokenizer=dict(type="unigram", style="xlm-roberta"), vocabulary=16000,
                                 peers=("tokenizers", "tokie")),
}


def peers_of(case):
    if case.kind in INFERENCE:
        return PEERS[case.kind]
    return EVEN_PEERS if TASKS[case.task].is_even else TRAINING_PEERS


def unit_of(case):
    return INFERENCE[case.kind].unit if case.kind in INFERENCE else TASKS[case.task].unit
