// The event file of a resumed run: unchanged, and its lines as payloads of valid records.
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/string_util.h"
#include "formats/tensorboard_events.h"
#include "fuzz/target.h"
#include "fuzz/targets.h"

namespace weft::fuzz {

namespace {

void go_on(std::string_view bytes) {
  static const std::string folder = [] {
    auto made = scratch_folder() + "/events";
    std::filesystem::create_directory(made);
    return made;
  }();
  scratch_file("events/events.out.tfevents.1.here.1.0", bytes);
  try_reading([&] {
    formats::EventWriter writer(folder, 20);
    writer.scalar("loss", 0.5, 21);
    writer.flush();
  });
}

template <class Number>
std::string fixed(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

}  // namespace

void events(std::string_view input) {
  go_on(input);
  std::string framed;
  for (const auto payload : split(input, '\n')) {
    const auto length = fixed(static_cast<uint64_t>(payload.size()));
    framed += length + fixed(formats::masked_crc32c(length));
    framed += std::string(payload) + fixed(formats::masked_crc32c(payload));
  }
  go_on(framed);
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(events)
