"""Runs programs and measures their resource usage."""
import json, os, pathlib, subprocess, sys, tempfile, time

from . import machine


class Failed(Exception):
    """A program ended with an error; contains the end of its output."""


def run(command, environment=None, echo=False):
    """Runs a program. Returns its output with the seconds, the peak memory, and the fraction of the machine's CPU time that
    other programs used meanwhile, as counted by the kernel."""
    began, (busy, steal) = time.time(), machine.busy_seconds()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen([str(word) for word in command], stdout=out, stderr=err, env={**os.environ, **(environment or {})})
        try:
            _, status, used = os.wait4(child.pid, 0)
        except KeyboardInterrupt:
            child.kill()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.time() - began
        out.seek(0)
        err.seek(0)
        output, words = out.read().decode(), err.read().decode()
    if child.returncode != 0:
        last = " / ".join(line for line in words.strip().splitlines()[-3:])
        raise Failed(f"{' '.join(pathlib.Path(word).name for word in command[:3])} ...: status {child.returncode}: {last}")
    if echo:
        sys.stderr.write(words)
    busy_now, steal_now = machine.busy_seconds()
    own = used.ru_utime + used.ru_stime
    total = max(seconds * (os.cpu_count() or 1), 1e-9)
    return dict(output=output, log=words, seconds=seconds, peak_mib=used.ru_maxrss / 1024,
                others=max(0.0, busy_now - busy - own) / total, withheld=max(0.0, steal_now - steal) / total)


def run_json(command, environment=None):
    """The JSON object of the program's last line, together with the measurements of run()."""
    told = run(command, environment)
    lines = [line for line in told.pop("output").splitlines() if line.startswith("{")]
    if not lines:
        raise Failed(f"{command[0]} printed no JSON object")
    told.pop("log")
    told |= json.loads(lines[-1])
    if "peak_gpu_mib" in told:   # then that of the process says little
        told["peak_mib"] = told["peak_gpu_mib"]
    return told
