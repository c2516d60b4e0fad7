#include "data/tokenizers/config_files.h"

#include <filesystem>

#include "base/file.h"
#include "base/string_util.h"
#include "data/error.h"
#include "data/tokenizers/json_fields.h"
#include "data/tokenizers/special_names.h"

namespace weft::data {

using formats::Json;

Json read_json_object(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) {
    return Json::object();
  }
  Json json = formats::read_json(path, kLargestTokenizerFile);
  if (!json.is_object()) {
    throw Error(path + ": must be an object");
  }
  return json;
}

Json read_tokenizer_config(const std::string& directory) {
  Json config = read_json_object(directory + "/tokenizer_config.json");
  const Json names = read_json_object(directory + "/special_tokens_map.json");
  for (const SpecialTokenName& name : special_token_names()) {
    const std::string key(name.key);
    if (!config.contains(key) && names.contains(key)) {
      config[key] = names[key];
    }
  }
  return config;
}

bool truncates_left(const Json& config, const Json& document, const std::string& location) {
  const JsonFields whole(document, location);
  const bool is_left =
      whole.has("truncation") && whole.fields("truncation").text("direction", "Right") == "Left";
  const JsonFields fields(config, location);
  const std::string side = fields.text("truncation_side", is_left ? "left" : "right");
  if (side != "left" && side != "right") {
    fields.fail("truncation_side", str_cat("found '", printable(side), "', must be left or right"));
  }
  return side == "left";
}

void save_tokenizer_config(const Json& config, int64_t max_length, const std::string& directory) {
  Json whole = config;
  whole["model_max_length"] = max_length;
  write_file(directory + "/tokenizer_config.json", whole.dump(2) + "\n");
  Json names = Json::object();
  for (const SpecialTokenName& name : special_token_names()) {
    const std::string key(name.key);
    if (config.contains(key) && !config[key].is_null()) {
      names[key] = config[key];
      if (names[key].is_object()) {
        names[key].erase("__type");  // only used in tokenizer_config.json
      }
    }
  }
  write_file(directory + "/special_tokens_map.json", names.dump(2) + "\n");
}

}  // namespace weft::data
