#include "models/decoding/model_decoder.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "config/section.h"
#include "kernels/linear/linear.h"
#include "models/config/family_definition.h"
#include "models/decoding/search.h"
#include "models/directory.h"
#include "models/inference.h"
#include "models/source_attention.h"
#include "nn/attention/attention.h"
#include "nn/sublayer.h"
#include "tiny_decoders.h"

namespace weft::models {
namespace {

/// Computes every sequence from its begin at every step.
class Forgetful : public Decoder {
 public:
  Forgetful(Model& model, const std::vector<Prompt>& prompts) : model_(model) {
    for (const auto& prompt : prompts) {
      sequences_.push_back(prompt.tokens);
      sources_.push_back(prompt.source);
      prefix_lengths_.push_back(static_cast<int64_t>(prompt.tokens.size()) - prompt.answer_tokens);
    }
  }

  at::Tensor first() override { return logits(); }

  at::Tensor next(const std::vector<int64_t>& rows, const Tokens& tokens) override {
    std::vector<Tokens> sequences;
    std::vector<Tokens> sources;
    Tokens prefix_lengths;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      prefix_lengths.push_back(prefix_lengths_[static_cast<std::size_t>(rows[i])]);
      sequences.push_back(sequences_[static_cast<std::size_t>(rows[i])]);
      sequences.back().push_back(tokens[i]);
      sources.push_back(sources_[static_cast<std::size_t>(rows[i])]);
    }
    sequences_ = std::move(sequences);
    sources_ = std::move(sources);
    prefix_lengths_ = std::move(prefix_lengths);
    return logits();
  }

 private:
  at::Tensor logits() {
    std::vector<at::Tensor> all;
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      nn::EncoderStates encoder_states;
      nn::ForwardContext context;
      if (is_encoder_decoder(model_.options())) {
        nn::ForwardContext source;
        source.layout =
            kernels::Layout::from_offsets({0, static_cast<int64_t>(sources_[i].size())}, at::kCPU);
        encoder_states.states =
            model_.encode({.ids = at::tensor(sources_[i], at::kLong), .patches = {}}, source);
        encoder_states.layout = source.layout;
        context.encoder_states = &encoder_states;
      }
      context.layout =
          kernels::Layout::from_offsets({0, static_cast<int64_t>(sequences_[i].size())}, at::kCPU);
      if (model_.options().is_prefix_lm) {
        context.prefix_lengths = {prefix_lengths_[i]};
      }
      const auto hidden =
          model_.hidden({.ids = at::tensor(sequences_[i], at::kLong), .types = {}}, context);
      all.push_back(kernels::linear(model_.token_features(hidden.slice(0, -1)),
                                    model_.output_weight(), model_.output_bias()));
    }
    return at::cat(all);
  }

  Model& model_;
  std::vector<Tokens> sequences_;
  std::vector<Tokens> sources_;
  std::vector<int64_t> prefix_lengths_;
};

std::vector<SearchOptions> searches() {
  return {{.eos_ids = {3}},
          {.eos_ids = {3},
           .sampling = {.is_enabled = true, .temperature = 1.5},
           .num_return_sequences = 2},
          {.eos_ids = {3}, .num_beams = 4, .num_return_sequences = 4},
          {.eos_ids = {3},
           .num_beams = 4,
           .num_beam_groups = 2,
           .diversity_penalty = 1,
           .num_return_sequences = 4}};
}

/// Cached decoding against decoding from the begin, by every search.
void expect_same_texts(Model& model, const std::vector<Prompt>& asked) {
  for (const auto& options : searches()) {
    const DecodingOutput output{.packed = kernels::packed(model.output_weight().t()),
                                .bias = model.output_bias()};
    ModelDecoder cached(model, output, asked);
    Forgetful forgetful(model, asked);
    const auto found = search(cached, asked, options);
    const auto wanted = search(forgetful, asked, options);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      ASSERT_EQ(found[i].size(), wanted[i].size());
      for (std::size_t j = 0; j < found[i].size(); ++j) {
        EXPECT_EQ(found[i][j].tokens, wanted[i][j].tokens);
        EXPECT_NEAR(found[i][j].score, wanted[i][j].score, 1e-4);
      }
    }
  }
}

