// SPDX-License-Identifier: Apache-2.0
// Putting the lab together, from the disk up, and taking it apart in reverse.
#include "embedded/lab/control_plane.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/files/descriptor.hpp"
#include "base/files/text_file.hpp"
#include "base/log.hpp"
#include "client/definition_source.hpp"
#include "client/git_source.hpp"
#include "client/target_probe.hpp"
#include "client/webhook_poster.hpp"
#include "embedded/bridge/in_process_webhooks.hpp"
#include "embedded/lab/background_queue.hpp"
#include "embedded/lab/embedded_operators.hpp"
#include "embedded/lab/engine_driver.hpp"
#include "embedded/lab/file/lab_targets.hpp"
#include "embedded/lab/heartbeat.hpp"
#include "embedded/lab/image_watch.hpp"
#include "embedded/lab/installer.hpp"
#include "embedded/lab/kind_fields.hpp"
#include "embedded/lab/lab_users.hpp"
#include "embedded/lab/missing_objects.hpp"
#include "embedded/lab/node_files.hpp"
#include "embedded/lab/node_sockets.hpp"
#include "embedded/lab/pod_executors.hpp"
#include "embedded/lab/pod_metrics.hpp"
#include "embedded/lab/port_events.hpp"
#include "embedded/lab/probes.hpp"
#include "embedded/lab/service_watch.hpp"
#include "embedded/lab/serving/process_metrics.hpp"
#include "embedded/lab/serving/served_api.hpp"
#include "embedded/nodes/image_entrypoints.hpp"
#include "embedded/nodes/images/bundle_folder.hpp"
#include "embedded/nodes/images/image_folder.hpp"
#include "embedded/nodes/mixed_runtime.hpp"
#include "embedded/nodes/network/name_server.hpp"
#include "embedded/nodes/network/pod_network.hpp"
#include "embedded/nodes/network/poll_loop.hpp"
#include "embedded/nodes/pod_runtime.hpp"
#include "embedded/nodes/process/process_runtime.hpp"
#include "embedded/nodes/process/view/subordinate_ids.hpp"
#include "embedded/nodes/timed/timed_runtime.hpp"
#include "embedded/store/data_dir.hpp"
#include "embedded/store/journal_sqlite.hpp"
#include "embedded/targets/server.hpp"
#include "embedded/transport/encrypting_journal.hpp"
#include "embedded/transport/token_file.hpp"
#include "embedded/transport/token_signer.hpp"
#include "net/pki.hpp"
#include "net/private_file.hpp"
#include "runtime/metrics/metrics.hpp"
#include "runtime/metrics/webhook_results.hpp"

