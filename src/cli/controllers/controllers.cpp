// SPDX-License-Identifier: Apache-2.0
// athanor controllers: the parts of the production world put together, and taken apart in order.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <optional>

#include "api/describe.hpp"
#include "base/ascii.hpp"
#include "base/condition_variable.hpp"
#include "base/environment.hpp"
#include "base/files/text_file.hpp"
#include "base/log.hpp"
#include "base/memory.hpp"
#include "base/mutex.hpp"
#include "cli/controllers/election.hpp"
#include "cli/controllers/operator_list.hpp"
#include "cli/controllers/record_file.hpp"
#include "cli/controllers/stand_in.hpp"
#include "cli/controllers/status_server.hpp"
#include "cli/flags/controllers_flags.hpp"
#include "cli/flags/environment.hpp"
#include "cli/flags/log_flags.hpp"
#include "cli/flags/setting_flags.hpp"
#include "cli/flags/tls_flags.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/ending.hpp"
#include "cli/session/verbs.hpp"
#include "client/api_client.hpp"
#include "client/cluster_config.hpp"
#include "client/connection.hpp"
#include "client/http/async_http.hpp"
#include "client/target_probe.hpp"
#include "client/webhook_poster.hpp"
#include "cluster/cluster_driver.hpp"
#include "cluster/leadership.hpp"
#include "cluster/platform_tls.hpp"
#include "cluster/trace_export.hpp"
#include "embedded/lab/pod_executors.hpp"
#include "kube/text/text.hpp"
#include "net/serving/served_tls.hpp"
#include "product/hooked.hpp"
#include "product/list.hpp"
#include "runtime/journal/record.hpp"
#include "runtime/metrics/metrics.hpp"
#include "runtime/view/tls_profile.hpp"
#include "runtime/view/usage.hpp"
#include "webhook/host.hpp"

namespace athanor::cli {
namespace {

using Variables = std::map<std::string, std::string>;

// Of the levels that the systems' settings name (docs/spec/fournos.md 3, docs/spec/hearth.md 3).
std::string level_name(const ControllersOptions& options, const Variables& variables) {
  if (!options.log_level.empty()) {
    return options.log_level;
  }
  const Environment environment(variables);
  for (const System* system : all_systems()) {
    if (const std::string* level = environment.find(system->log_level_variable)) {
      const std::string word = lower(*level);
      return word == "debug"                                            ? "debug"
             : word == "warning" || word == "warn"                      ? "warn"
             : word == "error" || word == "critical" || word == "fatal" ? "error"
                                                                        : "info";
    }
  }
  return "info";
}

// "http://HOST:PORT/PATH", apart.
struct Liveness {
  std::string address{};
  std::string path{};
};
Result<Liveness> liveness_of(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  const std::size_t slash = url.find('/', kScheme.size());
  if (!url.starts_with(kScheme) || url.find(':', kScheme.size()) >= slash) {
    return wrong_usage(fmt::format("--liveness: \"{}\" is not http://HOST:PORT/PATH", url));
  }
  return Liveness{.address = url.substr(kScheme.size(), slash - kScheme.size()),
                  .path = slash == std::string::npos ? "/" : url.substr(slash)};
}

// Converts by the system that the kind belongs to.
Result<Value> convert_object(const Value& object, std::string_view version) {
  const std::string_view api = object["apiVersion"].as_string();
  const System* system =
      system_of_kind(all_systems(), api.substr(0, api.find('/')), object["kind"].as_string());
  if (system == nullptr || system->convert == nullptr) {
    return Error::bad_request(
        fmt::format("{} {} has no other version", api, object["kind"].as_string()));
  }
  return system->convert(object, version);
}

// RESOURCE=REST, in order.
Result<std::vector<std::pair<std::string, std::string>>> assignments(
    const std::string& flag, const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == word.size()) {
      return wrong_usage(fmt::format("{}: \"{}\" is not RESOURCE=VALUE", flag, word));
    }
    result.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return result;
}

std::vector<std::string> path_of(const std::string& text) {
  std::vector<std::string> path;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find('.', start), text.size());
    path.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return path;
}

