#!/usr/bin/env python3
"""CTranslate2 as a peer of `weft generate --beams`: translates a file with one text per line.

The time is that of translate_batch, without loading the model and the tokenizer, in the batches that are fastest here (4,096 tokens, sorted by
length by CTranslate2). bf16 is float32 where CTranslate2 has no bfloat16 for the processor. Its beam search has other rules for finished hypotheses
than Weft and transformers. --convert converts the model instead, to --converted.

    python3 scripts/bench_peers/translate.py MODEL --converted DIR --precision int8 --convert
    python3 scripts/bench_peers/translate.py MODEL --converted DIR --precision int8 --input FILE --output FILE
"""
import argparse, json, os, pathlib, time

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import ctranslate2

TYPES = dict(fp32="float32", bf16="bfloat16", int8="int8")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="directory of a translation model that transformers can open")
    parser.add_argument("--precision", choices=list(TYPES), default="fp32")
    parser.add_argument("--converted", required=True)
    parser.add_argument("--convert", action="store_true")
    parser.add_argument("--input")
    parser.add_argument("--output")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--beams", type=int, default=5)
    parser.add_argument("--new", type=int, default=80, help="maximum number of new tokens")
    return parser.parse_args()


def type_of(precision):
    kind = TYPES[precision]
    return kind if kind in ctranslate2.get_supported_compute_types("cpu") else "float32"


def convert(options):
    """Converts with the model's own tokens: the loader of CTranslate2 expects Marian's, with a last token for padding."""
    from ctranslate2.converters import transformers as loaders

    def set_config(self, config, model, tokenizer):
        config.eos_token, config.unk_token = tokenizer.eos_token, tokenizer.unk_token
        config.decoder_start_token = tokenizer.convert_ids_to_tokens(model.config.decoder_start_token_id)

    marian = loaders.MarianMTLoader
    marian._remove_pad_weights = lambda self, spec: None
    marian.set_decoder = lambda self, spec, decoder: loaders.BartLoader.set_decoder(self, spec, decoder)
    marian.set_config = set_config
    marian.get_vocabulary = lambda self, model, tokenizer: tokenizer.convert_ids_to_tokens(range(model.config.vocab_size))
    kind = type_of(options.precision)
    loaders.TransformersConverter(options.model).convert(options.converted, quantization=None if kind == "float32" else kind, force=True)


def main():
    options = arguments()
    if options.convert:
        return convert(options)
    import transformers

    lines = pathlib.Path(options.input).read_text(encoding="utf-8").splitlines()
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
    translator = ctranslate2.Translator(options.converted, device="cpu", compute_type=type_of(options.precision), intra_threads=1,
                                        inter_threads=options.threads)
    sources = [tokenizer.convert_ids_to_tokens(ids) for ids in tokenizer(lines)["input_ids"]]
    settings = dict(beam_size=options.beams, max_batch_size=4096, batch_type="tokens", max_decoding_length=options.new)
    translator.translate_batch(sources[:1], **settings)
    begin = time.perf_counter()
    found = translator.translate_batch(sources, **settings)
    seconds = time.perf_counter() - begin
    with open(options.output, "w", encoding="utf-8") as out:
        out.writelines(tokenizer.decode(tokenizer.convert_tokens_to_ids(each.hypotheses[0]), skip_special_tokens=True) + "\n" for each in found)
    print(json.dumps(dict(library="ctranslate2", threads=options.threads, type=type_of(options.precision), sequences=len(lines),
                          timed_seconds=seconds, rate=len(lines) / seconds)))


if __name__ == "__main__":
    main()
