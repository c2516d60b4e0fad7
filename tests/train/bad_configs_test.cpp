// bad_configs.txt: invalid configs of every section and kind of key, each with its exact
// message. WEFT_WRITE_TABLE=1 writes the current messages into the table: review the
// difference before you commit it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/string_util.h"
#include "support/config.h"
#include "support/folder.h"
#include "train/run/run_config.h"

namespace weft::train {
namespace {

constexpr const char* kTable = WEFT_SOURCE_DIR "/tests/train/bad_configs.txt";

/// Valid configs; each row of the table modifies one of them.
const std::map<std::string, std::string>& good_configs() {
  static const std::string running = R"(model: {preset: bert-tiny}
tokenizer: {type: wordpiece, vocab_size: 400}
data:
  train: [{path: a.txt}]
  evaluate: [{path: b.txt}]
objective: {type: mlm}
)";
  static const std::string labelled = R"(model: {preset: bert-tiny}
tokenizer: {type: wordpiece, vocab_size: 400}
data:
  train: [{path: rows.csv}]
  evaluate: [{path: rows.csv}]
)";
  static const std::map<std::string, std::string> kConfigs = {
      {"mlm", running},
      {"classify", labelled + "objective: {type: classify}\n"},
      {"regress", labelled + "objective: {type: regress}\n"},
      {"tag", R"(model: {preset: bert-tiny}
tokenizer: {type: wordpiece, vocab_size: 400}
data: {train: [{path: names.conll}]}
objective: {type: tag}
)"},
      {"from", R"(init_from: stored
data:
  train: [{path: rows.csv}]
  evaluate: [{path: rows.csv}]
objective: {type: classify}
)"},
      {"words", R"(model: {type: bag_of_words}
tokenizer: {type: wordpiece, vocab_size: 400}
data: {train: [{path: rows.csv}]}
objective: {type: classify}
)"},
      {"electra", R"(model: {preset: electra-small}
tokenizer: {type: wordpiece, vocab_size: 400}
data: {train: [{path: a.txt}]}
objective: {type: replaced_token}
)"},
      {"pair", R"(init_from: discriminator
data: {train: [{path: a.txt}]}
objective: {type: replaced_token}
)"},
      {"languages", R"(model: {preset: xlm-mini, languages: [de, en]}
tokenizer: {type: wordpiece, vocab_size: 400}
data: {train: [{path: a.txt, language: de, target_language: en}]}
objective: {type: translation_lm}
)"},
      {"decoder", R"(model: {type: gpt2, dim: 64, layers: 2, attention: {heads: 2}}
tokenizer: {type: characters, vocab_size: 80}
data: {train: [{path: a.txt}], evaluate: [{path: b.txt}]}
objective: {type: prefix_lm}
)"},
      {"taught", R"(model: {preset: bert-tiny, dim: 32}
tokenizer: {file: vocab.txt}
data: {train: [{path: a.txt}]}
objective: {type: distill, teacher: stored}
)"},
      {"modern", R"(model: {type: modernbert, dim: 64, layers: 2, attention: {heads: 2}}
tokenizer: {type: wordpiece, vocab_size: 400}
data: {train: [{path: a.txt}]}
objective: {type: mlm}
)"},
  };
  return kConfigs;
}

/// `set KEY=VALUE` overrides, `swap A -> B` changes the config's text, `text YAML` is all of it.
struct Row {
  std::string base;
  std::vector<std::string> changes;
  std::string message;
};

struct Config {
  std::string yaml;
  std::vector<std::string> overrides;
};

std::string unescaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('\\', at)) != std::string::npos; ++at) {
    const char escape = at + 1 < text.size() ? text[at + 1] : '\\';
    text.replace(at, 2, 1,
                 escape == 'n'   ? '\n'
                 : escape == 't' ? '\t'
                 : escape == '0' ? '\0'
                                 : escape);
  }
  return text;
}

Config changed(const Row& row) {
  Config config{good_configs().at(row.base), {}};
  for (const auto& change : row.changes) {
    if (change.starts_with("set ")) {
      config.overrides.push_back(unescaped(change.substr(4)));
    } else if (change.starts_with("text ")) {
      config.yaml = unescaped(change.substr(5));
    } else {
      const auto arrow = change.find(" -> ");
      const auto from = unescaped(change.substr(5, arrow - 5));
      const auto at = config.yaml.find(from);
      EXPECT_NE(at, std::string::npos) << change;
      config.yaml.replace(std::min(at, config.yaml.size()), from.size(),
                          unescaped(change.substr(arrow + 4)));
    }
  }
  return config;
}

