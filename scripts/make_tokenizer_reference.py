#!/usr/bin/env python3
"""Writes tests/reference/tokenizers/: small tokenizers of each kind, and the results of public libraries on difficult texts.

    pip install tokenizers sentencepiece transformers
    python3 scripts/make_tokenizer_reference.py

Each folder is a tokenizer as saved by other programs; expected.json has, for the lines of lines.json, the ids with special
tokens, the byte offsets of the tokens, the ids and segments of pairs, and the decoded text.
"""
import itertools
import json
import os
import pathlib
import random
import shutil

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/tokenizers"

TEXT = """The weaver sets the warp before the first thread of weft is thrown.
A loom that is never cleaned will one day tear the finest cloth; don't wait for it.
She'll count 12 picks to the inch, 144 to the foot, and 1,728 on the widest piece.
Il a tissé une nappe à carreaux, très légère, pour l'été de 1987.
Der Weber schießt den Schuss durch die Kette; das Tuch wird länger.
Ткач бросает челнок, и нить ложится ровно.
Ο υφαντής ρίχνει τη σαΐτα και το πανί μεγαλώνει.
織り手は糸を渡し、布は少しずつ長くなる。
布要一尺一尺地织，线要一根一根地理。
बुनकर ताने में बाना डालता है।
النسّاج يمرّر الخيط بين السدى.
האורג מעביר את החוט בין חוטי השתי.
직공은 날실 사이로 씨실을 넣는다.
""".splitlines()

LINES = TEXT + [
    "", " ", "\t", "a", " a ", "  two   spaces  ", "tab\there", "DON'T SHOUT, O'Brien!", "hello,world... (really?)",
    "3.14159 and 1e-10, 50%", "½ ² Ⅷ ① ２０２６", "café cafe\u0301 naïve nai\u0308ve", "Ångström A\u030angstro\u0308m", "ﬁnd ﬀ ﬂ",
    "Straße STRASSE ẞ İstanbul ıI", "ΣΊΣΥΦΟΣ σίσυφος ς", "ǅ ǆ Ǆ ʼn", "\u0301alone", "e\u0301\u0323 \u1e69 s\u0323\u0307", "각 가\u11a8 \u1100\u1161",
    "日本語テスト 中文字符", "𠀀𪜀 豈 ㍿", "　ideographic　space　", "ไทยไม่มีช่องว่าง", "क्ष त्र ज्ञ", "السَّلَامُ", "שָׁלוֹם",
    "😀😀 👨‍👩‍👧 👍🏽 🏳️‍🌈 🇫🇷", "nb\u00a0space thin\u2009space", "zero\u200bwidth join\u200der soft\u00adhyphen", "\ufeffbom inside\ufeff",
    "line\u2028separator next\u0085line", "a\rb", "nul\0inside", "\x01\x02\x1b[31mred del\x7f c1\x80\x9f", "replacement \ufffd",
    "private \ue000 \U000f0000 last \U0010ffff", "math 𝐀𝑩𝒞 ∑∫ ≠", "▁ piece ▁▁ Ġ Ċ ##", "##ing", "a" * 99, "a" * 100, "a" * 101,
    "é" * 60, "-" * 40, "[CLS] hello [SEP]", "a[MASK]b", "a [MASK] b", "[mask] [cls]", "<s> hello </s>", "a <mask> b", "a<mask>b",
    "x <extra> y<extra>z", "<|endoftext|>a<|endoftext|>", "<0x41> <0xE2>", "\U00011938 \u0e33 \u0f71\u0f72", "\u1c89 \ua7cb",
]

BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BERT_NAMES = dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")


def save(folder, tokenizer, kind="PreTrainedTokenizerFast", **settings):
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **settings).save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "tokenizer_class": kind}, indent=1))


