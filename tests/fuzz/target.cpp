#include "fuzz/target.h"

#include <filesystem>
#include <fstream>

#include "base/string_util.h"
#include "base/utf8.h"
#include "support/folder.h"

namespace weft::fuzz {

namespace {

constexpr std::size_t kLongestMessage = 4000;
constexpr std::string_view kBorder = "\n-----\n";

std::filesystem::path fast_parent() {
  const std::filesystem::path memory = "/dev/shm";
  return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
}

}  // namespace

const std::string& scratch_folder() {
  static const test::Folder folder(fast_parent());
  return folder.path();
}

std::string scratch_file(const std::string& name, std::string_view bytes) {
  auto path = scratch_folder() + "/" + name;
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

std::string part_of(std::string_view input, int part) {
  for (; part > 0; --part) {
    const auto border = input.find(kBorder);
    input.remove_prefix(border == std::string_view::npos ? input.size() : border + kBorder.size());
  }
  return std::string(input.substr(0, input.find(kBorder)));
}

void detail::check_message(std::string_view message) {
  for (const auto line : split(message, '\n')) {  // a line for each error of a config
    if (line.empty() || line.size() > kLongestMessage || utf8::first_invalid(line)) {
      throw std::logic_error(
          str_cat("a message without lines of text: '", message.substr(0, 300), "'"));
    }
  }
}

}  // namespace weft::fuzz
