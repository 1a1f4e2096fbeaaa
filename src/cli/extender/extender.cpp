// SPDX-License-Identifier: Apache-2.0
// athanor extender: caches, election, verbs and health put together, and taken apart in order.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/scheduler_configuration.hpp"
#include "base/environment.hpp"
#include "base/files/text_file.hpp"
#include "base/log.hpp"
#include "base/memory.hpp"
#include "base/mutex.hpp"
#include "cli/controllers/election.hpp"
#include "cli/controllers/status_server.hpp"
#include "cli/flags/environment.hpp"
#include "cli/flags/extender_flags.hpp"
#include "cli/flags/log_flags.hpp"
#include "cli/flags/tls_flags.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/ending.hpp"
#include "cli/session/verbs.hpp"
#include "client/api_client.hpp"
#include "client/cluster_config.hpp"
#include "cluster/cluster_driver.hpp"
#include "cluster/leadership.hpp"
#include "cluster/platform_tls.hpp"
#include "extender/cache_operator.hpp"
#include "extender/serving/server.hpp"
#include "extender/serving/service.hpp"
#include "kube/text/yaml.hpp"
#include "product/list.hpp"
#include "runtime/metrics/metrics.hpp"
#include "runtime/rights/rbac.hpp"
#include "runtime/view/tls_profile.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli {
namespace {

using Variables = std::map<std::string, std::string>;
using Hooks = std::vector<const SchedulingHooks*>;

// The systems that are asked for; errors name those there are.
Result<std::vector<const System*>> chosen_systems(const ExtenderOptions& options) {
  std::vector<const System*> chosen;
  std::string known;
  for (const System* system : all_systems()) {
    if (system->scheduling.empty() || system->stand_in) {
      continue;  // a stock scheduler does itself what stand-ins do
    }
    known += (known.empty() ? "" : ", ") + std::string(system->name);
    if (options.systems.empty() ||
        std::ranges::find(options.systems, system->name) != options.systems.end()) {
      chosen.push_back(system);
    }
  }
  for (const std::string& name : options.systems) {
    if (std::ranges::find(chosen, name, &System::name) == chosen.end()) {
      return wrong_usage(
          fmt::format("--systems: \"{}\" schedules nothing; known are {}", name, known));
    }
  }
  return chosen;
}

Hooks hooks_of(const std::vector<const System*>& systems) {
  Hooks hooks;
  for (const System* system : systems) {
    hooks.insert(hooks.end(), system->scheduling.begin(), system->scheduling.end());
  }
  return hooks;
}

int print_configuration(const ExtenderOptions& options, const Hooks& hooks) {
  SchedulerConfigurationOptions wanted{
      .url = options.url.empty() ? "https://athanor-extender.das-operator.svc:9443" : options.url,
      .ca_file = options.ca_file,
      .profiles = options.profiles};
  const bool http = wanted.url.starts_with("http://") || wanted.url.starts_with("https://");
  if (!http || wanted.url.find('/', wanted.url.find("://") + 3) != std::string::npos) {
    return fail(wrong_usage("--url: \"" + wanted.url + "\" is not http(s)://HOST:PORT"));
  }
  bool every_pod = !options.zones_for.empty();
  for (const SchedulingHooks* one : hooks) {
    if (options.profiles.empty()) {
      wanted.profiles.insert(wanted.profiles.end(), one->schedulers.begin(), one->schedulers.end());
    }
    if (one->resources != nullptr) {
      std::ranges::move(one->resources(), std::back_inserter(wanted.resources));
    } else if (options.systems.size() == 1) {
      every_pod = true;  // zones alone
    }
  }
  if (options.profiles.empty() && !options.zones_for.empty()) {
    wanted.profiles.push_back(options.zones_for);
  }
  if (every_pod) {
    wanted.resources.clear();
  }
  Terminal(STDOUT_FILENO).print(yaml::print(scheduler_configuration(wanted)));
  return 0;
}

// Rights to ask the API server who reads the metrics.
void add_reviews(Value& role) {
  for (const auto& [group, resource] :
       {std::pair("authentication.k8s.io", "tokenreviews"),
        std::pair("authorization.k8s.io", "subjectaccessreviews")}) {
    role.member("rules").push_back(Value::object({{"apiGroups", Value::list({group})},
                                                  {"resources", Value::list({resource})},
                                                  {"verbs", Value::list({"create"})}}));
  }
}

int print_rbac(const ExtenderOptions& options, const Hooks& hooks) {
  const extender::Watching watching(hooks, options.preemption == "on");
  std::vector<const Operator*> operators{&watching.get(), &cluster::platform_tls_operator()};
  for (const SchedulingHooks* one : hooks) {
    operators.insert(operators.end(), one->beside.begin(), one->beside.end());
  }
  std::string text;
  for (Value& object :
       runtime::rbac_objects(operators, {.name = "athanor-extender",
                                        .install_namespace = options.lease_namespace.empty()
                                                                 ? "das-operator"
                                                                 : options.lease_namespace,
                                        .lease = options.leader_elect ? options.lease_name : ""})) {
    if (options.metrics_secure && object["kind"].as_string() == "ClusterRole") {
      add_reviews(object);
    }
    text += (text.empty() ? "" : "---\n") + yaml::print(object);
  }
  Terminal(STDOUT_FILENO).print(text);
  return 0;
}

class Extender {
 public:
  Extender(const ExtenderOptions& options, std::vector<const System*> systems)
      : options_(options),
        variables_(environment_map()),
        systems_(std::move(systems)),
        hooks_(hooks_of(systems_)),
        watching_(hooks_, options.preemption == "on"),
        clock_(wall_clock()),
        entropy_(system_entropy()) {}

