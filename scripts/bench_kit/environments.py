"""A virtual environment for each library of the peers, made on demand with pip: `scripts/bench --setup NAME`. No versions are fixed; the results
record the installed ones."""
import json, os, pathlib, shutil, subprocess, sys

# For each environment, the packages that pip installs, the library itself first.
ENVIRONMENTS = {
    "transformers": ("transformers", "torch", "tokenizers", "numpy"),
    "onnxruntime": ("onnxruntime", "onnx", "transformers", "torch", "tokenizers", "numpy"),
    "openvino": ("openvino", "nncf", "transformers", "torch", "tokenizers", "numpy"),
    "ctranslate2": ("ctranslate2", "transformers", "torch", "sentencepiece"),
    "xllamacpp": ("xllamacpp", "gguf", "safetensors", "numpy"),
    "tokenizers": ("tokenizers",),
    "tokie": ("tokie", "numpy"),
    "fastokens": ("fastokens",),
    "splintr": ("splintr-rs",),
}
COMPLETE = "complete"   # file that exists once all packages are installed
VERSIONS = """import importlib.metadata, json
print(json.dumps({each.metadata["Name"].lower(): each.version for each in importlib.metadata.distributions()}))"""


class NotInstalled(Exception):
    """pip or venv failed."""


class Environments:
    """`python` is the interpreter for the environment `transformers`, unless that has been set up here and no other is given."""

    def __init__(self, folder, python=None):
        self.folder, self.given = pathlib.Path(folder), python

    def is_complete(self, name):
        return (self.folder / name / COMPLETE).exists()

    def python(self, name):
        if name == "transformers" and (self.given or not self.is_complete(name)):
            return self.given or sys.executable
        return self.folder / name / "bin" / "python"

    def why_absent(self, name):
        """The reason why the peers of an environment cannot run, or None."""
        if name == "transformers" and (self.given or not self.is_complete(name)):
            done = subprocess.run([self.python(name), "-c", "import torch, transformers, tokenizers, numpy"], capture_output=True, text=True) \
                if shutil.which(self.python(name)) else None
            if done and done.returncode == 0:
                return None
            last = done.stderr.strip().rsplit("\n", 1)[-1] if done else "no such program"
            return f"{pathlib.Path(self.python(name)).name} has no torch, transformers, tokenizers and numpy ({last}): scripts/bench --setup transformers installs them"
        return None if self.is_complete(name) else f"there is no environment {name}: scripts/bench --setup {name} makes it with pip"

    def packages(self, name):
        """All installed packages with their versions."""
        return json.loads(subprocess.run([self.python(name), "-c", VERSIONS], capture_output=True, text=True, check=True).stdout)

    def setup(self, name):
        """Makes the environment, or updates its packages."""
        folder = self.folder / name
        (folder / COMPLETE).unlink(missing_ok=True)
        made = subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, text=True)
        if made.returncode:
            raise NotInstalled(f"python -m venv fails: {(made.stdout + made.stderr).strip()}")
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--upgrade", "--disable-pip-version-check", *ENVIRONMENTS[name]]
        done = subprocess.run(pip, capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()[-1:]
            raise NotInstalled(f"pip cannot install the environment {name}: {' / '.join(errors)} (pip needs a package index, see `pip config "
                               "list` and PIP_INDEX_URL, or a directory of wheels, PIP_FIND_LINKS)")
        (folder / COMPLETE).touch()
