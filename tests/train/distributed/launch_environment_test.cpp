#include "train/distributed/launch_environment.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/string_util.h"

namespace weft::train {
namespace {

using Variables = std::map<std::string, std::string>;

/// `rank/size local_rank/local_size host:port`, then `serves` and the launcher; or the error.
std::string description(const Variables& variables) {
  try {
    const auto found = read_launch_environment(variables);
    return str_cat(found.rank, "/", found.world_size, " ", found.local_rank, "/",
                   found.local_world_size, " ", found.host, ":", found.port,
                   found.serves_store ? " serves" : "", found.launcher.empty() ? "" : " ",
                   found.launcher);
  } catch (const UserError& error) {
    return error.what();
  }
}

struct Case {
  Variables variables;
  std::string expected;
};

void check(const std::vector<Case>& cases) {
  for (const auto& [variables, expected] : cases) {
    EXPECT_EQ(description(variables), expected);
  }
}

/// `variables` with some of them replaced.
Variables with(Variables variables, const Variables& changes) {
  for (const auto& [name, value] : changes) {
    variables[name] = value;
  }
  return variables;
}

const Variables kTorchrun{{"RANK", "3"},
                          {"WORLD_SIZE", "4"},
                          {"LOCAL_RANK", "1"},
                          {"LOCAL_WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "a"},
                          {"MASTER_PORT", "29400"},
                          {"GROUP_RANK", "1"},
                          {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                          {"TORCHELASTIC_RUN_ID", "none"}};
const Variables kSrun{{"SLURM_PROCID", "5"},
                      {"SLURM_STEP_NUM_TASKS", "8"},
                      {"SLURM_NTASKS", "16"},
                      {"SLURM_LOCALID", "1"},
                      {"SLURM_NODEID", "2"},
                      {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1(x2)"},
                      {"SLURM_STEP_NODELIST", "gpu[010-014]"},
                      {"SLURM_JOB_NODELIST", "gpu[001-020]"},
                      {"SLURM_JOB_ID", "1234567"},
                      {"SLURM_STEP_ID", "2"},
                      {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.9"}};
const Variables kMpirun{{"OMPI_COMM_WORLD_RANK", "1"},
                        {"OMPI_COMM_WORLD_SIZE", "2"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};

TEST(LaunchEnvironment, IsOneProcessWithoutLauncher) {
  check({{{}, "0/1 0/1 127.0.0.1:29500 serves"},
         {{{"RANK", ""}, {"MASTER_ADDR", "a"}}, "0/1 0/1 127.0.0.1:29500 serves"},
         // A batch script outside srun is one process, whatever the size of the job.
         {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}},
          "0/1 0/1 127.0.0.1:29500 serves"}});
}

TEST(LaunchEnvironment, ReadsTorchrun) {
  check({{kTorchrun, "3/4 1/2 a:29400 torchrun"},
         {with(kTorchrun, {{"RANK", "0"}, {"LOCAL_RANK", "0"}}), "0/4 0/2 a:29400 torchrun"},
         {with(kTorchrun, {{"RANK", "0"}, {"TORCHELASTIC_USE_AGENT_STORE", "False"}}),
          "0/4 1/2 a:29400 serves torchrun"},
         // Several agents of torchrun on one machine.
         {with(kTorchrun,
               {{"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}, {"MASTER_ADDR", "localhost"}}),
          "3/4 0/1 localhost:29400 torchrun"},
         // By hand: on one machine the local rank follows from the rank.
         {{{"RANK", "1"}, {"WORLD_SIZE", "2"}}, "1/2 1/2 127.0.0.1:29500"},
         {{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}},
          "1/2 1/2 localhost:29500"},
         {{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}, "1/2 0/1 a:29500"},
         // Inside a Slurm job, torchrun's variables count.
         {with(kSrun, kTorchrun), "3/4 1/2 a:29400 torchrun"}});
}

TEST(LaunchEnvironment, ReadsSlurm) {
  check({{kSrun, "5/8 1/2 gpu010:19569 Slurm"},
         {with(kSrun, {{"SLURM_PROCID", "6"}, {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "3"}}),
          "6/8 0/1 gpu010:19569 Slurm"},
         {with(kSrun, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NODELIST", ""}}),
          "0/8 1/2 gpu001:19569 serves Slurm"},
         {with(kSrun, {{"MASTER_ADDR", "b"}, {"MASTER_PORT", "5000"}}), "5/8 1/2 b:5000 Slurm"},
         // Ports stay in 15000 .. 24999.
         {with(kSrun, {{"SLURM_JOB_ID", "9999"}}), "5/8 1/2 gpu010:15001 Slurm"}});
}

TEST(LaunchEnvironment, ReadsMpi) {
  check({{kMpirun, "1/2 1/2 127.0.0.1:29500 MPI"},
         // mpirun that starts its processes through srun.
         {with(kSrun, kMpirun), "1/2 1/2 gpu010:19569 MPI"},
         {{{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MASTER_ADDR", "a"}},
          "0/2 0/1 a:29500 serves MPI"}});
}

TEST(LaunchEnvironment, ErrorsNameTheVariable) {
  const std::string prefix = "environment variable ";
  check({
      {{{"RANK", "1"}}, prefix + "WORLD_SIZE: is not set, but RANK is 1"},
      {{{"WORLD_SIZE", "2"}}, prefix + "RANK: is not set, but WORLD_SIZE is 2"},
      {{{"SLURM_STEP_NUM_TASKS", "2"}},
       prefix + "SLURM_PROCID: is not set, but SLURM_STEP_NUM_TASKS is 2"},
      {{{"RANK", "2"}, {"WORLD_SIZE", "2"}}, prefix + "RANK: 2 must be less than WORLD_SIZE, 2"},
      {{{"RANK", "one"}, {"WORLD_SIZE", "2"}},
       prefix + "RANK: 'one' is not an integer of at least 0"},
      {{{"RANK", "-1"}, {"WORLD_SIZE", "2"}},
       prefix + "RANK: '-1' is not an integer of at least 0"},
      {{{"RANK", "1x"}, {"WORLD_SIZE", "2"}},
       prefix + "RANK: '1x' is not an integer of at least 0"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "0"}},
       prefix + "WORLD_SIZE: '0' is not an integer of at least 1"},
      {with(kTorchrun, {{"MASTER_PORT", "70000"}}),
       prefix + "MASTER_PORT: '70000' is not an integer from 1 to 65535"},
      {with(kTorchrun, {{"LOCAL_RANK", "2"}}),
       prefix + "LOCAL_RANK: 2 must be less than the number of processes of this machine, 2"},
      {with(kTorchrun, {{"LOCAL_WORLD_SIZE", "8"}}),
       prefix + "LOCAL_WORLD_SIZE: 8 must be at most WORLD_SIZE, 4"},
      {with(kMpirun, {{"OMPI_COMM_WORLD_SIZE", "6"}}),
       prefix + "MASTER_ADDR: 127.0.0.1 is this machine, but 4 of 6 processes run on others; set "
                "it to the machine of rank 0"},
  });
}

TEST(LaunchEnvironment, FindsTheFirstNodeOfAList) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"a", "a"},
      {"a,b", "a"},
      {"gnode[10,20,25,37]", "gnode10"},
      {"node[001-004]", "node001"},
      {"a,b[1-3]", "a"},
      {"b[1-3],a", "b1"},
      {"node[3]", "node3"},
      {"rack[1-2]node[05-06]", "rack1node05"},
      {"node[1-2].cluster.org", "node1.cluster.org"},
      {"node[1-2]-ib,x", "node1-ib"},
      {"n[9,11-12],m[1-2]", "n9"},
      {"host-a[007-010,012]", "host-a007"},
  };
  for (const auto& [list, first] : cases) {
    EXPECT_EQ(first_node(list), first);
  }
  EXPECT_THROW(first_node("node[1-2"), UserError);
}

}  // namespace
}  // namespace weft::train
