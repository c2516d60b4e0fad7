#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "cli/pair_runs.h"
#include "formats/json.h"
#include "support/program.h"

namespace weft::cli {
namespace {

using formats::Json;
namespace fs = std::filesystem;

/// The data of a page, from its script element.
Json page_data(const std::string& html) {
  const std::string begin = "id=\"report-data\">";
  const auto first = html.find(begin) + begin.size();
  return Json::parse(html.substr(first, html.find("</script>", first) - first));
}

Json page_data_of(const std::vector<std::string>& arguments, const std::string& page) {
  std::vector<std::string> command = {"report"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.insert(command.end(), {"--output", page});
  const auto done = test::weft(command);
  EXPECT_EQ(done.status, 0) << done.err;
  return page_data(test::contents(page));
}

std::vector<Json> json_lines_of(const std::string& path) {
  std::vector<Json> lines;
  std::istringstream file(test::contents(path));
  for (std::string line; std::getline(file, line);) {
    lines.push_back(Json::parse(line));
  }
  return lines;
}

/// The first figure with this title.
const Json& figure_of(const Json& data, const std::string& title) {
  for (const auto& figure : data["figures"]) {
    if (figure["title"] == title) {
      return figure;
    }
  }
  throw std::runtime_error("no figure " + title);
}

TEST(Report, CurvesEqualTheLog) {
  const test::TemporaryDirectory folder;
  const auto run = test::pair_runs().model();
  const auto data = page_data_of({run}, folder / "page.html");
  std::map<std::string, std::map<int64_t, double>> logged;
  for (const auto& line : json_lines_of(run + "/metrics.jsonl")) {
    for (const auto& [tag, value] : line.items()) {
      logged[tag][line["step"]] = value.is_number() ? value.get<double>() : 0;
    }
  }
  const std::map<std::string, std::string> tags = {{"training", "train/loss"},
                                                   {"evaluation", "eval/loss"}};
  const auto& loss = figure_of(data, "Loss");
  ASSERT_EQ(loss["series"].size(), 2U);
  for (const auto& series : loss["series"]) {
    const auto& steps = data["axes"][series["axis"].get<std::string>()]["step"];
    const auto& expected = logged[tags.at(series["name"])];
    ASSERT_EQ(series["y"].size(), expected.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(series["y"][i].get<double>(), expected.at(steps[i].get<int64_t>()));
    }
  }
}

TEST(Report, PredictionsEqualEvaluate) {
  const test::TemporaryDirectory folder;
  const auto run = test::pair_runs().model();
  const auto data = page_data_of({run}, folder / "page.html");
  const auto done =
      test::weft({"evaluate", run, "--data", test::pair_runs().path("train.tsv"), "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(data["data"]["evaluation"], Json::parse(done.out));
  const auto& matrix = figure_of(data, "Confusion matrix");
  EXPECT_EQ(matrix["values"], data["data"]["evaluation"]["confusion_matrix"]);
  EXPECT_EQ(matrix["rows"], data["data"]["evaluation"]["labels"]);
}

TEST(Report, AttentionEqualsPredict) {
  const test::TemporaryDirectory folder;
  const auto run = test::pair_runs().model();
  const auto data = page_data_of({run}, folder / "page.html");
  const auto& example = figure_of(data, "Self-attention")["examples"][0];
  const auto done = test::weft({"predict", run, "--attention", "all"},
                               R"({"text": "fine film", "text_pair": "play"})");
  ASSERT_EQ(done.status, 0) << done.err;
  const auto line = Json::parse(done.out);
  ASSERT_EQ(line["tokens"], example["rows"]) << done.out;
  const auto& expected = line["attention"]["0"];
  const auto& heads = example["layers"][0]["heads"];
  ASSERT_EQ(heads.size(), 2U);
  for (std::size_t head = 0; head < heads.size(); ++head) {
    for (std::size_t row = 0; row < heads[head].size(); ++row) {
      for (std::size_t column = 0; column < heads[head][row].size(); ++column) {
        EXPECT_NEAR(heads[head][row][column].get<double>(),
                    expected[head][row][column].get<double>(), 1e-5);
      }
    }
  }
}

TEST(Report, SeveralRunsAreOverlaid) {
  const test::TemporaryDirectory folder;
  const auto data = page_data_of({test::pair_runs().path("slow"), test::pair_runs().model()},
                                 folder / "page.html");
  EXPECT_EQ(data["runs"].size(), 2U);
  EXPECT_EQ(figure_of(data, "Loss")["series"].size(), 4U);
  const auto html = test::contents(folder / "page.html");
  EXPECT_NE(html.find("train.optimizer.lr"), std::string::npos);
}

TEST(Report, WritesFiguresAsSvg) {
  const test::TemporaryDirectory folder;
  page_data_of({test::pair_runs().model(), "--curves-only", "--figures", folder / "figures"},
               folder / "page.html");
  const auto svg = test::contents(folder / "figures/training-loss.svg");
  EXPECT_TRUE(svg.starts_with("<svg xmlns=")) << svg.substr(0, 100);
  EXPECT_NE(svg.find("<style>"), std::string::npos);
}

TEST(Report, ASweepHasItsSettings) {
  const test::TemporaryDirectory folder;
  auto config = test::filled(test::kPairConfig, "WORK", test::pair_runs().directory());
  config = test::filled(test::filled(config, "LR", "1e-3"), "NAME", "unused");
  test::write(folder / "config.yaml", config + "grid: {train.optimizer.lr: [1e-3, 1e-2]}\n");
  const auto sweep = folder / "sweep";
  const auto done = test::weft({"train", folder / "config.yaml", "--output", sweep});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto data = page_data_of({sweep}, folder / "page.html");
  EXPECT_EQ(data["runs"].size(), 2U);
  EXPECT_EQ(data["data"]["sweep"], Json::parse(test::contents(sweep + "/grid.json")));
  const auto metric = data["data"]["sweep"]["best_by"].get<std::string>();
  EXPECT_EQ(figure_of(data, metric + " by train.optimizer.lr")["points"].size(), 2U);
}

TEST(Report, ShowsBenchmarks) {
  const test::TemporaryDirectory folder;
  test::write(folder / "bench.json",
              R"({"device": "cpu", "forward_ms": 2, "backward_ms": 4.5, "matrix_products_ms": 3,)"
              R"( "forward_parts_ms": {"attention": 1.5}, "memory_mib": {"weights": 8}})");
  test::write(folder / "results.json",
              R"({"cases": {}, "growth": {"length": {"title": "Length", "measure": "ms",)"
              R"( "points": [{"x": 64, "ms": 1}, {"x": 128, "ms": 2.5}]}}})");
  test::write(folder / "other.json", "{}");
  const auto data =
      page_data_of({test::pair_runs().model(), "--curves-only", "--bench", folder / "bench.json",
                    "--bench", folder / "results.json", "--bench", folder / "other.json"},
                   folder / "page.html");
  const auto& parts = figure_of(data, "Parts of a step");
  EXPECT_EQ(parts["categories"], Json({"forward", "backward"}));
  EXPECT_EQ(parts["series"][0]["values"], Json({2.0, 4.5}));
  EXPECT_EQ(figure_of(data, "Memory by kind")["series"][0]["values"], Json({8.0}));
  EXPECT_EQ(figure_of(data, "Growth: Length")["series"][0]["y"], Json({1.0, 2.5}));
  EXPECT_NE(test::contents(folder / "page.html").find("other.json: not the output of weft bench"),
            std::string::npos);
}

TEST(Report, WatchingAFinishedRunWritesTheWholePageOnce) {
  const test::TemporaryDirectory folder;
  const auto data = page_data_of({test::pair_runs().model(), "--watch", "1"}, folder / "page.html");
  EXPECT_TRUE(data["data"].contains("evaluation"));
  EXPECT_EQ(test::contents(folder / "page.html").find("http-equiv=\"refresh\""), std::string::npos);
}

TEST(Report, TrainingWritesItIfAsked) {
  const test::TemporaryDirectory folder;
  auto config = test::filled(test::kPairConfig, "WORK", test::pair_runs().directory());
  config = test::filled(test::filled(config, "LR", "1e-3"), "NAME", "unused");
  test::write(folder / "config.yaml", config);
  const auto run = folder / "run";
  const auto done =
      test::weft({"train", folder / "config.yaml", "--output", run, "--set", "run.report=true"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(page_data(test::contents(run + "/report.html"))["data"].contains("evaluation"));
}

TEST(Report, ADamagedRunShowsWhatIsThere) {
  const test::TemporaryDirectory folder;
  const auto run = folder / "run";
  fs::copy(test::pair_runs().model(), run, fs::copy_options::recursive);
  fs::remove(run + "/run.json");
  fs::remove_all(run + "/best");
  fs::remove_all(run + "/last");
  test::write(run + "/metrics.jsonl", test::contents(run + "/metrics.jsonl") + "{\"step\": 9, ");
  const auto data = page_data_of({run}, folder / "page.html");
  EXPECT_EQ(figure_of(data, "Loss")["series"].size(), 2U);
  const auto html = test::contents(folder / "page.html");
  for (const auto* missing : {"1 damaged line", "run.json", "The model is not shown"}) {
    EXPECT_NE(html.find(missing), std::string::npos) << missing;
  }
  const auto nothing = test::weft({"report", folder.path() + "/none"});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_NE(nothing.err.find("not a run directory"), std::string::npos) << nothing.err;
}

std::string browser() {
  for (const auto* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (test::run({"/usr/bin/env", "sh", "-c", std::string("command -v ") + name}).status == 0) {
      return name;
    }
  }
  return "";
}

/// The page as it is after the actions of report_actions.js; errors of its console are in `err`.
test::ProcessResult browse(const std::string& page, const std::string& folder) {
  auto html = test::contents(page);
  const auto actions = test::contents(WEFT_SOURCE_DIR "/tests/cli/runs/report_actions.js");
  html.insert(html.rfind("</body>"), "<script>" + actions + "</script>");
  test::write(page, html);
  return test::run({browser(), "--headless", "--no-sandbox", "--disable-gpu",
                    "--user-data-dir=" + folder + "/profile", "--enable-logging=stderr",
                    "--window-size=1400,2000", "--virtual-time-budget=5000", "--dump-dom",
                    "file://" + page});
}

Json results_of(const test::ProcessResult& done) {
  const std::string begin = "<pre id=\"results\">";
  const auto first = done.out.rfind(begin);
  if (first == std::string::npos) {
    return {{"dom", done.out.substr(0, 500)}, {"log", done.err.substr(0, 2000)}};
  }
  auto text = done.out.substr(first + begin.size());
  text = text.substr(0, text.find("</pre>"));
  for (const auto& [entity, letter] :
       {std::pair("&lt;", "<"), std::pair("&gt;", ">"), std::pair("&amp;", "&")}) {
    text = test::filled(text, entity, letter);
  }
  return Json::parse(text);
}

TEST(ReportInABrowser, CanBeUsed) {
  if (browser().empty()) {
    GTEST_SKIP() << "no Chromium";
  }
  const test::TemporaryDirectory folder;
  const auto page = folder / "page.html";
  page_data_of({test::pair_runs().path("slow"), test::pair_runs().model()}, page);
  auto done = browse(page, folder.path());
  EXPECT_EQ(done.err.find("CONSOLE"), std::string::npos) << done.err;
  auto results = results_of(done);
  for (const auto* action : {"interactive", "zoom", "axis", "runs", "sort"}) {
    EXPECT_EQ(results.value(action, Json()), Json(true)) << action << results.dump(1);
  }
  EXPECT_NE(results.value("hover", std::string()).find("training"), std::string::npos)
      << results.dump(1);
  EXPECT_EQ(results.value("resources", -1), 0) << results.dump(1);

  page_data_of({test::pair_runs().model()}, page);
  done = browse(page, folder.path());
  EXPECT_EQ(done.err.find("CONSOLE"), std::string::npos) << done.err;
  results = results_of(done);
  for (const auto* action : {"sentence", "head", "sort"}) {
    EXPECT_EQ(results.value(action, Json()), Json(true)) << action << results.dump(1);
  }
}

constexpr auto kHostileConfig = R"(
model: {preset: bert-tiny, dim: 16, layers: 1, attention: {type: full, heads: 2},
        position: {type: learned, length: 32}, feed_forward: {width: 32}, dropout: 0}
tokenizer: {type: wordpiece, vocab_size: 60, train_on: data, lowercase: false}
data: {train: [{path: "WORK/<img src=x onerror=inject()>.tsv"}],
       evaluate: [{path: "WORK/<img src=x onerror=inject()>.tsv"}], cache_dir: WORK/cache}
objective: {type: classify}
train: {duration: 4 steps, batch_sequences: 4, optimizer: {type: adamw, lr: 1e-2}, precision: fp32,
        evaluate_every: 2 steps, save_every: 2 steps, threads: 1}
run: {directory: "WORK/<svg onload=inject()>", seed: 3}
)";

TEST(ReportInABrowser, TextsCannotInjectMarkup) {
  if (browser().empty()) {
    GTEST_SKIP() << "no Chromium";
  }
  const test::TemporaryDirectory folder;
  const std::string attack =
      "</script><script>window.injected = 1</script><img src=x onerror=\"window.injected=1\">";
  test::write(folder / "<img src=x onerror=inject()>.tsv",
              "label\ttext\n<b>\"'&" + attack + "\tgood " + attack +
                  "\nplain\tbad '\"><svg onload=window.injected=1>\n<b>\"'&" + attack +
                  "\tfine --> ]]> " + attack + "\nplain\tpoor &lt;script&gt;\n");
  test::write(folder / "config.yaml", test::filled(kHostileConfig, "WORK", folder.path()));
  const auto trained = test::weft({"train", folder / "config.yaml"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  const auto page = folder / "page.html";
  page_data_of({folder / "<svg onload=inject()>"}, page);
  const auto done = browse(page, folder.path());
  EXPECT_EQ(done.err.find("CONSOLE"), std::string::npos) << done.err;
  const auto results = results_of(done);
  EXPECT_EQ(results.value("injected", Json()), Json(false)) << results.dump(1);
  EXPECT_EQ(results.value("scripts", -1), 3) << results.dump(1);  // data, page.js, the actions
  EXPECT_EQ(results.value("resources", -1), 0) << results.dump(1);
}

}  // namespace
}  // namespace weft::cli