class ModelDecoderOf : public ::testing::TestWithParam<Family> {};

TEST_P(ModelDecoderOf, EqualsRecomputation) {
  const at::NoGradGuard guard;
  const auto model = make_model(test::decoder_options(GetParam()), 5);
  ASSERT_TRUE(can_generate(*model));
  expect_same_texts(*model, test::decoder_prompts());
}

TEST_P(ModelDecoderOf, PackedWeightsGiveTheSameBits) {
  const at::NoGradGuard guard;
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto first = [&](bool is_packed) {
      const auto model = make_model(test::decoder_options(GetParam()), 5);
      prepare_for_inference(*model, {.type = type});
      const DecodingOutput plain;
      const auto output = is_packed ? prepare_for_decoding(*model) : plain;
      const auto asked = test::decoder_prompts();
      return ModelDecoder(*model, output, asked).first();
    };
    EXPECT_TRUE(at::equal(first(true), first(false))) << type;
  }
}

/// How much the last of these tokens attends to the source, of a pass over all.
at::Tensor source_attention_of(Model& model, const Tokens& source, const Tokens& tokens) {
  const auto context_of_tokens = [](const Tokens& ids) {
    nn::ForwardContext context;
    context.layout = kernels::Layout::from_offsets({0, static_cast<int64_t>(ids.size())}, at::kCPU);
    return context;
  };
  const auto reading = context_of_tokens(source);
  const nn::EncoderStates encoder_states{
      .states = model.encode({.ids = at::tensor(source, at::kLong), .patches = {}}, reading),
      .layout = reading.layout};
  auto writing = context_of_tokens(tokens);
  nn::AttentionRecorder recorder(source_attention_layers(model.options()));
  writing.encoder_states = &encoder_states;
  writing.attention_recorder = &recorder;
  model.hidden({.ids = at::tensor(tokens, at::kLong)}, writing);
  return last_source_attention(recorder, model.options()).front()[-1];
}

TEST(ModelDecoder, SourceAttentionIsThatOfAWholePass) {
  const at::NoGradGuard guard;
  for (const auto* family : {"bart", "t5", "marian", "seq2seq_rnn"}) {
    auto options = test::decoder_options(family_named(family));
    options.seq2seq_rnn = family_defaults(options.family).seq2seq_rnn;
    const auto model = make_model(options, 5);
    const auto asked = test::decoder_prompts();
    const auto output = prepare_for_decoding(*model);
    ModelDecoder decoder(*model, output, asked);
    decoder.record_source_attention();
    const auto expect = [&](const std::vector<int64_t>& rows, const std::vector<Tokens>& tokens) {
      const auto& found = decoder.source_attention();
      ASSERT_EQ(found.size(), rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto wanted =
            source_attention_of(*model, asked[static_cast<std::size_t>(rows[i])].source, tokens[i]);
        const auto own = at::tensor(found[i], at::kFloat);
        ASSERT_EQ(own.sizes(), wanted.sizes()) << family;
        EXPECT_LT((own - wanted).abs().max().item<double>(), 1e-5) << family << i;
      }
    };
    decoder.first();
    std::vector<Tokens> tokens;
    for (const auto& prompt : asked) {
      tokens.push_back(prompt.tokens);
    }
    expect({0, 1, 2, 3}, tokens);
    const std::vector<int64_t> rows = {3, 1, 1};
    decoder.next(rows, {6, 7, 8});
    std::vector<Tokens> longer;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      longer.push_back(tokens[static_cast<std::size_t>(rows[i])]);
      longer.back().push_back(6 + static_cast<int64_t>(i));
    }
    expect(rows, longer);
  }
}

