#include "models/ngram/smoothing.h"

#include "base/error.h"
#include "base/registry.h"
#include "base/string_util.h"

namespace weft::models {

namespace {

Discounts no_discounts(const CountsOfCounts& /*counts*/,
                       std::size_t /*order*/,
                       const NgramOptions& /*options*/) {
  return {};
}

[[noreturn]] void fail_discounts(const NgramOptions& options,
                                 std::size_t order,
                                 const std::string& problem,
                                 const std::string& key) {
  throw UserError(str_cat("model.smoothing: ", options.smoothing, ": the discounts of order ",
                          order, " cannot be estimated, because ", problem,
                          ". The data are few, or artificial, or contain texts twice. Set ", key,
                          ", or choose a lower model.order or smoothing: witten_bell"));
}

/// One discount for all counts, n1 / (n1 + 2 n2) (Ney, Essen and Kneser 1994).
Discounts absolute_discounts(const CountsOfCounts& counts,
                             std::size_t order,
                             const NgramOptions& options) {
  if (!options.discount && counts[1] == 0) {
    fail_discounts(options, order, "no n-gram occurs once", "model.discount: 0.75");
  }
  const auto once = static_cast<double>(counts[1]);
  const auto twice = static_cast<double>(counts[2]);
  const double discount = options.discount ? *options.discount : once / (once + 2 * twice);
  return {0, discount, discount, discount};
}

/// D_k, or nullopt if it cannot be estimated.
std::optional<double> modified_discount(const CountsOfCounts& counts, std::size_t k) {
  const auto number = [&](std::size_t count) { return static_cast<double>(counts[count]); };
  if (counts[k] == 0) {
    return std::nullopt;
  }
  const double y = number(1) / (number(1) + 2 * number(2));
  const auto least = static_cast<double>(k);
  const double discount = least - (least + 1) * y * number(k + 1) / number(k);
  return discount >= 0 && discount <= least ? std::optional(discount) : std::nullopt;
}

/// Chen and Goodman (1999), equation 26: D_k = k - (k + 1) Y n_(k+1) / n_k.
Discounts modified_discounts(const CountsOfCounts& counts,
                             std::size_t order,
                             const NgramOptions& options) {
  Discounts result{};
  for (std::size_t k = 1; k <= 3; ++k) {
    if (const auto discount = modified_discount(counts, k)) {
      result[k] = *discount;
    } else if (const auto& fallback = options.fallback_discounts; !fallback.empty()) {
      return {0, fallback[0], fallback[1], fallback[2]};
    } else {
      fail_discounts(options, order,
                     str_cat("of its n-grams ", with_commas(counts[1]), ", ",
                             with_commas(counts[2]), ", ", with_commas(counts[3]), " and ",
                             with_commas(counts[4]), " have the adjusted counts 1 to 4"),
                     "model.fallback_discounts: [0.5, 1, 1.5]");
    }
  }
  return result;
}

Registry<SmoothingMethod>& registered_smoothing() {
  static Registry<SmoothingMethod> table(
      "smoothing",
      {{.name = "mle",
        .help = "maximum likelihood, without smoothing: what was not seen has probability 0",
        .may_prune = false,
        .discounts = no_discounts},
       {.name = "add_k",
        .help = "adds k to every count (Laplace, Lidstone)",
        .adds_k = true,
        .may_prune = false,
        .discounts = no_discounts},
       {.name = "witten_bell",
        .help = "the lower order weighs as much as there are different continuations",
        .adds_types = true,
        .discounts = no_discounts},
       {.name = "absolute",
        .help = "absolute discounting: subtracts one number from all counts",
        .discount_keys = DiscountKeys::kOne,
        .discounts = absolute_discounts},
       {.name = "kneser_ney",
        .help = "absolute discounting, with lower orders that count different histories",
        .uses_continuation_counts = true,
        .discount_keys = DiscountKeys::kOne,
        .discounts = absolute_discounts},
       {.name = "modified_kneser_ney",
        .help = "Kneser-Ney with three discounts for each order, the best for language models",
        .uses_continuation_counts = true,
        .interpolates_order_1 = true,
        .discount_keys = DiscountKeys::kThree,
        .discounts = modified_discounts}});
  return table;
}

}  // namespace

const std::deque<SmoothingMethod>& smoothing_methods() { return registered_smoothing().all(); }

const SmoothingMethod& smoothing_method(std::string_view name) {
  return registered_smoothing().at(name);
}

void register_smoothing_method(const SmoothingMethod& method) {
  registered_smoothing().add(method);
}

}  // namespace weft::models
