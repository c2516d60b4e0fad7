"""Tables of the results, and the page that contains them between markers, so that new results update it."""
import pathlib, re

from . import machine
from .environments import ENVIRONMENTS


def row(cells):
    return "| " + " | ".join(cells) + " |"


def table(heads, rows):
    """The first column is text, the others are numbers."""
    return "\n".join([row(heads), row(["---"] + ["---:"] * (len(heads) - 1)), *map(row, rows)])


def share(value):
    return "" if value is None else f"{100 * value:.0f} %"


def number(value, digits=0):
    return "" if value is None else f"{value:,.{digits}f}"


def times(ratio):
    return "" if ratio is None else f"**{ratio['median']:.2f}** ({ratio['least']:.2f} to {ratio['most']:.2f})"


def quality(name, value):
    return number(value, 1) if name == "BLEU" else f"{100 * value:.2f} %" if name in ("same class", "same text", "accuracy") else f"{value:.4f}"


def inference_table(programs):
    """Without what only training has, but with what the answers are worth."""
    names = list(next(iter(programs.values())).get("quality", {}))
    digits = 1 if min(told["rate"]["median"] for told in programs.values()) < 100 else 0
    rows = [[told["title"], "{} ({} to {})".format(*(number(told["rate"][key], digits) for key in ("median", "least", "most"))),
             times(told.get("weft_times")), number(told["peak_mib"]), share(told.get("weft_memory")),
             *(quality(name, told["quality"][name]) for name in names)] for told in programs.values()]
    return table(["", "throughput", "speedup of Weft", "peak MiB", "Weft / peer memory", *names], rows)


def program_row(told):
    rate = told["rate"]
    return [told["title"], f"{rate['median']:,.0f} ({rate['least']:,.0f} to {rate['most']:,.0f})", number(told.get("ms_per_step_median"), 1),
            times(told.get("weft_times")), number(told["peak_mib"]), share(told.get("weft_memory")), share(told.get("product_share")),
            share(told.get("optimizer_share"))]


HEADS = ["", "throughput", "ms per step", "speedup of Weft", "peak MiB", "Weft / peer memory", "matrix product efficiency", "optimizer"]


def disturbance(others):
    """Empty if other programs used hardly any of the machine's time."""
    return f"**other programs used up to {100 * others:.0f} % of the machine**" if others > 0.05 else ""


def versions(case):
    """Those of the packages that were asked for."""
    found = {package: installed[package] for name, installed in case.get("packages", {}).items() for package in ENVIRONMENTS[name]
             if package in installed}
    return ", ".join(f"{package} {version}" for package, version in found.items())


def conditions(case):
    """Conditions of the measurement of a case, for the caption."""
    words = [f"{case['rounds']} {'round' if case['rounds'] == 1 else 'rounds'}", f"{case['unit']}", case["precision"],
             f"batch size {case['batch']}" if case["kind"] == "training" else "",
             f"{case['threads']} thread{'s' if case['threads'] > 1 else ''}" if case.get("threads") else "",
             f"up to {case['length']} tokens" if case["length"] else "", case["texts"],
             " ".join(f"{key}={value}" for key, value in case["environment"].items()),
             machine.described(case["machine"]), versions(case), case["machine"]["date"],
             "memory is that of tensors on the GPU" if "peak_gpu_mib" in case["weft_medians"] else ""]
    words.append(disturbance(case["others"]))
    if case["withheld"] > 0.02:
        words.append(f"**up to {100 * case['withheld']:.0f} % CPU steal time**")
    return "; ".join(word for word in words if word) + "."


def case_section(case):
    programs = case["programs"]
    rows = table(HEADS, [program_row(told) for told in programs.values()]) if case["kind"] == "training" else inference_table(programs)
    lines = [f"**{case['title']}** (`{case['name']}`)", "", rows, "", conditions(case)]
    lines += [f"Not measured: {problem}." for problem in case["problems"].values()]
    return "\n".join(lines)


def comparison(results):
    """The cases of training."""
    return "\n\n".join(case_section(case) for case in results["cases"].values() if case["kind"] == "training")


def inference(results):
    return "\n\n".join(case_section(case) for case in results["cases"].values() if case["kind"] != "training")


PARTS = {"data": "data_ms", "forward": "forward_ms", "backward": "backward_ms", "optimizer": "optimizer_ms", "other": "other_ms",
         "total": "ms_per_step_median", "matrix products": "matrix_products_ms"}


