#include "base/fault_injection.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/limits.h"

namespace weft {
namespace {

using test::Folder;
using test::message_of;

class FaultTest : public ::testing::Test {
 protected:
  ~FaultTest() override {
    fault::set_plan("");
    fault::record(false);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  }

  Folder folder_;
};

TEST_F(FaultTest, FailsTheCallItNames) {
  const auto path = folder_.path("a");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"open:1:EMFILE", "cannot open: Too many open files"},
      {"write:1:ENOSPC", "cannot write: No space left on device"},
      {"flush:1:EIO", "cannot flush: Input/output error"},
      {"close:1:EDQUOT", "cannot close: Disk quota exceeded"},
      {"rename:1:EROFS", "cannot rename the finished file to this name: Read-only file system"},
      {"flush:2:EIO", "cannot flush: Input/output error"},
  };
  for (const auto& [plan, words] : cases) {
    fault::set_plan(plan);
    const auto message = message_of<FileError>([&] { write_file(path, "new"); });
    EXPECT_NE(message.find(words), std::string::npos) << plan << ": " << message;
  }
  fault::set_plan("write:2:EIO");
  EXPECT_NO_THROW(write_file(path, "first"));
  EXPECT_THROW(write_file(path, "second"), FileError);
  EXPECT_NO_THROW(write_file(path, "third"));
}

TEST_F(FaultTest, FailsACallAndAllAfterItOrAStretch) {
  fault::set_plan("write:2-3:ENOSPC;mkdir:1+:EROFS");
  const auto path = folder_.path("a");
  EXPECT_NO_THROW(write_file(path, "1"));
  EXPECT_THROW(write_file(path, "2"), FileError);
  EXPECT_THROW(write_file(path, "3"), FileError);
  EXPECT_NO_THROW(write_file(path, "4"));
  EXPECT_THROW(make_directories(folder_.path("b")), FileError);
  EXPECT_THROW(make_directories(folder_.path("c")), FileError);
}

TEST_F(FaultTest, CountsOnlyCallsWhosePathHoldsTheLetters) {
  fault::set_plan("write@/b:2:EIO");
  EXPECT_NO_THROW(write_file(folder_.path("a"), "1"));
  EXPECT_NO_THROW(write_file(folder_.path("b"), "1"));
  EXPECT_NO_THROW(write_file(folder_.path("a"), "2"));
  EXPECT_THROW(write_file(folder_.path("b"), "2"), FileError);
  EXPECT_EQ(fault::injected(), 1);
}

TEST_F(FaultTest, SlowCallHoldsUpItsOwnThreadAlone) {
  fault::set_plan("write@/slow:1:slow");
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  std::thread slow([&] { write_file(folder_.path("slow"), "1"); });
  while (fault::injected() == 0) {
    std::this_thread::yield();
  }
  write_file(folder_.path("quick"), "1");
  EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(50));
  slow.join();
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(50));
}

TEST_F(FaultTest, RefusesAPlanThatItCannotRead) {
  for (const auto* plan : {"write", "write:1", "wrote:1:EIO", "write:0:EIO", "write:x:EIO",
                           "write:1:EWHAT", "open:1:torn"}) {
    EXPECT_THROW(fault::set_plan(plan), UserError) << plan;
  }
}

// Whatever call fails, the file has the old text or the new one, and the directory nothing else.
TEST_F(FaultTest, EveryFailureLeavesACompleteFileAndNoTemporaries) {
  const auto path = folder_.write("kept", "old");
  fault::set_plan("");
  write_file(path, "new");
  const auto calls = fault::calls();
  ASSERT_GE(calls, 7);
  for (int64_t call = 1; call <= calls; ++call) {
    folder_.write("kept", "old");
    fault::set_plan("any:" + std::to_string(call) + ":EIO");
    EXPECT_THROW(write_file(path, "new"), FileError) << call;
    const auto text = Folder::read(path);
    EXPECT_TRUE(text == "old" || text == "new") << call << ": " << text;
    EXPECT_EQ(names(), std::vector<std::string>{"kept"}) << call;
  }
}

