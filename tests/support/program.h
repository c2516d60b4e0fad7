#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::test {

/// A port of this machine that nothing listens on.
inline int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  if (::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("no free port");
  }
  ::close(descriptor);
  return ntohs(address.sin_port);
}

/// A new directory that is removed at the end of the scope.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    auto pattern = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// The text with every `placeholder` in it replaced.
inline std::string filled(std::string text,
                          const std::string& placeholder,
                          const std::string& value) {
  for (auto at = text.find(placeholder); at != std::string::npos;
       at = text.find(placeholder, at + value.size())) {
    text.replace(at, placeholder.size(), value);
  }
  return text;
}

struct ProcessResult {
  int status = -1;  // exit status; 128 + signal after a death by signal
  std::string out;
  std::string err;
};

/// Starts a program with its streams redirected to files of `directory`; returns the
/// process id.
inline pid_t start(const std::vector<std::string>& command,
                   const std::string& directory,
                   const std::string& input = "") {
  write(directory + "/stdin", input);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool opened = std::freopen((directory + "/stdin").c_str(), "r", stdin) != nullptr &&
                        std::freopen((directory + "/stdout").c_str(), "w", stdout) != nullptr &&
                        std::freopen((directory + "/stderr").c_str(), "w", stderr) != nullptr;
    std::vector<char*> raw;
    raw.reserve(command.size() + 1);
    for (const auto& word : command) {
      raw.push_back(const_cast<char*>(word.c_str()));
    }
    raw.push_back(nullptr);
    if (opened) {
      ::execvp(raw[0], raw.data());
    }
    ::_exit(127);
  }
  return child;
}

inline ProcessResult finish(pid_t child, const std::string& directory) {
  int raw = 0;
  ::waitpid(child, &raw, 0);
  return {WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw), contents(directory + "/stdout"),
          contents(directory + "/stderr")};
}

/// Runs a program to its end.
inline ProcessResult run(const std::vector<std::string>& command, const std::string& input = "") {
  const TemporaryDirectory directory;
  return finish(start(command, directory.path(), input), directory.path());
}

/// Runs the `weft` of this build.
inline ProcessResult weft(const std::vector<std::string>& arguments,
                          const std::string& input = "") {
  std::vector<std::string> command{WEFT_BINARY};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run(command, input);
}

}  // namespace weft::test