/// Lines `= BASE`, changes, and `> MESSAGE`, which ends a row; other lines are ignored.
std::vector<Row> bad_configs_rows_of(const std::string& text) {
  std::vector<Row> rows;
  Row row;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("= ")) {
      row.base = line.substr(2);
    } else if (line.starts_with(">")) {
      row.message = line.substr(std::min<std::size_t>(2, line.size()));
      rows.push_back(row);
      row.changes.clear();
    } else if (!line.empty() && !line.starts_with("#")) {
      row.changes.push_back(line);
    }
  }
  return rows;
}

/// Working directory with the files used by the configs.
class BadConfigs : public ::testing::Test {
 protected:
  BadConfigs() {
    folder_.write("a.txt", "some text\n");
    folder_.write("b.txt", "other text\n");
    folder_.write("empty.txt", "");
    folder_.write("rows.csv", "text,label\na good one,yes\na bad one,no\n");
    folder_.write("pairs.tsv", "source\ttarget\na b\tc d\n");
    folder_.write("names.conll", "Rome B-LOC\nis O\n");
    folder_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
    std::filesystem::create_directory(folder_.path("stored"));
    std::filesystem::create_directory(folder_.path("nothing"));
    // Its weights are invalid: reading them before the config is rejected causes an error.
    folder_.write("stored/model.safetensors", "nothing that could be read");
    folder_.write("stored/config.json",
                  R"({"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_size": 32,
"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 400})");
    std::filesystem::create_directories(folder_.path("discriminator/generator"));
    folder_.write("discriminator/config.json",
                  R"({"model_type": "electra", "architectures": ["ElectraForPreTraining"],
"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
"embedding_size": 16, "vocab_size": 400})");
    folder_.write("discriminator/generator/config.json",
                  R"({"model_type": "electra", "architectures": ["ElectraForMaskedLM"],
"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 1, "intermediate_size": 32,
"embedding_size": 16, "vocab_size": 400})");
    std::filesystem::create_directory(folder_.path("nameless"));
    folder_.write("nameless/config.json", R"({"hidden_size": 32})");
    std::filesystem::current_path(folder_.path());
    before_ = listing();
  }
  ~BadConfigs() override { std::filesystem::current_path(home_); }

  static std::string refusal(const Row& row) {
    const auto config = changed(row);
    return test::message_of<config::Error>([&] {
      read_run_config(config::Document::parse(config.yaml, "run.yaml", config.overrides));
    });
  }
  std::string listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      names.push_back(entry.path().string());
    }
    std::sort(names.begin(), names.end());
    return join(names);
  }

  std::filesystem::path home_ = std::filesystem::current_path();
  test::Folder folder_;
  std::string before_;
};

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (const auto line : split(text, '\n')) {
    lines.emplace_back(line);
  }
  return lines;
}

void write_table(const std::string& text, const std::vector<std::string>& messages) {
  std::istringstream lines(text);
  std::string written;
  auto message = messages.begin();
  for (std::string line; std::getline(lines, line);) {
    written += (line.starts_with(">") ? "> " + *message++ : line) + "\n";
  }
  test::Folder::write_to(kTable, written);
}

TEST_F(BadConfigs, TheBaseConfigsOfTheTableAreValid) {
  for (const auto& [name, yaml] : good_configs()) {
    EXPECT_EQ(refusal({.base = name, .changes = {}, .message = ""}), "(nothing was thrown)")
        << name;
  }
}

TEST_F(BadConfigs, GiveExactlyTheMessagesOfTheTableAndLoadAndCreateNothing) {
  const auto text = test::Folder::read(kTable);
  const auto rows = bad_configs_rows_of(text);
  EXPECT_GE(rows.size(), 200U);
  const bool writes = std::getenv("WEFT_WRITE_TABLE") != nullptr;
  std::vector<std::string> messages;
  for (const auto& row : rows) {
    messages.push_back(join(split_lines(refusal(row)), " \\n "));
    if (!writes) {
      EXPECT_EQ(messages.back(), row.message) << row.base << ": " << join(row.changes, "; ");
    }
  }
  EXPECT_EQ(listing(), before_);
  if (writes) {
    write_table(text, messages);
  }
}

}  // namespace
}  // namespace weft::train
