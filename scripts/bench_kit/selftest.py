#!/usr/bin/env python3
"""Tests of the benchmark's arithmetic, tables, drawings and configs: python3 scripts/bench_kit/selftest.py

WEFT names the program that the configs are shown to; without it they are only written."""
import ast, json, os, pathlib, sys, tempfile, unittest
import xml.etree.ElementTree as xml
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from bench_kit import cases, environments, growth, inference, machine, plot, process, report, rounds, stats, tasks, workspace

MACHINE = dict(date="2020-01-02", cpu="Some CPU", flags=["avx2", "avx512f", "amx_bf16"], usable_cores=2, memory_gib=8.2, libtorch="2.13.0")


def case_of(rates, parameters=None):
    """The summary of a case whose programs had these rates, round by round."""
    sizes = parameters or {}
    runs = {who: [dict(rate=rate, peak_mib=peak, others=0.5, withheld=0.0, ms_per_step_median=10.0, parameters=sizes.get(who, 7000))
                  for rate in found]
            for who, (peak, found) in rates.items()}
    case = cases.variant(cases.SAMPLE_MLM, title="A < B & C")
    return {**rounds.summary(case, "sample", runs, {"compiled": "compiled does not run"}), "machine": MACHINE}


def results():
    case = case_of({"weft": (100, [300, 200, 400]), "eager": (400, [100, 100, 80])})
    case["learning"] = dict(tokens=1000, rate=1e-3, seeds=2, programs={
        "weft": {"eval_loss": dict(mean=5.0, deviation=0.1, all=[])}, "eager": {"eval_loss": dict(mean=5.25, deviation=0.2, all=[])}})
    points = [dict(x=x, ms_per_step=3.0 * x**1.5, products_ms=2.0 * x, peak_mib=10 * x, others=x / 10) for x in (1, 2, 4, 8)]
    grown = {**growth.fitted(growth.SWEEPS["length"], points), "case": "A case", "precision": "bf16", "rounds": 3, "machine": MACHINE}
    return dict(cases={"sample": case}, growth={"length": grown})


class Statistics(unittest.TestCase):
    def test_median_of_odd_and_even(self):
        self.assertEqual(stats.median([3, 1, 2]), 2)
        self.assertEqual(stats.median([4, 1, 2, 3]), 2.5)

    def test_deviation_is_that_of_a_sample(self):
        self.assertAlmostEqual(stats.sample_std([1, 3]), 2**0.5)
        self.assertIsNone(stats.sample_std([1]))

    def test_ratio_is_of_medians_and_spreads_over_rounds(self):
        told = stats.ratio([300, 200, 400], [100, 100, 80])
        self.assertEqual((told["median"], told["least"], told["most"]), (3.0, 2.0, 5.0))

    def test_medians_reach_into_objects(self):
        told = stats.medians([{"a": 1, "b": {"c": 5.0}, "d": "x"}, {"a": 3, "b": {"c": 7.0}, "d": "y"}])
        self.assertEqual(told, {"a": 2, "b": {"c": 6.0}})

    def test_power_is_found_again(self):
        xs = [1, 2, 4, 8]
        fit = stats.fitted_power(xs, [3 * x**1.5 for x in xs])
        self.assertAlmostEqual(fit["exponent"], 1.5)
        self.assertAlmostEqual(fit["factor"], 3)
        self.assertAlmostEqual(fit["r2"], 1)

    def test_ends_tell_where_a_line_bends(self):
        ends = stats.end_powers([1, 10, 100, 1000], [1, 1, 10, 1000])
        self.assertAlmostEqual(ends["first"], 0)
        self.assertAlmostEqual(ends["last"], 2)


