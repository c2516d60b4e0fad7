#pragma once

#include <string>

namespace weft::train {

inline constexpr const char* kManifest = "training/manifest.json";

/// Writes training/manifest.json: size and XXH3 of every other file below the directory and of
/// every tensor in it, and a checksum of the manifest itself. Throws FileError.
void write_manifest(const std::string& directory);

/// Whether the directory has a manifest at all (an exported model has none).
bool has_manifest(const std::string& directory);

/// Compares every file of the directory's manifest with its size and checksum, the manifest with
/// its own. Throws formats::Error naming the first file that differs, and the tensors in it.
void verify(const std::string& directory);

}  // namespace weft::train
