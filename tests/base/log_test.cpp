#include "base/log.h"

#include <cstdlib>
#include <regex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/string_util.h"
#include "support/folder.h"

namespace weft::log {
namespace {

TEST(Log, GoesToStandardErrorWithoutTimes) {
  testing::internal::CaptureStderr();
  debug("[test] unseen");
  info("[test] {} is not a place for values");
  warning("[test] careful");
  set_level(Level::kError);
  warning("[test] too low");
  error("[test] wrong");
  set_level(Level::kInfo);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "[test] {} is not a place for values\nwarning: [test] careful\nerror: [test] wrong\n");
}

TEST(Log, ActivitiesShowTheirPartAndTheTimeLeft) {
  EXPECT_EQ(activity_text("training the tokenizer", -1, 20), "training the tokenizer");
  EXPECT_EQ(activity_text("evaluating", 0, 20), "evaluating  0 %");
  EXPECT_EQ(activity_text("evaluating", 0.5, 0.9), "evaluating  50 %");
  EXPECT_EQ(activity_text("evaluating", 0.259, 10), "evaluating  25 %  ETA 29 s");
  EXPECT_EQ(activity_text("evaluating", 1, 10), "evaluating  100 %  ETA 0 s");
}

TEST(Log, RanksAreNamedAndOthersThanTheFirstAreQuiet) {
  EXPECT_EXIT(
      {
        set_rank(0);
        info("[test] first");
        set_rank(2);
        info("[test] unseen");
        warning("[test] careful");
        std::_Exit(0);
      },
      testing::ExitedWithCode(0),
      "^\\[rank 0\\] \\[test\\] first\nwarning: \\[rank 2\\] \\[test\\] careful\n$");
}

TEST(Log, WritesLinesWithTimesToItsFileAtOnce) {
  const test::Folder folder;
  const std::string path = folder.write("train.log", "earlier\n");
  open_file(path);
  testing::internal::CaptureStderr();
  info("[test] 1 fact");
  const std::string content = test::Folder::read(path);  // before close_file
  close_file(path);
  info("[test] not in the file");
  testing::internal::GetCapturedStderr();
  const std::regex form(
      "earlier\n\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\.\\d{3} info \\[test\\] 1 fact\n");
  EXPECT_TRUE(std::regex_match(content, form)) << content;
  EXPECT_EQ(test::Folder::read(path), content);
}

TEST(Log, WritesToSeveralFiles) {
  const test::Folder folder;
  const auto first = folder.path("first.log");
  const auto second = folder.path("second.log");
  testing::internal::CaptureStderr();
  open_file(first);
  info("[test] one");
  open_file(second);
  info("[test] both");
  close_file(first);
  info("[test] two");
  close_file(second);
  testing::internal::GetCapturedStderr();
  const auto words = [](const std::string& path) {
    return std::regex_replace(test::Folder::read(path), std::regex("[^\n]*\\[test\\] "), "");
  };
  EXPECT_EQ(words(first), "one\nboth\n");
  EXPECT_EQ(words(second), "both\ntwo\n");
}

TEST(Log, WritesToOneFileOnly) {
  const test::Folder folder;
  const auto first = folder.path("first.log");
  const auto second = folder.path("second.log");
  open_file(first);
  open_file(second);
  testing::internal::CaptureStderr();
  write_to_file(first, Level::kError, "[test] wrong\nand more\nException raised from f at f.cpp:1");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  close_file(first);
  close_file(second);
  EXPECT_TRUE(test::Folder::read(first).ends_with(" error [test] wrong and more\n"));
  EXPECT_EQ(test::Folder::read(second), "");
}

TEST(Log, AnErrorIsOneLine) {
  testing::internal::CaptureStderr();
  error("two\nlines\nException raised from f at f.cpp:1");
  error(std::string(2000, 'x'));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "error: two lines\nerror: " + std::string(900, 'x') + " ...\n");
}

TEST(Log, RefusesAFileThatCannotBeOpened) {
  const test::Folder folder;
  EXPECT_THROW(open_file(folder.path()), UserError);
}

TEST(Log, KeepsLinesWholeFromManyThreads) {
  const test::Folder folder;
  const std::string path = folder.path("train.log");
  open_file(path);
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int line = 0; line < 100; ++line) {
        info("[test] abcdefghijklmnopqrstuvwxyz");
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  const std::string shown = testing::internal::GetCapturedStderr();
  close_file(path);
  EXPECT_EQ(split(shown, '\n').size(), 401U);
  for (const auto line : split(trim(shown), '\n')) {
    ASSERT_EQ(line, "[test] abcdefghijklmnopqrstuvwxyz");
  }
  EXPECT_EQ(split(test::Folder::read(path), '\n').size(), 401U);
}

TEST(Log, ShowsNoStatusLineOffATerminal) {
  testing::internal::CaptureStderr();
  const bool was_terminal = is_terminal();  // the capture is a file
  set_progress_line("50 %");
  set_progress_line("");
  EXPECT_FALSE(was_terminal);
  EXPECT_FALSE(has_colors());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace weft::log
