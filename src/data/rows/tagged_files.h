#pragma once

#include <string>

#include "data/rows/tagged_rows.h"

namespace weft::data {

/// Reads one word with its tag per line (CoNLL): columns separated by tabs, or by white space if a
/// line has no tab; an empty line ends a sentence; lines that begin with -DOCSTART- are skipped.
/// The word is in the first column and the tag in the last, unless the item names others by number.
/// `.conllu` files have comments, named columns (FORM and UPOS are read), and lines for multiword
/// tokens and empty nodes, which are skipped.
void read_tagged_lines(const DataItem& item, const std::string& file, TaggedRows& rows);

/// Reads one JSON object per line: a list of words (`words`, `tokens`) and one of tags (`labels`,
/// `tags`, `ner_tags`; names or numbers), unless the item names the keys.
void read_tagged_json(const DataItem& item, const std::string& file, TaggedRows& rows);

}  // namespace weft::data
