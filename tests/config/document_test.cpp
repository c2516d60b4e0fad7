#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "config/example.h"
#include "config/section.h"
#include "support/config.h"
#include "support/folder.h"

namespace weft::config {
namespace {

using test::message_of;

std::string errors_of(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  return message_of<Error>([&] {
    Document::parse(yaml, "test.yaml", overrides).read([](Section root) {
      example::read_example(std::move(root));
    });
  });
}

constexpr auto kGood = "data: {train: [{path: a}]}\nobjective: {type: causal}\n";

TEST(DocumentLoad, SaysWhatAFileIsThatIsNoConfig) {
  const test::Folder folder;
  const auto message = [&](const std::string& name) {
    return message_of<FileError>([&] { Document::load(folder.path(name), {}); })
        .substr(folder.path("").size());
  };
  folder.write("a.csv", "text,label\n");
  EXPECT_EQ(message("a.csv"), "a.csv: a data file, must be a config (YAML); `weft init TASK " +
                                  folder.path("a.csv") + " > config.yaml` writes one");
  EXPECT_EQ(message("b.yaml"),
            "b.yaml: no such file, must be a config (YAML); `weft init TASK "
            "DATA > " +
                folder.path("b.yaml") + "` writes one");
  EXPECT_EQ(message_of<FileError>([&] { Document::load("-", {}); }),
            "-: no such file, must be a config (YAML); standard input is /dev/stdin");
  std::filesystem::create_directories(folder.path("run"));
  EXPECT_EQ(message("run"), "run: a directory, must be a config (YAML)");
  folder.write("run/config.yaml", "");
  EXPECT_EQ(message("run"),
            "run: a directory, must be a config (YAML), as " + folder.path("run/config.yaml"));
}

TEST(DocumentRead, NamesEveryMistakeOnce) {
  EXPECT_EQ(errors_of(kGood), "(nothing was thrown)");
  EXPECT_EQ(errors_of("model: {dim: x, layers: 0, feed_forward: {dropout: 2, hidden: 1}}\n"
                      "data: {train: [{path: a, weight: 0}, 5, {wieght: 1}]}\n"
                      "objective: {type: causal}\n"
                      "extra: 1\n"),
            "test.yaml:1:14: model.dim: 'x' is not an integer, must be an integer in [1, 65536]\n"
            "test.yaml:1:25: model.layers: 0, must be an integer >= 1\n"
            "test.yaml:1:52: model.feed_forward.dropout: 2, must be a number in [0, 1)\n"
            "test.yaml:1:55: model.feed_forward.hidden: unknown key 'hidden', allowed: activation, "
            "dropout\n"
            "test.yaml:2:38: data.train.1: '5', must be a map of keys\n"
            "test.yaml:2:34: data.train.0.weight: 0, must be a number > 0\n"
            "test.yaml:2:41: data.train.2.path: missing, but required\n"
            "test.yaml:2:42: data.train.2.wieght: unknown key 'wieght', did you mean 'weight'? "
            "allowed: path, weight\n"
            "test.yaml:4:1: extra: unknown key 'extra', allowed: init_from, model, data, "
            "objective, train, run");
}

TEST(DocumentRead, LeavesOutWhatFollowsFromAnotherMistake) {
  // The keys of an unknown type, and of a section that is no map or is missing, are unknown.
  EXPECT_EQ(errors_of("data: {train: [{path: a}]}\nobjective: {type: x, rate: 1}"),
            "test.yaml:2:19: objective.type: 'x' is not one of mlm, causal");
  EXPECT_EQ(errors_of("data: {train: [{path: a}]}\nobjective: 5"),
            "test.yaml:2:12: objective: '5', must be a map of keys");
  EXPECT_EQ(errors_of("data: {train: [{path: a}]}\nobjectives: {type: mlm}"),
            "test.yaml:2:1: objectives: unknown key 'objectives', did you mean 'objective'?");
}

/// Reads `a`, `b` and `c.d`, which must be smaller than `a`.
void read_related(Section root) {
  auto section = root.section("s", {.help = ""});
  section.attempt([&] {
    int64_t a = 1;
    int64_t b = 0;
    section.read("a", a, {.help = ""});
    section.read("b", b, {.help = ""});
    if (b >= a) {
      section.report("b", "not smaller than a");
    }
    auto inner = section.section("c", {.help = ""});
    int64_t d = 0;
    inner.read("d", d, {.help = ""});
    if (d >= a) {
      inner.fail("d", "not smaller than a");
    }
  });
  root.report_at("s.c", "s.a: seen from outside");
  root.report_at("s.c", "a message: without a place");
}

TEST(DocumentRead, RelatesValuesOnlyIfTheyAreValid) {
  const auto errors = [](const std::string& yaml) {
    return message_of<Error>([&] { Document::parse(yaml, "t").read(read_related); });
  };
  const std::string outside = "t:1:8: s.a: seen from outside\n";
  EXPECT_EQ(errors("s: {a: 3, b: 4, c: {d: 5}}"),
            "t:1:14: s.b: not smaller than a\nt:1:24: s.c.d: not smaller than a\n" + outside +
                "t:1:17: s.c: a message: without a place");
  EXPECT_EQ(errors("s: {a: x, b: 4, c: {d: 5}}"), "t:1:8: s.a: 'x' is not an integer\n" + outside +
                                                      "t:1:17: s.c: a message: without a place");
}

}  // namespace
}  // namespace weft::config