class Production {
 public:
  // Both outlive it.
  Production(const ControllersOptions& options, const SystemConfig& documents)
      : options_(options),
        documents_(documents),
        variables_(environment_map()),
        clock_(wall_clock()),
        entropy_(system_entropy()) {}

  Result<void> start() {
    ATHANOR_TRY(operators_, select_operators(options_.controllers));
    ATHANOR_TRY(client::ClusterConfig config, client::resolve_cluster({.path = options_.kubeconfig,
                                                                       .context = options_.context,
                                                                       .environment = variables_}));
    own_namespace_ = config.ns;
    host_ = config.server.substr(config.server.find("://") + 3);
    ATHANOR_TRY_VOID(settle_namespaces());
    ATHANOR_TRY(client_,
                client::ApiClient::open(std::move(config), *clock_, *entropy_, client_options()));
    start_traces();
    ATHANOR_TRY_VOID(make_leadership());
    ATHANOR_TRY_VOID(make_driver());
    ATHANOR_TRY_VOID(make_webhooks());
    ATHANOR_TRY_VOID(serve());
    started_ = true;
    driver_->start();
    if (webhooks_) {
      webhooks_->start();
    }
    if (leadership_) {
      leadership_->start();
    }
    std::string names;
    for (const Operator* op : operators_) {
      names += (names.empty() ? "" : ",") + std::string(op->name);
    }
    log::info("controllers started",
              {{"version", ATHANOR_VERSION}, {"server", host_}, {"controllers", names}});
    for (const System* system : systems_of(operators_)) {
      const auto namespaces = scope_of(*system);
      log::info(
          "a system is run",
          {{"system", system->name},
           {"namespaces", namespaces.empty() ? std::string("*")
                                             : fmt::format("{}", fmt::join(namespaces, ","))}});
    }
    return {};
  }

  // Ends what start() began; 0, or 1 when leadership was lost.
  int stop() {
    std::unique_ptr<StatusServer> status_server;
    {
      const MutexLock lock(status_mutex_);
      status_server = std::move(status_server_);
    }
    status_server.reset();
    const auto patience = parse_go_duration(options_.drain_timeout);
    // What was not started has nothing to drain, and no client to answer.
    if (started_ && !lost_) {
      if (!driver_->drain(patience.ok() ? *patience : Duration::zero())) {
        log::warn("writes under way were not answered in time");
      }
      if (webhooks_) {
        webhooks_->drain(kReleasePatience);
      }
      if (leadership_) {
        leadership_->release(kReleasePatience);
      }
    }
    pods_.reset();
    targets_.reset();
    poster_.reset();
    if (webhooks_) {
      webhooks_->stop();
    }
    if (driver_) {
      driver_->stop();
    }
    if (client_) {
      client_->stop();
    }
    exporter_.reset();
    return lost_ ? 1 : 0;
  }

 private:
  static constexpr Duration kReleasePatience = std::chrono::seconds(5);
  // Under way beside the writes of the busiest controller: lists, questions, other controllers.
  static constexpr std::size_t kOtherRequests = 64;
  static constexpr Duration kShortestLife = std::chrono::seconds(8);
  static constexpr Duration kTracePatience = std::chrono::seconds(10);

  // Each system works where its own settings say; --namespace narrows all of them, and
  // --all-namespaces none.
  Result<void> settle_namespaces() {
    ATHANOR_TRY_VOID(apply_settings(options_.settings, variables_));
    std::string jobs = variable(variables_, "FOURNOS_WORKLOAD_NAMESPACE");
    if (jobs.empty()) {
      jobs = variable(variables_, "FOURNOS_NAMESPACE");
    }
    if (!options_.all_namespaces) {
      namespaces_ = options_.namespaces;
    }
    ATHANOR_TRY_VOID(check_namespace());
    if (!namespaces_.empty()) {
      jobs = namespaces_.front();
    } else if (jobs.empty()) {
      jobs = own_namespace_;
    }
    auto config = read_config(variables_, jobs, documents_, operators_);
    if (!config.ok()) {
      return blame_flag(config.error(), options_.settings);
    }
    config_ = *std::move(config);
    operators_ = those_that_run(all_systems(), std::move(operators_), config_);
    if (namespaces_.empty() && !options_.all_namespaces) {
      places_ = places_of(parts_of(operators_, config_));
    }
    auto scope = check_scope(operators_, namespaces_, places_);
    if (!scope.ok() && options_.webhook_address.empty()) {
      log::warn("objects that a webhook elsewhere lets in are not watched",
                {{"error", scope.error().message}});
      return {};
    }
    return scope;
  }

