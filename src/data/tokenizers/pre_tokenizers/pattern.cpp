#include "data/tokenizers/pre_tokenizers/pattern.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include <oniguruma.h>

#include "base/codepoints.h"
#include "base/string_util.h"
#include "base/utf8.h"

namespace weft::data {

namespace {

// Bounds for hostile files.
constexpr std::size_t kMaxPatternBytes = 20'000;
constexpr unsigned int kMaxPatternDepth = 50;
// Backtracking steps. A search may take kFreeRetries; more are subtracted from the budget of the
// text, kRetriesPerText + kRetriesPerByte * size.
constexpr int64_t kFreeRetries = 256;
constexpr int64_t kRetriesPerText = 1'000'000;
constexpr int64_t kRetriesPerByte = 256;
// Entries of the backtracking stack.
constexpr std::size_t kStackPerText = 1'000'000;
constexpr std::size_t kStackPerByte = 8;

const OnigUChar* bytes_of(std::string_view text) {
  return reinterpret_cast<const OnigUChar*>(text.data());
}

std::string onig_message(int code, const OnigErrorInfo* info) {
  std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> buffer{};
  const int size = info != nullptr ? onig_error_code_to_str(buffer.data(), code, info)
                                   : onig_error_code_to_str(buffer.data(), code);
  return printable(std::string(buffer.begin(), buffer.begin() + size));
}

/// Gives \p{name} our table of the class: that of Oniguruma depends on its version.
void define_property(const char* name, CodepointClass wanted) {
  std::vector<OnigCodePoint> ranges = {0};  // their number, then first and last of each
  for (OnigCodePoint code = 0; code <= 0x10FFFF; ++code) {
    if ((classes_of(code) & wanted) == 0) {
      continue;
    }
    if (ranges[0] > 0 && ranges.back() + 1 == code) {
      ranges.back() = code;
    } else {
      ranges.insert(ranges.end(), {code, code});
      ++ranges[0];
    }
  }
  // Never freed: Oniguruma keeps the pointer.
  static std::deque<std::vector<OnigCodePoint>> tables;
  onig_unicode_define_user_property(name, tables.emplace_back(std::move(ranges)).data());
}

/// Oniguruma's default syntax without callouts.
OnigSyntaxType* pattern_syntax() {
  static OnigSyntaxType syntax = [] {
    OnigEncoding encoding = ONIG_ENCODING_UTF8;
    onig_initialize(&encoding, 1);
    onig_set_parse_depth_limit(kMaxPatternDepth);
    define_property("L", kIsLetter);
    define_property("N", kIsNumber);
    OnigSyntaxType result = *ONIG_SYNTAX_ONIGURUMA;
    result.op2 &= ~(ONIG_SYN_OP2_QMARK_BRACE_CALLOUT_CONTENTS | ONIG_SYN_OP2_ASTERISK_CALLOUT_NAME);
    return result;
  }();
  return &syntax;
}

std::shared_ptr<re_pattern_buffer> compile(const std::string& expression,
                                           const JsonFields& fields) {
  if (expression.size() > kMaxPatternBytes) {
    fields.fail("Regex", str_cat("has ", expression.size(), " bytes, at most ", kMaxPatternBytes,
                                 " are allowed"));
  }
  if (utf8::first_invalid(expression)) {
    fields.fail("Regex", "is not valid UTF-8");
  }
  OnigRegex regex = nullptr;
  OnigErrorInfo info{};
  const int status =
      onig_new(&regex, bytes_of(expression), bytes_of(expression) + expression.size(),
               ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, pattern_syntax(), &info);
  if (status != ONIG_NORMAL) {
    fields.fail("Regex", str_cat("'", printable(expression), "': ", onig_message(status, &info)));
  }
  return {regex, onig_free};
}

/// The successive matches of a regular expression in one text.
class RegexSearch {
 public:
  RegexSearch(OnigRegex regex, std::string_view text)
      : regex_(regex),
        text_(text),
        budget_(kRetriesPerText + kRetriesPerByte * static_cast<int64_t>(text.size())) {
    const std::size_t stack = kStackPerText + kStackPerByte * text.size();
    onig_set_match_stack_limit_size_of_match_param(
        limits_.get(), static_cast<unsigned int>(
                           std::min<std::size_t>(stack, std::numeric_limits<int32_t>::max())));
  }

