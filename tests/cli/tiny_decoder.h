#pragma once

#include <filesystem>
#include <string>

#include "models/directory.h"
#include "objectives/tiny_gpt.h"
#include "support/program.h"

namespace weft::test {

/// The directory of a GPT-2 of random weights with a tokenizer.
class TinyDecoder {
 public:
  TinyDecoder() {
    auto options = tiny_gpt_options();
    options.vocabulary = 420;
    options.length = 64;
    options.init_std = 0.5;
    options.bos_id = 0;
    options.eos_id = 0;
    models::save_model(directory_.path(), *models::make_model(options, 3), formats::DType::kF32);
    for (const std::string name : {"tokenizer.json", "tokenizer_config.json"}) {
      std::filesystem::copy_file(
          std::string(WEFT_SOURCE_DIR) + "/tests/reference/tokenizers/gpt2/" + name,
          directory_ / name);
    }
    set_generation("{\"eos_token_id\": 0, \"max_new_tokens\": 10}");
  }

  const std::string& path() const { return directory_.path(); }
  std::string file(const std::string& name) const { return directory_ / name; }
  void set_generation(const std::string& json) const {
    write(directory_ / "generation_config.json", json);
  }

 private:
  TemporaryDirectory directory_;
};

}  // namespace weft::test
