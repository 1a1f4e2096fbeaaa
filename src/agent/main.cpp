// SPDX-License-Identifier: Apache-2.0
// athanor-agent: what runs on nodes, until SIGTERM. `daemonset`: the agent of one GPU node;
// `numa-exporter`: what publishes the node's zones (docs/spec/numa.md 9). `gpus` shows what NVML
// reports, and ends.
#include <fmt/core.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "agent/agent.hpp"
#include "agent/nvml/gpu_driver.hpp"
#include "agent/nvml/gpu_report.hpp"
#include "agent/options.hpp"
#include "base/contain.hpp"
#include "base/log.hpp"
#include "base/memory.hpp"
#include "exporter/process.hpp"
#include "kube/text/json.hpp"

namespace athanor::agent {
namespace {

constexpr int kUsage = 2;

std::map<std::string, std::string> environment_of(char** variables) {
  std::map<std::string, std::string> environment;
  for (char** one = variables; *one != nullptr; ++one) {
    const std::string text(*one);
    if (const std::size_t equals = text.find('='); equals != std::string::npos) {
      environment[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  return environment;
}

log::Level level_of(const std::string& name) {
  return name == "error"   ? log::Level::Error
         : name == "warn"  ? log::Level::Warn
         : name == "debug" ? log::Level::Debug
         : name == "trace" ? log::Level::Trace
                           : log::Level::Info;
}

// What is to end the program: SIGTERM, SIGINT, or a file that changed.
class Ending {
 public:
  explicit Ending(std::vector<std::string> files) : files_(std::move(files)) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    stamps_ = stamps();
  }

  // Sleeps; false: the program shall end.
  bool pause(Duration time) {
    const auto whole = std::chrono::floor<std::chrono::seconds>(time);
    const timespec most{.tv_sec = whole.count(),
                        .tv_nsec = std::chrono::nanoseconds(time - whole).count()};
    if (::sigtimedwait(&signals_, nullptr, &most) > 0) {
      log::info("ending");
      ended_ = true;
    } else if (stamps() != stamps_) {
      log::info("ending: a file of --terminate-on-files changed");
      ended_ = true;
    }
    return !ended_;
  }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  using Stamp = std::tuple<bool, ino_t, time_t, long, off_t>;
  [[nodiscard]] std::vector<Stamp> stamps() const {
    std::vector<Stamp> all;
    for (const std::string& file : files_) {
      struct stat seen {};
      const bool there = ::stat(file.c_str(), &seen) == 0;
      all.emplace_back(there, seen.st_ino, seen.st_mtim.tv_sec, seen.st_mtim.tv_nsec, seen.st_size);
    }
    return all;
  }

  std::vector<std::string> files_;
  std::vector<Stamp> stamps_{};
  sigset_t signals_{};
  bool ended_ = false;
};

int show_gpus(const std::string& library, bool json) {
  auto driver = open_nvml(library);
  if (!driver.ok()) {
    fmt::print(stderr, "athanor-agent: {}\n", driver.error().message);
    return 1;
  }
  const auto found = (*driver)->discover();
  if (!found.ok()) {
    fmt::print(stderr, "athanor-agent: {}\n", found.error().message);
    return 1;
  }
  fmt::print("{}", json ? json::print(nvml::report_json(*found), json::Style::Pretty) + "\n"
                        : nvml::report_text(*found));
  return 0;
}

int run(const std::vector<std::string>& arguments,
        const std::map<std::string, std::string>& environment) {
  auto parsed = parse_options(arguments, environment);
  if (!parsed.ok()) {
    fmt::print(stderr, "athanor-agent: {}\n", parsed.error().message);
    constexpr int kBadRequest = 400;
    return parsed.error().code == kBadRequest ? kUsage : 1;
  }
  if (!parsed->text.empty()) {
    fmt::print("{}", parsed->text);
    return 0;
  }
  if (parsed->gpus) {
    return show_gpus(parsed->options.nvml, parsed->json);
  }
  log::configure(level_of(parsed->options.log_level), log::Format::Auto);
  memory::keep_little();
  Ending ending(parsed->options.terminate_on_files);
  Agent agent(std::move(parsed->options), environment);
  const auto started = agent.start([&](Duration time) { return ending.pause(time); });
  if (!started.ok()) {
    fmt::print(stderr, "athanor-agent: {}\n", started.error().message);
    agent.stop();
    return 1;
  }
  while (!ending.ended()) {
    static_cast<void>(ending.pause(std::chrono::seconds(1)));
  }
  agent.stop();
  return 0;
}

constexpr const char* kExporterVerb = "numa-exporter";

}  // namespace
}  // namespace athanor::agent

int main(int count, char** arguments, char** environment) {
  // Exceptions mean a broken invariant or no memory: nothing to go on with.
  try {
    const auto variables = athanor::agent::environment_of(environment);
    const auto wish = variables.find("ATHANOR_BROKEN_INVARIANTS");
    athanor::set_broken_invariants_fatal(wish != variables.end() && wish->second == "fatal");
    if (count > 1 && std::string_view(arguments[1]) == athanor::agent::kExporterVerb) {
      return athanor::exporter::run_exporter_process({arguments + 2, arguments + count},
                                                     ATHANOR_VERSION);
    }
    return athanor::agent::run({arguments + 1, arguments + count}, variables);
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
