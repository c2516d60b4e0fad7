#include "formats/tensorboard_events.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "base/string_util.h"
#include "formats/protobuf.h"
#include "formats/tensorboard_values.h"

namespace weft::formats {

namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::string_view kFileVersion = "brain.Event:2";

// Fields of Event and Summary that are used here, and the tag of a value.
constexpr uint32_t kEventWallTime = 1;
constexpr uint32_t kEventStep = 2;
constexpr uint32_t kEventVersion = 3;
constexpr uint32_t kEventSummary = 5;
constexpr uint32_t kSummaryValue = 1;
constexpr uint32_t kValueTag = 1;

struct EventHead {
  double wall_time = 0;
  int64_t step = 0;
  std::string_view tag = {};  // tag of the first value
};

/// Returns the first length-delimited field with this number; empty if there is none.
std::string_view find_bytes_field(std::string_view message, uint32_t field) {
  while (!message.empty()) {
    const auto key = protobuf::take_varint(message);
    const auto length = key && (*key & 7) == protobuf::kLengthDelimited
                            ? protobuf::take_varint(message)
                            : std::nullopt;
    if (!length || *length > message.size()) {
      return {};
    }
    if (*key >> 3 == field) {
      return message.substr(0, *length);
    }
    message.remove_prefix(*length);
  }
  return {};
}

/// Reads time, step and tag of an event; nullopt if the bytes are not an event.
std::optional<EventHead> read_event(std::string_view bytes) {
  EventHead head;
  while (!bytes.empty()) {
    const auto key = protobuf::take_varint(bytes);
    if (!key) {
      return std::nullopt;
    }
    const auto wire = static_cast<uint32_t>(*key & 7);
    std::optional<uint64_t> number;
    if (wire == protobuf::kVarint) {
      number = protobuf::take_varint(bytes);
    } else if (wire == protobuf::kFixed64) {
      number = protobuf::take_fixed<uint64_t>(bytes);
    } else if (wire == protobuf::kFixed32) {
      number = protobuf::take_fixed<uint32_t>(bytes);
    } else if (wire == protobuf::kLengthDelimited) {
      number = protobuf::take_varint(bytes);
      if (number && *number > bytes.size()) {
        return std::nullopt;
      }
      if (number && *key == (kEventSummary << 3 | protobuf::kLengthDelimited)) {
        head.tag =
            find_bytes_field(find_bytes_field(bytes.substr(0, *number), kSummaryValue), kValueTag);
      }
      bytes.remove_prefix(number.value_or(0));
    }
    if (!number) {
      return std::nullopt;
    }
    if (*key == (kEventWallTime << 3 | protobuf::kFixed64)) {
      head.wall_time = std::bit_cast<double>(*number);
    } else if (*key == (kEventStep << 3 | protobuf::kVarint)) {
      head.step = static_cast<int64_t>(*number);
    }
  }
  return head;
}

/// u64 length | masked CRC of the length | bytes | masked CRC of the bytes
std::string framed(std::string_view payload) {
  std::string record;
  protobuf::put_fixed(record, static_cast<uint64_t>(payload.size()));
  protobuf::put_fixed(record, masked_crc32c(record));
  record.append(payload);
  protobuf::put_fixed(record, masked_crc32c(payload));
  return record;
}

/// Takes the next record off the front and returns it with its frame; nullopt at the end or if the
/// bytes are corrupt.
std::optional<std::string_view> take_record(std::string_view& bytes, std::string_view& payload) {
  constexpr std::size_t kHead = sizeof(uint64_t) + sizeof(uint32_t);
  std::string_view rest = bytes;
  const auto length = protobuf::take_fixed<uint64_t>(rest);
  const auto length_crc = protobuf::take_fixed<uint32_t>(rest);
  if (!length || !length_crc || *length_crc != masked_crc32c(bytes.substr(0, sizeof(uint64_t))) ||
      rest.size() < sizeof(uint32_t) || *length > rest.size() - sizeof(uint32_t)) {
    return std::nullopt;
  }
  payload = rest.substr(0, *length);
  rest.remove_prefix(*length);
  if (protobuf::take_fixed<uint32_t>(rest) != masked_crc32c(payload)) {
    return std::nullopt;
  }
  const auto record = bytes.substr(0, kHead + *length + sizeof(uint32_t));
  bytes = rest;
  return record;
}

/// Returns the event file with the latest time in its name (ties by name). Temporary files of
/// interrupted rewrites are removed, as TensorBoard would read them too.
std::optional<std::string> newest_file(const std::string& directory) {
  std::optional<std::pair<int64_t, std::string>> newest;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with(kPrefix) || !entry->is_regular_file(ignored)) {
      continue;
    }
    if (name.find(".tmp-") != std::string::npos) {
      remove_tree(entry->path().string());
      continue;
    }
    const int64_t time = std::strtoll(name.c_str() + kPrefix.size(), nullptr, 10);
    const std::pair candidate(time, entry->path().string());
    newest = newest ? std::max(*newest, candidate) : candidate;
  }
  return newest ? std::optional(newest->second) : std::nullopt;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string version_event(double wall_time) {
  std::string event;
  protobuf::put_key(event, kEventWallTime, protobuf::kFixed64);
  protobuf::put_fixed(event, wall_time);
  protobuf::put_bytes(event, kEventVersion, kFileVersion);
  return event;
}

}  // namespace

