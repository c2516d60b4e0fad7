#include "nn/document/document_encoder.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/directory.h"
#include "models/encoder.h"
#include "models/stack_parts.h"
#include "models/tiny.h"
#include "nn/pooling/sequence_pooling.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

using Lengths = std::vector<int64_t>;

nn::SequencePoolingDefinition::Choice pooling_of(const std::string& name) {
  return nn::default_component(nn::sequence_poolings(), name);
}

ModelOptions document_options(const std::string& type = "hibert",
                              const std::string& family = "bert") {
  auto options = test::tiny_options(family_named(family), Head::kSequence);
  const auto& definition = nn::document_encoders().at(type);
  options.layers = 4;
  options.document =
      DocumentOptions{.encoder = nn::default_component(nn::document_encoders(), type),
                      .layers = 2,
                      .sentences = 6,
                      .sentence_length = 9,
                      .sentence_vector = pooling_of(std::string(definition.sentence_vector)),
                      .pooling = pooling_of(std::string(definition.pooling)),
                      .types = {}};
  return options;
}

std::shared_ptr<Model> filled_encoder(const ModelOptions& options) {
  auto model = make_model(options, 3);
  test::fill_parameters(*model);
  return model;
}

/// Its norms keep the size of the states, so that outputs depend on all inputs.
std::shared_ptr<Model> initialised(ModelOptions options) {
  options.init_std = 0.4;
  return make_model(options, 3);
}

/// Texts with sentences of these lengths.
struct Documents {
  explicit Documents(const std::vector<Lengths>& texts) {
    std::vector<int64_t> offsets{0};
    for (const auto& text : texts) {
      offsets.push_back(offsets.back());
      for (const auto length : text) {
        offsets.back() += length;
        sentences.lengths.push_back(length);
      }
      sentences.counts.push_back(std::ssize(text));
    }
    context = test::context_of(offsets);
    context.sentences = sentences;
    ids = at::arange(offsets.back(), at::kLong) * 7 % 19 + 1;
  }

  TextInput input() const { return {.ids = ids}; }
  at::Tensor logits(Model& model) const { return model.classify(input(), context); }
  at::Tensor states(Model& model) const { return model.hidden(input(), context); }

  nn::Sentences sentences;
  nn::ForwardContext context;
  at::Tensor ids;
};

const std::vector<Lengths> kDocumentTexts = {{3, 5, 2}, {4}, {1, 1, 9, 2, 6, 3}, {2, 2}};

class EveryDocumentEncoder : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Types, EveryDocumentEncoder, testing::Values("hibert", "hi_transformer"));

/// The model without sentences whose sequences are the sentences.
TEST_P(EveryDocumentEncoder, WithoutLayersOfItsOwnReadsSentencesAsThePlainEncoder) {
  for (const std::string family : {"bert", "roberta", "distilbert", "modernbert", "deberta-v2"}) {
    auto options = document_options(GetParam(), family);
    options.document->layers = 0;
    const auto model = filled_encoder(options);
    options.document.reset();
    const auto plain = make_model(options, 5);
    for (auto& parameter : plain->named_parameters()) {
      const at::NoGradGuard guard;
      parameter.value().copy_(model->named_parameters()[parameter.key()]);
    }
    const Documents texts(kDocumentTexts);
    auto sentences = texts.context;
    sentences.layout = nn::sentence_context(texts.context).layout;
    sentences.sentences = {};
    EXPECT_TRUE(test::near(texts.states(*model), plain->hidden(texts.input(), sentences), 1e-6))
        << family;
  }
}

TEST_P(EveryDocumentEncoder, OfOneSentenceWithoutLayersIsThePlainClassifier) {
  for (const std::string pooling : {"cls", "mean", "last", "attention"}) {
    auto options = document_options(GetParam());
    options.document->layers = 0;
    options.document->sentence_vector = pooling_of(pooling);
    options.document->pooling = pooling_of("mean");
    const auto model = filled_encoder(options);
    options.document.reset();
    options.layer_types.pooling = pooling_of(pooling);
    const auto plain = make_model(options, 5);
    for (auto& parameter : plain->named_parameters()) {
      const at::NoGradGuard guard;
      const auto name = parameter.key().starts_with("pooling.")
                            ? "document.sentence_vector" + parameter.key().substr(7)
                            : parameter.key();
      parameter.value().copy_(model->named_parameters()[name]);
    }
    const Documents texts({{5}, {9}, {1}});
    auto whole = texts.context;
    whole.sentences = {};
    const auto expected = plain->classify(texts.input(), whole);
    EXPECT_TRUE(test::near(texts.logits(*model), expected, 1e-6)) << pooling;
    EXPECT_TRUE(test::near(model->classify(texts.input(), whole), expected, 1e-6))
        << "a text that is not divided is one sentence";
  }
}