  /// Returns the first non-empty match that begins at `from` or later; look-around and anchors see
  /// the text before `from`.
  std::optional<TextRange> next(std::size_t from) {
    while (from < text_.size()) {
      const int begin = search(from);
      if (begin == ONIG_MISMATCH) {
        return std::nullopt;
      }
      const TextRange match{static_cast<std::size_t>(begin),
                            static_cast<std::size_t>(region_->end[0])};
      if (match.end > match.begin) {
        return match;
      }
      from = match.begin;
      if (from < text_.size()) {
        utf8::next(text_, from);
      }
    }
    return std::nullopt;
  }

 private:
  /// Returns where the next match begins, or ONIG_MISMATCH. Oniguruma does not report the number of
  /// retries, so the limit of a search is doubled until it suffices.
  int search(std::size_t from) {
    const OnigUChar* const begin = bytes_of(text_);
    const OnigUChar* const end = begin + text_.size();
    for (int64_t limit = kFreeRetries;; limit *= 2) {
      const auto retries = static_cast<unsigned long>(limit);
      onig_set_retry_limit_in_match_of_match_param(limits_.get(), retries);
      onig_set_retry_limit_in_search_of_match_param(limits_.get(), retries);
      const int found = onig_search_with_param(regex_, begin, end, begin + from, end, region_.get(),
                                               ONIG_OPTION_NONE, limits_.get());
      if (found >= 0 || found == ONIG_MISMATCH) {
        return found;
      }
      const bool is_over =
          found == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER || found == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
      budget_ -= limit;
      if (!is_over || budget_ < 0) {
        throw Error(str_cat("a regular expression of the tokenizer takes too long on a text (",
                            onig_message(found, nullptr), ")"));
      }
    }
  }

  struct FreeRegion {
    void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
  };
  struct FreeLimits {
    void operator()(OnigMatchParam* limits) const { onig_free_match_param(limits); }
  };

  OnigRegex regex_;
  std::string_view text_;
  int64_t budget_;
  std::unique_ptr<OnigRegion, FreeRegion> region_{onig_region_new()};
  std::unique_ptr<OnigMatchParam, FreeLimits> limits_{onig_new_match_param()};
};

/// Collects the parts at and between the matches that `next(from)` finds.
template <class Next>
std::vector<PatternPart> parts_between(std::string_view text, const Next& next) {
  std::vector<PatternPart> parts;
  std::size_t done = 0;
  while (const std::optional<TextRange> match = next(done)) {
    if (match->begin > done) {
      parts.push_back({{done, match->begin}, false});
    }
    parts.push_back({*match, true});
    done = match->end;
  }
  if (done < text.size()) {
    parts.push_back({{done, text.size()}, false});
  }
  return parts;
}

}  // namespace

Pattern::Pattern(const JsonFields& fields) {
  if (!fields.has("String")) {
    regex_ = compile(fields.text("Regex"), fields);
    return;
  }
  literal_ = fields.text("String");
  if (literal_.empty()) {
    fields.fail("String", "must not be empty");
  }
}

std::vector<PatternPart> Pattern::split(std::string_view text) const {
  if (!regex_) {
    return parts_between(text, [&](std::size_t from) -> std::optional<TextRange> {
      const std::size_t found = text.find(literal_, from);
      if (found == std::string_view::npos) {
        return std::nullopt;
      }
      return TextRange{found, found + literal_.size()};
    });
  }
  // Oniguruma could read past the end of a truncated character, and its positions are integers.
  if (text.size() > std::numeric_limits<int>::max() || utf8::first_invalid(text)) {
    throw Error("a text for a regular expression of the tokenizer is too long or not valid UTF-8");
  }
  RegexSearch search(regex_.get(), text);
  return parts_between(text, [&](std::size_t from) { return search.next(from); });
}

}  // namespace weft::data
