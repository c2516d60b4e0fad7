#!/usr/bin/env python3
"""A peer of `weft generate`: greedy decoding of a fixed number of tokens after each prompt, all prompts at once.

Each line of the input is {"ids": [...]}, each line of the output {"text": ...}. The time is that of many tokens minus that of few, which
leaves out the prompts; Weft is timed in the same way. --convert converts the model instead, to --converted.

    python3 scripts/bench_peers/generate.py MODEL --library llama_cpp --converted FILE --precision fp32 --convert
    python3 scripts/bench_peers/generate.py MODEL --library llama_cpp --converted FILE --precision fp32 --input FILE --output FILE --new 144
"""
import argparse, importlib, json, pathlib, time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="directory with config.json, model.safetensors and tokenizer.json")
    parser.add_argument("--library", required=True, choices=["transformers", "llama_cpp"])
    parser.add_argument("--precision", choices=["fp32", "bf16", "int8"], default="fp32")
    parser.add_argument("--converted", help="the model in the format of the library")
    parser.add_argument("--convert", action="store_true")
    parser.add_argument("--input")
    parser.add_argument("--output")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--few", type=int, default=16, help="new tokens of the run that is subtracted")
    parser.add_argument("--new", type=int, default=144, help="new tokens")
    return parser.parse_args()


def main():
    options = arguments()
    library = importlib.import_module(f"generate_{options.library}")
    if options.convert:
        return library.convert(options)
    prompts = [json.loads(line)["ids"] for line in pathlib.Path(options.input).read_text().splitlines()]
    generate = library.load(options, prompts)

    def timed(new):
        begin = time.perf_counter()
        found = generate(new)
        seconds = time.perf_counter() - begin
        if any(count != new for _, count in found):
            raise SystemExit(f"error: {new} new tokens were asked for, not {sorted({count for _, count in found})}")
        return [text for text, _ in found], seconds
    timed(options.few)   # warm-up
    _, few_seconds = timed(options.few)
    texts, seconds = timed(options.new)
    if seconds <= few_seconds:
        raise SystemExit(f"error: {few_seconds:.2f} s for few tokens and {seconds:.2f} s for all: too little work, or a busy machine")
    with open(options.output, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(dict(text=text)) + "\n" for text in texts)
    tokens = len(prompts) * (options.new - options.few)
    print(json.dumps(dict(library=options.library, threads=options.threads, tokens=tokens, rate=tokens / (seconds - few_seconds))))


if __name__ == "__main__":
    main()
