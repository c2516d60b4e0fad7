#include "data/tokenizers/config_files.h"

#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "data/error.h"
#include "data/tokenizers/json_fields.h"
#include "data/tokenizers/special_names.h"

namespace weft::data {

using formats::Json;

Json object_in(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) {
    return Json::object();
  }
  Json json = formats::read_json(path, kLargestTokenizerFile);
  if (!json.is_object()) {
    throw Error(path + ": an object is needed");
  }
  return json;
}

Json tokenizer_config_in(const std::string& directory) {
  Json config = object_in(directory + "/tokenizer_config.json");
  const Json names = object_in(directory + "/special_tokens_map.json");
  for (const SpecialName& name : special_names()) {
    const std::string key(name.key);
    if (!config.contains(key) && names.contains(key)) {
      config[key] = names[key];
    }
  }
  return config;
}

bool cuts_begin(const Json& config, const Json& document, const std::string& place) {
  const JsonFields whole(document, place);
  const bool is_left =
      whole.has("truncation") && whole.fields("truncation").text("direction", "Right") == "Left";
  const JsonFields fields(config, place);
  const std::string side = fields.text("truncation_side", is_left ? "left" : "right");
  if (side != "left" && side != "right") {
    fields.fail("truncation_side", text("found '", shown(side), "', must be left or right"));
  }
  return side == "left";
}

void save_tokenizer_config(const Json& config, int64_t max_length, const std::string& directory) {
  Json whole = config;
  whole["model_max_length"] = max_length;
  write_file(directory + "/tokenizer_config.json", whole.dump(2) + "\n");
  Json names = Json::object();
  for (const SpecialName& name : special_names()) {
    const std::string key(name.key);
    if (config.contains(key) && !config[key].is_null()) {
      names[key] = config[key];
      if (names[key].is_object()) {
        names[key].erase("__type");  // of tokenizer_config.json only
      }
    }
  }
  write_file(directory + "/special_tokens_map.json", names.dump(2) + "\n");
}

}  // namespace weft::data