  Result<void> start() {
    ATHANOR_TRY(client::ClusterConfig config, client::resolve_cluster({.path = options_.kubeconfig,
                                                                       .context = options_.context,
                                                                       .environment = variables_}));
    own_namespace_ = config.ns;
    ATHANOR_TRY_VOID(read_settings());
    client::ApiClientOptions limits{.qps = options_.qps, .burst = options_.burst};
    limits.observe = [this](const client::ApiRequest& /*request*/, int status, Duration /*took*/) {
      if (status != 0) {
        last_answer_ = clock_->now().time_since_epoch().count();
      }
    };
    ATHANOR_TRY(client_, client::ApiClient::open(std::move(config), *clock_, *entropy_, limits));
    ATHANOR_TRY_VOID(make_leadership());
    ATHANOR_TRY_VOID(make_driver());
    ATHANOR_TRY_VOID(serve());
    started_ = true;
    driver_->start();
    if (leadership_) {
      leadership_->start();
    }
    return {};
  }

  // Takes over a certificate that changed.
  void look() {
    if (options_.certificate.empty() || !certificate_changed()) {
      return;
    }
    if (const auto used = use_certificate(); !used.ok()) {
      log::warn("the new certificate cannot be used", {{"error", used.error().message}});
    }
  }

  int stop() {
    server_.reset();
    {
      const MutexLock lock(status_mutex_);
      status_server_.reset();
    }
    if (started_ && !lost_) {
      driver_->drain(std::chrono::seconds(5));
      if (leadership_) {
        leadership_->release(std::chrono::seconds(5));
      }
    }
    if (driver_) {
      driver_->stop();
    }
    if (client_) {
      client_->stop();
    }
    return lost_ ? 1 : 0;
  }

 private:
  Result<void> read_settings() {
    ATHANOR_TRY(config_, athanor::read_settings(
                             systems_, {.variables = variables_, .read_file = read_text_file}));
    if (!variable(variables_, "PFP_STATUS_DUMP").empty()) {
      log::warn("PFP_STATUS_DUMP has no effect: the extender writes no status files");
    }
    if (!options_.zones_for.empty()) {
      config_["numa"]
          .set("extenderProfile", options_.zones_for)
          .set("extenderPreemption", options_.preemption == "on")
          .set("extenderScoring", options_.zones_scoring)
          .set("extenderCache", options_.zones_cache);
    }
    return {};
  }