TEST(ModelDecoder, PromptsOfAPrefixModelAreBidirectional) {
  const at::NoGradGuard guard;
  for (const auto family : {family_named("gpt2"), family_named("llama")}) {
    auto options = test::decoder_options(family);
    options.is_prefix_lm = true;
    const auto model = make_model(options, 5);
    auto asked = test::decoder_prompts();
    const auto first = [&](Model& of) {
      const DecodingOutput output{.packed = kernels::packed(of.output_weight().t()),
                                  .bias = of.output_bias()};
      return ModelDecoder(of, output, asked).first();
    };
    expect_same_texts(*model, asked);
    const auto whole = first(*model);
    asked.back().answer_tokens =
        2;  // the last two belong to the answer: earlier tokens do not attend to them
    expect_same_texts(*model, asked);
    const auto begun = first(*model);
    EXPECT_TRUE(at::equal(begun.slice(0, 0, -1), whole.slice(0, 0, -1)));
    EXPECT_FALSE(at::allclose(begun[-1], whole[-1], 1e-3, 1e-3));
    options.is_prefix_lm = false;
    const auto plain = make_model(options, 5);
    EXPECT_FALSE(at::allclose(first(*plain)[1], whole[1], 1e-3, 1e-3));
  }
}

TEST(ModelDecoder, RecurrentStateFollowsItsSequence) {
  const at::NoGradGuard guard;
  for (const std::string block : {"rf", "raf"}) {
    auto options = test::decoder_options(family_named("llama"));
    auto section = config::Document::parse("{width: 12}", "test.yaml").root();
    options.layer_types.block = block;
    options.layer_types.sublayers["recurrent"].cycle = {
        nn::read_component(section, *nn::find_sublayer('r'))};
    expect_same_texts(*make_model(options, 5), test::decoder_prompts());
  }
}

ModelOptions with_tree(const char* family) {
  auto options = test::decoder_options(family_named(family));
  auto section = config::Document::parse("{neighbours: 1}", "test.yaml").root();
  options.layer_types.attention.cycle = {
      nn::read_component(section, nn::attention_types().at("binary_tree"))};
  return options;
}

TEST(ModelDecoder, SpansOfATreeFollowTheirSequence) {
  const at::NoGradGuard guard;
  auto options = with_tree("gpt2");
  expect_same_texts(*make_model(options, 5), test::decoder_prompts());
  options.is_prefix_lm = true;
  EXPECT_THROW(make_model(options, 5), config::Error);
  EXPECT_THROW(make_model(with_tree("bart"), 5), config::Error);
}

TEST(ModelDecoder, PositionsBesidesThoseOfTheFamilyCount) {
  const at::NoGradGuard guard;
  for (const auto* family : {"llama", "bart"}) {
    for (const auto* type : {"alibi", "disentangled", "tupe"}) {
      auto options = test::decoder_options(family_named(family));
      options.layer_types.positions = position_choices(options);
      options.layer_types.positions.push_back(nn::default_component(nn::position_types(), type));
      expect_same_texts(*make_model(options, 5), test::decoder_prompts());
    }
  }
}

/// Each layer of a decoder has the keys of its own mix of the encoder's layers.
TEST(ModelDecoder, MixesOfLayersCount) {
  const at::NoGradGuard guard;
  for (const auto* family : {"bart", "t5", "gpt2"}) {
    auto options = test::decoder_options(family_named(family));
    options.decoder.layers = options.family->is_encoder_decoder ? 3 : 0;
    options.layer_types.mix = nn::LayerMixOptions();
    const auto model = make_model(options, 5);
    auto weight = model->named_parameters()["layers.mix.weight"];
    weight.copy_(at::arange(weight.numel(), at::kFloat).mul(2).cos().mul(3).view_as(weight));
    expect_same_texts(*model, test::decoder_prompts());
  }
}

INSTANTIATE_TEST_SUITE_P(Families,
                         ModelDecoderOf,
                         ::testing::Values(family_named("gpt2"),
                                           family_named("llama"),
                                           family_named("t5"),
                                           family_named("bart"),
                                           family_named("marian")),
                         [](const auto& about) { return std::string(about.param->name); });

}  // namespace
}  // namespace weft::models
