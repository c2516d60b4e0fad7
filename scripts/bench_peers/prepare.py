#!/usr/bin/env python3
"""Prepares data for the other programs of this directory: prepare.py TASK OUTPUT TOKENIZER LENGTH FILE ... (for images `-` and 0)."""
import json, sys

import tasks


def main():
    task, output, tokenizer, length, *files = sys.argv[1:]
    print(json.dumps(tasks.TASKS[task]["corpus"].prepare(output, tokenizer, files, int(length))))


if __name__ == "__main__":
    main()