  Result<void> make_leadership() {
    if (!options_.leader_elect) {
      return {};
    }
    const std::string home = variable(variables_, "POD_NAMESPACE");
    ATHANOR_TRY(auto election,
                election_of({!options_.lease_namespace.empty() ? options_.lease_namespace
                             : !home.empty()                   ? home
                                                               : own_namespace_,
                             options_.lease_name},
                            {.lease_duration = options_.lease_duration,
                             .renew_deadline = options_.renew_deadline,
                             .retry_period = options_.retry_period},
                            variables_, *entropy_));
    leadership_ = std::make_unique<cluster::Leadership>(
        client_, election, *clock_,
        cluster::LeadershipListeners{.won = [this] { driver_->lead(); },
                                     .lost =
                                         [this](const std::string& /*why*/) {
                                           lost_ = true;
                                           ::kill(::getpid(), SIGTERM);
                                         }});
    return {};
  }

  Result<void> make_driver() {
    constexpr std::chrono::seconds kShortest{1};
    ATHANOR_TRY(const Duration look, duration_of("--platform-look", options_.platform_look));
    if (look < kShortest) {
      return wrong_usage("--platform-look: at least 1s");
    }
    executors_.on_act(std::string(extender::kSightedVerb),
                      [this](const std::string& /*id*/, const Value& /*args*/,
                             const runtime::Executors::Completion& done) {
                        service_->on_first_lists();
                        log::info("the cluster is seen");
                        done(Value::object());
                      });
    executors_.take_log_levels();
    std::vector<const Operator*> operators{&watching_.get()};
    for (const SchedulingHooks* one : hooks_) {
      operators.insert(operators.end(), one->beside.begin(), one->beside.end());
    }
    if (follows_platform()) {
      operators.push_back(&cluster::platform_tls_operator());
    }
    driver_ = std::make_unique<cluster::ClusterDriver>(
        operators, cluster::DriverOptions{.client = client_,
                                          .clock = clock_.get(),
                                          .entropy = entropy_.get(),
                                          .executors = &executors_,
                                          .metrics = &metrics_,
                                          .instruments = instruments(),
                                          .leadership = leadership_.get(),
                                          .config = config_,
                                          .journal = &platform_tls_,
                                          .platform_look = look});
    service_ = std::make_unique<extender::Service>(extender::ServiceOptions{
        .client = client_,
        .clock = clock_.get(),
        .leadership = leadership_.get(),
        .metrics = &metrics_,
        .hooks = hooks_,
        .indexes = watching_.get().indexes,
        .preempts = options_.preemption == "on",
        .inspect = [this](std::function<void(const View&, Instant)> reader) {
          driver_->inspect(std::move(reader));
        }});
    return {};
  }

  [[nodiscard]] std::vector<const Instruments*> instruments() const {
    std::vector<const Instruments*> all;
    for (const System* system : systems_) {
      if (system->instruments != nullptr) {
        all.push_back(system->instruments);
      }
    }
    for (const SchedulingHooks* one : hooks_) {
      if (one->instruments != nullptr) {
        all.push_back(one->instruments);
      }
    }
    return all;
  }

  Result<void> serve() {
    warn_of_problems(options_.tls);
    const bool in_pod = variables_.contains("KUBERNETES_SERVICE_HOST");
    const std::string host = in_pod ? "" : "127.0.0.1";
    ATHANOR_TRY(server_,
                extender::Server::start(
                    {.address = options_.address.empty() ? host + ":9443" : options_.address,
                     .tls = options_.certificate.empty() ? nullptr : tls_,
                     .decide =
                         [this](extender::Verb verb, const Value& body,
                                const extender::ServerOptions::Answer& answer) {
                           service_->ask(verb, body, answer);
                         },
                     .clock = clock_.get(),
                     .metrics = &metrics_}));
    if (!options_.certificate.empty()) {
      ATHANOR_TRY_VOID(tls_->limit(options_.tls));
      static_cast<void>(certificate_changed());
      ATHANOR_TRY_VOID(use_certificate());
    }
    ATHANOR_TRY(status_server_,
                StatusServer::open(
                    {.metrics_address = options_.metrics_address.empty() ? host + ":8080"
                                                                         : options_.metrics_address,
                     .health_address = options_.health_address,
                     .guarded = options_.metrics_secure,
                     .tls = options_.tls,
                     .lease_name = leadership_ ? options_.lease_name : "",
                     .optional = optional_kinds(),
                     .checks = {{.name = "leader", .good = [this] { return service_->ready(); }}},
                     .driver = driver_.get(),
                     .leadership = leadership_.get(),
                     .client = client_.get(),
                     .metrics = &metrics_,
                     .clock = clock_.get(),
                     .last_answer = &last_answer_}));
    log::info("the extender is served",
              {{"address", server_->address()},
               {"scheme", options_.certificate.empty() ? "http" : "https"}});
    return {};
  }

