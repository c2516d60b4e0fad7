#include <filesystem>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "formats/safetensors.h"
#include "models/weights/tensors.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

const std::string kAdapterReference =
    std::string(WEFT_SOURCE_DIR) + "/tests/reference/adapters/bert/";

at::Tensor tensor(const std::string& path, const std::string& name) {
  const formats::SafetensorsFile file(path);
  return models::tensor_of(file.at(name)).clone();
}

// What PEFT computes was written by scripts/make_adapter_reference.py.
TEST(Adapters, ImportMergesThemIntoTheirBase) {
  const test::Folder folder;
  ASSERT_EQ(run_import({kAdapterReference + "adapter", "--base", kAdapterReference + "base",
                        "--output", folder.path("merged"), "--labels", "no,perhaps,yes"}),
            0);
  const auto ids = tensor(kAdapterReference + "outputs.safetensors", "input_ids");
  const auto mask = tensor(kAdapterReference + "outputs.safetensors", "attention_mask");
  formats::write_safetensors(
      folder.path("in.safetensors"),
      {{"input_ids", models::view_of(ids)}, {"attention_mask", models::view_of(mask)}});
  ASSERT_EQ(run_forward({folder.path("merged"), "--input", folder.path("in.safetensors"),
                         "--output", folder.path("out.safetensors")}),
            0);
  EXPECT_TRUE(test::near(tensor(folder.path("out.safetensors"), "logits"),
                         tensor(kAdapterReference + "outputs.safetensors", "logits"), 1e-5));
}

TEST(Adapters, ImportReportsAMissingBase) {
  const test::Folder folder;
  EXPECT_EQ(test::message_of<UserError>([&] {
              run_import({kAdapterReference + "adapter", "--output", folder.path("merged")});
            }),
            kAdapterReference +
                "adapter: its base 'base' was not found: give its directory with --base DIR; a "
                "model of the Hugging Face Hub is downloaded with `hf download base --local-dir "
                "base`");
  EXPECT_NE(
      test::message_of<UserError>([&] {
        run_import({kAdapterReference + "base", "--base", "x", "--output", folder.path("merged")});
      }).find("is not an adapter directory"),
      std::string::npos);
}

// Adapters are not complete models: the error explains how to merge them.
TEST(Adapters, CommandsNameTheImportThatMergesThem) {
  const test::Folder folder;
  folder.write("x.tsv", "label\ttext\n1\ta\n");
  const auto adapter = kAdapterReference + "adapter";
  const auto wanted = adapter + ": a LoRA adapter, not a complete model: `weft import " + adapter +
                      " --output DIR` merges it into its base";
  for (const auto& message :
       {test::message_of<UserError>([&] { run_predict({adapter}); }),
        test::message_of<UserError>([&] {
          run_evaluate({adapter, "--data", folder.path("x.tsv")});
        }),
        test::message_of<UserError>([&] {
          run_train(
              {folder.write("c.yaml", "init_from: " + adapter +
                                          "\nobjective: {type: classify}\ndata: {train: [{path: " +
                                          folder.path("x.tsv") + "}]}\n")});
        })}) {
    EXPECT_NE(message.find(wanted), std::string::npos) << message;
  }
}

TEST(Adapters, ExportGivesTheAdapterAlone) {
  const test::Folder folder;
  fs::copy(kAdapterReference + "base", folder.path("checkpoint"));
  const auto output = folder.path("out");
  EXPECT_NE(test::message_of<UserError>([&] {
              run_export({folder.path("checkpoint"), "--adapter", "--output", output});
            }).find("no adapter, must be a checkpoint of a run with train.lora.rank"),
            std::string::npos);
  fs::copy(kAdapterReference + "adapter", folder.path("checkpoint/adapter"));
  EXPECT_THROW(
      run_export({folder.path("checkpoint"), "--adapter", "--dtype", "bf16", "--output", output}),
      UsageError);
  ASSERT_EQ(run_export({folder.path("checkpoint"), "--adapter", "--output", output}), 0);
  for (const auto* name : {"adapter_model.safetensors", "adapter_config.json"}) {
    EXPECT_EQ(test::Folder::read(output + "/" + name),
              test::Folder::read(kAdapterReference + "adapter/" + name));
  }
  EXPECT_FALSE(fs::exists(output + "/model.safetensors"));
}

}  // namespace
}  // namespace weft::cli
