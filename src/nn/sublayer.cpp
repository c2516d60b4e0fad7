#include "nn/sublayer.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "base/string_util.h"
#include "nn/attention/cross_attention.h"
#include "nn/attention/memory/slot_memory.h"
#include "nn/block.h"
#include "nn/recurrent/recurrent.h"

namespace weft::nn {

namespace {

std::shared_ptr<Sublayer> make_self_attention(const BlockOptions& options) {
  auto attention = options.attention;
  attention.layer = options.layer;
  auto made = options.make_attention(attention);
  if (scores_have_positions(attention) && !made->adds_positions()) {
    throw config::Error(
        str_cat("model.position: changes the attention scores, which the "
                "attention type of layer ",
                options.layer, " does not have; full and window do"));
  }
  return made;
}

std::shared_ptr<Sublayer> make_cross_attention(const BlockOptions& options) {
  auto attention = options.cross_attention;
  attention.layer = options.layer;
  return options.make_cross_attention(attention);
}

std::shared_ptr<Sublayer> make_feed_forward(const BlockOptions& options) {
  auto feed_forward = options.feed_forward;
  feed_forward.layer = options.layer;
  return options.make_feed_forward(feed_forward);
}

class BlockNorm : public Sublayer {
 public:
  explicit BlockNorm(const NormOptions& options) {
    norm_ = register_module("norm", make_norm(options));
  }
  at::Tensor forward(const at::Tensor& x, const ForwardContext& /*context*/) override {
    return norm_->forward(x);
  }
  bool mixes_tokens() const override { return false; }

