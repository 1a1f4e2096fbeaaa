// SPDX-License-Identifier: Apache-2.0
#include "cli/numa/exporter.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>

#include "api/builtin.hpp"
#include "base/clock.hpp"
#include "cli/interrupt.hpp"
#include "cli/numa/exporter_endpoint.hpp"
#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "client/unix_grpc.hpp"
#include "kube/text/json.hpp"
#include "systems/numa/exporter/config.hpp"
#include "systems/numa/exporter/podresources_wire.hpp"
#include "systems/numa/exporter/process.hpp"
#include "systems/numa/kinds.hpp"
#include "systems/numa/scheduling/status_file.hpp"

namespace athanor::cli {
namespace {

constexpr Duration kStep = std::chrono::milliseconds(50);
constexpr Duration kRetry = std::chrono::seconds(1);

// nullopt: it is not there.
Result<std::optional<std::string>> read_whole(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) {
    return std::optional<std::string>();
  }
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, none)) {
    return Error::bad_request(path + ": cannot be read");
  }
  return std::optional<std::string>(
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
}

std::vector<std::string> names_in(const std::string& path, bool files_alone) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(path, none)) {
    if (!files_alone || entry.is_regular_file(none)) {
      names.push_back(entry.path().filename().string());
    }
  }
  return names;
}

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
      .list_files = [](const std::string& path) { return names_in(path, /*files_alone=*/true); }};
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

class Ports final : public numa::ExporterPorts {
 public:
  Ports(const numa::ExporterConfig& config, Session session)
      : config_(config), session_(std::move(session)), dump_(variable("PFP_STATUS_DUMP")) {
    std::error_code none;
    if (!dump_.empty() && !std::filesystem::is_directory(dump_, none)) {
      log("PFP_STATUS_DUMP: " + dump_ + " is no folder, no status files are written");
      dump_.clear();
    }
  }

  [[nodiscard]] Instant now() override { return clock_->now(); }

  Result<std::vector<numa::PodResources>> list() override {
    if (is_fake()) {
      ATHANOR_TRY(const Value value, fake_answer(numa::kFakeList));
      return numa::read_list(value);
    }
    ATHANOR_TRY(const std::string bytes, call(numa::kListMethod));
    return numa::decode_list(bytes);
  }
  Result<numa::AllocatableResources> allocatable() override {
    if (is_fake()) {
      ATHANOR_TRY(const Value value, fake_answer(numa::kFakeAllocatable));
      return numa::read_allocatable(value);
    }
    ATHANOR_TRY(const std::string bytes, call(numa::kAllocatableMethod));
    return numa::decode_allocatable(bytes);
  }
  Result<numa::Hardware> hardware() override {
    const std::string root = config_.sysfs_root + "/";
    return numa::read_hardware(
        {.read = [root](const std::string& path) -> std::optional<std::string> {
           auto text = read_whole(root + path);
           return text.ok() ? *text : std::nullopt;
         },
         .list =
             [root](const std::string& path) {
               return names_in(root + path, /*files_alone=*/false);
             }});
  }

  Result<Object> get(const Kind& kind, const Key& key) override {
    return session_.get(kind, key.ns, key.name);
  }
  Result<void> create_topology(const Value& body) override {
    return send({.method = "POST", .path = Session::path(numa::kTopologyKind, ""), .body = body});
  }
  Result<void> update_topology(const Value& body) override {
    return send({.method = "PUT",
                 .path = Session::path(numa::kTopologyKind, "", body["metadata"]["name"].str()),
                 .body = body});
  }
  Result<void> patch_topology(const std::string& name, const Value& patch) override {
    return send({.method = "PATCH",
                 .path = Session::path(numa::kTopologyKind, "", name),
                 .body = patch,
                 .content_type = "application/merge-patch+json"});
  }
  // The role grants update of pods/status alone.
  Result<void> write_pod_conditions(const Key& pod, const Value& conditions) override {
    ATHANOR_TRY(const Object live, session_.get(api::kPod, pod.ns, pod.name));
    Value body = live.body();
    body.set_path({"status", "conditions"}, conditions);
    return send({.method = "PUT",
                 .path = Session::path(api::kPod, pod.ns, pod.name) + "/status",
                 .body = std::move(body)});
  }
  Result<std::set<Key>> ended_pods(const std::string& node) override {
    ATHANOR_TRY(const std::vector<Object> pods, session_.list(api::kPod, ""));
    std::set<Key> ended;
    for (const Object& pod : pods) {
      const std::string_view phase = pod.status()["phase"].as_string();
      if (pod.spec()["nodeName"].as_string() == node &&
          (phase == "Succeeded" || phase == "Failed")) {
        ended.insert(pod.key());
      }
    }
    return ended;
  }