  // A cluster may have slices and no zones, or the other way round, and be no OpenShift.
  [[nodiscard]] std::vector<const Kind*> optional_kinds() const {
    const auto reads = watching_.get().reads;
    std::vector<const Kind*> kinds{reads.begin(), reads.end()};
    kinds.push_back(&kOpenShiftServer);
    return kinds;
  }

  [[nodiscard]] bool follows_platform() const {
    return (!options_.certificate.empty() || options_.metrics_secure) &&
           options_.tls == net::TlsLimits();
  }

  // On the driver's thread.
  void take_profile(const TlsProfile& profile) {
    const net::TlsLimits limits = net::without_unknown(
        {.min_version = profile.min_version, .ciphers = profile.cipher_names()});
    auto limited = tls_->limit(limits);
    const MutexLock lock(status_mutex_);
    if (limited.ok() && status_server_) {
      limited = status_server_->limit(limits);
    }
    if (limited.ok()) {
      log::info("the cluster's TLS profile is followed",
                {{"version", profile.min_version}, {"ciphers", profile.ciphers}});
    } else {
      log::warn("the cluster's TLS profile cannot be followed",
                {{"error", limited.error().message}});
    }
  }

  [[nodiscard]] bool certificate_changed() {
    struct stat seen {};
    if (::stat(options_.certificate.c_str(), &seen) != 0) {
      return false;
    }
    const auto was =
        std::exchange(stamp_, std::tuple(seen.st_ino, seen.st_mtim.tv_sec, seen.st_mtim.tv_nsec));
    return was != stamp_;
  }

  Result<void> use_certificate() {
    ATHANOR_TRY(const std::string certificate, read_text_file(options_.certificate));
    ATHANOR_TRY(const std::string key, read_text_file(options_.key));
    return tls_->use(certificate, key);
  }

  const ExtenderOptions& options_;
  Variables variables_;
  std::vector<const System*> systems_;
  Hooks hooks_;
  extender::Watching watching_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Entropy> entropy_;
  std::string own_namespace_{};
  SystemConfig config_{};
  Metrics metrics_{};
  std::atomic<std::int64_t> last_answer_{0};  // microseconds since 1970
  bool started_ = false;
  std::atomic<bool> lost_{false};
  std::tuple<ino_t, time_t, long> stamp_{};
  const std::shared_ptr<net::ServedTls> tls_ = std::make_shared<net::ServedTls>();
  runtime::Executors executors_{};
  cluster::TlsFollower platform_tls_{
      [this](cluster::TlsFollower::Reader reader) { driver_->inspect(std::move(reader)); },
      [this](const TlsProfile& profile) { take_profile(profile); }};
  std::shared_ptr<client::ApiClient> client_{};
  std::unique_ptr<cluster::Leadership> leadership_{};
  std::unique_ptr<cluster::ClusterDriver> driver_{};
  std::unique_ptr<extender::Service> service_{};
  std::unique_ptr<extender::Server> server_{};
  Mutex status_mutex_{};  // of changes while the driver runs
  std::unique_ptr<StatusServer> status_server_{};
};

}  // namespace

int run(const ExtenderOptions& options) {
  const auto systems = chosen_systems(options);
  if (!systems.ok()) {
    return fail(systems.error());
  }
  if (options.print_configuration) {
    return print_configuration(options, hooks_of(*systems));
  }
  if (options.print_rbac) {
    return print_rbac(options, hooks_of(*systems));
  }
  log::configure(log_level(options.log_level), log_format(options.log_format));
  memory::keep_little();
  EndSignals ending;
  Extender extender(options, *systems);
  if (const auto started = extender.start(); !started.ok()) {
    extender.stop();
    return fail(started.error());
  }
  while (true) {
    if (const auto signal = ending.wait_for(std::chrono::seconds(1))) {
      log::info("ending", {{"signal", *signal}});
      break;
    }
    extender.look();
  }
  return extender.stop();
}

}  // namespace athanor::cli