namespace athanor::lab {
namespace {

constexpr std::chrono::milliseconds kCloseTime{2000};
constexpr std::size_t kShownKeys = 1000;                        // of /debug/queue
constexpr Duration kMetricsPatience = std::chrono::seconds(1);  // with the controllers thread

// A service account token for a pod's volume, asked of the server itself.
Result<std::string> pod_token(apiserver::Server& server, const Clock& clock,
                              const nodes::TokenWish& wish) {
  Value spec = Value::object(
      {{"expirationSeconds", wish.seconds},
       {"boundObjectRef",
        Value::object(
            {{"kind", "Pod"}, {"apiVersion", "v1"}, {"name", wish.pod}, {"uid", wish.pod_uid}})}});
  if (!wish.audience.empty()) {
    spec.set("audiences", Value::list({wish.audience}));
  }
  net::Request request;
  request.method = "POST";
  request.path =
      fmt::format("/api/v1/namespaces/{}/serviceaccounts/{}/token", wish.ns, wish.service_account);
  request.headers.emplace("content-type", "application/json");
  request.body = Value::object(
      {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", spec}});
  request.credentials.internal_user = "system:apiserver";
  const net::Response response = server.handle(std::move(request), clock.now());
  const Value answer = response.value.value_or(Value());
  if (response.status >= 400) {
    return Error{.code = response.status,
                 .reason = answer["reason"].str(),
                 .message = answer["message"].str()};
  }
  return answer["status"]["token"].str();
}

// Returns true if a start failed for lack of disk space: SQLite has many texts for that.
Error with_missing_space(Error error, const std::string& data) {
  constexpr std::uintmax_t kNeeded = std::uintmax_t{8} << 20;  // log, index and a checkpoint
  std::error_code none;
  const std::filesystem::space_info space = std::filesystem::space(data, none);
  if (!none && space.available < kNeeded) {
    error.message += fmt::format(
        "; the disk of {} is full: a start needs {} MiB, {} KiB are free. What is stored is kept "
        "as "
        "it is: free some space and start again",
        data, kNeeded >> 20U, space.available >> 10U);
  }
  return error;
}

class RunningControlPlane final : public ControlPlane {
 public:
  explicit RunningControlPlane(ControlPlaneOptions options)
      : options_(std::move(options)), clock_(wall_clock()), entropy_(system_entropy()) {}
  RunningControlPlane(const RunningControlPlane&) = delete;
  RunningControlPlane& operator=(const RunningControlPlane&) = delete;
  ~RunningControlPlane() override { stop(Duration::zero()); }

  Result<void> light() {
    ATHANOR_TRY_VOID(check_controllers(options_.controllers, all_operators()));
    // Before anything else: the spawner must be forked while there is one thread.
    std::optional<nodes::Spawner> spawner;
    if (options_.pods != PodsKind::Timed) {
      ATHANOR_TRY(spawner, nodes::Spawner::start());
    }
    ATHANOR_TRY(directory_, store::DataDirectory::open(options_.data));
    kubeconfig_ = directory_->kubeconfig();
    ATHANOR_TRY_VOID(start_pods(std::move(spawner)));
    ATHANOR_TRY_VOID(load_images());
    ATHANOR_TRY_VOID(make_server());
    keep_pods_files();
    start_network();
    ATHANOR_TRY_VOID(start_targets());
    ATHANOR_TRY_VOID(install());
    ATHANOR_TRY_VOID(start_controllers());
    api_->start(heartbeat());
    missing_->keep_trying();
    ATHANOR_TRY_VOID(write_user_kubeconfigs());
    return net::write_admin_kubeconfig(kubeconfig_, pki_, api_->address(), options_.lab.ns);
  }

  // A certificate each, made anew with every start.
  Result<void> write_user_kubeconfigs() {
    const std::string folder = directory_->path() + "/users";
    if (!options_.users.empty()) {
      ATHANOR_TRY_VOID(net::make_private_directory(folder));
    }
    for (const LabUser& user : options_.users) {
      ATHANOR_TRY(const std::string text,
                  net::user_kubeconfig(pki_, {.name = user.name, .groups = {}}, api_->address(),
                                       options_.lab.ns, clock_->now()));
      ATHANOR_TRY_VOID(
          net::write_private_file(fmt::format("{}/{}.kubeconfig", folder, user.name), text));
    }
    return {};
  }

  [[nodiscard]] const std::string& kubeconfig() const override { return kubeconfig_; }
  [[nodiscard]] const std::string& address() const override { return api_->address(); }
  [[nodiscard]] std::vector<std::string> waiting() const override { return missing_->waiting(); }

  void stop(Duration grace) override {
    if (std::exchange(stopped_, true)) {
      return;
    }
    if (api_) {
      api_->begin_shutdown();
      api_->end_calls();
    }
    if (missing_) {
      missing_->stop();
    }
    if (driver_) {
      driver_->stop();  // no more pods are started
    }
    // Behind the driver, whose thread makes and asks them.
    targets_.reset();
    poster_.reset();
    definitions_.reset();
    repositories_.reset();
    bundles_.reset();
    background_.reset();
    if (processes_ != nullptr) {
      processes_->shut_down(grace);
    }
    if (services_) {
      services_->stop();  // the two call each other
    }
    network_.reset();
    services_.reset();
    if (runtime_) {
      runtime_->listen({});  // it outlives the driver that listens
    }
    if (api_) {
      api_->stop(kCloseTime);
    }
    driver_.reset();
    sockets_.reset();  // the ticker, which looked after them, is gone with api_->stop()
    emulated_.reset();
    missing_.reset();
    api_.reset();
    runtime_.reset();
  }

 private:
  [[nodiscard]] std::vector<const Operator*> all_operators() const {
    std::vector<const Operator*> operators = embedded_operators();
    for (const System* system : options_.systems) {
      operators.insert(operators.end(), system->operators.begin(), system->operators.end());
    }
    for (const Operator* op : options_.hooked) {
      *std::ranges::find(operators, op->name, &Operator::name) = op;
    }
    if (!options_.lab.targets.empty()) {
      operators.push_back(&target_operator());
    }
    return those_that_run(options_.systems, std::move(operators), options_.config);
  }

  Result<std::unique_ptr<store::Journal>> journal() const {
    const bool disk = options_.storage == StorageKind::Disk;
    if (disk && !options_.sync) {
      log::warn("--unsafe-no-sync: a crash of the machine may lose acknowledged writes");
    }
    ATHANOR_TRY(auto encryption, read_encryption(options_.serving.encryption_config));
    return disk ? transport::encrypting_journal(
                      store::sqlite_journal({.path = directory_->database(),
                                             .mark = directory_->mark(),
                                             .sync = options_.sync,
                                             .repair = options_.repair,
                                             .history = {.max_bytes = options_.history_max_bytes}}),
                      std::move(encryption))
                : store::memory_journal();
  }

  // A lab runs without a cgroup, too: limits of cpu have no effect then.
  std::optional<nodes::ContainerGroups> claim_groups() {
    auto groups = nodes::ContainerGroups::claim();
    limits_cpu_ = groups.ok();
    if (!groups.ok()) {
      log::info("limits of cpu are not enforced, those of memory are measured",
                {{"reason", groups.error().message}});
      return std::nullopt;
    }
    return *std::move(groups);
  }

  Result<void> start_pods(std::optional<nodes::Spawner> spawner) {
    if (spawner) {
      channel_.reset(spawner->take_channel());
      supervised_ = options_.isolate_pods && channel_.valid();
      if (!supervised_) {
        log::warn(
            "pods share the ports of this machine, and addresses of Services do not answer in "
            "them",
            {{"reason", options_.isolate_pods
                            ? "the kernel has no user notification of seccomp (Linux 5.6)"
                            : "--pod-isolation off"}});
      }
      ATHANOR_TRY(auto processes,
                  nodes::ProcessRuntime::create(
                      *std::move(spawner), {.folder = directory_->path(),
                                            .tokens =
                                                [this](const nodes::TokenWish& wish) {
                                                  return pod_token(api_->server(), *clock_, wish);
                                                },
                                            .clock = clock_.get(),
                                            .isolate = options_.isolate_pods,
                                            .own_folders = options_.hidden_from_pods,
                                            .log_limits = {},
                                            .supervised = supervised_,
                                            .groups = claim_groups()}));
      if (!options_.isolate_pods) {
        log::warn(
            "--pod-isolation off: what pods run can change this machine's files, read home "
            "folders and the keys of the lab, and signal and trace your processes");
      }
      processes_ = processes.get();
      runtime_ = std::move(processes);
      if (options_.pods == PodsKind::Auto) {
        runtime_ = nodes::mixed_runtime(std::move(runtime_), nodes::timed_runtime(*clock_));
      }
    } else {
      runtime_ = nodes::timed_runtime(*clock_);
    }
    return {};
  }

  // Unpacks the images whose files the lab file names.
  Result<void> load_images() {
    const nodes::ImageFolder folder(directory_->path());
    for (const LabImage& image : options_.lab.images) {
      if (processes_ == nullptr || image.archive.empty()) {
        continue;
      }
      const auto loaded = folder.load(image.archive, image.name, image.value);
      if (!loaded.ok()) {
        return Error{loaded.error()}.with_context(fmt::format("image {}", image.name));
      }
    }
    images_ = std::make_unique<ImageWatch>(directory_->path());
    return {};
  }

  // Names and addresses of Services, where pods are processes.
  void start_network() {
    if (processes_ == nullptr) {
      return;
    }
    const auto settings = read_text_file("/etc/resolv.conf");
    resolver_ = settings.ok() ? *settings : std::string();
    services_ = std::make_unique<ServiceWatch>(api_->store());
    network_ = std::make_unique<nodes::PodNetwork>(nodes::PodNetworkOptions{
        .channel = supervised_ ? channel_.release() : -1,
        .table = [this] { return services_->table(); },
        .upstream = nodes::name_servers_of(resolver_),
        .report =
            [this](const nodes::PortProblem& problem) {
              write_port_event(api_->server(), api_->store(), problem, clock_->now());
            }});
    services_->listen(api_->store(), [this] { network_->changed(); });
    network_->changed();
  }

  Result<void> make_server() {
    ATHANOR_TRY(audit_, open_audit(options_.serving.audit, *clock_));
    ATHANOR_TRY(pki_, net::ensure_pki({.directory = directory_->pki(),
                                       .hosts = {options_.host},
                                       .now = clock_->now()}));
    ATHANOR_TRY(signer_, transport::make_token_signer({.key_pem = pki_.service_account_key}));
    ServedApiOptions plan{.host = options_.host, .port = options_.port};
    ATHANOR_TRY(plan.journal, journal());
    plan.https = {.certificate_pem = pki_.server_certificate,
                  .key_pem = pki_.server_key,
                  .client_ca_pem = pki_.ca_certificate,
                  .front_proxy_ca_pem = pki_.front_proxy_ca,
                  .max_reading = options_.serving.max_requests_inflight,
                  .max_mutating = options_.serving.max_mutating_requests_inflight,
                  .connections_each = options_.serving.max_connections_per_address};
    ATHANOR_TRY(auto tokens, transport::ensure_token_file(directory_->tokens()));
    plan.server = {
        .warn_of_fields = &warn_of_fields,
        .advertise_loopback = true,
        .ca_certificate_pem = pki_.ca_certificate,
        .proxy_client_certificate_pem = pki_.front_proxy_certificate,
        .proxy_client_key_pem = pki_.front_proxy_key,
        .requestheader_ca_pem = pki_.front_proxy_ca,
        .front_proxy = {.allowed_names = {"front-proxy-client"}},
        .tokens = std::move(tokens),
        .request_timeout = options_.serving.request_timeout,
        .audit_policy = audit_.policy,
        .counts_quotas = controller_enabled(options_.controllers, "resourcequota-controller"),
        .components = own_components(options_.controllers),
        .proxy_named_endpoints = options_.serving.proxy_named_endpoints};
    plan.dependencies = {
        .tokens = signer_.get(),
        .logs = processes_,
        .streams = processes_,
        .audit = audit_.sink.get(),
        .metrics = [this] { return metrics_text(); },
        .queue = [this] { return queue_state(); },
        .converter = bridge::system_converters(options_.systems),
        .admission =
            [this] {
              return bridge::webhook_steps(
                  {.systems = options_.systems,
                   .config = options_.config,
                   .answered = [this](const Webhook& webhook, const Verdict& verdict) {
                     count_result(metrics_, webhook, verdict);
                   }});
            }};
    plan.local_services =
        [this, services = local_services(
                   options_.systems, options_.config,
                   [this]() -> const store::Store& { return api_->store(); },
                   [this] { return clock_->now(); })](const apiserver::OutsideRequest& request) {
          auto answer = usage_->answer(request);
          return answer != nullptr ? std::move(answer) : services(request);
        };
    usage_ = std::make_unique<PodMetrics>(
        PodMetricsSources{.store = [this]() -> const store::Store& { return api_->store(); },
                          .clock = [this] { return clock_->now(); },
                          .processes = processes_});
    ATHANOR_TRY(api_, ServedApi::create(std::move(plan), *clock_, *entropy_));
    return {};
  }

  // Removes files of deleted pods; logs of ended ones stay.
  void keep_pods_files() {
    if (processes_ == nullptr) {
      return;
    }
    const auto pods = api_->store().list("pods", {});
    if (!pods.ok()) {
      return;
    }
    std::vector<std::string> uids;
    for (const store::StoredPtr& pod : pods->items) {
      uids.push_back(pod->body["metadata"]["uid"].str());
    }
    processes_->keep_only(uids);
  }

  // Emulated target clusters, and a file with the kubeconfig of each.
  Result<void> start_targets() {
    if (options_.lab.targets.empty()) {
      return {};
    }
    targets::TargetServerOptions wanted{.state = directory_->path() + "/targets.json",
                                        .clock = clock_.get()};
    for (const LabTarget& entry : options_.lab.targets) {
      wanted.targets.push_back(entry.target);
    }
    ATHANOR_TRY(emulated_, targets::TargetServer::start(wanted));
    const std::string folder = directory_->path() + "/targets";
    ATHANOR_TRY_VOID(net::make_private_directory(folder));
    for (const LabTarget& entry : options_.lab.targets) {
      const std::string path = fmt::format("{}/{}.kubeconfig", folder, entry.name);
      const std::string text = emulated_->kubeconfig(entry.name);
      ATHANOR_TRY(const auto known, net::read_file(path));
      if (known != text) {
        ATHANOR_TRY_VOID(net::write_private_file(path, text));
      }
    }
    executors_.on_act(kConfigureTarget, [this](const std::string& /*id*/, const Value& args,
                                               const runtime::Executors::Completion& done) {
      const auto target = configured_target(args);
      const auto outcome = target.ok() ? emulated_->configure(*target) : target.error();
      done(outcome.ok() ? Result<Value>(Value::object()) : outcome.error());
    });
    return {};
  }

  // What the server refuses now (a namespace that is being deleted, a quota, a policy) waits for
  // keep_trying(): only a running lab can clear the way for it.
  Result<void> install() {
    using Origin = MissingObjects::Origin;
    missing_ = std::make_unique<MissingObjects>(api_->server(), *clock_);
    for (const api::CustomKind* kind : kinds_of(options_.systems, options_.config)) {
      missing_->add(api::crd_manifest(*kind), {}, Origin::Program);
    }
    const auto add = [this](std::vector<Value> objects, const std::string& ns, Origin origin) {
      for (Value& object : objects) {
        missing_->add(std::move(object), ns, origin);
      }
    };
    ATHANOR_TRY(std::vector<Value> file, lab_objects(options_.lab, options_.read_file));
    add(rbac_objects(all_operators()), {}, Origin::Program);
    add(embedded_objects(), {}, Origin::Program);
    add(options_.roles, {}, Origin::Program);
    add(PodMetrics::objects(), {}, Origin::Program);
    add(system_objects(), options_.lab.ns, Origin::Program);
    add(std::move(file), options_.lab.ns, Origin::File);
    add(target_objects(options_.lab, target_world()), options_.lab.ns, Origin::Program);
    add(sample_objects(), options_.lab.ns, Origin::Program);
    add(user_bindings(options_.users, options_.lab.ns), {}, Origin::Program);
    return missing_->apply();
  }

  // The systems' namespaces, then what they have in every lab.
  [[nodiscard]] std::vector<Value> system_objects() const {
    std::vector<Value> objects;
    for (const System* system : options_.systems) {
      if (system->lab_namespaces == nullptr) {
        continue;
      }
      for (const std::string& ns : system->lab_namespaces(options_.config)) {
        objects.push_back(Value::object({{"apiVersion", "v1"},
                                         {"kind", "Namespace"},
                                         {"metadata", Value::object({{"name", ns}})}}));
      }
    }
    for (const System* system : options_.systems) {
      if (system->lab_objects != nullptr) {
        const std::vector<Value> own =
            system->lab_objects({.config = options_.config, .equipped = equipped(*system)});
        objects.insert(objects.end(), own.begin(), own.end());
      }
    }
    return objects;
  }

  // Returns true if a node of the lab file has a member that the system brings.
  [[nodiscard]] bool equipped(const System& system) const {
    return std::ranges::any_of(options_.lab.nodes, [&](const Node& node) {
      return std::ranges::any_of(system.lab_node_members, [&](const LabNodeMember& member) {
        return node.members.contains(member.name);
      });
    });
  }

  // What systems add to the built-in lab for a first contact.
  [[nodiscard]] std::vector<Value> sample_objects() const {
    std::vector<Value> objects;
    for (const System* system : options_.systems) {
      if (options_.lab.built_in && system->sample_objects != nullptr) {
        const std::vector<Value> own = system->sample_objects(options_.lab.ns);
        objects.insert(objects.end(), own.begin(), own.end());
      }
    }
    return objects;
  }

  [[nodiscard]] TargetWorld target_world() const {
    TargetWorld world{
        .kubeconfig = [this](const std::string& name) { return emulated_->kubeconfig(name); },
        .onboard =
            [this](const TargetCluster& target) {
              std::vector<Value> objects;
              for (const System* system : options_.systems) {
                if (system->onboard_target != nullptr) {
                  const auto own = system->onboard_target(target, options_.config);
                  objects.insert(objects.end(), own.begin(), own.end());
                }
              }
              return objects;
            }};
    for (const System* system : options_.systems) {
      if (system->targets_namespace != nullptr) {
        world.ns = system->targets_namespace(options_.config);
      }
    }
    return world;
  }

  [[nodiscard]] std::vector<const Instruments*> instruments() const {
    std::vector<const Instruments*> found;
    for (const System* system : options_.systems) {
      if (system->instruments != nullptr) {
        found.push_back(system->instruments);
      }
      for (const SchedulingHooks* hooks : system->scheduling) {
        if (hooks->instruments != nullptr) {
          found.push_back(hooks->instruments);
        }
      }
    }
    return found;
  }

  Result<void> start_controllers() {
    for (const Operator* op : all_operators()) {
      if (controller_enabled(options_.controllers, op->name)) {
        enabled_.push_back(op);
      }
    }
    register_pods();
    register_probes();
    executors_.take_log_levels();
    register_targets();
    driver_ = std::make_unique<EngineDriver>(
        enabled_, DriverOptions{.server = &api_->server(),
                                .store = &api_->store(),
                                .clock = clock_.get(),
                                .entropy = entropy_.get(),
                                .executors = &executors_,
                                .metrics = &metrics_,
                                .instruments = instruments(),
                                .config = config(),
                                .stored_forms = bridge::stored_forms(options_.systems),
                                .runs_loop = [this](std::string_view name) {
                                  return controller_enabled(options_.controllers, name);
                                }});
    if (runtime_) {
      runtime_->listen([this](std::string query, Value state) {
        driver_->observe(std::move(query), std::move(state));
      });
    }
    return driver_->start();
  }

  // Asked once requests are answered: everything is set up by then.
  [[nodiscard]] Result<Value> queue_state() const {
    return driver_ ? driver_->debug(kShownKeys, kMetricsPatience)
                   : Error::unavailable("the controllers do not run yet");
  }

  [[nodiscard]] std::string metrics_text() const {
    return metrics_.text() + (driver_ ? driver_->state_metrics(kMetricsPatience) : "") +
           process_metrics();
  }

  [[nodiscard]] std::map<std::string, Value, std::less<>> config() const {
    auto config = options_.config;
    config[kTargetSection] = Value::object({{"namespace", target_world().ns}});
    config["rootCA"] = Value::object({{"pem", pki_.ca_certificate}});
    config["kubelet"] = Value::object(
        {{"environment",
          Value::object({{"KUBERNETES_SERVICE_HOST", options_.host},
                         {"KUBERNETES_SERVICE_PORT", fmt::format("{}", api_->port())}})}});
    if (processes_ != nullptr) {
      config["kubelet"].set("user", static_cast<std::int64_t>(::geteuid()));
      config["kubelet"].set("severalGroups", options_.isolate_pods && nodes::has_subordinate_ids());
      config["kubelet"].set("cpuLimits", limits_cpu_);
      config["kubelet"].set("mixed", options_.pods == PodsKind::Auto);
      config["kubelet"].set("nameServer", network_->name_server());
      config["kubelet"].set("resolver", resolver_);
      config["kubelet"].set("loadsImages", true);
    }
    Value images = Value::list();
    for (const LabImage& image : options_.lab.images) {
      if (processes_ == nullptr || image.archive.empty()) {  // else it was loaded
        images.push_back(image.value);
      }
    }
    config["kubelet"].set("images", std::move(images));
    return config;
  }

  // The leases and sockets of emulated nodes, where they are emulated.
  [[nodiscard]] std::function<void(Instant)> heartbeat() {
    if (!controller_enabled(options_.controllers, "emulated-node")) {
      return {};
    }
    sockets_ = std::make_unique<NodeSockets>(
        options_.systems, options_.config, api_->store(), [this] { return clock_->now(); },
        directory_->path() + "/nodes");
    return [this, beats = std::make_shared<Heartbeat>(api_->server())](Instant now) {
      beats->beat(now);
      sockets_->look(now);
      usage_->look(now);
      if (auto images = images_->news()) {
        driver_->observe(std::string(nodes::kImagesQuery), *std::move(images));
      }
    };
  }

  // What the workloads ask about the world outside.
  void register_probes() {
    executors_.on_probe("timezone",
                        [](const std::string& query, const runtime::Executors::Completion& done) {
                          done(read_time_zone(query));
                        });
    executors_.on_probe(std::string(client::kDefinitionProbe),
                        [this](const std::string& query, runtime::Executors::Completion done) {
                          if (!definitions_) {
                            definitions_ = std::make_unique<client::DefinitionSource>();
                          }
                          definitions_->ask(query, std::move(done));
                        });
    executors_.on_probe(std::string(client::kGitProbe),
                        [this](const std::string& query, runtime::Executors::Completion done) {
                          if (!repositories_) {
                            repositories_ = std::make_unique<client::GitSource>(
                                client::GitSourceOptions{.secret = [this](const Key& key) {
                                  return read_secret(api_->server(), clock_->now(), key);
                                }});
                          }
                          repositories_->ask(query, std::move(done));
                        });
    executors_.on_probe(
        std::string(nodes::kBundleProbe),
        [this](const std::string& query, runtime::Executors::Completion done) {
          if (!bundles_) {
            bundles_ = std::make_unique<BackgroundQueue>();
          }
          bundles_->add([query, done = std::move(done)] { done(nodes::read_bundle(query)); });
        });
    executors_.on_probe("certificate-request",
                        [](const std::string& query, const runtime::Executors::Completion& done) {
                          done(read_certificate_wish(query));
                        });
    executors_.on_probe("certificate", [this](const std::string& query,
                                              const runtime::Executors::Completion& done) {
      done(sign_certificate({.certificate_pem = pki_.ca_certificate, .key_pem = pki_.ca_key},
                            clock_->now(), query));
    });
    executors_.on_probe("subject-access", [this](const std::string& query,
                                                 const runtime::Executors::Completion& done) {
      done(review_access(api_->server(), clock_->now(), query));
    });
    executors_.on_probe(
        "service-account-token",
        [this](const std::string& query, const runtime::Executors::Completion& done) {
          done(sign_account_token(*signer_, query));
        });
  }

  // Systems ask target clusters questions: on threads and connections of their own.
  void register_targets() {
    for (const System* system : options_.systems) {
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
            .read_secret =
                [this](const Key& secret) {
                  return read_secret(api_->server(), clock_->now(), secret);
                },
            .clock = clock_.get(),
            .concurrency = use.concurrency(options_.config.find(system->name)->second)});
        executors_.on_probe(std::string(use.name),
                            [this](const std::string& query, runtime::Executors::Completion done) {
                              targets_->ask(query, std::move(done));
                            });
      }
    }
  }