  void write_status(const std::string& node, const std::vector<Key>& pods,
                    const std::string& fingerprint) override {
    const numa::StatusSample sample{
        .computed = fingerprint, .pods = pods, .node = node, .recorded = now()};
    if (!dump_.empty()) {
      const std::string name = numa::status_file_name(node);
      const auto before = read_whole(dump_ + "/" + name);
      const auto text =
          numa::add_sample(before.ok() ? before->value_or("") : std::string(), sample);
      replace_file(dump_, name, text.ok() ? *text : json::print(numa::to_value(sample)));
    }
    if (const std::string& path = config_.fingerprint_status_file; !path.empty()) {
      const std::filesystem::path file(path);
      replace_file(file.parent_path().string(), file.filename().string(),
                   json::print(numa::to_value(sample)));
    }
  }
  void log(std::string_view line) override {
    err_.print(fmt::format("{} {}\n", format_time(now()), line));
  }

 private:
  [[nodiscard]] bool is_fake() const { return config_.podresources.starts_with("fake://"); }

  Result<Value> fake_answer(std::string_view file) const {
    const std::string path =
        fmt::format("{}/{}", config_.podresources.substr(std::string_view("fake://").size()), file);
    ATHANOR_TRY(const std::optional<std::string> text, read_whole(path));
    if (!text) {
      return Error::unavailable(path + ": not there");
    }
    auto value = json::parse(*text);
    return value.ok() ? value : value.error().with_context(path);
  }

  [[nodiscard]] Result<std::string> call(std::string_view method) const {
    constexpr std::string_view kScheme = "unix://";
    const std::string& source = config_.podresources;
    return client::call_unix_grpc(
        source.starts_with(kScheme) ? source.substr(kScheme.size()) : source, std::string(method),
        "");
  }

  Result<void> send(const client::Call& request) {
    const auto answer = session_.connection().call(request);
    return answer.ok() ? Result<void>() : answer.error();
  }

  // Whoever reads never sees half a file.
  void replace_file(const std::string& folder, const std::string& name, const std::string& text) {
    const std::string path = (folder.empty() ? std::string(".") : folder) + "/";
    {
      std::ofstream file(path + "__" + name, std::ios::binary | std::ios::trunc);
      file << text;
    }
    std::error_code failed;
    std::filesystem::rename(path + "__" + name, path + name, failed);
    if (failed) {
      log(fmt::format("status file {}{}: {}", path, name, failed.message()));
    }
  }

  const numa::ExporterConfig& config_;
  Session session_;
  std::string dump_;
  std::unique_ptr<Clock> clock_ = wall_clock();
  Terminal err_{STDERR_FILENO};
};

// A change of the file's times is an event. Created empty where it is absent.
class NotifyFile {
 public:
  static Result<NotifyFile> open(const std::string& path) {
    NotifyFile file;
    file.path_ = path;
    if (path.empty()) {
      return file;
    }
    struct stat state {};
    if (::stat(path.c_str(), &state) != 0) {
      const std::ofstream made(path);
      if (!made || ::stat(path.c_str(), &state) != 0) {
        return Error::bad_request(path + ": the notify file cannot be made");
      }
    }
    if (!S_ISREG(state.st_mode) || state.st_size != 0) {
      return Error::bad_request(path + ": the notify file must be an empty regular file");
    }
    file.last_ = stamp_of(state);
    return file;
  }

  bool touched() {
    struct stat state {};
    if (path_.empty() || ::stat(path_.c_str(), &state) != 0 || stamp_of(state) == last_) {
      return false;
    }
    last_ = stamp_of(state);
    return true;
  }

 private:
  static std::int64_t stamp_of(const struct stat& state) {
    constexpr std::int64_t kNanos = 1'000'000'000;
    return state.st_ctim.tv_sec * kNanos + state.st_ctim.tv_nsec;
  }

  std::string path_{};
  std::int64_t last_ = 0;
};

// What the endpoint's threads read.
struct Shown {
  std::mutex mutex{};
  std::string metrics{};
  bool healthy = false;
};