def word_piece(folder, normalizer, special=BERT, names=BERT_NAMES, kind="PreTrainedTokenizerFast", processor=None, **settings):
    tokenizer = Tokenizer(models.WordPiece(unk_token=names["unk_token"]))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(TEXT, trainers.WordPieceTrainer(vocab_size=420, special_tokens=special, show_progress=False))
    tokenizer.post_processor = processor or processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    save(folder, tokenizer, kind, **names, **settings)


def bert_uncased(folder):
    word_piece(folder, normalizers.BertNormalizer(lowercase=True), kind="BertTokenizer", do_lower_case=True)


def bert_cased(folder):
    word_piece(folder, normalizers.BertNormalizer(lowercase=False), kind="BertTokenizer", do_lower_case=False)


def bert_accents_kept(folder):
    word_piece(folder, normalizers.BertNormalizer(lowercase=True, strip_accents=False))


def bert_accents_off(folder):
    word_piece(folder, normalizers.BertNormalizer(lowercase=False, strip_accents=True, handle_chinese_chars=False))


def word_piece_forms(folder):
    """Other normalizers, and BertProcessing."""
    word_piece(folder, normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(),
                                             normalizers.Replace(Regex("[0-9]{2,3}|[-.]+"), "#"), normalizers.Strip()]),
               processor=processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)))


def bert_vocab_txt(folder):
    bert_uncased(folder)
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    for path in folder.iterdir():
        path.unlink()
    (folder / "vocab.txt").write_text("".join(piece + "\n" for piece in sorted(vocabulary, key=vocabulary.get)))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": False,
                                                              "tokenize_chinese_chars": False}))
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))


def byte_level(folder, prefix, special, kind, processor=None, normalizer=None, **settings):
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(TEXT, trainers.BpeTrainer(
        vocab_size=420, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.post_processor = processor or processors.ByteLevel(trim_offsets=False)
    save(folder, tokenizer, kind, add_prefix_space=prefix, **settings)


def gpt2(folder):
    byte_level(folder, False, ["<|endoftext|>"], "GPT2Tokenizer", **dict.fromkeys(
        ("bos_token", "eos_token", "unk_token"), "<|endoftext|>"))


def gpt2_two_files(folder):
    gpt2(folder)
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text(json.dumps(model["vocab"], ensure_ascii=False))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(" ".join(merge) + "\n" for merge in model["merges"]))


def merges_as_texts(folder):
    gpt2(folder)
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["merges"] = [" ".join(merge) for merge in content["model"]["merges"]]
    path.write_text(json.dumps(content, ensure_ascii=False))


def roberta(folder):
    byte_level(folder, True, ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True)], "RobertaTokenizer",
               processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=True),
               bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", pad_token="<pad>", unk_token="<unk>",
               mask_token=AddedToken("<mask>", lstrip=True))


def modernbert(folder):
    """As ModernBERT has it: composed characters, tokens of many spaces, special tokens behind the pieces."""
    byte_level(folder, False, ["<|endoftext|>"], "GPT2Tokenizer", normalizer=normalizers.NFC(), **{
        **BERT_NAMES, "mask_token": AddedToken("[MASK]", lstrip=True)})
    path = folder / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(8, 1, -1)] + [AddedToken("|||EMAIL|||")])
    tokenizer.add_special_tokens([*BERT[:4], AddedToken("[MASK]", lstrip=True)])
    tokenizer.add_tokens([f"[unused{i}]" for i in range(3)])
    ids = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:0 [SEP]:0", special_tokens=ids)
    tokenizer.save(str(path))
    (folder / "config.json").write_text(json.dumps({"model_type": "modernbert"}))


def distilbert_older(folder):
    """vocab.txt with the tokens that were added later in added_tokens.json."""
    bert_vocab_txt(folder)
    size = len((folder / "vocab.txt").read_text().split("\n")) - 1
    (folder / "added_tokens.json").write_text(json.dumps({"<extra>": size, "the loom": size + 1}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "DistilBertTokenizer", "do_lower_case": True}))
    (folder / "config.json").write_text(json.dumps({"model_type": "distilbert"}))


