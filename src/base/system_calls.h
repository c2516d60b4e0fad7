#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <sys/types.h>

/// System calls with which Weft changes files; errors are -1 and errno. Nothing else in Weft
/// creates, writes, renames or removes a file, so `fault` can break every change.
namespace weft::system_calls {

int open(const std::string& path, int flags);
ssize_t write(int descriptor, const std::string& path, const void* bytes, std::size_t count);
int flush(int descriptor, const std::string& path);
int close(int descriptor, const std::string& path);
int truncate(int descriptor, const std::string& path, int64_t size);
/// Grows the file to this size, with blocks on the disk.
int allocate(int descriptor, const std::string& path, int64_t size);
int rename(const std::string& from, const std::string& to);
/// Swaps two names atomically.
int exchange(const std::string& from, const std::string& to);
int link(const std::string& target, const std::string& path);
/// Removes a file, a link or an empty directory.
int remove(const std::string& path);
int make_directory(const std::string& path);
/// Bytes that the user can still write to the file system of `path`.
int64_t free_space(const std::string& path);

}  // namespace weft::system_calls