TEST_P(EveryDocumentEncoder, NoResultDependsOnTheOtherDocuments) {
  const auto model = filled_encoder(document_options(GetParam()));
  const Documents together(kDocumentTexts);
  const auto expected = together.logits(*model);
  for (std::size_t i = 0; i < kDocumentTexts.size(); ++i) {
    Documents alone({kDocumentTexts[i]});
    alone.ids = together.ids.slice(0, together.context.layout.offsets[i],
                                   together.context.layout.offsets[i + 1]);
    EXPECT_TRUE(test::near(alone.logits(*model)[0], expected[static_cast<int64_t>(i)], 1e-5));
  }
}

TEST_P(EveryDocumentEncoder, DocumentStatesDependOnAllSentencesAndTheirOrder) {
  const auto model = initialised(document_options(GetParam()));
  Documents text({{3, 4, 3}});
  const auto expected = text.logits(*model);
  const auto changed = [&](const Lengths& order) {
    auto other = text;
    other.ids = text.ids.index_select(0, at::tensor(order, at::kLong));
    return !test::near(other.logits(*model), expected, 1e-4);
  };
  EXPECT_TRUE(changed({2, 1, 0, 3, 4, 5, 6, 7, 8, 9})) << "words within a sentence";
  EXPECT_TRUE(changed({7, 8, 9, 3, 4, 5, 6, 0, 1, 2})) << "the first and the last sentence";
}

TEST_P(EveryDocumentEncoder, DropoutDoesNotDependOnTheSplitOfAStep) {
  for (const std::string position : {"learned", "none"}) {
    auto options = document_options(GetParam());
    options.document->types.positions = {nn::default_component(nn::position_types(), position)};
    options.dropout = 0.3;
    options.attention_dropout = 0.2;
    options.stochastic_depth.drop_path_rate = 0.3;
    const auto model = filled_encoder(options);
    Documents all(kDocumentTexts);
    all.context.is_training = true;
    all.context.step = 4;
    const auto expected = all.logits(*model);
    for (std::size_t split = 1; split < kDocumentTexts.size(); ++split) {
      Documents rest(
          {kDocumentTexts.begin() + static_cast<std::ptrdiff_t>(split), kDocumentTexts.end()});
      const auto first_row = all.context.layout.offsets[split];
      rest.ids = all.ids.slice(0, first_row);
      auto& context = rest.context;
      context.is_training = true;
      context.step = 4;
      context.first_row = first_row;
      context.first_sequence = static_cast<int64_t>(split);
      for (std::size_t i = 0; i < split; ++i) {
        context.earlier_lengths->push_back(all.context.layout.length(static_cast<int64_t>(i)));
        context.earlier_sentences.counts.push_back(std::ssize(kDocumentTexts[i]));
        for (const auto length : kDocumentTexts[i]) {
          context.earlier_sentences.lengths.push_back(length);
        }
      }
      EXPECT_TRUE(
          test::near(rest.logits(*model), expected.slice(0, static_cast<int64_t>(split)), 1e-5))
          << split;
    }
  }
}

TEST_P(EveryDocumentEncoder, RecomputedLayersHaveTheSameGradients) {
  auto options = document_options(GetParam());
  options.dropout = 0.2;
  const auto model = filled_encoder(options);
  Documents texts(kDocumentTexts);
  texts.context.is_training = true;
  const auto gradients = [&](bool recomputes) {
    test::clear_gradients(*model);
    texts.context.recomputes_layers = recomputes;
    texts.logits(*model).square().sum().backward();
    std::vector<at::Tensor> result;
    for (const auto& parameter : model->named_parameters()) {
      EXPECT_TRUE(parameter.value().grad().defined()) << parameter.key();
      result.push_back(parameter.value().grad().clone());
    }
    return result;
  };
  const auto expected = gradients(false);
  const auto found = gradients(true);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(test::near(found[i], expected[i], 1e-5));
  }
}