def electra_listed(folder):
    """tokenizer_config.json lists the added tokens, others than tokenizer.json does."""
    bert_uncased(folder)
    path = folder / "tokenizer_config.json"
    listed = {str(i): {"content": token, "special": True} for i, token in enumerate(BERT)}
    listed["420"] = {"content": "<extra>", "lstrip": True, "rstrip": True, "normalized": False, "single_word": False, "special": False}
    path.write_text(json.dumps({"tokenizer_class": "ElectraTokenizerFast", "do_lower_case": True, "added_tokens_decoder": listed}))
    (folder / "config.json").write_text(json.dumps({"model_type": "electra"}))


def xlm_roberta(folder):
    """sentencepiece.bpe.model alone, as XLM-RoBERTa and multilingual E5 have it."""
    pieces(folder, vocab_size=200, character_coverage=0.98)
    (folder / "spiece.model").rename(folder / "sentencepiece.bpe.model")
    (folder / "config.json").write_text(json.dumps({"model_type": "xlm-roberta"}))


def xlm_roberta_json(folder):
    """tokenizer.json of the same with Metaspace as it was written before it had a scheme."""
    xlm_roberta(folder)
    AutoTokenizer.from_pretrained(str(folder)).save_pretrained(folder)
    (folder / "sentencepiece.bpe.model").unlink(missing_ok=True)
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
        {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}]}
    path.write_text(json.dumps(content))


def mbart(folder):
    """sentencepiece.bpe.model alone, without rules: the class applies none."""
    pieces(folder, has_rules=False, vocab_size=200, character_coverage=0.98, normalization_rule_name="identity")
    (folder / "spiece.model").rename(folder / "sentencepiece.bpe.model")
    (folder / "tokenizer_config.json").write_text(json.dumps({"src_lang": "fr_XX", "tgt_lang": "de_DE"}))
    (folder / "config.json").write_text(json.dumps({"model_type": "mbart"}))


def split_pattern(folder):
    pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
               r"\s*[\r\n]+|\s+(?!\S)|\s+")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(TEXT, trainers.BpeTrainer(
        vocab_size=420, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.add_tokens([AddedToken("<extra>", rstrip=True), AddedToken("loom", single_word=True)])
    save(folder, tokenizer, eos_token="<|endoftext|>")


def qwen2(folder):
    """For this model_type transformers builds its own pre-processing around the vocabulary, regardless of the files."""
    byte_level(folder, False, ["<|endoftext|>"], "GPT2Tokenizer", eos_token="<|endoftext|>")
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen2"}))


def llama(folder):
    """As Llama 2 has it: its class prepends a space to the first word alone, the file to every text between special tokens."""
    special = ["<unk>", "<s>", "</s>"]
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.train_from_iterator(TEXT, trainers.BpeTrainer(
        vocab_size=460, special_tokens=special + [f"<0x{byte:02X}>" for byte in range(256)], limit_alphabet=90, show_progress=False))
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    save(folder, tokenizer, "LlamaTokenizer", unk_token="<unk>", bos_token="<s>", eos_token="</s>")
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["added_tokens"] = content["added_tokens"][:len(special)]  # bytes are pieces like others
    path.write_text(json.dumps(content))
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))


