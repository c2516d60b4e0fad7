"""Description of the machine of a benchmark, and its other load."""
import datetime, json, os, subprocess

FLAGS = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_tile", "amx_bf16")
QUIET_LOAD = 0.3   # of the cores
TICK = os.sysconf("SC_CLK_TCK")


def processor():
    """Model, with the numbers that tell apart what a host calls by one name, and the flags that matter to matrix products."""
    told = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if not name.strip():
                    break   # the first core is like the others
                told[name.strip()] = value.strip()
    except OSError:
        pass
    model = told.get("model name", "unknown")
    if "cpu family" in told and "model" in told:
        model += f" (family {told['cpu family']}, model {told['model']})"
    flags = told.get("flags", "").split()
    return model, [flag for flag in FLAGS if flag in flags]


def doctor(weft):
    done = subprocess.run([weft, "doctor", "--json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def facts(weft):
    """Only facts that affect the results; no names of hosts or users."""
    model, flags = processor()
    told = doctor(weft)
    gpus = told.get("gpus", {})
    return dict(
        date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), cpu=model, flags=flags, cores=os.cpu_count(),
        usable_cores=len(os.sched_getaffinity(0)), weft=told.get("weft"), libtorch=told.get("libtorch", {}).get("version"),
        memory_gib=round(told.get("memory", {}).get("total", 0) / 2**30, 1), allocator=told.get("memory", {}).get("allocator"),
        huge_pages=told.get("memory", {}).get("huge_pages"), tflops=told.get("tflops"),
        gpu=(gpus.get("models") or ["a GPU"])[0] if gpus.get("usable") else None)


def described(machine):
    """One line for a table's caption."""
    level = "AVX-512" if "avx512f" in machine["flags"] else "AVX2" if "avx2" in machine["flags"] else "no AVX2"
    extras = [flag for flag in machine["flags"] if flag in ("avx512_bf16", "amx_bf16")]
    rates = machine.get("tflops")
    return (f"{machine['usable_cores']} cores of {machine['cpu']}, {', '.join([level, *extras])}"
            + (f", matrix products at {rates['bf16']:.2f} TFLOP/s in bf16 and {rates['fp32']:.2f} in fp32" if rates else "")
            + f", {machine['memory_gib']:.0f} GiB, LibTorch {machine['libtorch']}" + (f", {machine['gpu']}" if machine.get("gpu") else ""))


def busy_seconds():
    """Busy and stolen CPU seconds since the machine was started."""
    with open("/proc/stat", encoding="utf-8") as lines:
        numbers = [int(word) for word in lines.readline().split()[1:]]
    user, nice, system, _, _, interrupt, soft_interrupt, steal = numbers[:8]
    return (user + nice + system + interrupt + soft_interrupt) / TICK, steal / TICK


def busyness():
    """A warning about other load on the machine, or None."""
    load = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0))
    if load <= QUIET_LOAD * cores:
        return None
    return f"the machine is busy: a load of {load:.2f} on {cores} cores; results will be too slow and noisy"