class Report(unittest.TestCase):
    def test_row_has_ratio_spread_and_memory(self):
        text = report.comparison(results())
        self.assertIn("**3.00** (2.00 to 5.00)", text)
        self.assertIn("| 25 % |", text)
        self.assertIn("AVX-512, amx_bf16", text)

    def test_busy_machine_and_missing_peer_are_told(self):
        text = report.comparison(results())
        self.assertIn("used up to 50 %", text)
        self.assertIn("Not measured: compiled does not run", text)

    def test_models_of_other_sizes_are_told(self):
        case = case_of({"weft": (1, [1]), "eager": (1, [1])}, parameters={"eager": 7100})
        self.assertIn("transformers has 7,100 parameters, Weft 7,000", report.comparison(dict(cases={"sample": case})))
        self.assertNotIn("parameters", report.comparison(results()))

    def test_parts_are_shown_as_far_as_they_are_told(self):
        found = results()
        self.assertIn("| A < B & C, fp32 |  |  |  |  |  | 10.0 |  |", report.parts(found))
        self.assertNotIn("forward + backward", report.parts(found))
        found["cases"]["sample"]["weft_medians"].update(
            forward_parts_ms={"norm": 1.0}, backward_parts_ms={"norm": 2.0}, memory_mib={"optimizer": 3.0})
        self.assertIn("| A < B & C, fp32 | 1.0 + 2.0 |", report.parts(found))
        self.assertIn("| A < B & C, fp32 | 3.0 | 100 |", report.parts(found))

    def test_learning_shows_the_difference(self):
        self.assertIn("| 5.0000 ± 0.1000 | 5.2500 ± 0.2000 | -0.2500 |", report.learning(results()))

    def test_captions_name_the_rate_of_products_where_it_is_known(self):
        self.assertIn("products at 0.45 TFLOP/s in bf16 and 0.21 in fp32", machine.described({**MACHINE, "tflops": dict(fp32=0.214, bf16=0.446)}))
        self.assertNotIn("products", machine.described(MACHINE))

    def test_growth_shows_exponents(self):
        self.assertIn("| **1.50** | 1.000 | 1.50, 1.50 | 1.00 | 10 to 80 |", report.growth(results()))
        self.assertIn("Other programs used up to 80 %", report.growth(results()))

    def test_marked_sections_are_replaced_and_the_rest_stays(self):
        page = "before\n" + "".join(f"<!-- bench: {name} -->\nold\n<!-- bench: end of {name} -->\nkept {name}\n" for name in report.SECTIONS)
        once = report.refreshed(page, results())
        self.assertEqual(once.count("\nold\n"), 1)
        self.assertIn("<!-- bench: inference -->\nold\n", once, "a section without results stays")
        self.assertTrue(once.startswith("before\n") and all(f"kept {name}" in once for name in report.SECTIONS))
        self.assertEqual(report.refreshed(once, results()), once)

    def test_page_without_marks_is_refused(self):
        with self.assertRaises(ValueError):
            report.refreshed("nothing here", results())


class Plot(unittest.TestCase):
    def test_drawings_are_xml_whatever_the_titles(self):
        for drawn in (plot.bars(results()), plot.growth(results()), plot.bars(dict(cases={})), plot.growth(dict(growth={}))):
            xml.fromstring(drawn)

    def test_curves_have_a_line_and_a_name_each(self):
        drawn = plot.curves("a < b", {"one & two": [(64, 3.0), (256, 40.0)], "three": [(64, 2.0), (256, 41.0)]})
        self.assertEqual(sum(1 for part in xml.fromstring(drawn).iter() if part.tag.endswith("polyline")), 2)
        self.assertIn("one &amp; two", drawn)

    def test_every_peer_has_a_bar_and_every_point_a_dot(self):
        self.assertEqual(plot.bars(results()).count("<rect"), 1)
        self.assertEqual(plot.growth(results()).count("<circle"), 8)

    def test_ticks_are_round_where_there_is_room(self):
        self.assertEqual(plot.ticks(8, 1100), [10, 100, 1000])
        self.assertEqual(plot.ticks(180, 600), [200, 500])
        self.assertEqual(plot.ticks(2.2, 4), [2.2, 4])

    def test_colours_suit_dark_ground_too(self):
        self.assertIn("prefers-color-scheme: dark", plot.bars(results()))


