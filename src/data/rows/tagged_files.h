#pragma once

#include <string>

#include "data/rows/tagged_rows.h"

namespace weft::data {

/// One word a line with its tag (CoNLL): columns separated by tabs, or by white space where a line
/// has no tab; an empty line ends a sentence; lines that begin with -DOCSTART- are passed over. The
/// word stands in the first column and the tag in the last, unless the item names others by number.
/// `.conllu` files have comments, named columns (FORM and UPOS are read) and lines for joined words
/// and empty nodes, which are passed over.
void read_tagged_lines(const DataItem& item, const std::string& file, TaggedRows& rows);

/// One JSON object a line: a list of words (`words`, `tokens`) and one of tags (`labels`, `tags`,
/// `ner_tags`; names or numbers), unless the item names the keys.
void read_tagged_json(const DataItem& item, const std::string& file, TaggedRows& rows);

}  // namespace weft::data
