#!/usr/bin/env python3
"""Tokenises texts for the other programs of this folder, with a tokenizer.json: prepare.py OUTPUT TOKENIZER lines|table LENGTH FILE ..."""
import json, sys

import corpus


def main():
    output, tokenizer, kind, length, *files = sys.argv[1:]
    print(json.dumps(corpus.prepare(output, tokenizer, files, kind == "table", int(length))))


if __name__ == "__main__":
    main()
