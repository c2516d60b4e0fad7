#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "models/decoding/model_decoder.h"
#include "models/decoding/search.h"
#include "models/inference.h"
#include "models/seq2seq_rnn_pairs.h"
#include "nn/recurrent/local_window.h"

namespace weft::models {
namespace {

/// The equations of the papers, one pair and one step at a time, with the parameters of a model.
class Restatement {
 public:
  explicit Restatement(Model& model)
      : p_(model.named_parameters()), own_(model.options().seq2seq_rnn), options_(model.options()) {
    const auto keys = own_.local ? own_.local->keys : "";
    const auto number = keys.find(':');
    half_width_ = number == std::string::npos ? 1000 : std::stoi(keys.substr(number + 1)) / 2;
  }

  at::Tensor features(const Pairs& pair) {
    encode(pair);
    std::vector<State> layers;
    for (int64_t i = 0; i < options_.decoder.layers; ++i) {
      layers.push_back({.h = at::tanh(linear(name("bridge", i), summary_)), .c = {}});
      if (own_.cell->type == "lstm") {
        layers.back().c = linear(name("memory_bridge", i), summary_);
      }
    }
    auto fed = at::zeros({options_.dim});
    std::vector<at::Tensor> rows;
    for (std::size_t t = 0; t < pair.targets.size(); ++t) {
      const auto y = p_["source_words"][pair.targets[t]];
      if (!own_.attends_after) {
        const auto context = own_.score ? attend(layers.back().h, t) : summary_;
        const auto s = run("decoder", at::cat({y, context}), layers);
        rows.push_back(
            std::get<0>(linear("readout", at::cat({s, y, context})).view({-1, 2}).max(1)));
        continue;
      }
      const auto s = run("decoder", own_.has_input_feeding ? at::cat({y, fed}) : y, layers);
      fed = at::tanh(linear("readout", at::cat({attend(s, t), s})));
      rows.push_back(fed);
    }
    return at::stack(rows);
  }

 private:
  struct State {
    at::Tensor h;
    at::Tensor c;
  };

  static std::string name(const std::string& base, int64_t layer) {
    return base + "_" + std::to_string(layer);
  }

  at::Tensor linear(const std::string& module, const at::Tensor& x) {
    const auto y = at::mv(p_[module + ".weight"], x);
    const auto* bias = p_.find(module + ".bias");
    return bias == nullptr ? y : y + *bias;
  }

  State cell(const std::string& module, const at::Tensor& x, const State& before) {
    const auto from_x = linear(module + ".input", x);
    const auto from_h = linear(module + ".hidden", before.h);
    if (own_.cell->type == "rnn") {
      return {.h = at::tanh(from_x + from_h), .c = {}};
    }
    if (own_.cell->type == "lstm") {
      const auto gates = (from_x + from_h).chunk(4);
      const auto c = at::sigmoid(gates[1]) * before.c + at::sigmoid(gates[0]) * at::tanh(gates[2]);
      return {.h = at::sigmoid(gates[3]) * at::tanh(c), .c = c};
    }
    const auto x_gates = from_x.chunk(3);
    const auto h_gates = from_h.chunk(3);
    const auto reset = at::sigmoid(x_gates[0] + h_gates[0]);
    const auto update = at::sigmoid(x_gates[1] + h_gates[1]);
    return {.h = (1 - update) * at::tanh(x_gates[2] + reset * h_gates[2]) + update * before.h,
            .c = {}};
  }

  /// The output of the last layer: m + x with residual connections (arXiv:1609.08144, equation 6).
  at::Tensor run(const std::string& stack, const at::Tensor& input, std::vector<State>& layers) {
    auto x = input;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      layers[i] = cell(name(stack, static_cast<int64_t>(i)), x, layers[i]);
      x = i > 0 && own_.has_residuals ? layers[i].h + x : layers[i].h;
    }
    return x;
  }

  /// All states of one layer and direction.
  std::vector<at::Tensor> read(const std::string& module,
                               const std::vector<at::Tensor>& inputs,
                               bool is_reverse) {
    State state{.h = at::zeros({own_.hidden}), .c = at::zeros({own_.hidden})};
    std::vector<at::Tensor> states(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto j = is_reverse ? inputs.size() - 1 - i : i;
      state = cell(module, inputs[j], state);
      states[j] = state.h;
    }
    return states;
  }

  void encode(const Pairs& pair) {
    states_.clear();
    for (const auto token : pair.sources) {
      states_.push_back(p_["source_words"][token]);
    }
    for (int64_t layer = 0; layer < options_.layers; ++layer) {
      auto outputs = read(name("encoder", layer), states_, false);
      if (own_.is_bidirectional) {
        const auto backward = read(name("reverse_encoder", layer), states_, true);
        for (std::size_t j = 0; j < outputs.size(); ++j) {
          outputs[j] = at::cat({outputs[j], backward[j]});
        }
      }
      for (std::size_t j = 0; j < outputs.size() && layer > 0 && own_.has_residuals; ++j) {
        outputs[j] = outputs[j] + states_[j];
      }
      states_ = outputs;
    }
    summary_ = own_.is_bidirectional ? at::cat({states_.back().slice(0, 0, own_.hidden),
                                                states_.front().slice(0, own_.hidden)})
                                     : states_.back();
  }