  // A system that runs takes the namespace of jobs from a flag or a variable, never from the
  // kubeconfig's context (docs/spec/fournos.md R3.1).
  [[nodiscard]] Result<void> check_namespace() const {
    if (!namespaces_.empty()) {
      return {};
    }
    const auto config = read_settings(
        systems_of(operators_),
        {.variables = variables_, .documents = documents_, .read_file = read_text_file});
    return config.ok() || config.error().reason != "MissingSetting" ? Result<void>()
                                                                    : config.error();
  }

  // The namespaces in which a system's kinds are watched; empty: all.
  [[nodiscard]] std::vector<std::string> scope_of(const System& system) const {
    return namespaces_.empty() && !options_.all_namespaces
               ? namespaces_of(system, operators_, config_)
               : namespaces_;
  }

  // Systems ask target clusters questions: on threads and connections of their own.
  void start_targets() {
    for (const System* system : systems_of(operators_)) {
      for (const ProbeUse& use : system->probes) {
        if (use.name == client::kNotifyProbe && !poster_) {
          poster_ = std::make_unique<client::WebhookPoster>();
          executors_.on_probe(std::string(use.name), [this](const std::string& query,
                                                            runtime::Executors::Completion done) {
            poster_->ask(query, std::move(done));
          });
          executors_.on_act(std::string(client::kDeliverVerb),
                            [this](const std::string& /*id*/, const Value& args,
                                   runtime::Executors::Completion done) {
                              poster_->deliver(args, std::move(done));
                            });
        }
        if (use.name != client::kTargetProbe || targets_) {
          continue;
        }
        targets_ = std::make_unique<client::TargetProbe>(client::TargetProbeOptions{
            .read_secret = [this](const Key& secret) { return read_secret(secret); },
            .clock = clock_.get(),
            .concurrency = use.concurrency(config_.find(system->name)->second)});
        executors_.on_probe(std::string(use.name),
                            [this](const std::string& query, runtime::Executors::Completion done) {
                              targets_->ask(query, std::move(done));
                            });
      }
    }
  }

  Result<Value> read_secret(const Key& secret) {
    client::ApiRequest request;
    request.path = fmt::format("/api/v1/namespaces/{}/secrets/{}", client::escape(secret.ns),
                               client::escape(secret.name));
    request.lane = client::Lane::Background;
    client::ApiResult result = client_->call(std::move(request));
    if (result.error) {
      return *std::move(result.error);
    }
    return std::move(result.body);
  }

  client::ApiClientOptions client_options() {
    client::ApiClientOptions result{.qps = options_.qps,
                                    .burst = options_.burst,
                                    .max_in_flight = options_.concurrent_writes + kOtherRequests};
    result.observe = [this](const client::ApiRequest& request, int status, Duration took) {
      const std::string code = status == 0 ? "<error>" : std::to_string(status);
      metrics_
          .counter("rest_client_requests_total", "Requests to the API server, by answer.",
                   {{"code", code}, {"host", host_}, {"method", request.method}})
          .add();
      metrics_
          .histogram("rest_client_request_duration_seconds",
                     "From a request's sending to its answer.", Metrics::duration_buckets(),
                     {{"host", host_}, {"verb", request.method}})
          .observe(std::chrono::duration<double>(took).count());
      if (status != 0) {
        last_answer_ = clock_->now().time_since_epoch().count();
      }
    };
    return result;
  }

