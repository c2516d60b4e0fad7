#include "base/file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "base/string_util.h"
#include "base/system_calls.h"

namespace weft {

namespace {

std::string parent_of(std::string path) {
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  return std::filesystem::path(path).parent_path().string();
}

/// Creates the directory and its parents; calls `visit` for each new one.
template <class Visit>
void make_each(const std::string& path, const Visit& visit) {
  struct stat status {};
  if (path.empty() || (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))) {
    return;
  }
  make_each(parent_of(path), visit);
  if (system_calls::make_directory(path) == 0) {
    visit(path);
    return;
  }
  const int reason = errno;
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  if (is_there && S_ISDIR(status.st_mode)) {
    return;  // another process created it first
  }
  errno = is_there ? ENOTDIR : reason;
  throw_errno(path, "create the directory");
}

}  // namespace

std::string read_file(const std::string& path, int64_t limit) {
  const FileDescriptor file(path, O_RDONLY);
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  struct stat status {};
  const bool has_size = ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
  const int64_t expected = has_size ? int64_t{status.st_size} : 0;
  std::string content;
  std::size_t filled = 0;
  std::size_t got = 1;
  while (got > 0) {
    // One byte more than expected, so that reaching the end of an unchanged file needs no resize.
    const std::size_t capacity =
        std::max(filled + kChunk, static_cast<std::size_t>(std::min(expected, limit)) + 1);
    content.resize(
        std::max(content.size(), std::min(capacity, static_cast<std::size_t>(limit) + 1)));
    got = file.read(content.data() + filled, content.size() - filled);
    filled += got;
    if (static_cast<int64_t>(filled) > limit || expected > limit) {
      throw FileError(
          str_cat(path, ": cannot read: larger than ", format_bytes(static_cast<double>(limit))));
    }
  }
  content.resize(filled);
  return content;
}

void write_file(const std::string& path, std::string_view text) {
  FileWriter writer(path);
  writer.write(text);
  writer.commit();
}

void make_directories(const std::string& path) {
  make_each(path, [](const std::string&) {});
}

void make_durable_directories(const std::string& path) {
  make_each(path, [](const std::string& made) { flush_directory(parent_of(made)); });
}

std::vector<std::string> list_directory(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) {
    throw FileError(str_cat(directory, ": cannot list: ", error.message()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

void remove_tree(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return;
    }
    throw_errno(path, "remove");
  }
  if (S_ISDIR(status.st_mode)) {
    for (const auto& name : list_directory(path)) {
      remove_tree(path + "/" + name);
    }
  }
  if (system_calls::remove(path) != 0 && errno != ENOENT) {
    throw_errno(path, "remove");
  }
}

void rename_and_flush(const std::string& from, const std::string& to) {
  if (system_calls::rename(from, to) != 0) {
    throw_errno(from, str_cat("rename to '", to, "'"));
  }
  flush_directory(parent_of(to));
}

bool exchange_and_flush(const std::string& from, const std::string& to) {
  if (system_calls::exchange(from, to) != 0) {
    if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) {
      return false;
    }
    throw_errno(from, str_cat("swap with '", to, "'"));
  }
  flush_directory(parent_of(to));
  return true;
}

void flush_directory(const std::string& path) {
  const FileDescriptor directory(path.empty() ? "." : path, O_RDONLY | O_DIRECTORY);
  directory.flush();
}

void replace_link(const std::string& target, const std::string& link) {
  const std::string fresh = str_cat(link, ".tmp-", ::getpid());
  remove_tree(fresh);
  if (system_calls::link(target, fresh) != 0) {
    throw_errno(link, "create the link");
  }
  if (system_calls::rename(fresh, link) != 0) {
    const int reason = errno;
    system_calls::remove(fresh);
    errno = reason;
    throw_errno(link, "replace the link");
  }
  flush_directory(parent_of(link));
}

int64_t free_bytes(const std::string& path) {
  std::string existing = path.empty() ? "." : path;
  int64_t free = system_calls::free_space(existing);
  while (free < 0) {
    if (existing == "." || existing == "/" || (errno != ENOENT && errno != ENOTDIR)) {
      throw_errno(path, "determine the free space");
    }
    existing = parent_of(existing);
    existing = existing.empty() ? "." : existing;
    free = system_calls::free_space(existing);
  }
  return free;
}

int64_t bytes_of_files(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    const auto size = fs::file_size(path, ignored);
    return ignored ? 0 : static_cast<int64_t>(size);
  }
  int64_t bytes = 0;
  for (fs::recursive_directory_iterator
           at(path, fs::directory_options::skip_permission_denied, ignored),
       end;
       at != end; at.increment(ignored)) {
    const auto size = at->file_size(ignored);
    bytes += ignored || !at->is_regular_file() ? 0 : static_cast<int64_t>(size);
  }
  return bytes;
}

std::vector<std::string> glob_paths(const std::string& pattern) {
  std::error_code error;
  if (std::filesystem::exists(pattern, error)) {
    return {pattern};  // also covers names that contain `[`
  }
  glob_t found{};
  std::vector<std::string> paths;
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  if (result == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  if (result == GLOB_NOSPACE || result == GLOB_ABORTED) {
    throw FileError(pattern + ": cannot list the files matching this pattern");
  }
  std::sort(paths.begin(), paths.end());  // bytewise, independent of the locale
  return paths;
}

TemporaryDirectory::TemporaryDirectory(const std::string& name)
    : path_((std::filesystem::temp_directory_path() / (name + "-XXXXXX")).string()) {
  if (::mkdtemp(path_.data()) == nullptr) {
    throw FileError(path_ + ": cannot create a temporary directory");
  }
}

TemporaryDirectory::~TemporaryDirectory() {
  try {
    remove_tree(path_);
  } catch (const FileError&) {
    // A leftover temporary directory does no harm.
  }
}

}  // namespace weft
