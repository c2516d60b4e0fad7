#include "cli/export_adapter.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/string_util.h"
#include "cli/model_output.h"
#include "train/optimizer/lora_run.h"

namespace weft::cli {

void export_adapter(const std::string& checkpoint, const std::string& output) {
  const auto adapter = checkpoint + "/" + train::kAdapter;
  if (!std::filesystem::exists(adapter + "/adapter_config.json")) {
    throw UserError(
        str_cat(checkpoint, ": no adapter, must be a checkpoint of a run with train.lora.rank"));
  }
  write_directory(output, [&](const std::string& working) {
    for (const auto* name : {"adapter_model.safetensors", "adapter_config.json"}) {
      FileWriter copy(str_cat(working, "/", name), FileWriter::Mode::kPlain);
      copy.write(MappedFile(str_cat(adapter, "/", name)).text());
      copy.commit();
    }
  });
}

}  // namespace weft::cli