TEST_F(FaultTest, KilledAtEveryCallLeavesAWholeFile) {
  const auto path = folder_.path("kept");
  bool is_over = false;
  int killed = 0;
  for (int call = 1; !is_over; ++call) {
    folder_.write("kept", "old");
    const pid_t child = ::fork();
    if (child == 0) {
      fault::set_plan("any:" + std::to_string(call) + ":SIGKILL");
      write_file(path, "new");
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    is_over = WIFEXITED(status);
    killed += is_over ? 0 : 1;
    const auto text = Folder::read(path);
    EXPECT_TRUE(text == "new" || (text == "old" && !is_over)) << call << ": " << text;
  }
  EXPECT_GE(killed, 7);
}

TEST_F(FaultTest, AppendsWholePiecesOrKeepsThemForLater) {
  const auto path = folder_.write("log", "one\n");
  FileWriter writer(path, FileWriter::Mode::kAppend);
  writer.write("two\n");
  fault::set_plan("write:1:ENOSPC");
  EXPECT_THROW(writer.flush(), FileError);
  EXPECT_EQ(Folder::read(path), "one\n");
  writer.write("three\n");
  writer.flush();
  EXPECT_EQ(Folder::read(path), "one\ntwo\nthree\n");
}

// A partial write: a file size limit has the same effect as a full disk.
TEST_F(FaultTest, RemovesAPartialAppend) {
  const auto path = folder_.write("log", std::string(1000, 'a') + "\n");
  const pid_t child = ::fork();
  if (child == 0) {
    test::limit_file_size(1500);
    FileWriter writer(path, FileWriter::Mode::kAppend);
    writer.write(std::string(1000, 'b') + "\n");
    bool has_failed = false;
    try {
      writer.flush();
    } catch (const FileError&) {
      has_failed = true;
    }
    const bool is_cut = std::filesystem::file_size(path) == 1001;
    test::limit_file_size(4000);
    writer.flush();
    ::_exit(has_failed && is_cut ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Folder::read(path), std::string(1000, 'a') + "\n" + std::string(1000, 'b') + "\n");
}

TEST_F(FaultTest, RemovesTreesAndMakesLastingDirectories) {
  fault::record(true);
  make_durable_directories(folder_.path("x/y"));
  const std::vector<std::string> expected = {
      "mkdir " + folder_.path("x"),   "open " + folder_.path(),    "flush " + folder_.path(),
      "mkdir " + folder_.path("x/y"), "open " + folder_.path("x"), "flush " + folder_.path("x"),
  };
  EXPECT_EQ(fault::recorded(), expected);
  write_file(folder_.path("x/y/file"), "1");
  std::filesystem::create_symlink("nowhere", folder_.path("x/link"));
  fault::set_plan("remove:2:EIO");
  EXPECT_THROW(remove_tree(folder_.path("x")), FileError);
  remove_tree(folder_.path("x"));
  remove_tree(folder_.path("x"));
  EXPECT_TRUE(names().empty());
}

TEST_F(FaultTest, ExchangesTwoDirectoriesOrSaysThatItCannot) {
  make_directories(folder_.path("a"));
  make_directories(folder_.path("b"));
  folder_.write("a/1", "");
  EXPECT_TRUE(exchange_and_flush(folder_.path("a"), folder_.path("b")));
  EXPECT_TRUE(std::filesystem::exists(folder_.path("b/1")));
  fault::set_plan("exchange:1:EINVAL;exchange:2:EIO");
  EXPECT_FALSE(exchange_and_flush(folder_.path("a"), folder_.path("b")));
  EXPECT_THROW(exchange_and_flush(folder_.path("a"), folder_.path("b")), FileError);
  fault::set_plan("space:1:ENOSPC");
  EXPECT_EQ(free_bytes(folder_.path()), 0);
}

}  // namespace
}  // namespace weft
