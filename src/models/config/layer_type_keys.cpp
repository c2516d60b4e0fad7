#include "models/config/layer_type_keys.h"

#include <algorithm>
#include <charconv>

#include "base/string_util.h"
#include "models/config/layer_types.h"
#include "nn/block.h"
#include "nn/pooling/sequence_pooling.h"

namespace weft::models {

namespace {

using config::Section;

std::string read_type(Section& section,
                      const std::vector<std::string>& names,
                      std::string type,
                      const config::KeySpec& spec) {
  section.read_name("type", type, names, spec);
  return type;
}

/// Reads `type`, which must be given, and the keys of the type.
template <class Definition>
typename Definition::Choice read_required_type(Section& section,
                                               const Registry<Definition>& registry) {
  const auto names = type_names(registry, {});
  const auto type = read_type(section, names, names.front(), {.help = "", .is_required = true});
  return nn::read_component(section, registry.at(type));
}

/// Reads `type` and the keys of the type, which holds for the whole model; `own` leaves `choice`
/// empty.
template <class Definition>
void read_model_type(Section& section,
                     const Registry<Definition>& registry,
                     const std::string& own,
                     const config::KeySpec& spec,
                     std::optional<typename Definition::Choice>& choice) {
  if (choice && !section.has("type")) {  // of the model that init_from names
    return;
  }
  const auto type = read_type(section, type_names(registry, {own}), own, spec);
  if (section.is_documenting()) {
    nn::document_components(section, "type", registry);
    return;
  }
  choice.reset();
  if (type != own) {
    choice = nn::read_component(section, registry.at(type));
  }
}

/// Reads the types of one kind of part.
template <class Part, class Options>
class TypeReader {
 public:
  using Choice = nn::ComponentChoice<Part, Options>;

  TypeReader(const Registry<nn::ComponentDefinition<Part, Options>>& registry,
             const LayerTypeKeys& keys,
             PerLayer<Choice>& types)
      : registry_(registry), keys_(keys), types_(types) {}

  std::string operator()(LayerPartSection& section) {
    const auto before = types_;
    types_ = {};
    if (section.is_list()) {
      read_list(section.items());
      return "";
    }
    auto& shared = section.shared();
    auto type = read_type(shared, type_names(registry_, keys_.family_types), keys_.default_type,
                          {.help = keys_.help});
    if (shared.is_documenting()) {
      document(shared);
      return type;
    }
    if (!shared.has("type") && !before.empty()) {  // of the model that init_from names
      types_ = before;
      return "";
    }
    const bool is_family_type = std::find(keys_.family_types.begin(), keys_.family_types.end(),
                                          type) != keys_.family_types.end();
    if (!is_family_type) {
      types_.cycle.push_back(nn::read_component(shared, *registry_.find(type)));
    }
    read_ranges(shared);
    return is_family_type ? type : "";
  }

 private:
  void read_list(std::vector<Section>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      types_.cycle.push_back(read_required_type(items[i], registry_));
      if (i > 0) {  // the reader of the shared keys closes the first one
        items[i].reject_unread();
      }
    }
  }

  static auto range_sections(Section& shared) {
    return shared.named_sections("layers",
                                 {.help = "Types of single layers or ranges of layers, as in "
                                          "{\"0-3\": {type: window, window: 64}}."});
  }

  void read_ranges(Section& shared) {
    for (auto& [range, section] : range_sections(shared)) {
      const auto layers = parse_layer_range(range);
      if (!layers || layers->second >= keys_.layers) {
        section.fail("", str_cat("found layers '", range,
                                 "', expected a layer or a range within 0-", keys_.layers - 1));
      }
      types_.ranges.push_back(
          {layers->first, layers->second, read_required_type(section, registry_)});
      section.reject_unread();
    }
  }

  void document(Section& shared) const {
    nn::document_components(shared, "type", registry_);
    range_sections(shared);
  }