def parts(results):
    """Milliseconds of Weft's steps by part, then by kind of operation, then its memory by kind; missing values are omitted."""
    told = [(case["title"] + ", " + case["precision"], case["weft_medians"]) for case in results["cases"].values()
            if case["kind"] == "training"]
    if not told:
        return ""
    tables = [table(["ms per step", *PARTS], [[title, *(number(found.get(key), 1) for key in PARTS.values())] for title, found in told])]
    kinds = [(title, found) for title, found in told if "forward_parts_ms" in found and "backward_parts_ms" in found]
    if kinds:
        names = list(kinds[0][1]["forward_parts_ms"])
        tables.append(table(["ms forward + backward", *names], [
            [title, *(f"{found['forward_parts_ms'][name]:.1f} + {found['backward_parts_ms'].get(name, 0):.1f}" for name in names)]
            for title, found in kinds]))
    memory = [(title, found) for title, found in told if "memory_mib" in found]
    if memory:
        names = list(memory[0][1]["memory_mib"])
        tables.append(table(["MiB", *(name.replace("_", " ") for name in names), "peak"], [
            [title, *(number(found["memory_mib"][name], 1) for name in names), number(found["peak_mib"])] for title, found in memory]))
    return "\n\n".join(tables)


def learnt(value):
    return f"{value['mean']:,.4f}" + ("" if value["deviation"] is None else f" ± {value['deviation']:,.4f}")


def learning(results):
    rows = []
    for case in results["cases"].values():
        told = case.get("learning")
        for key in next(iter(told["programs"].values())) if told else ():
            for who, found in told["programs"].items():
                if who != "weft":
                    ours = told["programs"]["weft"][key]
                    rows.append([case["title"], key.removeprefix("eval_").replace("_", " "), f"{told['tokens']:,}", str(told["seeds"]), learnt(ours),
                                 learnt(found[key]), f"{ours['mean'] - found[key]['mean']:+.4f}"])
    heads = ["", "held-out metric", "training tokens", "seeds", "Weft", "transformers", "difference"]
    return table(heads, rows) if rows else ""


def growth(results):
    rows = []
    for told in results["growth"].values():
        xs = [point["x"] for point in told["points"]]
        fit, ends = told["fit"], told["ends"]
        products = told.get("products_fit")
        unit = "ms per step" if told["measure"] == "ms_per_step" else "s"
        ys = [point[told["measure"]] for point in told["points"]]
        title = told["title"] + (f" ({told['note']})" if told["note"] else "")
        rows.append([title, f"{xs[0]:,.0f} to {xs[-1]:,.0f}", f"{ys[0]:,.1f} to {ys[-1]:,.1f} {unit}",
                     f"**{fit['exponent']:.2f}**", f"{fit['r2']:.3f}", f"{ends['first']:.2f}, {ends['last']:.2f}",
                     f"{products['exponent']:.2f}" if products else "",
                     " to ".join(f"{told['points'][at]['peak_mib']:,.0f}" for at in (0, -1))])
    heads = ["quantity", "range", "cost", "exponent", "r²", "exponent at both ends", "matrix products", "peak MiB"]
    if not rows:
        return ""
    any_of = next(iter(results["growth"].values()))
    facts = any_of["machine"]
    caption = f"{any_of['case']}, {any_of['precision']}; medians of {any_of['rounds']} rounds; {machine.described(facts)}; {facts['date']}."
    others = disturbance(max(point["others"] for told in results["growth"].values() for point in told["points"]))
    return table(heads, rows) + "\n\n" + caption + (f" {others.replace('other', 'Other', 1)}." if others else "")


SECTIONS = {"comparison": comparison, "inference": inference, "parts": parts, "learning": learning, "growth": growth}


def refreshed(page, results):
    """The page with the updated sections between their markers; those without results stay."""
    for name, written in SECTIONS.items():
        begin, end = f"<!-- bench: {name} -->", f"<!-- bench: end of {name} -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        if not pattern.search(page):
            raise ValueError(f"the page has no markers {begin} ... {end}")
        if found := written(results):
            text = f"{begin}\n{found}\n{end}"
            page = pattern.sub(lambda _: text, page)
    return page


def refresh(path, results):
    path = pathlib.Path(path)
    path.write_text(refreshed(path.read_text(encoding="utf-8"), results), encoding="utf-8")