TEST_P(EveryDocumentEncoder, IsStoredWithTheModel) {
  for (const std::string family : {"bert", "roberta", "modernbert"}) {
    auto options = document_options(GetParam(), family);
    options.document->types.positions = {nn::default_component(nn::position_types(), "sinusoidal"),
                                         nn::default_component(nn::position_types(), "t5")};
    const auto model = filled_encoder(options);
    const test::Folder folder;
    save_model(folder.path(), *model, formats::DType::kF32);
    EXPECT_NE(test::Folder::read(folder.path("config.json")).find("\"model_type\": \"weft\""),
              std::string::npos);
    const auto read = read_model_config(folder.path());
    EXPECT_EQ(read.document, options.document);
    const auto loaded = load_model(folder.path(), read, 9);
    EXPECT_TRUE(loaded.missing_keys.empty());
    EXPECT_TRUE(loaded.unexpected_keys.empty());
    const Documents texts(kDocumentTexts);
    EXPECT_TRUE(at::equal(texts.logits(*loaded.model), texts.logits(*model)));
  }
}

TEST_P(EveryDocumentEncoder, IsNewInAModelThatStartsFromALanguageModel) {
  auto options = document_options(GetParam());
  const auto wanted = options;
  options.document.reset();
  options.head = Head::kMaskedLm;
  const auto pretrained = make_model(options, 1);
  const test::Folder folder;
  save_model(folder.path(), *pretrained, formats::DType::kF32);
  const auto loaded = load_model(folder.path(), wanted, 9);
  for (const auto& name : loaded.missing_keys) {
    EXPECT_TRUE(name.starts_with("document.") || name.starts_with("pooling.") ||
                name.starts_with("head.") || name.starts_with("pooler."))
        << name;
  }
  EXPECT_TRUE(at::equal(loaded.model->named_parameters()["layers.3.feed_forward.up.weight"],
                        pretrained->named_parameters()["layers.3.feed_forward.up.weight"]));
}

/// A model that predicts tags of sentences, at their last tokens.
ModelOptions tag_options(const std::string& type, int64_t layers = 2) {
  auto options = document_options(type);
  options.head = Head::kToken;
  options.document->layers = layers;
  return options;
}

at::Tensor tag_logits(Model& model, const Documents& texts) {
  const auto last = nn::RowSelection::last_tokens(nn::sentence_context(texts.context));
  return model.token_logits(model.selected_hidden_states(texts.input(), texts.context, last),
                            last.select(texts.context));  // (S, C)
}

TEST_P(EveryDocumentEncoder, TagsOfSentencesAreThoseOfTheirStates) {
  for (const std::string family : {"bert", "roberta", "distilbert", "modernbert", "deberta-v2"}) {
    auto options = document_options(GetParam(), family);
    options.head = Head::kToken;
    const auto model = filled_encoder(options);
    options.head = Head::kNone;
    const auto bare = make_model(options, 5);
    const auto encoder = make_document_encoder(options);
    const auto parameters = model->named_parameters();
    for (auto& parameter : bare->named_parameters()) {
      const at::NoGradGuard guard;
      if (const auto* own = parameters.find(parameter.key())) {
        parameter.value().copy_(*own);
      }
    }
    for (auto& parameter : encoder->named_parameters()) {
      const at::NoGradGuard guard;
      parameter.value().copy_(parameters["document." + parameter.key()]);
    }
    const Documents texts(kDocumentTexts);
    const auto tokens = texts.states(*bare);
    const auto sentences = encoder->sentence_states(tokens, texts.context);  // (S, D)
    const auto last = nn::RowSelection::last_tokens(nn::sentence_context(texts.context));
    EXPECT_TRUE(test::near(texts.states(*model), tokens.index_copy(0, last.index, sentences), 1e-6))
        << family;
    EXPECT_TRUE(test::near(tag_logits(*model, texts),
                           model->token_logits(sentences, nn::document_context(texts.context)),
                           1e-6))
        << family;
  }
}