  // Traces are made if a collector takes them, or if the log names them.
  void start_traces() {
    std::string url = options_.otlp_endpoint;
    if (url.empty()) {
      url = variable(variables_, "OTEL_EXPORTER_OTLP_ENDPOINT");
    }
    std::string target = variable(variables_, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    if (!url.empty() && (target.empty() || !options_.otlp_endpoint.empty())) {
      url.erase(url.find_last_not_of('/') + 1);
      target = url + "/v1/traces";
    }
    if (!target.empty()) {
      std::string service = variable(variables_, "OTEL_SERVICE_NAME");
      exporter_ = std::make_unique<cluster::SpanExporter>(
          [this, target](const std::string& body) { return post_traces(target, body); },
          service.empty() ? "athanor-controllers" : service);
    }
    tracer_ = std::make_unique<cluster::ReconcileTracer>(*clock_, *entropy_, exporter_.get());
  }

  bool post_traces(const std::string& url, const std::string& body) {
    struct Answer {
      Mutex mutex{};
      ConditionVariable there{};
      std::optional<bool> arrived ATHANOR_GUARDED_BY(mutex){};
    };
    auto answer = std::make_shared<Answer>();
    client::HttpQuery query;
    query.method = "POST";
    query.url = url;
    query.headers = {{"content-type", "application/json"}};
    query.body = body;
    query.link_local = true;  // who runs this names the collector
    query.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(kTracePatience);
    http_.send(std::move(query), [answer](const client::HttpReply& reply) {
      const MutexLock lock(answer->mutex);
      answer->arrived = reply.failure.empty() && reply.status < 300;
      answer->there.notify_one();
    });
    MutexLock lock(answer->mutex);
    answer->there.wait(
        lock, [&]() ATHANOR_REQUIRES(answer->mutex) { return answer->arrived.has_value(); });
    return *answer->arrived;
  }

  Result<void> make_leadership() {
    if (!options_.leader_elect) {
      return {};
    }
    const LeasePlace own = lease_of(operators_, config_);
    lease_name_ = options_.leader_name.empty() ? own.name : options_.leader_name;
    const std::string ns =
        options_.leader_name.empty() && !own.ns.empty() && options_.leader_namespace.empty()
            ? own.ns
            : home(options_.leader_namespace);
    ATHANOR_TRY(auto election, election_of({ns, lease_name_},
                                           {.lease_duration = options_.lease_duration,
                                            .renew_deadline = options_.renew_deadline,
                                            .retry_period = options_.retry_period},
                                           variables_, *entropy_));
    leadership_ = std::make_unique<cluster::Leadership>(
        client_, election, *clock_,
        cluster::LeadershipListeners{.won =
                                         [this] {
                                           driver_->lead();
                                           if (webhooks_) {
                                             webhooks_->lead();
                                           }
                                         },
                                     .lost =
                                         [this](const std::string& /*why*/) {
                                           lost_ = true;
                                           ::kill(::getpid(), SIGTERM);
                                         }});
    return {};
  }

  // A file that is full, or cannot be written, ends the record alone.
  Result<void> start_record() {
    if (options_.record.empty()) {
      return {};
    }
    ATHANOR_TRY(record_, RecordFile::create(options_.record, options_.record_limit << 20U));
    const std::uint64_t seed = entropy_->next();
    engine_entropy_ = seeded_entropy(seed);
    std::vector<std::string> names;
    names.reserve(operators_.size());
    for (const Operator* op : operators_) {
      names.emplace_back(op->name);
    }
    recorder_ = std::make_unique<runtime::Recorder>(
        runtime::RecordHead{.version = ATHANOR_VERSION,
                            .operators = std::move(names),
                            .namespaces = namespaces_,
                            .places = places_,
                            .config = config_,
                            .seed = seed,
                            .secrets = options_.record_secrets},
        [this](std::string_view line) { return record_->write(line); });
    return {};
  }

  [[nodiscard]] Result<Duration> platform_look() const {
    constexpr std::chrono::seconds kShortest{1};
    ATHANOR_TRY(const Duration look, duration_of("--platform-look", options_.platform_look));
    return look < kShortest ? Result<Duration>(wrong_usage("--platform-look: at least 1s")) : look;
  }

  Result<void> make_driver() {
    ATHANOR_TRY(const Duration look, platform_look());
    ATHANOR_TRY(const auto selectors, assignments("--watch-selector", options_.selectors));
    ATHANOR_TRY(const auto drops, assignments("--drop", options_.drops));
    start_targets();
    if (runs("kubelet")) {
      pods_ = lab::timed_pods(*clock_, executors_);
      config_["kubelet"] = Value::object({{"environment", Value::object()}});
    }
    executors_.take_log_levels();
    ATHANOR_TRY_VOID(start_record());
    Managers appliers;
    for (const Operator* op : operators_) {
      appliers.emplace(op->name);
    }
    driver_ = std::make_unique<cluster::ClusterDriver>(
        with_hooks(operators_),
        cluster::DriverOptions{.client = client_,
                               .clock = clock_.get(),
                               .entropy = entropy_.get(),
                               .executors = &executors_,
                               .metrics = &metrics_,
                               .tracer = tracer_.get(),
                               .instruments = instruments_of(operators_),
                               .leadership = leadership_.get(),
                               .config = config_,
                               .namespaces = namespaces_,
                               .places = places_,
                               .optional = optional_kinds_of(operators_),
                               .narrow =
                                   [selectors, drops, appliers](client::FeedScope& scope) {
                                     std::vector<std::vector<std::string>> dropped;
                                     for (const auto& [resource, path] : drops) {
                                       if (resource == scope.kind->plural) {
                                         dropped.push_back(path_of(path));
                                       }
                                     }
                                     scope.trim = client::trim_fields(std::move(dropped), appliers);
                                     for (const auto& [resource, labels] : selectors) {
                                       if (resource == scope.kind->plural) {
                                         scope.label_selector = labels;
                                       }
                                     }
                                   },
                               .journal = journal(),
                               .engine_entropy = engine_entropy_.get(),
                               .writes_per_controller = options_.concurrent_writes,
                               .held = webhooks_first(),
                               .platform_look = look});
    if (pods_) {
      pods_->listen([this](std::string query, Value state) {
        driver_->observe(std::move(query), std::move(state));
      });
    }
    return {};
  }

  // The namespace of what belongs to the process itself.
  [[nodiscard]] std::string home(const std::string& flag) const {
    const std::string pod = variable(variables_, "POD_NAMESPACE");
    return !flag.empty() ? flag : !pod.empty() ? pod : own_namespace_;
  }

  // What looks on at the driver's input.
  runtime::EngineJournal* journal() {
    if (!options_.metrics_secure || !follows_platform()) {
      return recorder_.get();
    }
    platform_tls_.pass_on_to(recorder_.get());
    return &platform_tls_;
  }

  // On the driver's thread.
  void take_profile(const TlsProfile& profile) {
    const MutexLock lock(status_mutex_);
    const auto limited =
        status_server_
            ? status_server_->limit(net::without_unknown(
                  {.min_version = profile.min_version, .ciphers = profile.cipher_names()}))
            : Result<void>();
    if (!limited.ok()) {
      log::warn("metrics: the cluster's TLS profile cannot be followed",
                {{"error", limited.error().message}});
    }
  }

  Result<void> make_webhooks() {
    warn_of_problems(options_.webhook_tls);
    if (options_.webhook_address.empty()) {
      return options_.webhook_tls == net::TlsLimits() || options_.metrics_secure
                 ? Result<void>()
                 : wrong_usage(
                       "--tls-min-version and --tls-cipher-suites apply to the ports of webhooks "
                       "and of secure metrics: set --webhook-address or --metrics-secure");
    }
    ATHANOR_TRY(std::vector<Webhook> webhooks, select_webhooks(options_.controllers));
    const std::string ns = home(options_.webhook_namespace.empty() ? options_.leader_namespace
                                                                   : options_.webhook_namespace);
    webhook::Settings settings{
        .secret = {ns, options_.webhook_secret},
        .target = {.service = options_.webhook_service, .ns = ns, .url = options_.webhook_url},
        .configurations = options_.webhook_configurations};
    webhook::CertificateOptions& certificates = settings.certificates;
    certificates.authority = options_.webhook_authority;
    certificates.organization = options_.webhook_organization;
    const std::string name = fmt::format("{}.{}.svc", options_.webhook_service, ns);
    certificates.hosts = {name, name + ".cluster.local"};
    certificates.hosts.insert(certificates.hosts.end(), options_.webhook_hosts.begin(),
                              options_.webhook_hosts.end());
    ATHANOR_TRY(certificates.life,
                duration_of("--webhook-certificate-life", options_.webhook_certificate_life));
    if (certificates.life < kShortestLife) {
      return wrong_usage("--webhook-certificate-life: at least 8s");
    }
    certificates.authority_life = certificates.life * 10;
    ATHANOR_TRY(const Duration look, platform_look());
    ATHANOR_TRY(webhooks_,
                webhook::Host::open({.client = client_,
                                     .clock = clock_.get(),
                                     .entropy = entropy_.get(),
                                     .metrics = &metrics_,
                                     .leadership = leadership_.get(),
                                     .address = options_.webhook_address,
                                     .tls = options_.webhook_tls,
                                     .platform_tls = follows_platform(),
                                     .platform_look = look,
                                     .webhooks = std::move(webhooks),
                                     .settings = settings,
                                     .conversions = !options_.webhook_crds.empty(),
                                     .convert = convert_object,
                                     .inspect =
                                         [this](std::function<void(const View&, Instant)> reader) {
                                           driver_->inspect(std::move(reader));
                                         },
                                     .on_ready = [this] { release(); }}));
    return {};
  }

  [[nodiscard]] bool webhooks_first() const {
    return options_.webhooks_first && !options_.webhook_address.empty();
  }

  void release() {
    if (webhooks_first()) {
      log::info("the certificates are in place: controllers may run");
      driver_->release();
    }
  }

  [[nodiscard]] bool runs(std::string_view name) const {
    return std::ranges::any_of(operators_, [&](const Operator* op) { return op->name == name; });
  }

  // Returns true if no flag says otherwise, and a controller, and so the account, reads the
  // profile.
  [[nodiscard]] bool follows_platform() const {
    return options_.webhook_tls == net::TlsLimits() &&
           std::ranges::any_of(operators_, [](const Operator* op) {
             return std::ranges::find(op->reads, &kOpenShiftServer) != op->reads.end();
           });
  }

  Result<void> serve() {
    // The kubelet probes a pod from outside.
    const bool in_pod = variables_.contains("KUBERNETES_SERVICE_HOST");
    std::string address = options_.metrics_address;
    std::string health = options_.health_address;
    Liveness liveness;
    if (!options_.liveness.empty()) {
      ATHANOR_TRY(liveness, liveness_of(options_.liveness));
      (address.empty() ? address : health) = liveness.address;
    }
    for (const System* system : systems_of(operators_)) {
      if (address.empty() && !system->metrics_address_variable.empty()) {
        Environment(variables_).text(system->metrics_address_variable, address);
      }
    }
    if (address.empty()) {
      address = in_pod ? ":8080" : "127.0.0.1:8080";
    }
    ATHANOR_TRY(status_server_, StatusServer::open({.metrics_address = address,
                                                    .health_address = health,
                                                    .guarded = options_.metrics_secure,
                                                    .tls = options_.webhook_tls,
                                                    .liveness_path = liveness.path,
                                                    .lease_name = leadership_ ? lease_name_ : "",
                                                    .optional = optional_kinds_of(operators_),
                                                    .driver = driver_.get(),
                                                    .leadership = leadership_.get(),
                                                    .webhooks = webhooks_.get(),
                                                    .client = client_.get(),
                                                    .metrics = &metrics_,
                                                    .clock = clock_.get(),
                                                    .last_answer = &last_answer_}));
    return {};
  }

  const ControllersOptions& options_;
  const SystemConfig& documents_;
  Variables variables_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Entropy> entropy_;
  std::vector<const Operator*> operators_{};
  std::vector<std::string> namespaces_{};
  Places places_{};
  std::string own_namespace_{};
  std::string host_{};
  std::string lease_name_{};
  std::map<std::string, Value, std::less<>> config_{};
  Metrics metrics_{};
  std::atomic<std::int64_t> last_answer_{0};  // microseconds since 1970
  bool started_ = false;
  std::atomic<bool> lost_{false};
  runtime::Executors executors_{};
  std::shared_ptr<client::ApiClient> client_{};
  client::AsyncHttp http_{};
  std::unique_ptr<cluster::SpanExporter> exporter_{};
  std::unique_ptr<cluster::ReconcileTracer> tracer_{};
  std::unique_ptr<cluster::Leadership> leadership_{};
  std::unique_ptr<RecordFile> record_{};
  std::unique_ptr<Entropy> engine_entropy_{};
  std::unique_ptr<runtime::Recorder> recorder_{};
  cluster::TlsFollower platform_tls_{
      [this](cluster::TlsFollower::Reader reader) { driver_->inspect(std::move(reader)); },
      [this](const TlsProfile& profile) { take_profile(profile); }};
  std::unique_ptr<cluster::ClusterDriver> driver_{};
  std::unique_ptr<webhook::Host> webhooks_{};
  std::unique_ptr<lab::PodExecutors> pods_{};
  std::unique_ptr<client::TargetProbe> targets_{};
  std::unique_ptr<client::WebhookPoster> poster_{};
  Mutex status_mutex_{};  // of changes while the driver runs
  std::unique_ptr<StatusServer> status_server_{};
};

// Takes the log level over from the configuration file, whenever that changes.
class LevelFile {
 public:
  explicit LevelFile(const ControllersOptions& options) : options_(options) {
    static_cast<void>(changed());
  }

