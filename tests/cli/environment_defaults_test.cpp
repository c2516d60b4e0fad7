#include "cli/environment_defaults.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "formats/json.h"
#include "support/program.h"

namespace weft::cli {
namespace {

std::string wait_of_program() {
  const auto finished = test::weft({"doctor", "--json"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  return formats::Json::parse(finished.out)["cpu"]["thread_wait"];
}

// Sets a variable of this process, which the programs it starts inherit, to its end.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    const char* before = std::getenv(name);
    before_ = before == nullptr ? "" : before;
    if (value == nullptr) {
      ::unsetenv(name);
    } else {
      ::setenv(name, value, 1);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (before_.empty()) {
      ::unsetenv(name_);
    } else {
      ::setenv(name_, before_.c_str(), 1);
    }
  }

 private:
  const char* name_;
  std::string before_;
};

std::vector<std::string> missing_from(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  std::vector<std::string> found;
  for (const char* entry : missing_environment(environment.data())) {
    if (entry != nullptr) {
      found.emplace_back(entry);
    }
  }
  return found;
}

TEST(EnvironmentDefaults, AddsDefaultsThatAreUnset) {
  EXPECT_EQ(
      missing_from({"A=1", "MY_OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT_OF=1"}),
      (std::vector<std::string>{"GOMP_SPINCOUNT=2000", "TCMALLOC_RELEASE_RATE=0",
                                "THP_MEM_ALLOC_ENABLE=1", "ONEDNN_PRIMITIVE_CACHE_CAPACITY=64"}));
}

TEST(EnvironmentDefaults, KeepsUserSettingsUnderEitherName) {
  const auto missing = missing_from(
      {"OMP_WAIT_POLICY=active", "THP_MEM_ALLOC_ENABLE=0", "DNNL_PRIMITIVE_CACHE_CAPACITY=9"});
  EXPECT_EQ(missing, (std::vector<std::string>{"TCMALLOC_RELEASE_RATE=0"}));
}

TEST(EnvironmentDefaults, NothingIsMissingAfterIt) {
  EXPECT_TRUE(missing_from({"GOMP_SPINCOUNT=2000", "TCMALLOC_RELEASE_RATE=0",
                            "THP_MEM_ALLOC_ENABLE=1", "ONEDNN_PRIMITIVE_CACHE_CAPACITY=64"})
                  .empty());
}

TEST(EnvironmentDefaults, ProgramChoosesAShortOneWhereNoneIsSet) {
  const Variable policy("OMP_WAIT_POLICY", nullptr);
  const Variable count("GOMP_SPINCOUNT", nullptr);
  EXPECT_EQ(wait_of_program(), "GOMP_SPINCOUNT=2000");
}

TEST(EnvironmentDefaults, ProgramLeavesTheUsersChoice) {
  const Variable policy("OMP_WAIT_POLICY", "passive");
  const Variable count("GOMP_SPINCOUNT", nullptr);
  EXPECT_EQ(wait_of_program(), "OMP_WAIT_POLICY=passive");
}

TEST(EnvironmentDefaults, TooLittleAddressSpaceIsAnErrorWithAdvice) {
  const auto finished =
      test::run({"/bin/sh", "-c", "ulimit -v 400000; exec '" WEFT_BINARY "' --version"});
  EXPECT_EQ(finished.status, 2);
  EXPECT_NE(finished.err.find("less than 512 MiB (ulimit -v)"), std::string::npos) << finished.err;
}

}  // namespace
}  // namespace weft::cli
