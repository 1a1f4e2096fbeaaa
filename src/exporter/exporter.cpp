// SPDX-License-Identifier: Apache-2.0
#include "exporter/exporter.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>

#include "base/mutex.hpp"
#include "client/kubeconfig.hpp"
#include "exporter/endpoint.hpp"
#include "exporter/files.hpp"
#include "exporter/notify_file.hpp"
#include "exporter/ports.hpp"

namespace athanor::exporter {
namespace {

constexpr Duration kStep = std::chrono::milliseconds(50);
constexpr Duration kRetry = std::chrono::seconds(1);

std::string variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read before any thread starts
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

numa::ConfigSources sources_of(const std::vector<std::string>& arguments) {
  numa::ConfigSources sources{
      .arguments = arguments,
      .user_id = fmt::format("{}", ::getuid()),
      .read_file = read_whole,
      .list_files = [](const std::string& path) { return names_in(path, Entries::RegularFiles); }};
  for (const char* name :
       {"NODE_NAME", "HOME", "REFERENCE_NAMESPACE", "REFERENCE_POD_NAME",
        "REFERENCE_CONTAINER_NAME", "TOPOLOGY_MANAGER_POLICY", "TOPOLOGY_MANAGER_SCOPE",
        "PFP_STATUS_FILE", "METRICS_PORT", "METRICS_ADDRESS"}) {
    if (const std::string value = variable(name); !value.empty()) {
      sources.environment.emplace(name, value);
    }
  }
  char host[256] = {};
  if (::gethostname(static_cast<char*>(host), sizeof(host) - 1) == 0) {
    sources.os_hostname = static_cast<const char*>(host);
  }
  return sources;
}

// The latest pages: the loop writes them, the endpoint's threads read them.
struct Shown {
  Mutex mutex{};
  std::string metrics ATHANOR_GUARDED_BY(mutex){};
  bool healthy ATHANOR_GUARDED_BY(mutex) = false;
};

int refuse(const Host& host, const Error& error) {
  host.err("resource-topology-exporter: " + error.message + "\n");
  return 1;
}

class Loop {
 public:
  Loop(const numa::ExporterConfig& config, const Host& host, Ports& ports,
       numa::ExporterProcess& exporter, Shown& shown)
      : config_(config), host_(host), ports_(ports), exporter_(exporter), shown_(shown) {}

  Result<int> run() {
    ATHANOR_TRY(notify_, NotifyFile::open(config_.notify_file));
    // A kubelet that starts is waited for.
    for (auto first = ports_.list(); !first.ok() && !host_.interrupted(); first = ports_.list()) {
      ports_.log("waiting for podresources: " + first.error().message);
      wait(kRetry);
    }
    if (host_.interrupted()) {
      return 0;
    }
    ATHANOR_TRY_VOID(exporter_.start());
    while (!host_.interrupted()) {
      if (exporter_.run_due()) {
        const MutexLock lock(shown_.mutex);
        shown_.metrics = exporter_.metrics().text();
        shown_.healthy = exporter_.healthy();
        if (config_.one_shot) {
          return shown_.healthy ? 0 : 1;
        }
      }
      if (notify_.touched()) {
        exporter_.notified();
      }
      const auto due = exporter_.due();
      const Duration rest = due ? *due - ports_.now() : Duration(kStep);
      if (rest > Duration(0)) {
        ::usleep(static_cast<useconds_t>(std::min(kStep, rest).count()));
      }
    }
    return 0;
  }

 private:
  void wait(Duration time) {
    const Instant end = ports_.now() + time;
    while (!host_.interrupted() && ports_.now() < end && !notify_.touched()) {
      ::usleep(static_cast<useconds_t>(std::min(kStep, end - ports_.now()).count()));
    }
  }

  const numa::ExporterConfig& config_;
  const Host& host_;
  Ports& ports_;
  numa::ExporterProcess& exporter_;
  Shown& shown_;
  NotifyFile notify_{};
};

// Prints what the flags ask for; nullopt: the process goes on.
std::optional<int> print_and_end(const numa::LoadedConfig& loaded, const Host& host) {
  if (loaded.dump == numa::Dump::SeedJson) {
    host.out(numa::dump_json(loaded));
    return 0;
  }
  if (loaded.dump != numa::Dump::None) {
    (loaded.dump == numa::Dump::Log ? host.err : host.out)(numa::dump_text(loaded));
    if (loaded.dump == numa::Dump::PrintAndExit) {
      return 0;
    }
  }
  return std::nullopt;
}

Result<std::unique_ptr<client::Connection>> connect(const numa::ExporterConfig& config) {
  ATHANOR_TRY(const client::ClusterConfig cluster,
              client::resolve_cluster(
                  {.path = config.kubeconfig, .environment = client::kubeconfig_environment()}));
  return client::Connection::open(cluster);
}

Result<int> publish(const numa::ExporterConfig& config, const Host& host) {
  ATHANOR_TRY(auto connection, connect(config));
  Ports ports(config, std::move(connection), variable("PFP_STATUS_DUMP"), host.err);
  if (!config.tls.cipher_suites.empty()) {
    ports.log(
        "--metrics-tls-cipher-suites: ECDHE with AES-GCM or ChaCha20 is used whatever it says");
  }
  numa::ExporterProcess exporter(
      config, ports,
      config.pod_readiness ? Key{variable("REFERENCE_NAMESPACE"), variable("REFERENCE_POD_NAME")}
                           : Key{});
  Shown shown;
  ATHANOR_TRY(const auto endpoint,
              ExporterEndpoint::start(config, {.metrics =
                                                   [&shown] {
                                                     const MutexLock lock(shown.mutex);
                                                     return shown.metrics;
                                                   },
                                               .healthy =
                                                   [&shown] {
                                                     const MutexLock lock(shown.mutex);
                                                     return shown.healthy;
                                                   }}));
  if (endpoint) {
    ports.log("metrics and health on " + endpoint->address());
  }
  return Loop(config, host, ports, exporter, shown).run();
}

}  // namespace

int run_exporter(const std::vector<std::string>& arguments, const Host& host) {
  const numa::ConfigSources sources = sources_of(arguments);
  auto loaded = numa::load_config(sources);
  if (!loaded.ok()) {
    return refuse(host, loaded.error());
  }
  if (loaded->help || loaded->version) {
    host.out(loaded->help ? numa::exporter_usage() : host.version + "\n");
    return 0;
  }
  if (const auto completed = numa::complete_policy(*loaded, sources); !completed.ok()) {
    return refuse(host, completed.error());
  }
  for (const std::string& warning : loaded->warnings) {
    host.err("warning: " + warning + "\n");
  }
  if (const auto code = print_and_end(*loaded, host)) {
    return *code;
  }
  if (const auto ready = numa::check_readiness(loaded->config, sources); !ready.ok()) {
    return refuse(host, ready.error());
  }
  const auto code = publish(loaded->config, host);
  return code.ok() ? *code : refuse(host, code.error());
}

}  // namespace athanor::exporter
