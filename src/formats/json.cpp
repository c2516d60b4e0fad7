#include "formats/json.h"

#include <utility>
#include <vector>

#include "base/file.h"

namespace weft::formats {

namespace {

/// Builds the tree. The library's insertion compares each key with all earlier ones, which takes
/// minutes for a vocabulary of 100,000 tokens; JsonSaxReader already rejects duplicate keys.
class TreeBuilder : public JsonSaxReader {
 public:
  using JsonSaxReader::JsonSaxReader;

  Json take() { return std::move(root_); }

 private:
  Json& insert(Json&& value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      return parent.get_ref<Json::array_t&>().emplace_back(std::move(value));
    }
    using Fields = Json::object_t::Container;
    Fields& fields = parent.get_ref<Json::object_t&>();
    return fields.emplace_back(std::move(key_), std::move(value)).second;
  }

  void on_scalar(Json&& value, std::string_view) override { insert(std::move(value)); }
  // A parent does not grow while a child is open, so the addresses stay valid.
  void on_open(bool is_object) override {
    open_.push_back(&insert(is_object ? Json::object() : Json::array()));
  }
  void on_close() override { open_.pop_back(); }
  void on_key(std::string&& key) override { key_ = std::move(key); }

  Json root_;
  std::vector<Json*> open_;
  std::string key_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& location) {
  TreeBuilder builder(text, location);
  builder.walk();
  return builder.take();
}

Json read_json(const std::string& path, int64_t limit) {
  return parse_json(read_file(path, limit), path);
}

}  // namespace weft::formats