def keys_of(file, name):
    """The keys of a table in a program of the peers, which need not run here."""
    tree = ast.parse((workspace.PEERS / file).read_text())
    return next({key.value for key in part.value.keys} for part in tree.body if isinstance(part, ast.Assign) and part.targets[0].id == name)


class Cases(unittest.TestCase):
    def test_every_peer_and_figure_of_a_case_is_known(self):
        presets, known = keys_of("tasks.py", "PRESETS"), keys_of("tasks.py", "TASKS")
        self.assertEqual(known, set(tasks.TASKS))
        for name, case in cases.CASES.items():
            self.assertTrue(set(case.peers) <= set(cases.peers_of(case)), name)
            self.assertTrue((case.preset is None) != (case.pretrained is None), name)
            self.assertTrue(case.preset is None or case.preset in presets or case.kind != "training", name)
            self.assertIn(case.task, known, name)
            self.assertIn(case.kind, rounds.KINDS)
            self.assertTrue(case.kind == "training" or case.kind == "tokenizing" or name.endswith(f"-{case.precision}"), name)
            if case.learning:
                self.assertTrue(set(case.learning.peers) <= set(case.peers), name)

    def test_every_peer_is_a_program_in_a_known_environment(self):
        for table in cases.PEERS.values():
            for peer in table.values():
                self.assertTrue((workspace.PEERS / peer.program).exists(), peer.title)
                self.assertIn(peer.environment, environments.ENVIRONMENTS)
                if "--library" in peer.options and peer.program in ("encode.py", "generate.py"):
                    library = peer.options[peer.options.index("--library") + 1]
                    self.assertTrue((workspace.PEERS / f"{peer.program[:-3]}_{library}.py").exists(), peer.title)

    def test_absent_texts_are_told(self):
        with self.assertRaises(workspace.Absent):
            workspace.found_texts(["no/such/*.txt"])

    def test_of_images_they_count_and_not_their_patches(self):
        told = dict(real_tokens_per_s=650.0, tokens_per_step=130.0, sequences_per_step=2.0, matrix_products_ms=50.0, optimizer_ms=1.0,
                    ms_per_step_median=200.0)
        with mock.patch.object(process, "run_json", return_value=told):
            rates = {name: rounds.weft_training(mock.Mock(), cases.CASES[name], name, 1, 1) for name in ("vit-cifar10-bf16", "char-gpt-bf16")}
        self.assertEqual([found["rate"] for found in rates.values()], [10.0, 650.0])
        self.assertEqual([found["product_share"] for found in rates.values()], [0.25, 0.25])
        self.assertEqual([cases.unit_of(cases.CASES[name]) for name in rates], ["images/s", "real tokens/s"])


