#!/usr/bin/env python3
"""Compares transformers and Weft on the models of scripts/make_model_reference.py with other weights and inputs.

    pip install torch transformers safetensors
    WEFT=build/weft python3 scripts/parity/models.py [--seed N] [--only NAME]

Outputs may differ by 1e-5 of the largest value of their tensor (or 1e-5, where that is below 1), gradients by 1e-4.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import make_model_reference as reference
from safetensors.torch import load_file

WEFT = os.environ.get("WEFT", "weft")


def compute(folder, has_gradients):
    """What Weft makes of the model and the inputs in a folder."""
    command = [WEFT, "forward", folder, "--input", folder / "inputs.safetensors", "--output", folder / "found.safetensors"]
    done = subprocess.run([*map(str, command), *["--gradients"][:has_gradients]], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    return load_file(folder / "found.safetensors")


def worst(expected, found):
    """The largest difference as a fraction of the tolerance, and its tensor."""
    shares = [(float("inf"), f"{name} is missing") for name in expected.keys() - found.keys()]
    for name in expected.keys() & found.keys():
        allowed = (1e-4 if name.startswith("gradient.") else 1e-5) * max(1.0, expected[name].abs().max().item())
        shares.append(((expected[name].float() - found[name].float()).abs().max().item() / allowed, name))
    return max(shares)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    reference.transformers.utils.logging.disable_progress_bar()
    reference.SEED = options.seed
    failed = 0
    with tempfile.TemporaryDirectory(prefix="weft-parity-") as work:
        reference.TARGET = pathlib.Path(work)
        for name, (architecture, config, kind) in reference.CASES.items():
            if options.only not in name:
                continue
            reference.write(name, architecture, config, kind)
            folder = reference.TARGET / name
            share, tensor = worst(load_file(folder / "outputs.safetensors"), compute(folder, kind is not None))
            failed += not share <= 1
            print(f"{'ok    ' if share <= 1 else 'FAILED'} {name}: {share:.3f} of the tolerance, in {tensor}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
