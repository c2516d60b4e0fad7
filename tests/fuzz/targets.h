#pragma once

#include <string_view>

namespace weft::fuzz {

// Each reads the input as described in its NAME_fuzz.cpp; the seeds are in corpus/NAME.
void csv(std::string_view input);
void events(std::string_view input);
void fasttext(std::string_view input);
void gzip(std::string_view input);
void image(std::string_view input);
void json(std::string_view input);
void jsonl(std::string_view input);
void lines(std::string_view input);
void parquet(std::string_view input);
void pattern(std::string_view input);
void safetensors(std::string_view input);
void sentencepiece(std::string_view input);
void tagged(std::string_view input);
void texts(std::string_view input);
void token_store(std::string_view input);
void tokenizer_json(std::string_view input);
void tsv(std::string_view input);
void vocab_json(std::string_view input);
void vocab_txt(std::string_view input);
void word_vectors(std::string_view input);
void yaml(std::string_view input);

}  // namespace weft::fuzz
