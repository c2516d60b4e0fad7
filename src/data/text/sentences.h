#pragma once

#include <functional>
#include <string_view>

#include "data/data_options.h"

namespace weft::data {

/// Visits the sentences of one line of well-formed UTF-8, with surrounding ASCII white space
/// removed and empty ones skipped. Sentences never continue past the end of a line.
///
/// kNone: the whole text unchanged. kLine: the line itself. kPunctuation: a sentence ends after `.
/// ! ?`, an ellipsis or the equivalents in other scripts, plus any closing quotes and brackets, if
/// white space follows and then (after opening quotes and brackets) a capital letter or a letter of
/// a script without case. Chinese and Japanese full stops always end a sentence. There is no end
/// after a title (`Dr.`, `Mrs.`), an abbreviation that requires a continuation (`e.g.`, `vs.`) or a
/// single capital (`E. M. Forster`). This is a cheap heuristic that makes mistakes on names, not a
/// language model.
void visit_sentences(std::string_view line,
                     SentenceBoundary boundary,
                     const std::function<void(std::string_view)>& visit);

}  // namespace weft::data