  const Registry<nn::ComponentDefinition<Part, Options>>& registry_;
  const LayerTypeKeys& keys_;
  PerLayer<Choice>& types_;
};

/// The section of each sub-layer of the order that has one: one mapping, or a list of them that is
/// cycled over the layers.
void read_sublayers(Section& model, LayerTypes& types) {
  for (const auto& kind : nn::sublayer_kinds().all()) {
    if (kind.read == nullptr) {
      continue;
    }
    const std::string name(kind.name);
    const auto condition = str_cat("`", kind.letter, "` in block");
    if (!model.is_documenting() && types.block.find(kind.letter) == std::string::npos) {
      types.sublayers.erase(name);
      if (model.has(name)) {
        model.fail(name, str_cat("has no effect without ", condition));
      }
      continue;
    }
    auto& choices = types.sublayers[name];
    if (!choices.empty() && !model.has(name)) {  // of the model that init_from names
      continue;
    }
    const auto help = str_cat("The sub-layer ", kind.description, ".");
    LayerPartSection part(model, name, {.help = help, .only_if = condition});
    choices = {};
    for (auto& section : part.items()) {
      auto own = section.only_with(condition);
      choices.cycle.push_back(nn::read_component(own, kind));
      section.reject_unread();
    }
  }
}

void check_block(const Section& model,
                 const std::string& block,
                 const std::vector<int64_t>& stacks) {
  const auto fail = [&](const std::string& reason) {
    model.fail("block", str_cat("'", block, "' ", reason));
  };
  if (const auto error = nn::block_error(block)) {
    fail(*error);
  }
  const bool has_encoder = stacks.size() > 1;
  if (has_encoder != nn::needs_encoder_states(block)) {
    fail(str_cat(has_encoder ? "lacks" : "has", " ",
                 nn::list_sublayers([](const nn::SublayerDefinition& kind) {
                   return kind.needs_encoder_states;
                 })));
  }
  const auto orders = nn::block_orders(block);
  for (const auto& order : orders) {
    if (nn::without_encoder_states(order).empty()) {
      fail(str_cat("leaves no sub-layer of '", order, "' to the encoder"));
    }
  }
  for (const auto layers : stacks) {
    if (layers % std::ssize(orders) != 0) {
      fail(str_cat("describes ", orders.size(), " layers, which do not divide the ", layers,
                   " of `layers`"));
    }
  }
}

}  // namespace

LayerPartSection::LayerPartSection(Section& model,
                                   std::string_view key,
                                   const config::KeySpec& spec)
    : is_list_(model.is_list(key)) {
  if (is_list_) {
    auto required = spec;
    required.is_required = true;
    items_ = model.sections(key, required);
  } else {
    auto either = spec;
    either.may_be_list = true;
    items_.push_back(model.section(key, either));
  }
}

std::optional<std::pair<int64_t, int64_t>> parse_layer_range(std::string_view text) {
  const auto dash = text.find('-');
  const auto number = [](std::string_view digits) -> std::optional<int64_t> {
    int64_t value = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_whole = parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
    return is_whole && value >= 0 ? std::optional(value) : std::nullopt;
  };
  const auto first = number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
  return first && last && *first <= *last ? std::optional(std::pair{*first, *last}) : std::nullopt;
}

std::string read_attention_types(LayerPartSection& section,
                                 const LayerTypeKeys& keys,
                                 LayerTypes& types) {
  return TypeReader(nn::attention_types(), keys, types.attention)(section);
}

std::string read_feed_forward_types(LayerPartSection& section,
                                    const LayerTypeKeys& keys,
                                    LayerTypes& types) {
  return TypeReader(nn::feed_forward_types(), keys, types.feed_forward)(section);
}

bool read_position_types(LayerPartSection& part,
                         const std::string& family_type,
                         LayerTypes& types) {
  const auto& registry = nn::position_types();
  auto& section = part.shared();
  if (!part.is_list()) {
    if (!types.positions.empty() && !section.has("type")) {  // of the model that init_from names
      return false;
    }
    const auto type = read_type(section, type_names(registry, {family_type}), family_type,
                                {.help = "Position encoding; a list of mappings: all of them."});
    types.positions.clear();
    if (type != family_type) {
      types.positions.push_back(nn::read_component(section, registry.at(type)));
    }
    return type == family_type;
  }
  types.positions.clear();
  for (auto& item : part.items()) {
    auto choice = read_required_type(item, registry);
    if (std::ranges::count(types.positions, choice.type, &nn::PositionChoice::type) > 0) {
      item.fail("type", str_cat("found '", choice.type, "' twice, each type is allowed once"));
    }
    types.positions.push_back(std::move(choice));
    if (types.positions.size() > 1) {  // the reader of the shared keys closes the first one
      item.reject_unread();
    }
  }
  return false;
}

