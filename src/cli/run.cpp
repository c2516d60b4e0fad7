#include "cli/run.h"

#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/predict/output_writer.h"
#include "config/section.h"
#include "train/step/out_of_memory.h"

namespace weft::cli {
namespace {

constexpr int kDone = 0;
constexpr int kInternal = 1;
constexpr int kUser = 2;
constexpr int kClosedPipe = 141;  // as of a program that SIGPIPE ends
constexpr int kStopped = 143;

void print_help() {
  const auto width = help_width();
  std::cout << "Weft " WEFT_VERSION ": trains transformers.\n\nUsage: weft COMMAND [arguments]\n";
  std::string group;
  for (const auto& command : commands()) {
    if (command.group != group) {
      std::cout << "\n" << command.group << ":\n";
      group = command.group;
    }
    std::cout << wrap_lines(help_row(command.name, 12, command.summary), width) << "\n";
  }
  std::cout << "\nExamples:\n"
               "  weft train configs/quickstart_pretrain.yaml\n"
               "  echo '{\"text\": \"You won a prize\"}' | weft predict runs/quickstart/spam\n\n"
               "weft COMMAND --help: arguments of a command; --help-all: with all options\n";
}

struct Option {
  std::string name;
};
const std::vector<Option> kProgramOptions = {{"--help"}, {"--version"}};

const Command& find_command(const std::string& name) {
  return find_entry(commands(), name, "weft: unknown command");
}

int run_command(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments[0] == "help" || arguments[0] == "--help" ||
      arguments[0] == "-h") {
    if (arguments.size() > 1) {
      return find_command(arguments[1]).run({"--help"});
    }
    print_help();
    return arguments.empty() ? kUser : kDone;
  }
  if (arguments[0] == "--version" || arguments[0] == "version") {
    std::cout << "weft " WEFT_VERSION "\n";
    return kDone;
  }
  if (arguments[0].starts_with('-')) {
    find_entry(kProgramOptions, arguments[0], "weft: unknown option");
  }
  const auto& command = find_command(arguments[0]);
  arguments.erase(arguments.begin());
  const int status = command.run(std::move(arguments));
  flush_output();
  return status;
}

void print_error(std::string_view message) {
  log::set_progress_line("");
  log::error(message);
}

/// A config may have several mistakes, each on a line of its own.
void print_config_errors(const config::Error& error) {
  for (const auto line : split(error.what(), '\n')) {
    print_error(line);
  }
}

/// The message of an error, with advice if it is for lack of memory under a limit of the address
/// space: messages of libraries do not name it, and threads fail to start with "Resource
/// temporarily unavailable".
std::string message_of(const std::exception& error) {
  const auto* const system = dynamic_cast<const std::system_error*>(&error);
  const auto shortage = train::memory_shortage_in(error);
  const bool lacks_memory =
      shortage ||
      (system != nullptr && (system->code() == std::errc::resource_unavailable_try_again ||
                             system->code() == std::errc::not_enough_memory));
  const bool is_allocation = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  std::string message = shortage && shortage->requested_bytes
                            ? str_cat("out of memory: ", train::describe(*shortage))
                        : is_allocation ? "out of memory"
                                        : error.what();
  const auto limit = address_space_limit();
  if (!lacks_memory || limit < 0) {
    return message;
  }
  return str_cat(
      message, " (out of memory: the address space is limited to ",
      format_bytes(static_cast<double>(limit)),
      " by ulimit -v, of which LibTorch and its threads take about 1 GiB; raise the limit, "
      "or use fewer threads, as in OMP_NUM_THREADS=1)");
}

int guarded(std::vector<std::string> arguments) {
  try {
    return run_command(std::move(arguments));
  } catch (const config::Error& error) {
    print_config_errors(error);
    return kUser;
  } catch (const UserError& error) {
    print_error(error.what());
    return kUser;
  } catch (const Stopped& stop) {
    log::warning(stop.what());
    return kStopped;
  } catch (const ClosedOutput&) {
    return kClosedPipe;
  } catch (const std::exception& error) {
    print_error(message_of(error));
    return kInternal;
  }
}

}  // namespace
}  // namespace weft::cli

namespace weft {

int run(int count, char** values) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write, not a crash
  install_signal_handlers();
  return cli::guarded(std::vector<std::string>(values + 1, values + count));
}

}  // namespace weft
