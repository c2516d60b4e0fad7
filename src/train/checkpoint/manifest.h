#pragma once

#include <string>

namespace weft::train {

inline constexpr const char* kManifest = "training/manifest.json";

/// Writes training/manifest.json: size and XXH3 of every other file below the directory and of
/// every tensor in it, and a checksum of the manifest itself. Throws FileError.
void write_manifest(const std::string& directory);

/// Whether the directory has a manifest (an exported model has none).
bool has_manifest(const std::string& directory);

/// Verifies size and checksum of every file in the manifest, and the manifest's own checksum.
/// Throws formats::Error naming the first file that differs, and the tensors in it.
void verify_manifest(const std::string& directory);

}  // namespace weft::train
