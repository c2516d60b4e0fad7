#include <exception>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/string_util.h"
#include "config/section.h"
#include "config/state.h"
#include "config/yaml.h"

namespace weft::config {

namespace {

/// What is often given instead of a config gets a message of its own.
void check_is_config(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (path == "-") {
    throw FileError("-: no such file, must be a config (YAML); standard input is /dev/stdin");
  }
  if (fs::status(path, ignored).type() == fs::file_type::not_found) {
    throw FileError(str_cat(path,
                            ": no such file, must be a config (YAML); `weft init TASK DATA > ",
                            path, "` writes one"));
  }
  if (fs::is_directory(path, ignored)) {
    const auto inside = path + "/config.yaml";
    throw FileError(str_cat(path, ": a directory, must be a config (YAML)",
                            fs::exists(inside, ignored) ? ", as " + inside : ""));
  }
  for (const auto* extension : {".csv", ".tsv", ".jsonl", ".parquet"}) {
    if (path.ends_with(extension)) {
      throw FileError(str_cat(path, ": a data file, must be a config (YAML); `weft init TASK ",
                              path, " > config.yaml` writes one"));
    }
  }
}

}  // namespace

Document Document::load(const std::string& path, const std::vector<std::string>& overrides) {
  constexpr int64_t kMaxConfigBytes = int64_t{1} << 20;  // a config has a few hundred lines
  check_is_config(path);
  return parse(read_file(path, kMaxConfigBytes), path, overrides);
}

Document Document::parse(std::string_view content,
                         const std::string& name,
                         const std::vector<std::string>& overrides) {
  Node root = parse_yaml(content, name);
  if (root.kind == Node::Kind::kNull && !overrides.empty()) {
    root.kind = Node::Kind::kMap;
  }
  if (root.kind != Node::Kind::kMap) {
    const std::string what = root.kind == Node::Kind::kNull
                                 ? "the file is empty"
                                 : describe_value(root) + " at the top level";
    const SourceLocation begin{
        .source = std::make_shared<const std::string>(name), .line = 1, .column = 1};
    const SourceLocation& location = root.kind == Node::Kind::kNull ? begin : root.location;
    throw Error(str_cat(to_string(location), ": ", what,
                        ", must be a map of keys (model, data, train, ...)"));
  }
  for (const auto& override : overrides) {
    apply_override(root, override);
  }
  Document document;
  document.state_ = std::make_shared<Section::State>();
  document.state_->location = {.source = std::make_shared<const std::string>(name)};
  document.state_->root = std::make_shared<const Node>(std::move(root));
  document.state_->node = document.state_->root.get();
  return document;
}

Section Document::root() const { return Section(state_); }

void Document::read(const std::function<void(Section)>& read_all) const {
  state_->errors = std::make_shared<ErrorList>();
  const auto& errors = state_->errors->items;
  try {
    state_->attempt("", [&] { read_all(root()); });
  } catch (const std::exception&) {
    if (errors.empty()) {  // otherwise values that were left at their defaults may contradict
      throw;
    }
  }
  std::vector<std::string> lines;
  for (const auto& error : errors) {
    lines.push_back(error.message);
  }
  state_->errors.reset();
  if (!lines.empty()) {
    throw Error(join(lines, "\n"));
  }
}

std::string Document::resolved() const { return to_yaml(*state_->record); }

}  // namespace weft::config