class Configs(unittest.TestCase):
    """What Weft is given for each case, its files being small ones of the same names."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "tokenizer").mkdir()
        for name in ("train.en", "train.de", "train.bin", "train.txt"):
            (self.folder / name).write_text("x\n")
        (self.folder / "train.tsv").write_text("text\tlabel\nx\ty\n")
        self.place = workspace.Workspace(self.folder, os.environ.get("WEFT", "none"), environments.Environments(self.folder))

    def path(self, name):
        case = cases.CASES[name]
        file = self.folder / f"train{pathlib.Path(case.texts['train'][0]).suffix}"
        with mock.patch.object(workspace, "found_texts", return_value=[str(file)]), \
                mock.patch.object(self.place, "tokenizer", return_value=self.folder / "tokenizer"):
            return self.place.config(case, name, **({} if case.kind == "training" else dict(precision="fp32")))

    def config(self, name):
        return json.loads(self.path(name).read_text())

    def test_pairs_are_two_files(self):
        self.assertEqual(self.config("transformer-multi30k-bf16")["data"]["train"],
                         [dict(source=str(self.folder / "train.en"), target=str(self.folder / "train.de"))])

    def test_the_next_token_is_of_whole_files(self):
        data = self.config("gpt-mini-causal-bf16")["data"]
        self.assertEqual((data["document_boundary"], data["pack"], data["length"]), ("file", "stream", 256))

    def test_images_have_neither_length_nor_tokenizer(self):
        config = self.config("vit-cifar10-bf16")
        self.assertNotIn("tokenizer", config)
        self.assertNotIn("length", config["data"])

    def test_keys_of_a_model_outdo_its_preset(self):
        self.assertEqual(self.config("char-gpt-bf16")["model"]["preset"], "gpt-mini")
        self.assertEqual(self.config("bert-mini-mlm-bf16")["model"]["preset"], "bert-mini")

    @unittest.skipUnless("WEFT" in os.environ, "WEFT names no program")
    def test_weft_takes_them(self):
        for name in [name for name, case in cases.CASES.items() if case.preset and (case.kind == "training" or case.precision == "fp32")]:
            process.run([self.place.weft, "config", "show", self.path(name)])  # check would look into the files


class Peers(unittest.TestCase):
    """Environments, and runs of Weft and of peers that are replaced by small programs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.place = workspace.Workspace(self.folder / "work", "weft", environments.Environments(self.folder / "environments"))

    def test_a_peer_without_its_environment_is_skipped_with_the_reason(self):
        with mock.patch.object(rounds, "say"):
            wanted, problems = rounds.able(self.place, cases.CASES["minilm-embed-int8"], ["onnxruntime", "openvino"])
        self.assertEqual(wanted, [])
        self.assertEqual(problems["onnxruntime"], "ONNX Runtime, sorted by length: there is no environment onnxruntime: scripts/bench --setup "
                         "onnxruntime makes it with pip")

    def test_only_a_complete_environment_is_used(self):
        folder = self.folder / "environments" / "tokie"
        folder.mkdir(parents=True)
        self.assertIn("--setup tokie", self.place.environments.why_absent("tokie"))
        (folder / environments.COMPLETE).touch()
        self.assertIsNone(self.place.environments.why_absent("tokie"))

    def test_a_python_without_transformers_is_told(self):
        for python in (sys.executable, "no-such-python"):
            with mock.patch.object(environments.subprocess, "run", return_value=mock.Mock(returncode=1, stderr="x\nNo module named 'torch'\n")):
                told = environments.Environments(self.folder, python).why_absent("transformers")
            self.assertIn("--setup transformers", told)
        self.assertIn("no such program", told)

    def test_a_failing_pip_is_told_and_leaves_no_environment(self):
        def run(command, **_):
            failed = "pip" in command
            return mock.Mock(returncode=int(failed), stdout="", stderr="ERROR: No matching distribution found for tokie\n" if failed else "")
        folder = self.folder / "environments" / "tokie"
        folder.mkdir(parents=True)
        (folder / environments.COMPLETE).touch()
        with mock.patch.object(environments.subprocess, "run", side_effect=run), \
                self.assertRaisesRegex(environments.NotInstalled, "No matching distribution found for tokie .pip needs a package index"):
            self.place.environments.setup("tokie")
        self.assertIsNotNone(self.place.environments.why_absent("tokie"))

    def test_the_time_of_a_few_is_subtracted_from_that_of_all(self):
        work = inference.Work("model", "all", "few", 90)
        seconds = {"few": 1.0, "all": 4.0}

        def run(command, environment=None):
            return dict(seconds=seconds[command[command.index("--input") + 1]], peak_mib=1, others=0, withheld=0)
        with mock.patch.object(process, "run", side_effect=run), mock.patch.object(inference, "quality", return_value={}):
            told = inference.weft_answers(self.place, cases.CASES["minilm-embed-int8"], "minilm-embed-int8", work)
            self.assertEqual(told["rate"], 30)
            seconds["few"] = 4.0
            with self.assertRaises(inference.TooShort):
                inference.weft_answers(self.place, cases.CASES["minilm-embed-int8"], "minilm-embed-int8", work)

    def test_weft_is_asked_for_the_precision_and_the_threads_of_the_case(self):
        case, work = cases.CASES["multi30k-translate-int8"], inference.Work("model", "in.txt")
        with mock.patch.object(process, "run") as run:
            inference.weft_once(self.place, case, work, "out.txt", case.precision)
        words = " ".join(map(str, run.call_args[0][0]))
        self.assertIn("--threads 1 --int8", words)
        self.assertIn("--beams 5", words)

    def test_a_model_is_converted_once_and_half_a_one_is_not_used(self):
        case, work = cases.CASES["minilm-embed-int8"], inference.Work("model", "in.jsonl")
        peer, runs = cases.ENCODING_PEERS["onnxruntime"], []

        def run(command, environment=None):
            runs.append(command)
            pathlib.Path(command[command.index("--converted") + 1]).mkdir()
            if len(runs) == 1:
                raise process.Failed("killed")
        with mock.patch.object(process, "run", side_effect=run):
            with self.assertRaises(process.Failed):
                inference.converted(self.place, case, peer, "minilm-embed-int8", work)
            for _ in range(2):
                found = inference.converted(self.place, case, peer, "minilm-embed-int8", work)
        self.assertEqual((len(runs), found.exists()), (2, True))

    def test_answers_are_compared_with_the_truth_and_with_those_in_fp32(self):
        def lines(name, rows):
            return inference.write_lines(self.folder / name, rows)
        classes = inference.same_classes(None, inference.Work(None, None, truth=["a", "b", "b", "a"]),
                                         lines("1", [dict(label=each) for each in "abba"]), lines("2", [dict(label=each) for each in "abbb"]))
        self.assertEqual(classes, {"same class": 0.75, "accuracy": 1.0})
        vectors = inference.cosines(None, None, lines("3", [[1.0, 0.0], [2.0, 0.0]]),
                                    lines("4", [dict(embedding=[3.0, 0.0]), dict(embedding=[0.0, 1.0])]))
        self.assertEqual(vectors, {"mean cosine": 0.5, "smallest cosine": 0.0})
        texts = inference.same_beginnings(None, None, lines("5", [dict(text="abcd")]), lines("6", [dict(text="abxd")]))
        self.assertEqual(texts, {"same text": 0.5})

    def test_other_numbers_of_tokens_are_no_comparison(self):
        with mock.patch.object(process, "run_json", return_value=dict(tokens=10)), self.assertRaisesRegex(process.Failed, "10 tokens, Weft 11"):
            inference.peer_tokenizes(self.place, cases.CASES["tokenizer-gpt2"], ["peer"], inference.Work("model", "in"), 1, dict(tokens=11))

    def test_tables_of_inference_have_the_quality_and_the_versions(self):
        case = cases.CASES["minilm-embed-int8"]
        runs = {who: [dict(rate=rate, peak_mib=100, others=0, withheld=0, quality={"mean cosine": cosine, "smallest cosine": 0.5})]
                for who, rate, cosine in (("weft", 300, 0.99), ("onnxruntime", 100, 0.95))}
        with mock.patch.object(rounds, "found_pattern", return_value="texts"):
            told = rounds.summary(case, "minilm-embed-int8", runs, {})
        text = report.case_section({**told, "machine": MACHINE, "packages": {"onnxruntime": {"onnxruntime": "1.2", "pip": "3"}}})
        self.assertIn("| ONNX Runtime, sorted by length | 100 (100 to 100) | **3.00** (3.00 to 3.00) | 100 | 100 % | 0.9500 | 0.5000 |", text)
        self.assertIn("; onnxruntime 1.2; ", text)


class Process(unittest.TestCase):
    def test_output_and_memory_of_a_program(self):
        told = process.run_json([sys.executable, "-c", "x = bytearray(64 << 20); print('noise'); print('{\"a\": 1}')"])
        self.assertEqual(told["a"], 1)
        self.assertGreater(told["peak_mib"], 64)

    def test_failure_keeps_the_last_words(self):
        with self.assertRaisesRegex(process.Failed, "status 3: so it ends"):
            process.run([sys.executable, "-c", "import sys; print('so it ends', file=sys.stderr); sys.exit(3)"])


if __name__ == "__main__":
    unittest.main()
