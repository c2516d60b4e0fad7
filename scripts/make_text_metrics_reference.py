#!/usr/bin/env python3
"""Writes tests/reference/text_metrics.json: BLEU and chrF of sacreBLEU, ROUGE of Google's rouge_score, stems of NLTK.

    pip install sacrebleu[ja]==2.6.0 rouge_score==0.1.2 nltk
    python3 scripts/make_text_metrics_reference.py
"""
import json
import pathlib
import random

from nltk.stem import porter
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU, CHRF

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/text_metrics.json"

LINES = [
    "The quick brown fox, aged 3.5 years, jumps over the lazy dog's bed - 1,000 times!",
    "A man in a blue shirt is standing on a ladder cleaning windows.",
    "Er sagte: \u201eIch komme nicht\u201c, und ging (leider) um 12:30 Uhr nach Hause.",
    "L'\u00e9t\u00e9 dernier, nous avons mang\u00e9 des cr\u00eapes \u00e0 No\u00ebl ; c'\u00e9tait d\u00e9licieux\u2026",
    "\u6211\u4eec\u6628\u5929\u5728\u5317\u4eac\u5403\u4e86 3 \u4e2a\u5305\u5b50\uff0c\u5f88\u597d\u5403\u3002",
    "Prices rose by 5 % (from $10.00 to $10.50) in Q3-2024 &amp; beyond; see http://example.org/a_b?c=d&lt;e.",
    "\u039f \u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3 \u03b5\u03af\u03c0\u03b5: \u00abna\u0131ve\u00bb \u0130stanbul, \u20ac5 \u2013 \u00bd cup.",
    "One sentence here.\nAnother sentence there, with relational motoring.\nThe third happily conflated flies.",
    "It was the best of times, it was the worst of times, it was the age of wisdom.",
    "generalizations and hopefulness electrical adjustable , . ; 'quoted' \"double\" end.",
    "  leading and\u00a0trailing   white\tspace  ",
    "one",
    "",
]
JAPANESE = [
    "昨日、友達と一緒に京都の古いお寺を見に行きました。",
    "すもももももももものうち",
    "  新しい　電車は時速320kmで走るそうだ（2026年3月から）。 ",
    "「それは本当ですか？」と彼女はＷｅｆｔの前で聞いた。",
    "The model は three 言語 を 話せる！",
    "東京都に住んでいた祖母は、毎朝コーヒーを飲まずに散歩していたらしい…",
    "ゲーム",
    "",
]
WORDS = """caresses ponies ties caress cats feed agreed plastered bled motoring sing conflated troubled sized hopping tanned
falling hissing fizzed failing filing happy sky enjoy relational conditional rational valenci hesitanci digitizer conformabli
radicalli differentli vileli analogousli vietnamization predication operator feudalism decisiveness hopefulness callousness
formaliti sensitiviti sensibiliti triplicate formative formalize electriciti electrical hopeful goodness revival allowance
inference airliner gyroscopic adjustable defensible irritant replacement adjustment dependent adoption homologou communism
activate angulariti homologous effective bowdlerize probate rate cease controll roll died spied dies flies dying news innings
succeed exceed theology archaeology geology fully hopefully skies yyyy by say syzygy toying abilities ion ions tion eed ied
ies ousness element cement basement aed oed being agreement owing using ation lli""".split()

BLEU_SETTINGS = [dict(tokenize=name) for name in ("13a", "intl", "char", "zh", "none")]
BLEU_SETTINGS += [dict(smooth_method="floor"), dict(smooth_method="add-k", smooth_value=2), dict(smooth_method="none"),
                  dict(lowercase=True), dict(lowercase=True, tokenize="intl"), dict(effective_order=True)]


def changed(line, rng, separator=" "):
    words = line.split(separator) if separator else list(line) or [""]
    for _ in range(max(1, len(words) // 5)):
        at = rng.randrange(len(words))
        kind = rng.randrange(3)
        if kind == 0 and len(words) > 1:
            del words[at]
        elif kind == 1:
            words.insert(at, rng.choice(["the", "Haus", "\u6211", "...", "3-4"]))
        else:
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
    return separator.join(words)


def bleu_cases(hypotheses, references, settings):
    cases = []
    for setting in settings:
        metric = BLEU(**setting)
        corpus = metric.corpus_score(hypotheses, references)
        lines = [metric.sentence_score(h, [r[i] for r in references]).score for i, h in enumerate(hypotheses)]
        metric.corpus_score(hypotheses, references)
        cases.append({**setting, "score": corpus.score, "precisions": corpus.precisions, "bp": corpus.bp,
                      "lengths": [corpus.sys_len, corpus.ref_len], "lines": lines, "signature": str(metric.get_signature())})
    return cases


def chrf_cases(hypotheses, references):
    cases = []
    for setting in (dict(), dict(word_order=2), dict(lowercase=True, word_order=1), dict(whitespace=True), dict(beta=3, char_order=4)):
        metric = CHRF(**setting)
        corpus = metric.corpus_score(hypotheses, references)
        lines = [metric.sentence_score(h, [r[i] for r in references]).score for i, h in enumerate(hypotheses)]
        metric.corpus_score(hypotheses, references)
        cases.append({**setting, "score": corpus.score, "lines": lines, "name": corpus.name, "signature": str(metric.get_signature())})
    return cases


def rouge_cases(hypotheses, references):
    cases = []
    for stems in (False, True):
        scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"], use_stemmer=stems)
        rows = [scorer.score_multi([r[i] for r in references], h) for i, h in enumerate(hypotheses)]
        cases.append({"stems": stems, "rows": [{name: list(score) for name, score in row.items()} for row in rows]})
    return cases


def main():
    rng = random.Random(5)
    hypotheses = [changed(line, rng) for line in LINES for _ in range(2)]
    first = [line for line in LINES for _ in range(2)]
    second = [changed(line, rng) for line in first]
    groups = []
    for references in ([first], [first, second]):
        groups.append({"references": references, "bleu": bleu_cases(hypotheses, references, BLEU_SETTINGS),
                       "chrf": chrf_cases(hypotheses, references), "rouge": rouge_cases(hypotheses, references)})
    found = [changed(line, rng, "") for line in JAPANESE]
    japanese = {"hypotheses": found, "references": [JAPANESE], "bleu": bleu_cases(found, [JAPANESE], [dict(tokenize="ja-mecab")])}
    stemmer = porter.PorterStemmer()
    stems = {word: stemmer.stem(word) for word in WORDS}
    told = {"hypotheses": hypotheses, "groups": groups, "japanese": japanese, "stems": stems}
    TARGET.write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
