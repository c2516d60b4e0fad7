#pragma once

#include <functional>
#include <string_view>

#include "data/data_options.h"

namespace weft::data {

/// Visits the sentences of one line of well-formed UTF-8, without white space (ASCII) at their
/// ends, empty ones left out. Sentences never go over the end of a line.
///
/// kNone: all of it, as it stands. kLine: the line itself. kPunctuation: a sentence ends behind `.
/// ! ?`, an ellipsis or their kin in other scripts and the closing quotes and brackets that follow,
/// where white space comes next and then (behind opening quotes and brackets) a capital or a letter
/// of a script without capitals. The full stops of Chinese and Japanese end one wherever they
/// stand. Behind a title
/// (`Dr.`, `Mrs.`), an abbreviation that wants a continuation (`e.g.`, `vs.`) or a single capital
/// (`E. M. Forster`) there is no end. A rule that costs nothing and errs on names, not a model of
/// language.
void visit_sentences(std::string_view line,
                     SentenceBorder border,
                     const std::function<void(std::string_view)>& visit);

}  // namespace weft::data
