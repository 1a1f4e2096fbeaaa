// SPDX-License-Identifier: Apache-2.0
// The verbs that stand in for Kubernetes' programs: athanor apiserver, athanor etcd, and
// athanor envtest, which puts both where test suites look for them.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/log.hpp"
#include "base/memory.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/ending.hpp"
#include "cli/session/verbs.hpp"
#include "embedded/lab/serving/bare_server.hpp"
#include "embedded/lab/serving/etcd_stand_in.hpp"

namespace athanor::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kDebugVerbosity = 4;

// As Kubernetes' programs say it.
int refuse(const Error& error) {
  Terminal(STDERR_FILENO).print(fmt::format("Error: {}\n", error.message));
  return 1;
}

// The first kubectl of PATH that is not this program.
std::string find_kubectl(const fs::path& self) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread writes the environment
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, end)) / "kubectl";
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::error_code failure;
    const fs::path real = fs::canonical(candidate, failure);
    if (!failure && real != self && ::access(real.c_str(), X_OK) == 0) {
      return real.string();
    }
  }
  return {};
}

// Replaces what is there, so that a second run finds its own links.
Result<void> link(const fs::path& target, const fs::path& name) {
  std::error_code failure;
  if (const auto there = fs::symlink_status(name, failure);
      fs::exists(there) && !fs::is_symlink(there)) {
    return Error::conflict(
        fmt::format("{} is there and is no link: it is left alone", name.string()));
  }
  fs::remove(name, failure);
  fs::create_symlink(target, name, failure);
  if (failure) {
    return Error::unavailable(fmt::format("cannot make {}: {}", name.string(), failure.message()));
  }
  return {};
}

Result<std::string> write_links(const std::string& directory) {
  std::error_code failure;
  const fs::path self = fs::read_symlink("/proc/self/exe", failure);
  if (!failure) {
    fs::create_directories(directory, failure);
  }
  const fs::path folder = failure ? fs::path() : fs::canonical(directory, failure);
  if (failure) {
    return Error::unavailable(fmt::format("cannot make {}: {}", directory, failure.message()));
  }
  const std::string kubectl = find_kubectl(self);
  ATHANOR_TRY_VOID(link(self, folder / "kube-apiserver"));
  ATHANOR_TRY_VOID(link(self, folder / "etcd"));
  ATHANOR_TRY_VOID(link(kubectl.empty() ? self : fs::path(kubectl), folder / "kubectl"));
  return folder.string();
}

// A word that a POSIX shell reads as itself.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@%:,=";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) {
    return text;
  }
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

constexpr Duration kStandInEndTime = std::chrono::seconds(6);

}  // namespace

int run(const ApiServerOptions& options) {
  log::configure(options.verbosity >= kDebugVerbosity ? log::Level::Debug : log::Level::Info,
                 log::Format::Auto);
  memory::keep_little();
  EndSignals ending;
  for (const std::string& note : options.notes) {
    log::info(note);
  }
  auto server = lab::BareServer::start(options.server);
  if (!server.ok()) {
    return refuse(server.error());
  }
  Terminal(STDOUT_FILENO).print(fmt::format("listening {}\n", (*server)->address()));
  ending.wait();
  const EndGuard guard(options.shutdown_delay + kStandInEndTime);
  (*server)->begin_shutdown();
  std::this_thread::sleep_for(options.shutdown_delay);
  (*server)->stop();
  server->reset();
  return 0;
}

int run(const EtcdOptions& options) {
  EndSignals ending;
  const auto endpoint = lab::EtcdStandIn::start(options.host, options.port);
  if (!endpoint.ok()) {
    return refuse(endpoint.error());
  }
  Terminal(STDOUT_FILENO)
      .print(fmt::format("listening http://{}:{}\n", options.host, (*endpoint)->port()));
  ending.wait();
  return 0;
}

int run(const EnvtestOptions& options) {
  const auto folder = write_links(options.directory);
  if (!folder.ok()) {
    return fail(folder.error());
  }
  Terminal(STDOUT_FILENO).print(fmt::format("export KUBEBUILDER_ASSETS={}\n", shell_word(*folder)));
  return 0;
}

}  // namespace athanor::cli