TEST_P(EveryDocumentEncoder, TagsDependOnOtherSentencesThroughTheLayersOfTheDocument) {
  for (const int64_t layers : {0, 2}) {
    const auto model = initialised(tag_options(GetParam(), layers));
    const Documents texts({{3, 5}, {4, 2}});
    auto other = texts;
    other.ids = texts.ids.clone();
    other.ids[1] = 18;  // a word of the first sentence of the first document
    const auto expected = tag_logits(*model, texts);
    const auto changed = tag_logits(*model, other);
    EXPECT_FALSE(test::near(changed[0], expected[0], 1e-4));
    EXPECT_EQ(test::near(changed[1], expected[1], 1e-6), layers == 0);
    EXPECT_TRUE(test::near(changed.slice(0, 2), expected.slice(0, 2), 1e-6));
  }
}

TEST_P(EveryDocumentEncoder, GradientsOfTagsReachAllParameters) {
  const auto model = initialised(tag_options(GetParam()));
  const Documents texts(kDocumentTexts);
  tag_logits(*model, texts).square().sum().backward();
  for (const auto& parameter : model->named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    const auto is_key_bias = parameter.key().ends_with("key.bias");  // no effect on a softmax
    EXPECT_TRUE(is_key_bias || parameter.value().grad().abs().max().item<double>() > 0)
        << parameter.key();
  }
}

TEST_P(EveryDocumentEncoder, WithTagsOfSentencesIsStored) {
  const auto model = filled_encoder(tag_options(GetParam()));
  const test::Folder folder;
  save_model(folder.path(), *model, formats::DType::kF32);
  const auto loaded = load_model(folder.path(), read_model_config(folder.path()), 9);
  EXPECT_TRUE(loaded.missing_keys.empty());
  EXPECT_TRUE(loaded.unexpected_keys.empty());
  const Documents texts(kDocumentTexts);
  EXPECT_TRUE(at::equal(tag_logits(*loaded.model, texts), tag_logits(*model, texts)));
}

TEST_P(EveryDocumentEncoder, OfAClassifierIsThatOfAModelThatTagsSentences) {
  const auto classifier = filled_encoder(document_options(GetParam()));
  const test::Folder folder;
  save_model(folder.path(), *classifier, formats::DType::kF32);
  const auto loaded = load_model(folder.path(), tag_options(GetParam()), 9);
  for (const auto& name : loaded.missing_keys) {
    EXPECT_TRUE(name.starts_with("head.")) << name;
  }
  const auto stored = classifier->named_parameters();
  int64_t count = 0;
  for (const auto& parameter : loaded.model->named_parameters()) {
    if (parameter.key().starts_with("document.")) {
      ++count;
      EXPECT_TRUE(at::equal(parameter.value(), stored[parameter.key()])) << parameter.key();
    }
  }
  EXPECT_GT(count, 0);
}

TEST(Hibert, KeepsEqualSentencesEqualWithoutPositions) {
  for (const bool has_positions : {false, true}) {
    auto options = document_options();
    if (!has_positions) {
      options.document->types.positions = {nn::default_component(nn::position_types(), "none")};
    }
    const auto encoder = make_document_encoder(options);
    test::fill_parameters(*encoder);
    const Documents text({{3, 3, 3}, {3, 3}});
    const auto tokens = at::arange(3 * options.dim, at::kFloat).sin().view({3, -1}).repeat({5, 1});
    const auto vectors = encoder->sentence_states(tokens, text.context);  // (5, D)
    const auto is_equal = test::near(vectors, vectors[0].expand_as(vectors), 1e-6);
    EXPECT_EQ(is_equal, !has_positions);
  }
}

/// In the first sentence of two the words 0 and 2 change places.
bool states_of_the_second_sentence_change(const std::string& type) {
  const auto model = initialised(document_options(type));
  const Documents text({{3, 5}});
  auto other = text;
  other.ids = text.ids.index_select(0, at::tensor({2, 1, 0, 3, 4, 5, 6, 7}, at::kLong));
  return !test::near(other.states(*model).slice(0, 3), text.states(*model).slice(0, 3), 1e-5);
}

TEST(Hibert, TokensDependOnTheirSentenceOnly) {
  EXPECT_FALSE(states_of_the_second_sentence_change("hibert"));
}

TEST(HiTransformer, TokensDependOnTheWholeDocument) {
  EXPECT_TRUE(states_of_the_second_sentence_change("hi_transformer"));
}