  at::Tensor score(const at::Tensor& query, std::size_t j) {
    const auto& type = own_.score->type;
    if (type == "additive") {
      return at::dot(p_["attention.score.vector"][0],
                     at::tanh(linear("attention.score.query", query) +
                              linear("attention.score.key", states_[j])));
    }
    if (type == "location") {
      return linear("attention.score.query", query)[static_cast<int64_t>(j)];
    }
    const auto mapped = type == "general" ? linear("attention.score.query", query) : query;
    const double scale = type == "scaled_dot" ? std::sqrt(static_cast<double>(own_.hidden)) : 1;
    return at::dot(mapped, states_[j]) / scale;
  }

  /// arXiv:1508.04025, equations 7 to 10: softmax over the window, then the Gaussian.
  at::Tensor attend(const at::Tensor& query, std::size_t t) {
    const auto length = static_cast<double>(states_.size());
    auto centre = at::full({}, std::min(static_cast<double>(t), length - 1));
    const bool is_predictive = own_.local && own_.local->type == "predictive";
    if (is_predictive) {
      centre = length * at::sigmoid(at::dot(p_["attention.local.vector"][0],
                                            at::tanh(linear("attention.local.query", query))));
    }
    at::Tensor sum = at::zeros({1});
    at::Tensor context = at::zeros_like(states_[0]);
    for (std::size_t j = 0; j < states_.size(); ++j) {
      const auto distance = static_cast<double>(j) - centre;
      if (std::abs(distance.item<double>()) <= half_width_) {
        const auto weight = at::exp(score(query, j));
        const auto sigma = half_width_ / 2.0;
        sum = sum + weight;
        context = context + states_[j] * weight *
                                (is_predictive ? at::exp(-distance * distance / (2 * sigma * sigma))
                                               : at::ones({}));
      }
    }
    return context / sum;
  }