 private:
  std::shared_ptr<Norm> norm_;
};

std::shared_ptr<Sublayer> make_block_norm(const BlockOptions& options) {
  return std::make_shared<BlockNorm>(options.norm);
}

double feed_forward_output_dropout(const BlockOptions& options) {
  return options.feed_forward_dropout.value_or(options.dropout);
}

std::vector<SublayerDefinition> built_in_sublayers() {
  return {
      {.name = "attention",
       .letter = 'a',
       .description = "attention",
       .make = make_self_attention,
       .sites =
           SublayerSites{BlockDropoutSite::kAttentionOutput, BlockDropoutSite::kAttentionDropPath}},
      {.name = "cross_attention",
       .letter = 'c',
       .description = "cross attention, of decoders with an encoder",
       .make = make_cross_attention,
       .needs_encoder_states = true,
       .sites = SublayerSites{BlockDropoutSite::kCrossAttentionOutput,
                              BlockDropoutSite::kAttentionDropPath}},
      {.name = "feed_forward",
       .letter = 'f',
       .description = "feed-forward",
       .make = make_feed_forward,
       .output_dropout = feed_forward_output_dropout,
       .sites = SublayerSites{BlockDropoutSite::kFeedForwardOutput,
                              BlockDropoutSite::kFeedForwardDropPath}},
      {.name = "recurrent",
       .letter = 'r',
       .description = "recurrent: LSTM, GRU or RNN",
       .read = read_recurrent,
       .carries_state = true,
       .reads_any_width = true},
      {.name = "convolution",
       .letter = 'v',
       .description = "convolution",
       .read = read_convolution},
      {.name = "block_norm",
       .letter = 'n',
       .description = "norm of the sum so far",
       .make = make_block_norm,
       .replaces_stream = true},
      {.name = "distilling",
       .letter = 'd',
       .description = "distilling, which halves the lengths of texts",
       .read = read_distilling,
       .replaces_stream = true,
       .shortens_sequences = true},
      {.name = "memory",
       .letter = 'm',
       .description = "attention to memory slots",
       .read = read_slot_memory,
       .carries_state = true,
       .cuts_sequences = true},
  };
}

Registry<SublayerDefinition>& sublayer_registry() {
  static Registry<SublayerDefinition> registry("sub-layer", built_in_sublayers());
  return registry;
}

}  // namespace

const Registry<SublayerDefinition>& sublayer_kinds() { return sublayer_registry(); }

void register_sublayer(const SublayerDefinition& definition) {
  if (definition.letter < 'a' || definition.letter > 'z') {
    throw std::invalid_argument(str_cat("sub-layer '", definition.name, "' has the letter '",
                                        definition.letter, "', allowed are a to z"));
  }
  if (const auto* const other = find_sublayer(definition.letter)) {
    throw std::invalid_argument(str_cat("sub-layer '", definition.name, "' has the letter '",
                                        definition.letter, "' of '", other->name,
                                        "', choose another"));
  }
  sublayer_registry().add(definition);
}

const SublayerDefinition* find_sublayer(char letter) {
  const auto& all = sublayer_kinds().all();
  const auto found = std::find_if(all.begin(), all.end(), [&](const SublayerDefinition& kind) {
    return kind.letter == letter;
  });
  return found == all.end() ? nullptr : &*found;
}

std::string list_sublayers(const std::function<bool(const SublayerDefinition&)>& is_listed) {
  std::vector<std::string> listed;
  for (const auto& kind : sublayer_kinds().all()) {
    if (!is_listed || is_listed(kind)) {
      listed.push_back(str_cat(kind.letter, " (", kind.description, ")"));
    }
  }
  return join(listed);
}

namespace {

constexpr int64_t kMostBlocks = 1024;

/// A word of a block and its repetitions; 0: not a number that is allowed.
std::pair<std::string_view, int64_t> repeated_order(std::string_view word) {
  const auto star = word.find('*');
  if (star == std::string_view::npos) {
    return {word, 1};
  }
  const auto digits = word.substr(star + 1);
  int64_t count = 0;
  const auto* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, count);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
  return {word.substr(0, star), is_number && count <= kMostBlocks ? count : 0};
}

std::optional<std::string> order_error(std::string_view order) {
  constexpr std::size_t kMost = 16;
  if (order.empty() || order.size() > kMost) {
    return str_cat("has ", order.size(), " sub-layers, allowed are 1 to ", kMost);
  }
  for (const char letter : order) {
    if (find_sublayer(letter) == nullptr) {
      return str_cat("has the letter '", letter, "', allowed are ", list_sublayers());
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> words_of(std::string_view block) {
  auto words = split(block, ' ');
  std::erase_if(words, [](std::string_view word) { return word.empty(); });
  return words;
}

}  // namespace

std::vector<std::string> block_orders(const std::string& block) {
  std::vector<std::string> orders;
  for (const auto word : words_of(block)) {
    const auto [order, count] = repeated_order(word);
    orders.insert(orders.end(), static_cast<std::size_t>(std::max<int64_t>(0, count)),
                  std::string(order));
  }
  return orders;
}

std::optional<std::string> block_error(const std::string& block) {
  const auto words = words_of(block);
  if (words.empty()) {
    return order_error("");
  }
  for (const auto word : words) {
    const auto [order, count] = repeated_order(word);
    if (count < 1) {
      return str_cat("repeats a layer in '", word, "', allowed are 1 to ", kMostBlocks, " times");
    }
    if (auto error = order_error(order)) {
      return error;
    }
  }
  return std::nullopt;
}

std::vector<const SublayerDefinition*> sublayers_with_keys(const std::string& order) {
  std::vector<const SublayerDefinition*> found;
  for (const auto& kind : sublayer_kinds().all()) {
    if (kind.read != nullptr && order.find(kind.letter) != std::string::npos) {
      found.push_back(&kind);
    }
  }
  return found;
}

namespace {

bool has_kind(const std::string& order, bool SublayerDefinition::*property) {
  return std::ranges::any_of(order, [&](char letter) {
    const auto* kind = find_sublayer(letter);
    return kind != nullptr && kind->*property;
  });
}

}  // namespace

bool carries_state(const std::string& order) {
  return has_kind(order, &SublayerDefinition::carries_state);
}

bool carries_own_state(const std::string& order) {
  return std::ranges::any_of(order, [](char letter) {
    const auto* const kind = find_sublayer(letter);
    return kind != nullptr && kind->carries_state && !kind->cuts_sequences;
  });
}

bool cuts_sequences(const std::string& order) {
  return has_kind(order, &SublayerDefinition::cuts_sequences);
}

bool shortens_sequences(const std::string& order) {
  return has_kind(order, &SublayerDefinition::shortens_sequences);
}

bool needs_encoder_states(const std::string& order) {
  return without_encoder_states(order).size() < order.size();
}

std::string without_encoder_states(std::string order) {
  std::erase_if(order, [](char letter) {
    const auto* const kind = find_sublayer(letter);
    return kind != nullptr && kind->needs_encoder_states;
  });
  return order;
}

}  // namespace weft::nn