  void register_pods() {
    if (!runtime_) {
      return;
    }
    background_ = std::make_unique<BackgroundQueue>();
    add_pod_executors(executors_, *runtime_, *background_);
    add_node_files(executors_, *background_, directory_->path() + "/nodes");
    executors_.on_probe(
        std::string(nodes::kImagesQuery),
        [this](const std::string& /*query*/, const runtime::Executors::Completion& done) {
          done(images_->all());
        });
  }

  ControlPlaneOptions options_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Entropy> entropy_;
  Metrics metrics_{};
  Audit audit_{};
  std::optional<store::DataDirectory> directory_{};
  std::string kubeconfig_{};
  bool stopped_ = false;
  net::Pki pki_{};
  std::unique_ptr<nodes::PodRuntime> runtime_{};
  nodes::ProcessRuntime* processes_ = nullptr;  // in runtime_, when it runs processes
  std::unique_ptr<apiserver::TokenSigner> signer_{};
  std::unique_ptr<ServedApi> api_{};
  Descriptor channel_{};  // to the children of the spawner, until the network has it
  bool supervised_ = false;
  bool limits_cpu_ = false;  // cgroups hold containers to them
  std::string resolver_{};   // this machine's settings
  std::unique_ptr<ServiceWatch> services_{};
  std::unique_ptr<ImageWatch> images_{};
  std::unique_ptr<PodMetrics> usage_{};
  std::unique_ptr<nodes::PodNetwork> network_{};
  std::unique_ptr<MissingObjects> missing_{};
  std::unique_ptr<NodeSockets> sockets_{};
  std::unique_ptr<targets::TargetServer> emulated_{};
  std::unique_ptr<BackgroundQueue> background_{};
  std::unique_ptr<BackgroundQueue> bundles_{};  // of OCI layouts: their reading takes time
  std::unique_ptr<client::TargetProbe> targets_{};
  std::unique_ptr<client::WebhookPoster> poster_{};
  std::unique_ptr<client::DefinitionSource> definitions_{};  // once a run asks for one
  std::unique_ptr<client::GitSource> repositories_{};        // likewise
  runtime::Executors executors_{};
  std::vector<const Operator*> enabled_{};
  std::unique_ptr<EngineDriver> driver_{};
};

}  // namespace

Result<std::unique_ptr<ControlPlane>> ControlPlane::start(ControlPlaneOptions options) {
  const std::string data = options.data;
  auto plane = std::make_unique<RunningControlPlane>(std::move(options));
  if (const auto lit = plane->light(); !lit.ok()) {
    return with_missing_space(lit.error(), data);
  }
  return std::unique_ptr<ControlPlane>(std::move(plane));
}

}  // namespace athanor::lab
