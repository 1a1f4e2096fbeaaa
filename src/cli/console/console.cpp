// SPDX-License-Identifier: Apache-2.0
// athanor console.
#include "console/console.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "cli/console/lab_console.hpp"
#include "cli/flags/environment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/ending.hpp"
#include "cli/session/session.hpp"
#include "cli/session/verbs.hpp"
#include "cli/simulate/fleet_question.hpp"
#include "client/kubeconfig.hpp"

namespace athanor::cli {
namespace {

constexpr Duration kConsoleEnd = std::chrono::seconds(5);

Result<std::unique_ptr<console::Console>> start(const ConsoleOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  const client::ClusterConfig config = session.connection().config();
  console::Settings initial;
  if (!config.jobs_ns.empty()) {
    initial.jobs_ns = config.jobs_ns;
  }
  auto environment = environment_map();
  if (!options.target.ns.empty()) {
    environment["FOURNOS_NAMESPACE"] = options.target.ns;
  }
  if (!options.address.empty()) {
    environment["CONSOLE_ADDR"] = options.address;
  }
  if (options.read_only) {
    environment["CONSOLE_READ_ONLY"] = "true";
  }
  ATHANOR_TRY(console::Settings settings, console::read_settings(environment, std::move(initial)));
  if (options.target.verbosity == 0) {
    log::configure(settings.log_level, log::Format::Auto);
  }
  return console::Console::start({.settings = std::move(settings),
                                  .cluster = config,
                                  .data = options.data,
                                  .web = options.web,
                                  .version = ATHANOR_VERSION,
                                  .simulator = answer_question});
}

}  // namespace

Result<std::unique_ptr<console::Console>> start_lab_console(const LabConsole& lab) {
  ATHANOR_TRY(client::ClusterConfig config,
              client::resolve_cluster({.path = lab.kubeconfig, .context = {}, .environment = {}}));
  auto environment = environment_map();
  // The lab's console is its owner's own: it listens for this machine alone.
  for (const char* outer :
       {"CONSOLE_AUTH", "CONSOLE_NAMESPACES", "FOURNOS_NAMESPACE", "DATABASE_URL", "LOG_LEVEL"}) {
    environment.erase(outer);
  }
  environment["CONSOLE_ADDR"] = fmt::format("127.0.0.1:{}", lab.port);
  ATHANOR_TRY(console::Settings settings,
              console::read_settings(environment, {.jobs_ns = lab.jobs_ns}));
  return console::Console::start({.settings = std::move(settings),
                                  .cluster = std::move(config),
                                  .data = lab.data,
                                  .version = ATHANOR_VERSION,
                                  .embedded = true,
                                  .simulator = answer_question});
}

int run(const ConsoleOptions& options) {
  log::configure(options.target.verbosity > 0 ? log::Level::Debug : log::Level::Info,
                 log::Format::Auto);
  EndSignals ending;
  auto running = start(options);
  if (!running.ok()) {
    return fail(running.error());
  }
  const std::string url = (*running)->url();
  const std::string address = (*running)->address();
  const std::string listens =
      url.find(address) == std::string::npos ? fmt::format(" (listens at {})", address) : "";
  Terminal(STDOUT_FILENO).print(fmt::format("console: {}{}\n", url, listens));
  log::info("ending the console", {{"signal", ending.wait()}});
  const EndGuard guard(kConsoleEnd);
  running->reset();
  return 0;
}

}  // namespace athanor::cli