/// The layers over the sentences are a stack whose input are their vectors and positions.
TEST(Hibert, IsASentenceEncoderAndADocumentEncoder) {
  const auto options = document_options();
  const auto model = filled_encoder(options);
  const auto parameters = model->named_parameters();
  auto document = encoder_stack_of(options, 2);
  document.first_layer = options.layers;
  nn::Stack stack(document);
  for (auto& parameter : stack->named_parameters()) {
    const at::NoGradGuard guard;
    parameter.value().copy_(parameters["document.encoder.layers." + parameter.key()]);
  }
  const Documents texts(kDocumentTexts);
  const auto last = nn::sentence_context(texts.context).layout.device_offsets.slice(0, 1) - 1;
  const auto over_sentences = nn::document_context(texts.context);
  const auto vectors = texts.states(*model).index_select(0, last) +
                       parameters["document.encoder.position.weight"].index_select(
                           0, over_sentences.layout.positions);
  const auto states = stack->forward(vectors, over_sentences);  // (S, D)
  const auto means = nn::pool(states, over_sentences.layout, nn::SentencePooling::kMean);
  const auto hidden =
      at::linear(means, parameters["pooler.dense.weight"], parameters["pooler.dense.bias"]).tanh();
  EXPECT_TRUE(test::near(texts.logits(*model), at::linear(hidden, parameters["head.output.weight"],
                                                          parameters["head.output.bias"])));
}

/// Two stacks, each of a layer over tokens, layers over sentences, and a layer over tokens.
TEST(HiTransformer, PutsTheStateOfTheSentenceInPlaceOfItsLastToken) {
  const auto options = document_options("hi_transformer");
  const auto model = filled_encoder(options);
  const auto parameters = model->named_parameters();
  const auto copy = [&](torch::nn::Module& module, const auto& name_of) {
    for (auto& parameter : module.named_parameters()) {
      const at::NoGradGuard guard;
      parameter.value().copy_(parameters[name_of(parameter.key())]);
    }
  };
  const Documents texts(kDocumentTexts);
  const auto own = nn::sentence_context(texts.context);
  const auto of_documents = nn::document_context(texts.context);
  const auto last = own.layout.device_offsets.slice(0, 1) - 1;
  auto first = options;
  first.document.reset();
  first.layers = 1;
  const auto start = make_model(first, 5);
  copy(*start, [](const std::string& name) { return name; });
  auto plain = own;
  plain.sentences = {};
  auto states = start->hidden(texts.input(), plain);
  const auto run_layer = [&](int64_t layer) {
    nn::Stack stack(encoder_stack_of(options, 1));
    copy(*stack, [&](const std::string& name) {
      return "layers." + std::to_string(layer) + name.substr(1);
    });
    states = stack->forward(states, own);
  };
  const auto run_document = [&](const std::string& name) {
    nn::Stack stack(encoder_stack_of(options, 2));
    const auto prefix = "document." + name + ".";
    copy(*stack, [&](const std::string& key) { return prefix + "layers." + key; });
    const auto positions =
        parameters[prefix + "position.weight"].index_select(0, of_documents.layout.positions);
    states =
        states.index_copy(0, last.to(at::kLong),
                          stack->forward(states.index_select(0, last) + positions, of_documents));
  };
  run_document("encoder");
  run_layer(1);
  run_layer(2);
  run_document("encoder_2");
  run_layer(3);
  EXPECT_TRUE(test::near(texts.states(*model), states));
}

TEST(DocumentEncoder, RefusesSentencesThatAreNotThoseOfTheTexts) {
  const auto model = filled_encoder(document_options());
  Documents text({{3, 5}});
  text.context.sentences.lengths = {3, 4};
  EXPECT_THROW(text.logits(*model), c10::Error);
  text.context.sentences = {.lengths = {3, 5, 1}, .counts = {2}};
  EXPECT_THROW(text.logits(*model), c10::Error);
  text.context.sentences = {.lengths = {8}, .counts = {0}};
  EXPECT_THROW(text.logits(*model), c10::Error);
  const Documents long_text({Lengths(7, 1)});
  EXPECT_THROW(long_text.logits(*model), c10::Error);  // positions of 6 sentences
}

}  // namespace
}  // namespace weft::models
