#!/usr/bin/env python3
"""Writes tests/reference/fasttext: classifiers that fastText trains on a few sentences, and its predictions.

Usage: scripts/make_fasttext_reference.py
Needs the command `fasttext` (Debian's package of that name).
"""
import json, pathlib, subprocess, tempfile

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "tests/reference/fasttext"
SENTENCES = {
    "weather": ["the rain fell all night", "a cold wind blew from the sea", "snow covers the hills", "the sun is warm today"],
    "food": ["we baked bread with seeds", "the soup needs salt", "a ripe pear is sweet", "he peels an onion"],
    "music": ["she plays the cello", "the choir sang in tune", "a slow waltz", "drums and a trumpet"],
    "travel": ["the train was late", "we crossed the bridge by bus", "a ticket to the coast"],
    "sport": ["they won the match", "a long run before breakfast"],
}
TEXTS = ["the rain fell on the train", "sweet bread", "zzz", "", "die Brücke über den Fluß", "a  slow\ttrain", "the cello", "日本 bread", "won"]
MODELS = {
    "words": ["-loss", "softmax", "-wordNgrams", "1", "-bucket", "0"],
    "ngrams": ["-loss", "softmax", "-wordNgrams", "3", "-minn", "2", "-maxn", "4", "-bucket", "300"],
    "tree": ["-loss", "hs", "-wordNgrams", "2", "-minn", "0", "-maxn", "3", "-bucket", "300"],
    "one_vs_all": ["-loss", "ova", "-wordNgrams", "2", "-bucket", "300"],
}


def run(*arguments, text=""):
    return subprocess.run(["fasttext", *arguments], input=text, capture_output=True, text=True, check=True).stdout


def predictions(model):
    lines = run("predict-prob", str(model), "-", "-1", text="".join(f"{text}\n" for text in TEXTS)).splitlines()
    result = []
    for line in lines:
        fields = line.split()
        names = [name.removeprefix("__label__") for name in fields[::2]]
        result.append(dict(zip(names, map(float, fields[1::2]))))
    return result


def main():
    OUTPUT.mkdir(parents=True, exist_ok=True)
    expected = {"texts": TEXTS, "predictions": {}}
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "train.txt"
        data.write_text("".join(f"__label__{label} {text}\n" for label, texts in SENTENCES.items() for text in texts))
        common = ["-input", str(data), "-dim", "4", "-epoch", "60", "-lr", "0.8", "-minCount", "1", "-thread", "1", "-seed", "1", "-verbose", "0"]
        for name, options in MODELS.items():
            run("supervised", *common, "-output", str(OUTPUT / name), *options)
        model = pathlib.Path(folder) / "ngrams"
        run("supervised", *common, "-output", str(model), *MODELS["ngrams"])
        run("quantize", "-output", str(model), "-input", str(data), "-dsub", "3", "-qnorm", "-cutoff", "280", "-verbose", "0")
        (OUTPUT / "quantized.ftz").write_bytes(model.with_suffix(".ftz").read_bytes())
        for vectors in OUTPUT.glob("*.vec"):
            vectors.unlink()
        run("skipgram", *common[:-2], "-output", str(pathlib.Path(folder) / "skipgram"), "-bucket", "10")
        (OUTPUT / "skipgram.bin").write_bytes((pathlib.Path(folder) / "skipgram.bin").read_bytes())
        (OUTPUT / "skipgram.vec").write_bytes((pathlib.Path(folder) / "skipgram.vec").read_bytes())
    for model in sorted(OUTPUT.iterdir()):
        if model.suffix in (".bin", ".ftz") and model.stem != "skipgram":
            expected["predictions"][model.name] = predictions(model)
    (OUTPUT / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
