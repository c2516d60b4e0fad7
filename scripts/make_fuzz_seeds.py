#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets, tests/fuzz/corpus/TARGET/NAME: small valid files of every kind, and a few special cases.

Token stores and event files have no checksums here: their fuzz targets add valid ones.
"""
import base64, gzip, json, pathlib, struct, zlib

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "tests/fuzz/corpus"
BORDER = b"\n-----\n"


def put(target, name, *parts):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(BORDER.join(part if isinstance(part, bytes) else part.encode() for part in parts))


def texts():
    put("lines", "prose.txt", "\ufeffIt rained. The river rose, they said.\r\n\n  A new document begins.\n" + "long " * 80 + "\nlast")
    put("lines", "latin1.txt", "caf\xe9 cr\xe8me\n\n".encode("latin-1") + b"\x00\x01\xff\xfe\n\xed\xa0\x80 \xc0\xaf end")
    put("lines", "utf16.txt", "two bytes\nfor each".encode("utf-16"))
    put("texts", "mixed", "Hello, world! ##ing \u2581piece [MASK] </s> \u039a\u03b1\u03bb\u03b7 \u65e5\u672c\u8a9e \U0001f600 e\u0301 1,000.5\t\n  x")
    put("texts", "bytes", bytes(range(256)))
    put("texts", "long-word", "antidisestablishmentarianism" * 20)
    put("gzip", "member.gz", gzip.compress(b"one line\nand another\n" * 20, mtime=0))
    put("gzip", "two-members.gz", gzip.compress(b"first\n", mtime=0) + gzip.compress(b"second\n", mtime=0) + b"\0" * 20)
    put("gzip", "bomb.gz", gzip.compress(b"\0" * (1 << 20), mtime=0))


def tables():
    put("csv", "rows.csv", 'text,label,"an id"\n"a ""quoted"" word, and a comma",1,7\n\n"two\nlines",0,8\r\nplain,1,\n')
    put("csv", "pairs.csv", "sentence1,sentence2,label\na man sleeps,a man rests,entailment\nb,c,neutral\n")
    put("csv", "open-quote.csv", 'text,label\n"never closed,1\n')
    put("tsv", "rows.tsv", 'text\tlabel\na "quote" stays\tpos\nanother\tneg\n\nlast\tpos')
    put("tsv", "numbers.tsv", "sentence1\tsentence2\tscore\na\tb\t0.5\nc\td\t-1e3\n")
    put("jsonl", "rows.jsonl", '{"text": "one \\u00e9\\ud83d\\ude00", "label": 1}\n\n{"label": null, "text": "two", "extra": true}\n')
    put("jsonl", "lists.jsonl", '{"text": "a", "label": ["x", "y"]}\n{"text": "b", "label": []}\n{"text": "c", "label": [1, 2.5]}\n')
    put("jsonl", "words.jsonl", '{"tokens": ["New", "York"], "ner_tags": [1, 2]}\n{"tokens": ["a"], "ner_tags": [0]}\n')
    for name in ("small", "deltas", "gzip-2", "tagged", "others"):
        put("parquet", name, (CORPUS.parent.parent / f"reference/parquet/{name}.parquet").read_bytes())
    put("tagged", "names.conll", "-DOCSTART- -X- O O\n\nEU NNP I-NP B-ORG\nrejects VBZ I-VP O\n\nPeter NNP I-NP B-PER\n")
    put("tagged", "tabs.conll", "New York\tB-LOC\nis\tO\n\nbig\tO")
    put("tagged", "tree.conllu", "# text = I do n't\n1\tI\tI\tPRON\t_\t_\t2\tnsubj\t_\t_\n2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "2\tdo\tdo\tAUX\t_\t_\t0\troot\t_\t_\n2.1\tgone\t_\tVERB\t_\t_\t_\t_\t_\t_\n\n")


def ngrams():
    for name in ("words.bin", "tree.bin", "quantized.ftz"):
        put("fasttext", name, (CORPUS.parent.parent / f"reference/fasttext/{name}").read_bytes())
    put("word_vectors", "glove.txt", "the 0.5 -1e-2 3\n. . . 4 5 6\nof 1 2 3\n")
    put("word_vectors", "word2vec.vec", "2 3\n</s> 1 2 3 \n\u00fcber 4 5 6 \n")
    put("arpa", "bigrams.arpa", "a comment\n\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\t-0.3\n-0.5\t</s>\n"
        "-0.4\ta\t-0.2\n\n\\2-grams:\n-0.1\t<s> a\n-2e-1\ta </s>\n\n\\end\\\n")
    put("arpa", "spaces.arpa", "\\data\\\r\nngram 1 = 3\nngram 2=1\nngram 3=0\n\\1-grams:\n-1 </s> 0\n-inf \u00e9 +.5\n0 <s>\n\\2-grams:\n"
        "-1.25 <s> \u00e9 -7\n\\3-grams:\n\\end\\")


def trees():
    put("json", "all.json", '{"a": [1, -2.5e10, true, null, "\\u0041\\n"], "b": {"c": {}}, "": []}')
    put("json", "large.json", "[18446744073709551615, -9223372036854775808, 1e308, 0.1]")
    put("json", "deep.json", "[" * 120 + "]" * 120)
    put("yaml", "all.yaml",
        "number: 5\nshare: 0.25  # a comment\ntruth: yes\nword: 'a b'\nduration: 3 epochs\nnumbers: [1, 2.5]\nwords: [a, b]\n"
        "weights: {ham: 1, spam: 6.5}\ngrid: {part.number: [1, 2]}\npart: {word: |\n    block\n  }\nitems:\n  - word: x\n  - {word: y}\n",
        "part.number=7\nitems.2.word=z\ngrid=none\n")
    put("yaml", "alias.yaml", "a: &a [1, 2]\nnumbers: *a\nwords: &b [x]\n")
    put("yaml", "json.yaml", '{"number": 1, "part": {"share": 1e-3}, "items": [{"truth": false}]}', "word=\"q\"\nitems=[]")
    put("yaml", "crlf.yaml", "\ufeffword: \"\\u00e9\\x41\"\r\nnumber: 010\r\n", "x=1")
    put("yaml", "escape.yaml", "word: \"\\\u00e9\"\n", "x=1")
    put("pattern", "gpt2", r"'s|'t|'re| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "It's 5 o'clock,  said  \u039a\u03b1\u03bb\u03b7.")
    put("pattern", "groups", r"(?i:'[sdmt])|[^\r\n\p{L}]?\p{Lu}{1,3}|(a|b)*?c$|^\d{2,}|\x{3b1}|[a-c-\]&&\w]", "aabbc 12 \u03b1'S")
    put("pattern", "slow", "(a*)*b|(?=(a+)+c)a", "a" * 60)


def tensors():
    header = {"__metadata__": {"format": "pt"}, "a.weight": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
              "b": {"dtype": "BF16", "shape": [3], "data_offsets": [16, 22]}, "c": {"dtype": "I64", "shape": [], "data_offsets": [22, 30]},
              "none": {"dtype": "U8", "shape": [0, 5], "data_offsets": [30, 30]}}
    body = bytes(range(30))
    put("safetensors", "parts", json.dumps(header), body)
    raw = json.dumps(header).encode()
    put("safetensors", "whole.safetensors", struct.pack("<Q", len(raw)) + raw + body)
    put("safetensors", "empty", "{}", b"")
    put("safetensors", "overflow", json.dumps({"a": {"dtype": "F64", "shape": [1 << 62, 8], "data_offsets": [0, 0]}}), b"")


def added(*contents):
    return [{"id": i, "content": c, "single_word": False, "lstrip": c == "[MASK]", "rstrip": False, "normalized": False, "special": True}
            for i, c in enumerate(contents)]


def tokenizers():
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = special + ["hello", "world", "##ing", "good", "m", "##o", "##r", "##n", ",", "!", "1", "##9", "a", "##a"]
    piece = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
             "vocab": {w: i for i, w in enumerate(words)}}
    template = {"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
                "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
                         {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
                "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}, "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}}
    bert = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added(*special),
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": template, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": piece}
    put("tokenizer_json", "word_piece", json.dumps(bert), json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "mask_token": "[MASK]"}))
    put("tokenizer_json", "bert_class", json.dumps(bert), json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512}))
    letters = ["<s>", "</s>", "h", "e", "l", "o", "\u0120", "w", "r", "d", "he", "ll", "hell", "\u0120w", "a", "aa"]
    bpe = {"version": "1.0", "added_tokens": added("<s>", "</s>"), "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
           "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
               {"type": "Split", "pattern": {"Regex": r"'s| ?\p{L}+| ?\p{N}+|\s+(?!\S)|\s+"}, "behavior": "Isolated", "invert": False},
               {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]},
           "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 1], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": False},
           "decoder": {"type": "ByteLevel"},
           "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                     "byte_fallback": False, "ignore_merges": False, "vocab": {w: i for i, w in enumerate(letters)},
                     "merges": [["h", "e"], ["l", "l"], ["he", "ll"], "\u0120 w", ["a", "a"]]}}
    put("tokenizer_json", "byte_pairs", json.dumps(bpe), "{}")
    unigram = {"version": "1.0", "added_tokens": added("<unk>", "</s>"),
               "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, {"type": "Strip", "strip_left": True, "strip_right": True}]},
               "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
               "post_processor": None, "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}, {"type": "Fuse"}]},
               "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": [["<unk>", 0.0], ["</s>", 0.0], ["\u2581", -2.5], ["hello", -4.0], ["h", -6.0], ["e", -5.0], ["l", -5.5], ["o", -5.1], ["\u2581a", -3.0], ["a", -4.5]]}}
    put("tokenizer_json", "unigram", json.dumps(unigram), json.dumps({"added_tokens_decoder": {"1": {"content": "</s>", "special": True}}}))
    pieces = dict(bpe, normalizer={"type": "Prepend", "prepend": "\u2581"}, pre_tokenizer={"type": "Sequence", "pretokenizers": [
        {"type": "Whitespace"}, {"type": "Punctuation", "behavior": "Isolated"}, {"type": "Digits", "individual_digits": True}]}, post_processor=None,
        decoder={"type": "BPEDecoder", "suffix": "</w>"},
        model={"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "fuse_unk": True, "vocab": {"<unk>": 0, "<0x41>": 1, "a": 2, "b": 3, "ab": 4}, "merges": [["a", "b"]]})
    put("tokenizer_json", "other_parts", json.dumps(pieces))
    put("vocab_txt", "bert", "\n".join(words) + "\n", json.dumps({"do_lower_case": False}))
    put("vocab_txt", "endings", "\r\n".join(special + ["a", "a", "", "\u65e5"]), "{}")
    put("vocab_json", "gpt2", json.dumps(bpe["model"]["vocab"]), "#version: 0.2\nh e\nl l\nhe ll\n", json.dumps({"tokenizer_class": "GPT2Tokenizer", "bos_token": "<s>"}))
    put("vocab_json", "roberta", json.dumps({w: i for i, w in enumerate(["<s>", "<pad>", "</s>", "<unk>", "<mask>", "a", "b", "ab"])}), "a b\n", json.dumps({"tokenizer_class": "RobertaTokenizer", "mask_token": "<mask>"}))


# ---- protobuf ----------------------------------------------------------------------------------------------------

def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def piece(text, score, kind=1):
    return field(1, field(1, text.encode()) + field(2, score) + (field(3, kind) if kind != 1 else b""))


def sentencepiece_models():
    control = piece("<unk>", 0.0, 2) + piece("<s>", 0.0, 3) + piece("</s>", 0.0, 3)
    words = b"".join(piece(t, -1.0 - i) for i, t in enumerate(["\u2581", "\u2581hello", "h", "e", "l", "o", "a", "aa", "\u2581w", "\u65e5"]))
    settings = lambda kind, fallback=0: field(2, field(3, kind) + field(35, fallback))
    rules = field(3, field(1, b"identity") + field(3, 1) + field(4, 1) + field(5, 1))
    put("sentencepiece", "unigram.model", control + words + settings(1) + rules)
    put("sentencepiece", "pairs.model", control + words + settings(2) + rules)
    put("sentencepiece", "user.model", control + piece("<x>", 0.0, 4) + words + settings(1) + field(3, field(1, b"identity") + field(3, 0) + field(4, 0)))
    fallback = b"".join(piece(f"<0x{b:02X}>", 0.0, 6) for b in range(256))
    put("sentencepiece", "bytes.model", control + fallback + words + settings(2, 1) + rules)


def stores_and_events():
    def offsets(entries):
        raw = b"".join(struct.pack("<I", e) for e in entries)
        return raw + b"\0" * (-len(raw) % 8) + struct.pack("<q", 0)

    for width in (2, 4):
        tokens = b"".join(struct.pack("<H" if width == 2 else "<I", t) for t in [5, 6, 7, 8, 9])
        foot = struct.pack("<qqqqqQQ", 5, 3, 2, 0, 0, 0, 0)
        head = b"WEFTTOK\n" + struct.pack("<IIQ", 1, width, 17)
        put("token_store", f"width-{width}", head + tokens + b"\0" * (-len(tokens) % 8) + offsets([0, 2, 3, 5]) + offsets([0, 1, 3]) + foot)

    def event(step, tag, value):
        number = field(1, tag.encode()) + field(2, value)
        return varint(1 << 3 | 1) + struct.pack("<d", 1e9) + field(2, step) + field(5, field(1, number))

    version = varint(1 << 3 | 1) + struct.pack("<d", 1e9) + field(3, b"brain.Event:2")
    put("events", "run", b"\n".join([version, event(5, "loss", 1.5), event(25, "loss", 0.5)]))
    put("events", "cut", version[:7])


def stored_runs():
    """What the readers of fuzz/train read: configs, states, manifests."""
    put("run_config", "mlm.yaml", "model: {preset: bert-tiny, layers: 1}\ntokenizer: {type: wordpiece, vocab_size: 400}\ndata:\n  train: [{path: text.txt}]\n"
        "objective: {type: mlm, mask_fraction: 0.2}\ntrain:\n  duration: 10 steps\n  optimizer: {type: adamw, lr: 1e-4, betas: [0.9, 0.99]}\n"
        "  schedule: {type: linear, warmup: 2 steps}\nrun: {directory: none, seed: 3}\n")
    put("run_config", "classify.yaml", "model: {type: modernbert, dim: 64, layers: 2, attention: {heads: 2, window: 16}}\ntokenizer: {type: bpe, vocab_size: 99}\n"
        "data: {train: [{path: rows.csv, text: text, label: label, weight: 0.5}], folds: 3}\nobjective: {type: classify, class_weights: {b: 2}}\n"
        "train: {batch_sequences: 8, freeze: [layers.0], ema: {decay: 0.99}, early_stopping: {patience: 3}}\ngrid: {train.optimizer.lr: [1e-5, 2e-5]}\n")
    put("model_config", "bert.json", json.dumps({"model_type": "bert", "architectures": ["BertForSequenceClassification"], "hidden_size": 8, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 30, "max_position_embeddings": 32, "type_vocab_size": 2, "pad_token_id": 0,
        "hidden_act": "gelu", "layer_norm_eps": 1e-12, "id2label": {"0": "no", "1": "yes"}, "label2id": {"no": 0, "yes": 1}, "classifier_dropout": None}))
    put("model_config", "modernbert.json", json.dumps({"model_type": "modernbert", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
        "vocab_size": 30, "local_attention": 8, "global_attn_every_n_layers": 2, "global_rope_theta": 160000.0, "layer_types": ["full_attention", "sliding_attention"]}))
    put("model_config", "distilbert.json", json.dumps({"model_type": "distilbert", "architectures": ["DistilBertForMaskedLM"], "dim": 8, "n_layers": 1, "n_heads": 2,
        "hidden_dim": 16, "vocab_size": 30, "sinusoidal_pos_embds": True, "qa_dropout": 0.1}))
    one = json.dumps({"embeddings.word_embeddings.weight": {"dtype": "F32", "shape": [8, 4], "data_offsets": [0, 128]}}).encode()
    shard = struct.pack("<Q", len(one)) + one + bytes(128)
    put("weight_index", "one", json.dumps({"metadata": {"total_size": 128}, "weight_map": {"embeddings.word_embeddings.weight": "part.safetensors"}}), shard)
    put("weight_index", "outside", json.dumps({"weight_map": {"a": "../model/config.json", "b": "/etc/passwd", "c": "part.safetensors"}}), shard)
    put("adapter", "lora.json", json.dumps({"peft_type": "LORA", "base_model_name_or_path": "base", "r": 3, "lora_alpha": 5, "target_modules": ["value", "query"],
        "modules_to_save": ["classifier"], "bias": "none", "rank_pattern": {}, "alpha_pattern": {}, "task_type": "SEQ_CLS", "use_rslora": False, "fan_in_fan_out": False}))
    put("sentence", "modules", json.dumps([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}, {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]),
        json.dumps({"word_embedding_dimension": 8, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}), json.dumps({"max_seq_length": 64, "do_lower_case": False}))
    state = {"format": 1, "step": 8, "epochs": 0.5, "tokens": 500, "minutes": 0.1, "updates": 8, "cursor": {"epoch": 0, "position": 26}, "skipped": 0, "skipped_in_row": 0,
             "spikes": 0, "recent": {"losses": [1.5, 1.25], "norms": [0.5, 0.5]}, "rollbacks": {"due": [4], "count": 1, "to_step": 4, "left_out": [{"begin": {"epoch": 0, "position": 3}, "end": {"epoch": 0, "position": 9}}]},
             "micro_batch_tokens": None, "window": {"loss": 0.0, "steps": 0}, "warmup_end": None, "owes_evaluation": False, "scored": [{"step": 4, "value": 3.5}],
             "patience": {"best": 3.5, "waited": 1}, "decision": {"threshold": 0.4, "tuned_by": "f1"}, "seed": 1, "precision": "bf16", "optimizer": "adamw", "threads": 1,
             "data": "a5e07c0edd03f252", "evaluation_data": "a5e07c0edd03f252", "versions": "LibTorch"}
    put("state", "state.json", json.dumps(state))
    put("manifest", "manifest.json", json.dumps({"format": 1, "checksum": "0" * 16, "files": {"file": {"size": 7, "xxh3": "0123456789abcdef"}, "../text.txt": {"size": 1, "xxh3": "0"}}}))
    put("manifest", "tensors.json", json.dumps({"format": 1, "checksum": "0" * 16, "files": {"model.safetensors": {"size": 9, "xxh3": "0", "tensors": {"a": "0"}}}}))


# JPEG (grey, and progressive in colour) and WebP images of 5 by 4 pixels.
PHOTOGRAPHS = {
    "grey.jpg": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////m8H////6/+b9//j/wAALCAAEAAUBAREA/8QA"
        "HwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3"
        "ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3"
        "+Pn6/9oACAEBAAA/ADT1HkV//9k="),
    "progressive.jpg": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////m8H////6/+b9//j/2wBDASstLTw1PHZBQXb4"
        "pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj/wgARCAAEAAUDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAL/xAAUAQEAAAAA"
        "AAAAAAAAAAAAAAAB/9oADAMBAAIQAxAAAAGQP//EABUQAQEAAAAAAAAAAAAAAAAAAAEA/9oACAEBAAEFAgL/xAAWEQADAAAAAAAAAAAAAAAAAAAAATH/2gAIAQMBAT8BUP/EABQRAQAA"
        "AAAAAAAAAAAAAAAAAAD/2gAIAQIBAT8Bf//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEABj8Cf//EABUQAQEAAAAAAAAAAAAAAAAAAAAR/9oACAEBAAE/IYn/2gAMAwEAAgADAAAA"
        "EAP/xAAWEQEBAQAAAAAAAAAAAAAAAAABABH/2gAIAQMBAT8Qbi//xAAWEQEBAQAAAAAAAAAAAAAAAAABABH/2gAIAQIBAT8QV2//xAAVEAEBAAAAAAAAAAAAAAAAAAAAQf/aAAgBAQAB"
        "PxCY/9k="),
    "lossy.webp": "UklGRkYAAABXRUJQVlA4IDoAAAAQAgCdASoFAAQAAsBMJagCdEyAAdWtw2wAAP7mnnXffOgNpxH9D/6ejWQ78N/zVDN61MUxI/S4F+AA",
    "lossless.webp": "UklGRiwAAABXRUJQVlA4TCAAAAAvBMAAALkyRPQ/dhHR/zAQZNsM7P5oZ2gGZbQisjACDw==",
}


def images():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    def png(width, height, depth, colour, rows, *more):
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)) + b"".join(more) + chunk(
            b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")

    put("image", "rgb.png", png(3, 2, 8, 2, bytes([0, *range(9), 1, *range(9)])))
    put("image", "palette.png", png(4, 2, 2, 3, bytes([0, 0b00011011, 2, 7]), chunk(b"PLTE", bytes(range(12))), chunk(b"tRNS", b"\0")))
    put("image", "grey16.png", png(2, 1, 16, 4, bytes([0, 1, 2, 3, 4, 5, 6, 7, 8])))
    put("image", "plain.ppm", "P3 # a comment\n2 1 255\n1 2 3 4 5 6\n")
    put("image", "raw.pgm", b"P5\n3 2\n255\n" + bytes(range(6)))
    for name, text in PHOTOGRAPHS.items():
        put("image", name, base64.b64decode(text))


if __name__ == "__main__":
    images()
    stored_runs()
    texts()
    tables()
    trees()
    ngrams()
    tensors()
    tokenizers()
    sentencepiece_models()
    stores_and_events()