def unigram(folder):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.train_from_iterator(TEXT, trainers.UnigramTrainer(
        vocab_size=420, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    tokenizer.add_tokens([AddedToken("<extra>", lstrip=True)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    save(folder, tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


def framed(folder, tokenizer, trainer):
    tokenizer.train_from_iterator(TEXT, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    save(folder, tokenizer, **BERT_NAMES)


def word_level(folder):
    """Whole words, as the library's tour cuts them."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    framed(folder, tokenizer, trainers.WordLevelTrainer(vocab_size=200, special_tokens=BERT, show_progress=False))


def suffix_pieces(folder):
    """Word ends have a suffix, as in the library's CharBPETokenizer."""
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.CharDelimiterSplit(" "), pre_tokenizers.Punctuation("merged_with_previous")])
    tokenizer.decoder = decoders.BPEDecoder()
    framed(folder, tokenizer, trainers.BpeTrainer(
        vocab_size=300, special_tokens=BERT, end_of_word_suffix="</w>", limit_alphabet=80, show_progress=False))


def byte_signs(folder):
    """The alphabet of bytes as a normalizer."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.ByteLevel()])
    tokenizer.pre_tokenizer = pre_tokenizers.Punctuation()
    tokenizer.decoder = decoders.ByteLevel()
    framed(folder, tokenizer, trainers.BpeTrainer(
        vocab_size=320, special_tokens=BERT, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))


def rules(folder):
    """A few rules for the character map: SentencePiece's own would fill a third of a megabyte."""
    path = folder / "rules.tsv"
    pairs = [("\u00a0", " "), ("\u3000", " "), ("\t", " "), ("é", "e\u0301x"), ("e\u0301", "é"), ("ﬁ", "fi"), ("½", "1/2"),
             ("Å", "å"), ("ก", ""), ("\u200b", "")]
    code = lambda text: " ".join(f"{ord(c):X}" for c in text)
    path.write_text("".join(f"{code(a)}\t{code(b)}\n" for a, b in pairs))
    return path


def pieces(folder, has_rules=True, **settings):
    if has_rules:
        settings["normalization_rule_tsv"] = str(rules(folder))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_prefix=str(folder / "spiece"), minloglevel=2, **settings)
    (folder / "rules.tsv").unlink(missing_ok=True)
    (folder / "spiece.vocab").unlink()


def t5(folder):
    pieces(folder, vocab_size=200, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, character_coverage=0.98)
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "T5Tokenizer", "extra_ids": 3, "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}))
    (folder / "config.json").write_text(json.dumps({"model_type": "t5"}))


def pieces_unigram(folder):
    pieces(folder, vocab_size=200, character_coverage=0.98, user_defined_symbols=["[MASK]"])


def pieces_bytes(folder):
    pieces(folder, vocab_size=460, model_type="bpe", byte_fallback=True, character_coverage=0.98)


CASES = [bert_uncased, bert_cased, bert_accents_kept, bert_accents_off, bert_vocab_txt, word_piece_forms, gpt2, gpt2_two_files,
         merges_as_texts, roberta, split_pattern, unigram, word_level, suffix_pieces, byte_signs, t5, modernbert, qwen2, llama,
         distilbert_older, electra_listed, xlm_roberta, xlm_roberta_json, mbart, pieces_unigram, pieces_bytes]


def byte_places(line, offsets):
    ends = [0, *itertools.accumulate(len(c.encode()) for c in line)]
    return [[ends[a], ends[b]] for a, b in offsets]


def expected_by_transformers(folder):
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    whole = tokenizer(LINES, return_offsets_mapping=True)
    pairs = tokenizer(LINES[:20], LINES[20:40], return_token_type_ids=True)
    return {"ids": whole["input_ids"],
            "places": [byte_places(*row) for row in zip(LINES, whole["offset_mapping"])],
            "pair_ids": pairs["input_ids"], "pair_types": pairs["token_type_ids"],
            "texts": tokenizer.batch_decode(whole["input_ids"], skip_special_tokens=True, clean_up_tokenization_spaces=False)}


def expected_by_sentencepiece(folder):
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spiece.model"))
    ids = processor.encode(LINES)
    return {"ids": ids, "texts": processor.decode(ids)}


def main():
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    (TARGET / "lines.json").write_text(json.dumps(LINES, ensure_ascii=False, indent=0) + "\n")
    for make in CASES:
        folder = TARGET / make.__name__
        folder.mkdir()
        make(folder)
        is_bare = make in (pieces_unigram, pieces_bytes)
        expected = expected_by_sentencepiece(folder) if is_bare else expected_by_transformers(folder)
        (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n")
        path = folder / "tokenizer.json"
        if path.exists():  # less white space
            path.write_text(json.dumps(json.loads(path.read_text()), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