void read_norm_type(Section& section, std::string_view family_type, LayerTypes& types) {
  read_model_type(section, nn::norm_types(), std::string(family_type),
                  {.help = "Type of all norms: LayerNorm, RMSNorm (arXiv:1910.07467)."},
                  types.norm);
}

void read_sharing(Section section, const std::vector<int64_t>& stacks, ModelOptions& options) {
  auto& types = options.layer_types;
  std::optional<int64_t> distinct;
  LayerSharing sharing = types.sharing.value_or(LayerSharing());
  if (types.sharing) {
    distinct = types.sharing->distinct;
  }
  section.read("layers", distinct,
               {.help = "Layers with parameters of their own; the others share these. null: all.",
                .unit = "layers",
                .range = config::between(1, 4096)});
  section.read("cycle", sharing.cycles,
               {.help = "Repeats these layers in their order, as in a Universal Transformer; else "
                        "each is repeated by the layers after it, as in ALBERT."});
  section.read("sublayers", sharing.sublayers,
               {.help = "Sub-layers that are shared, by name: `[attention]`; each layer has the "
                        "others for itself. []: whole layers."});
  section.reject_unread();
  types.sharing.reset();
  if (!distinct) {
    for (const auto& [key, is_set] :
         {std::pair("cycle", sharing.cycles), std::pair("sublayers", !sharing.sublayers.empty())}) {
      if (is_set) {
        section.fail(key, "has no effect without sharing.layers");
      }
    }
    return;
  }
  const auto names = sublayer_names(types.block, stacks.size() > 1);
  for (const auto& name : sharing.sublayers) {
    if (std::ranges::find(names, name) == names.end()) {
      const auto near = did_you_mean(name, names);
      section.fail("sublayers", str_cat("found '", name, "', the layers have ", join(names),
                                        near.empty() ? "" : ", did you mean '" + near + "'?"));
    }
  }
  sharing.distinct = *distinct;
  for (const auto layers : stacks) {
    if (*distinct > layers) {
      section.fail("layers", str_cat("found ", *distinct, ", allowed are 1 to the ", layers,
                                     " of model.layers"));
    }
  }
  if (options.layer_groups > 0) {
    section.fail("layers", str_cat("has no effect with model.type: ", word_of(options.family),
                                   ", which has layer_groups"));
  }
  if (has_distinct_layer_types(options)) {
    section.fail("layers", "layers that share their parameters cannot have different types");
  }
  types.sharing = sharing;
}

void read_output_type(Section section, LayerTypes& types) {
  read_model_type(section, output_types(), "full",
                  {.help = "full: a matrix and a softmax over the whole vocabulary. Others are for "
                           "large vocabularies."},
                  types.output);
  section.reject_unread();
}

void read_pooling_type(Section& model, std::string_view family_type, LayerTypes& types) {
  const auto& registry = nn::sequence_poolings();
  std::string name = types.pooling ? types.pooling->type : std::string(family_type);
  model.read_name("classifier_pooling", name, registry.names(),
                  {.help = "Token pooling for sequence classification. cls: the first token; last: "
                           "the last one; mean, max: over all tokens; attention: a mean with "
                           "learned weights.",
                   .suggests_nearest = true});
  types.pooling.reset();
  if (name != family_type) {
    types.pooling = nn::read_component(model, registry.at(name));
  }
}

void read_block(Section& model, const std::vector<int64_t>& stacks, LayerTypes& types) {
  std::optional<std::string> block;
  if (!types.block.empty()) {
    block = types.block;
  }
  const auto help = str_cat("Order of the sub-layers of a layer: ", nn::list_sublayers(),
                            ", as in `faf`; or several, for one layer after another, as in "
                            "`a*3 af*6 f*3`; null: the family's order.");
  model.read("block", block, {.help = help});
  types.block = block.value_or("");
  if (block) {
    check_block(model, *block, stacks);
    if (nn::shortens_sequences(*block) && reads_layer_before(types)) {
      model.fail("block", str_cat("'", *block,
                                  "' shortens the texts, which is not possible with "
                                  "attention that reads the scores of the layer before"));
    }
    if (nn::cuts_sequences(*block) && carries_own_state(types)) {
      model.fail("block", str_cat("'", *block,
                                  "' reads segments of the texts, which is not possible with "
                                  "other layers that carry a state or memory from step to step"));
    }
  }
  read_sublayers(model, types);
}

}  // namespace weft::models