int refuse(const Error& error) {
  Terminal(STDERR_FILENO).print("resource-topology-exporter: " + error.message + "\n");
  return 1;
}

Result<int> run_loop(const numa::ExporterConfig& config, Ports& ports,
                     numa::ExporterProcess& exporter, Shown& shown) {
  const Interrupt interrupt;
  ATHANOR_TRY(NotifyFile notify, NotifyFile::open(config.notify_file));
  const auto wait = [&](Duration time) {
    const Instant end = ports.now() + time;
    while (!interrupt.came() && ports.now() < end && !notify.touched()) {
      ::usleep(static_cast<useconds_t>(std::min(kStep, end - ports.now()).count()));
    }
  };
  // A kubelet that starts is waited for.
  for (auto first = ports.list(); !first.ok() && !interrupt.came(); first = ports.list()) {
    ports.log("waiting for podresources: " + first.error().message);
    wait(kRetry);
  }
  if (interrupt.came()) {
    return 0;
  }
  ATHANOR_TRY_VOID(exporter.start());
  while (!interrupt.came()) {
    if (exporter.run_due()) {
      const std::lock_guard lock(shown.mutex);
      shown.metrics = exporter.metrics().text();
      shown.healthy = exporter.healthy();
      if (config.one_shot) {
        return shown.healthy ? 0 : 1;
      }
    }
    if (notify.touched()) {
      exporter.notified();
    }
    const auto due = exporter.due();
    const Duration rest = due ? *due - ports.now() : Duration(kStep);
    if (rest > Duration(0)) {
      ::usleep(static_cast<useconds_t>(std::min(kStep, rest).count()));
    }
  }
  return 0;
}

}  // namespace

int run_exporter(const std::vector<std::string>& arguments) {
  const Terminal out(STDOUT_FILENO);
  const numa::ConfigSources sources = sources_of(arguments);
  auto loaded = numa::load_config(sources);
  if (!loaded.ok()) {
    return refuse(loaded.error());
  }
  if (loaded->help || loaded->version) {
    out.print(loaded->help ? numa::exporter_usage() : ATHANOR_VERSION "\n");
    return 0;
  }
  if (const auto completed = numa::complete_policy(*loaded, sources); !completed.ok()) {
    return refuse(completed.error());
  }
  for (const std::string& warning : loaded->warnings) {
    Terminal(STDERR_FILENO).print("warning: " + warning + "\n");
  }
  if (loaded->dump == numa::Dump::SeedJson) {
    out.print(numa::dump_json(*loaded));
    return 0;
  }
  if (loaded->dump != numa::Dump::None) {
    (loaded->dump == numa::Dump::Log ? Terminal(STDERR_FILENO) : out)
        .print(numa::dump_text(*loaded));
    if (loaded->dump == numa::Dump::PrintAndExit) {
      return 0;
    }
  }
  const numa::ExporterConfig& config = loaded->config;
  if (const auto ready = numa::check_readiness(config, sources); !ready.ok()) {
    return refuse(ready.error());
  }
  auto session = Session::open({.kubeconfig = config.kubeconfig});
  if (!session.ok()) {
    return refuse(session.error());
  }
  Ports ports(config, *std::move(session));
  if (!config.tls.cipher_suites.empty()) {
    ports.log(
        "--metrics-tls-cipher-suites: ECDHE with AES-GCM or ChaCha20 is used whatever it says");
  }
  numa::ExporterProcess exporter(
      config, ports,
      config.pod_readiness ? Key{variable("REFERENCE_NAMESPACE"), variable("REFERENCE_POD_NAME")}
                           : Key{});
  Shown shown;
  const auto endpoint =
      ExporterEndpoint::start(config, {.metrics =
                                           [&shown] {
                                             const std::lock_guard lock(shown.mutex);
                                             return shown.metrics;
                                           },
                                       .healthy =
                                           [&shown] {
                                             const std::lock_guard lock(shown.mutex);
                                             return shown.healthy;
                                           }});
  if (!endpoint.ok()) {
    return refuse(endpoint.error());
  }
  if (*endpoint) {
    ports.log("metrics and health on " + (*endpoint)->address());
  }
  const auto code = run_loop(config, ports, exporter, shown);
  return code.ok() ? *code : refuse(code.error());
}

}  // namespace athanor::cli
