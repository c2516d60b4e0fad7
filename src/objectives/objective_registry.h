#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/registry.h"
#include "config/section.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// A value of `objective.type`. The texts must live as long as the program.
struct ObjectiveDefinition {
  std::string_view name;
  std::string_view help;  // what the model learns, in a few words
  /// Reads the keys of the type except `type` itself; unread keys are refused by the caller. In
  /// documentation mode it declares all of them, leaving out that they belong to this type, and
  /// returns an objective with default options. Throws config::Error.
  std::unique_ptr<Objective> (*read)(config::Section& section);
};

/// The objectives of Weft, then those that were registered, in the order of the documentation.
const std::deque<ObjectiveDefinition>& objective_definitions();

/// Adds an objective of a program that links Weft, before `weft::run` (cli/run.h) or anything else
/// reads a config. Throws std::invalid_argument if the name is taken.
void register_objective(const ObjectiveDefinition& definition);

/// Reads the `objective:` section. A key of another type is refused with the names of its types. In
/// documentation mode it declares the keys of every type and returns the first objective. Throws
/// config::Error.
std::unique_ptr<Objective> read_objective(config::Section& section);

/// The objective of a definition with default options.
std::unique_ptr<Objective> make_default_objective(const ObjectiveDefinition& definition);

/// Why the objective cannot train a model of these options, with the types that can.
std::optional<Incompatibility> find_incompatibility(const Objective& objective,
                                                    const models::ModelOptions& model);

}  // namespace weft::objectives