  torch::OrderedDict<std::string, at::Tensor> p_;
  const Seq2SeqRnnOptions& own_;
  const ModelOptions& options_;
  int half_width_ = 0;
  std::vector<at::Tensor> states_;
  at::Tensor summary_;
};

class Seq2SeqRnnEquations : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(
    Variants,
    Seq2SeqRnnEquations,
    testing::Values(
        // before the step: step by step
        "recurrent: {width: 5}, attention: {score: additive, width: 4}",
        "recurrent: {cell: lstm, width: 5}, layers: 2, attention: {score: general}",
        "recurrent: {cell: lstm, width: 5, residual: true}, layers: 3, attention: {score: general}",
        "recurrent: {width: 5, residual: true}, layers: 2, attention: {local: monotonic, window: "
        "3}",
        "recurrent: {width: 5}, attention: {local: predictive, window: 4}",
        // input feeding: step by step
        "recurrent: {width: 5, bidirectional: false, residual: true}, layers: 2, attention: "
        "{score: dot, when: after, input_feeding: true, local: predictive, window: 2}",
        // after the step: all steps at once
        "recurrent: {width: 5}, attention: {score: additive, when: after}",
        "recurrent: {width: 5}, attention: {score: additive, when: after, local: monotonic, "
        "window: "
        "2}",
        "recurrent: {cell: lstm, width: 5}, layers: 2, attention: {score: general, when: after, "
        "local: predictive, window: 4}",
        "recurrent: {cell: lstm, width: 5, residual: true}, layers: 3, attention: {score: general, "
        "when: after, local: predictive, window: 5}",
        "recurrent: {cell: rnn, width: 5, bidirectional: false, residual: true}, layers: 3, "
        "decoder: {layers: 2}, attention: {score: scaled_dot, when: after}",
        "recurrent: {width: 5, bidirectional: false}, attention: {score: location, positions: 9, "
        "when: after, local: monotonic, window: 4}",
        // without attention: all steps at once
        "recurrent: {width: 5}, attention: {score: none}",
        "recurrent: {cell: lstm, width: 5, residual: true}, layers: 2, attention: {score: none}"));

/// Gradients of all parameters that have one.
std::map<std::string, at::Tensor> take_gradients(Model& model) {
  std::map<std::string, at::Tensor> result;
  for (const auto& parameter : model.named_parameters()) {
    if (parameter->grad().defined()) {
      result[parameter.key()] = parameter->grad().clone();
    }
  }
  test::clear_gradients(model);
  return result;
}

TEST_P(Seq2SeqRnnEquations, HaveTheFeaturesAndGradientsOfARestatement) {
  const auto model = rnn_model(GetParam());
  const auto found = features_of(*model);
  const auto factors = at::arange(found.numel()).mul(0.37).cos().view_as(found);
  (found * factors).sum().backward();
  const auto gradients = take_gradients(*model);

  std::vector<at::Tensor> rows;
  for (std::size_t i = 0; i + 1 < kTargetOffsets.size(); ++i) {
    rows.push_back(Restatement(*model).features(Pairs().alone(i)));
  }
  const auto expected = at::cat(rows);
  EXPECT_TRUE(test::near(found, expected, 1e-5));
  (expected * factors).sum().backward();
  const auto expected_gradients = take_gradients(*model);
  ASSERT_EQ(gradients.size(), expected_gradients.size());
  for (const auto& [name, gradient] : expected_gradients) {
    EXPECT_GT(gradient.abs().max().item<float>(), 0) << name;
    EXPECT_TRUE(test::near(gradients.at(name), gradient, 2e-5)) << name;
  }
}

TEST_P(Seq2SeqRnnEquations, HaveTheLossOfDecodingStepByStep) {
  const at::NoGradGuard guard;
  const auto model = rnn_model(GetParam());
  const auto pair = Pairs().alone(1);
  const std::vector<int64_t> next(pair.targets.begin() + 1, pair.targets.end());
  const auto count = static_cast<int64_t>(next.size());
  const auto loss =
      model->lm_loss(features_of(*model, pair).slice(0, 0, count), at::tensor(next, at::kLong), {});
  const std::vector<Prompt> prompts = {{.tokens = {pair.targets[0]}, .source = pair.sources}};
  const auto output = prepare_for_decoding(*model);
  ModelDecoder decoder(*model, output, prompts);
  double expected = 0;
  auto logits = decoder.first();
  for (const auto token : next) {
    expected -= at::log_softmax(logits, 1)[0][token].item<double>();
    logits = decoder.next({0}, {token});
  }
  EXPECT_NEAR(loss.item<double>(), expected, 1e-4);
}

/// Features in training, with the gradients of `(features * cos).sum()`.
at::Tensor training_features(Model& model) {
  auto reading = test::context_of(kSourceOffsets);
  auto writing = test::context_of(kTargetOffsets);
  reading.is_training = writing.is_training = true;
  reading.seed = writing.seed = 5;
  const nn::EncoderStates encoder_states{
      .states = model.encode({.ids = at::tensor(kSources, at::kLong), .patches = {}}, reading),
      .layout = reading.layout};
  writing.encoder_states = &encoder_states;
  return model.hidden({.ids = at::tensor(kTargets, at::kLong)}, writing);
}

TEST(Seq2SeqRnnDecoder, AllStepsAtOnceAreThoseOneByOne) {
  for (const auto* cell : {"gru", "lstm", "rnn"}) {
    const auto keys = std::string("recurrent: {residual: true, width: 6, cell: ") + cell +
                      "}, layers: 3, attention: {score: general, when: after";
    auto options = rnn_options(keys + "}");
    options.dropout = 0.5;
    const auto together = make_model(options, 1);
    test::fill_parameters(*together, 0.6);
    auto fed_options = rnn_options(keys + ", input_feeding: true}");
    fed_options.dropout = 0.5;
    const auto fed = make_model(fed_options, 1);  // step by step: what is fed has no effect
    const std::string input = "decoder_0.input.weight";
    {
      const at::NoGradGuard guard;
      const auto from = together->named_parameters();
      for (auto& parameter : fed->named_parameters()) {
        auto value = parameter.value().zero_();
        (parameter.key() == input ? value.slice(1, 0, 6) : value).copy_(from[parameter.key()]);
      }
    }
    const auto found = training_features(*together);
    const auto expected = training_features(*fed);
    EXPECT_TRUE(test::near(found, expected, 1e-5)) << cell;
    EXPECT_FALSE(test::near(found, features_of(*together), 1e-3)) << "no dropout";
    const auto factors = at::arange(found.numel()).mul(0.37).cos().view_as(found);
    (found * factors).sum().backward();
    (expected * factors).sum().backward();
    const auto gradients = take_gradients(*together);
    const auto fed_gradients = take_gradients(*fed);
    for (const auto& [name, gradient] : gradients) {
      const auto& other = fed_gradients.at(name);
      EXPECT_TRUE(test::near(gradient, name == input ? other.slice(1, 0, 6) : other, 2e-5)) << name;
    }
  }
}

TEST(Seq2SeqRnnDecoder, AWindowAroundTheWholeSourceIsGlobalAttention) {
  for (const auto* keys : {"", "when: after, ", "coverage: sum, "}) {
    const auto with = [&](const std::string& more) {
      return rnn_model("recurrent: {width: 5}, attention: {" + std::string(keys) + more + "}");
    };
    const auto global = features_of(*with("local: none"));
    EXPECT_TRUE(at::equal(features_of(*with("local: monotonic, window: 10")), global)) << keys;
    EXPECT_FALSE(test::near(features_of(*with("local: monotonic, window: 2")), global, 1e-3));
  }
}

}  // namespace
}  // namespace weft::models