EventWriter::EventWriter(const std::string& directory,
                         int64_t step,
                         std::string_view pending_prefix) {
  if (const auto newest = newest_file(directory)) {
    reopen(*newest, step, pending_prefix);
  } else {
    begin(directory);
  }
}

void EventWriter::begin(const std::string& directory) {
  wall_time_ = seconds_now();
  char host[256] = "localhost";
  gethostname(host, sizeof(host) - 1);
  path_ = str_cat(directory, "/", kPrefix, static_cast<int64_t>(wall_time_), ".", host, ".",
                  getpid(), ".0");
  file_ = std::make_unique<FileWriter>(path_, FileWriter::Mode::kAppend);
  file_->write(framed(version_event(wall_time_)));
  file_->flush();
}

void EventWriter::reopen(const std::string& path, int64_t step, std::string_view pending_prefix) {
  path_ = path;
  bool is_whole = true;
  {
    const MappedFile old(path);
    std::vector<std::string_view> kept;
    std::string_view rest = old.text();
    std::string_view payload;
    while (const auto record = take_record(rest, payload)) {
      const auto event = read_event(payload);
      const bool is_pending = event && !pending_prefix.empty() && event->step == step &&
                              event->tag.starts_with(pending_prefix);
      if (!event || event->step > step || is_pending) {
        is_whole = false;
        continue;
      }
      wall_time_ = std::max(wall_time_, event->wall_time);
      kept.push_back(*record);
    }
    is_whole = is_whole && rest.empty() && !kept.empty();
    if (!is_whole) {
      FileWriter rewritten(path);
      if (kept.empty()) {
        rewritten.write(framed(version_event(seconds_now())));
      }
      for (const auto record : kept) {
        rewritten.write(record);
      }
      rewritten.commit();
    }
  }
  file_ = std::make_unique<FileWriter>(path, FileWriter::Mode::kAppend);
}

void EventWriter::scalar(std::string_view tag, double value, int64_t step) {
  write(tensorboard::scalar(tag, value), step);
}

void EventWriter::write(std::string_view value, int64_t step) {
  wall_time_ = std::max(wall_time_, seconds_now());
  std::string summary;
  protobuf::put_bytes(summary, kSummaryValue, value);
  std::string event;
  protobuf::put_key(event, kEventWallTime, protobuf::kFixed64);
  protobuf::put_fixed(event, wall_time_);
  protobuf::put_key(event, kEventStep, protobuf::kVarint);
  protobuf::put_varint(event, static_cast<uint64_t>(step));
  protobuf::put_bytes(event, kEventSummary, summary);
  file_->write(framed(event));
}

void EventWriter::flush() { file_->flush(); }

void EventWriter::sync() { file_->sync(); }

}  // namespace weft::formats
