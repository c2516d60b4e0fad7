#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::metrics {

/// Words [begin, end) that are one entity.
struct Entity {
  int64_t type = 0;
  int64_t begin = 0;
  int64_t end = 0;

  auto operator<=>(const Entity&) const = default;
};

/// How tags mark entities: B begins one, I goes on, E (or L) ends one, S (or U) is one alone, O is
/// none; the type follows a hyphen. Read leniently, as conlleval and seqeval do: a change of type
/// ends an entity, and an I or E without a begin begins one, so IOB1, IOB2, IOBES and BILOU are all
/// understood.
class TagScheme {
 public:
  explicit TagScheme(const std::vector<std::string>& labels);

  /// Whether all tags are of that form; false for parts of speech and the like.
  bool marks_entities() const { return marks_entities_; }
  /// Names of the types, sorted.
  const std::vector<std::string>& types() const { return types_; }
  /// Entities of one sentence, in order, from the ids of its tags; -1 is no tag at all.
  std::vector<Entity> entities(const std::vector<int64_t>& tags) const;

 private:
  struct Tag {
    char mark = 'O';
    int64_t type = -1;
  };
  static bool ends(const Tag& before, const Tag& now);
  static bool begins(const Tag& before, const Tag& now);

  std::vector<Tag> tags_;  // by id
  std::vector<std::string> types_;
  bool marks_entities_ = false;
};

}  // namespace weft::metrics