  [[nodiscard]] bool changed() {
    struct stat seen {};
    if (options_.config.empty() || ::stat(options_.config.c_str(), &seen) != 0) {
      return false;
    }
    const auto was =
        std::exchange(stamp_, std::tuple(seen.st_ino, seen.st_mtim.tv_sec, seen.st_mtim.tv_nsec));
    return was != stamp_;
  }

  void reload() const {
    if (options_.config.empty()) {
      return;
    }
    const auto text = read_text_file(options_.config);
    const auto arguments = text.ok() ? config_arguments(*text, options_.config)
                                     : Result<std::vector<std::string>>(text.error());
    if (!arguments.ok()) {
      log::warn("the configuration cannot be read", {{"error", arguments.error().message}});
      return;
    }
    constexpr std::string_view kLevel = "--log-level=";
    for (const std::string& argument : *arguments) {
      if (argument.starts_with(kLevel)) {
        const std::string level = argument.substr(kLevel.size());
        log::configure(log_level(level), log_format(options_.log_format));
        log::info("log level taken over", {{"level", level}});
      }
    }
  }

 private:
  const ControllersOptions& options_;
  std::tuple<ino_t, time_t, long> stamp_{};
};

}  // namespace

int run(const ControllersOptions& options) {
  constexpr Duration kLook = std::chrono::seconds(1);
  constexpr Duration kEndTime = std::chrono::seconds(10);  // beyond the time to drain
  log::configure(log_level(level_name(options, environment_map())), log_format(options.log_format));
  memory::keep_little();
  EndSignals ending({SIGHUP});
  const auto place = stand_in(options);
  if (!place.ok()) {
    return fail(place.error());
  }
  const ControllersOptions& settled = place->options;
  log::configure(log_level(level_name(settled, environment_map())), log_format(settled.log_format));
  LevelFile level(settled);
  Production production(settled, place->documents);
  if (const auto started = production.start(); !started.ok()) {
    production.stop();
    return fail(started.error());
  }
  while (true) {
    const std::optional<int> signal = ending.wait_for(kLook);
    if (level.changed() || signal == SIGHUP) {
      level.reload();
    } else if (signal) {
      log::info("ending", {{"signal", *signal}});
      ending.end_at_next();
      break;
    }
  }
  const EndGuard guard(parse_go_duration(settled.drain_timeout).value_or(Duration::zero()) +
                       kEndTime);
  return production.stop();
}

}  // namespace athanor::cli
