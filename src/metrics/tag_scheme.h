#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::metrics {

/// Entity that spans the words [begin, end).
struct Entity {
  int64_t type = 0;
  int64_t begin = 0;
  int64_t end = 0;

  auto operator<=>(const Entity&) const = default;
};

/// Entity tagging scheme: B begins an entity, I continues it, E (or L) ends it, S (or U) is a
/// single-word entity, O is outside; the type follows a hyphen. Parsed leniently, as in conlleval
/// and seqeval: a change of type ends an entity, and an I or E without a begin starts one, so IOB1,
/// IOB2, IOBES and BILOU are all supported.
class TagScheme {
 public:
  explicit TagScheme(const std::vector<std::string>& labels);

  /// Whether all tags have this form and mark entities; false for part-of-speech tags and the like.
  bool marks_entities() const { return marks_entities_; }
  /// The tags of another form, if some tags mark entities: their presence makes all of them plain
  /// tags.
  const std::vector<std::string>& other_tags() const { return other_tags_; }
  /// Entity type names, sorted.
  const std::vector<std::string>& types() const { return types_; }
  /// Returns the entities of one sentence, in order, from its tag ids; -1 means no tag.
  std::vector<Entity> entities(const std::vector<int64_t>& tags) const;

 private:
  struct Tag {
    char prefix = 'O';
    int64_t type = -1;
  };
  static bool ends(const Tag& before, const Tag& now);
  static bool begins(const Tag& before, const Tag& now);

  std::vector<Tag> tags_;  // by id
  std::vector<std::string> types_;
  std::vector<std::string> other_tags_;
  bool marks_entities_ = false;
};

}  // namespace weft::metrics
