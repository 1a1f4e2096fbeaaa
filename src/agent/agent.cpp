// SPDX-License-Identifier: Apache-2.0
// In the order of docs/spec/das.md 8.1: cluster policy, GPUs, caches, what was left of a run
// before, device plugins.
#include "agent/agent.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "agent/footprint.hpp"
#include "agent/kubelet/dra_server.hpp"
#include "agent/kubelet/folder_watch.hpp"
#include "agent/kubelet/kubelet_calls.hpp"
#include "agent/kubelet/plugins.hpp"
#include "agent/node/allocator.hpp"
#include "agent/node/api_writes.hpp"
#include "agent/node/gpu_modes.hpp"
#include "agent/node/gpu_watch.hpp"
#include "agent/node/node_wishes.hpp"
#include "agent/node/preparer.hpp"
#include "agent/node/shares.hpp"
#include "agent/node/slices.hpp"
#include "api/builtin.hpp"
#include "api/device_kinds.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "client/cluster_config.hpp"
#include "cluster/cluster_driver.hpp"
#include "runtime/metrics/metrics.hpp"
#include "systems/das/agent/node_agent.hpp"
#include "systems/das/agent/start_up.hpp"
#include "systems/das/dra/operators.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/log_level.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/ownership.hpp"
#include "systems/das/sharing/share.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::agent {
namespace {

using UsedGpus = std::set<std::string, std::less<>>;

// Returns true if another program holds the slots of a slice that was to be made.
bool is_occupied(const Error& error) {
  return error.reason == das::kInsufficientResources;
}

constexpr Duration kPolicyPause = std::chrono::seconds(5);
constexpr Duration kNvmlMost = std::chrono::seconds(60);
constexpr Duration kLook = std::chrono::minutes(5);      // at the GPUs, without an event
constexpr Duration kSoon = std::chrono::seconds(5);      // where something is to change
constexpr std::chrono::seconds kTidy{60};                // docs/spec/das.md G7
constexpr std::chrono::milliseconds kCompareSoon{1000};  // after an answer to the kubelet
constexpr std::chrono::seconds kQuiet{3};                // until memory is given back
constexpr double kUnlimited = 0;

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(" \n\r") + 1);
  return text;
}

// What is watched: the node's own objects, and claims of all nodes, which have no field to select
// by. Pods are in every namespace, so that namespaces are selected as fields.
void narrow(client::FeedScope& scope, const std::string& node, const std::string& ns) {
  scope.trim = client::trim_fields();
  const std::string_view resource = scope.kind->plural;
  if (resource == api::kPod.plural || resource == api::kResourceSlice.plural) {
    scope.field_selector = "spec.nodeName=" + node;
  } else if (resource == api::kNode.plural) {
    scope.field_selector = "metadata.name=" + node;
  } else if (resource == das::kNodeAccelerator.plural) {
    scope.field_selector = fmt::format("metadata.name={},metadata.namespace={}", node, ns);
  } else {
    scope.field_selector = "metadata.namespace=" + ns;
  }
}

}  // namespace

struct Agent::State {
  State(Options wanted, std::map<std::string, std::string> variables)
      : options(std::move(wanted)),
        environment(std::move(variables)),
        clock(wall_clock()),
        entropy(system_entropy()),
        folder(options.cdi_folder),
        boot_id(trimmed(read_text(options.boot_id_file))),
        wishes(options.node) {}

  Result<void> start(const std::function<bool(Duration)>& pause);
  Result<void> open_client();
  Result<void> serve();
  bool wait_for_policy(const std::function<bool(Duration)>& pause);
  bool open_gpus(const std::function<bool(Duration)>& pause);
  void make_driver();
  void take_releases();
  void make_workers();
  Result<void> find();
  void look_again();
  void prepare(std::vector<ClaimName> claims, const PrepareDone& done);
  void divide(NodeFound& now);
  void assign(Value& resources, const Object& node, const Value& before, const UsedGpus& used);
  void warn(const Object& node, const char* reason, std::string note);
  [[nodiscard]] std::string not_ready() const;
  Result<bool> rebooted();
  Result<void> recover();
  void add_sight(das::Findings& findings);
  void collect(const std::vector<das::SliceRecord>& records);
  void tidy();
  void watch_gpus();
  void keep();
  void stop();
  void allocate(const std::string& profile, const AllocateAsk& ask, AllocateDone done);
  [[nodiscard]] bool emulated() const { return options.settings.emulated(); }

  Options options;
  std::map<std::string, std::string> environment;
  std::unique_ptr<Clock> clock;
  std::unique_ptr<Entropy> entropy;
  CdiFolder folder;
  std::string boot_id;
  Metrics metrics{};
  NodeWishes wishes;
  runtime::Executors executors{};
  std::shared_ptr<client::ApiClient> client{};
  std::unique_ptr<ApiWrites> writes{};
  std::unique_ptr<GpuDriver> gpus{};  // null: emulated
  std::unique_ptr<GpuModes> modes{};  // null: emulated
  std::unique_ptr<Slices> slices{};
  std::unique_ptr<Allocator> allocator{};
  std::unique_ptr<cluster::ClusterDriver> driver{};
  std::unique_ptr<Plugins> plugins{};
  std::unique_ptr<Preparer> preparer{};  // null: no GPU belongs to DRA
  std::unique_ptr<DraServer> dra{};
  std::unique_ptr<StatusEndpoint> endpoint{};

  Mutex looking{};  // held while the GPUs are looked at; taken before `mutex`
  Mutex mutex{};
  NodeFound found ATHANOR_GUARDED_BY(mutex){};
  Value published ATHANOR_GUARDED_BY(mutex){};   // see das::kGpusQuery
  bool known ATHANOR_GUARDED_BY(mutex) = false;  // found is filled
  // Questions for it.
  std::vector<runtime::Executors::Completion> waiting ATHANOR_GUARDED_BY(mutex){};
  std::map<std::string, std::string> troubles ATHANOR_GUARDED_BY(mutex){};  // by claim uid

  std::atomic<bool> ready{false};
  std::atomic<bool> stopping{false};
  std::atomic<bool> pending{false};  // a GPU with claims is to change its mode
  std::atomic<bool> asked{false};    // a kubelet was answered since the last comparison
  std::optional<FolderWatch> watch{};
  std::thread keeper{};
  std::thread looker{};
};

Result<void> Agent::State::open_client() {
  ATHANOR_TRY(client::ClusterConfig config,
              client::resolve_cluster({.path = options.kubeconfig, .environment = environment}));
  if (options.ns.empty() && config.context == "in-cluster") {
    options.ns = config.ns;
  }
  if (!options.ns.empty()) {
    options.settings.ns = options.ns;
  }
  // What a kubelet waits for is not held back.
  ATHANOR_TRY(client,
              client::ApiClient::open(std::move(config), *clock, *entropy, {.qps = kUnlimited}));
  writes = std::make_unique<ApiWrites>(client, *clock, *entropy);
  return {};
}

Result<void> Agent::State::serve() {
  if (options.listen == "0") {
    return {};
  }
  ATHANOR_TRY(endpoint, StatusEndpoint::start({.address = options.listen,
                                               .tls = options.tls,
                                               .clock = clock.get(),
                                               .metrics = [this] { return metrics.text(); },
                                               .not_ready = [this] { return not_ready(); }}));
  log::info("status is served", {{"address", endpoint->address()}});
  return {};
}

std::string Agent::State::not_ready() const {
  if (!ready) {
    return "the agent is starting";
  }
  if (!plugins || !plugins->registered()) {
    return "device plugins are not registered";
  }
  return dra && !dra->registered() ? "the DRA driver is not registered" : "";
}

bool Agent::State::wait_for_policy(const std::function<bool(Duration)>& pause) {
  if (emulated() || options.cluster_policy.empty()) {
    return true;
  }
  while (true) {
    const auto policy = writes->get({&das::kClusterPolicy, {"", options.cluster_policy}});
    if (policy.ok() && policy_is_ready(policy->body())) {
      return true;
    }
    log::info("waiting for the GPU operator",
              {{"clusterpolicy", options.cluster_policy},
               {"why", policy.ok() ? std::string("not ready") : policy.error().message}});
    if (!pause(kPolicyPause)) {
      return false;
    }
  }
}

bool Agent::State::open_gpus(const std::function<bool(Duration)>& pause) {
  if (emulated()) {
    const das::Settings& settings = options.settings;
    const bool uuids = settings.device_ids == "uuid";
    slices = with_shares(emulated_slices({.uuids = uuids,
                                          .create_ms = settings.slice_create_ms,
                                          .destroy_ms = settings.slice_destroy_ms,
                                          .fail_per_million = settings.fail_per_million},
                                         metrics),
                         {.uuids = uuids});
    return true;
  }
  Duration wait = std::chrono::seconds(1);
  while (true) {
    auto opened = open_nvml(options.nvml);
    if (opened.ok()) {
      gpus = *std::move(opened);
      break;
    }
    log::warn("NVML is not there yet", {{"error", opened.error().message}});
    if (!pause(wait)) {
      return false;
    }
    wait = std::min(wait * 2, kNvmlMost);
  }
  modes = std::make_unique<GpuModes>(options.state_folder);
  slices = with_shares(real_slices({.driver = gpus.get(),
                                    .folder = &folder,
                                    .gpus =
                                        [this] {
                                          const MutexLock lock(mutex);
                                          return found.discovery.gpus;
                                        },
                                    .metrics = &metrics}),
                       {.modes = modes.get()});
  return true;
}

void Agent::State::warn(const Object& node, const char* reason, std::string note) {
  writes->tell({.about = {&api::kNode, node.key()},
                .about_uid = std::string(node.uid()),
                .type = "Warning",
                .reason = reason,
                .note = std::move(note)});
}

// Which API hands out which GPU (docs/spec/das.md 15.1), by the node's annotation.
void Agent::State::assign(Value& resources, const Object& node, const Value& before,
                          const UsedGpus& used) {
  const auto done = das::assign_apis(resources, before, options.settings.allocation_api,
                                     node.annotation(das::kAllocationApiAnnotation), used);
  if (!done.ok()) {
    warn(node, "InvalidAllocationAPI", done.error().message);
  }
}

// Which GPUs are shared and how (docs/spec/das.md 15.2), which API hands them out, and what that
// takes on the node. While the claims are not known nothing changes.
void Agent::State::divide(NodeFound& now) {
  const auto node = writes->get({&api::kNode, {"", options.node}});
  const auto accelerator =
      writes->get({&das::kNodeAccelerator, {options.settings.ns, options.node}});
  const Value before = accelerator.ok() ? accelerator->status()["nodeResources"] : Value();
  UsedGpus used;
  const das::NodeSight sight =
      allocator && ready ? allocator->look() : das::NodeSight{.seen = false};
  if (sight.seen) {
    for (const das::Claim& claim : sight.claims) {
      used.insert(claim.gpu);
    }
  } else {
    for (const Value& gpu : before["nodeGpus"].items()) {
      used.insert(gpu["gpuUuid"].str());
    }
  }
  const std::string_view annotation =
      node.ok() ? node->annotation(das::kSharingAnnotation) : std::string_view();
  das::SharingRequest request{.annotation = annotation,
                              .vendor = now.vendor,
                              .before = &before,
                              .used = &used,
                              .allows = now.allows};
  Value free = now.resources;
  std::vector<std::string> problems = das::assign_sharing(now.resources, request);
  const UsedGpus none;
  request.used = &none;
  static_cast<void>(das::assign_sharing(free, request));
  pending = free != now.resources;
  if (modes && ready) {
    const auto failed = modes->apply(das::shared_gpus(now.resources), *now.vendor);
    Value& gpus_now = now.resources.member("nodeGpus");
    for (std::size_t i = 0; i < gpus_now.size(); ++i) {
      const auto trouble = failed.find(gpus_now[i]["gpuUuid"].str());
      if (trouble != failed.end()) {
        gpus_now.item(i).set("health", "Unhealthy");
        problems.push_back(fmt::format("GPU {} cannot be shared: {}", gpus_now[i]["index"].as_int(),
                                       trouble->second));
      }
    }
  }
  if (!node.ok() || !ready) {
    return;
  }
  for (std::string& problem : problems) {
    warn(*node, "InvalidGPUSharing", std::move(problem));
  }
  if (options.settings.dra()) {  // publication waits for `ready`
    assign(now.resources, *node, before, used);
  }
}

// Looks at the GPUs, then answers waiting probes and updates the driver and the plugins.
Result<void> Agent::State::find() {
  const MutexLock only(looking);
  Result<NodeFound> now = Error::unavailable("not looked at");
  if (gpus) {
    now = real_node(*gpus, slices->records(), boot_id);
  } else {
    ATHANOR_TRY(const Object node, writes->get({&api::kNode, {"", options.node}}));
    now = emulated_node(node, options.settings, boot_id);
  }
  if (!now.ok()) {
    return std::move(now).error();
  }
  divide(*now);
  const Value observation =
      Value::object({{"nodeResources", now->resources},
                     {"ready", das::readiness(now->resources)},
                     {"slices", das::claims_with_slices(now->discovery, slices->records())},
                     {"type", now->vendor->facts().type}});
  const das::Vendor& vendor = *now->vendor;
  std::vector<runtime::Executors::Completion> answers;
  {
    const MutexLock lock(mutex);
    found = *std::move(now);
    published = observation;
    known = true;
    if (ready) {  // what was published before has to be read first: the boot id
      answers.swap(waiting);
    }
  }
  for (const auto& answer : answers) {
    answer(observation);
  }
  if (ready) {
    driver->observe(std::string(das::kGpusQuery), observation);
  }
  if (plugins) {
    plugins->offer(das::device_lists(observation["nodeResources"], vendor));
  }
  return {};
}

// Publishes the slots that another program holds before the kubelet hears of the failure: the next
// pod would be placed there again (docs/spec/das.md 8.6).
void Agent::State::look_again() {
  if (const auto looked = find(); !looked.ok()) {
    log::warn("the GPUs cannot be looked at", {{"error", looked.error().message}});
  }
}

void Agent::State::prepare(std::vector<ClaimName> claims, const PrepareDone& done) {
  preparer->prepare(std::move(claims), [this, done](auto answers) {
    if (std::ranges::any_of(answers, [](const auto& answer) {
          return !answer.ok() && is_occupied(answer.error());
        })) {
      look_again();
    }
    done(std::move(answers));
  });
}

// Lets the driver give instances back; an answer is the end of the release.
void Agent::State::take_releases() {
  executors.on_act(std::string(das::kReleaseVerb), [this](
                                                       const std::string& id, const Value& args,
                                                       const runtime::Executors::Completion& done) {
    const auto claim = das::read_slice_or_share(Object(args["claim"]));
    if (!claim) {
      done(Value::object());
      return;
    }
    allocator->release(*claim, {.trouble =
                                    [this, id](const Error& error) {
                                      {
                                        const MutexLock lock(mutex);
                                        troubles[id] = error.message;
                                      }
                                      driver->observe(fmt::format("{}:{}", das::kTroubleQuery, id),
                                                      Value(error.message));
                                    },
                                .done =
                                    [this, id, done] {
                                      {
                                        const MutexLock lock(mutex);
                                        troubles.erase(id);
                                      }
                                      done(Value::object());
                                    }});
  });
}

void Agent::State::make_driver() {
  executors.take_log_levels();
  executors.on_probe(std::string(das::kGpusQuery),
                     [this](const std::string& /*query*/, runtime::Executors::Completion done) {
                       Value observation;
                       {
                         const MutexLock lock(mutex);
                         if (!ready || !known) {
                           waiting.push_back(std::move(done));
                           return;
                         }
                         observation = published;
                       }
                       done(std::move(observation));
                     });
  // A release answers by itself.
  executors.on_probe(
      std::string(das::kReleaseVerb),
      [](const std::string& /*query*/, const runtime::Executors::Completion& /*done*/) {});
  executors.on_probe(std::string(das::kTroubleQuery),
                     [this](const std::string& query, const runtime::Executors::Completion& done) {
                       std::string trouble;
                       {
                         const MutexLock lock(mutex);
                         const auto known_trouble =
                             troubles.find(query.substr(query.find(':') + 1));
                         trouble = known_trouble == troubles.end() ? "" : known_trouble->second;
                       }
                       done(Value(trouble));
                     });
  take_releases();
  std::vector<const Operator*> operators{&das::publication_operator(), &das::release_operator(),
                                         &das::log_level_operator()};
  if (options.settings.dra()) {
    operators.push_back(&das::found_publisher_operator());
  }
  driver = std::make_unique<cluster::ClusterDriver>(
      operators, cluster::DriverOptions{
                     .client = client,
                     .clock = clock.get(),
                     .entropy = entropy.get(),
                     .executors = &executors,
                     .metrics = &metrics,
                     .config = {{das::kSettingsSection, api::encode(options.settings)},
                                {das::kAgentSection, Value::object({{"node", options.node}})}},
                     .narrow = [node = options.node, ns = options.settings.ns](
                                   client::FeedScope& scope) { narrow(scope, node, ns); },
                     .journal = &wishes});
  make_workers();
}

void Agent::State::make_workers() {
  allocator = std::make_unique<Allocator>(
      AllocatorOptions{.node = options.node,
                       .pod_resources = options.pod_resources,
                       .allocate = {.cuda_visible_devices = options.settings.cuda_visible_devices,
                                    .state_folder = options.state_folder},
                       .slices = slices.get(),
                       .folder = &folder,
                       .writes = writes.get(),
                       .metrics = &metrics,
                       .clock = clock.get(),
                       .inspect = [this](std::function<void(const View&, Instant)> reader) {
                         driver->inspect(std::move(reader));
                       }});
  if (!options.settings.dra()) {
    return;
  }
  preparer = std::make_unique<Preparer>(
      PreparerOptions{.node = options.node,
                      .ns = options.settings.ns,
                      .cuda_visible = options.settings.cuda_visible_devices,
                      .slices = slices.get(),
                      .folder = &folder,
                      .writes = writes.get(),
                      .clock = clock.get(),
                      .look = [this] { return allocator->look(); },
                      .resources =
                          [this] {
                            const MutexLock lock(mutex);
                            return published["nodeResources"];
                          }});
}

Result<bool> Agent::State::rebooted() {
  const auto known_node =
      writes->get({&das::kNodeAccelerator, {options.settings.ns, options.node}});
  if (!known_node.ok()) {
    return known_node.error().code == 404 ? Result<bool>(false) : known_node.error();
  }
  const Value& before = known_node->status()["nodeResources"];
  const std::string boot = before["bootId"].str();
  const bool anew = !boot.empty() && boot != boot_id;
  if (modes && !anew) {
    modes->adopt(das::shared_gpus(before));
  }
  return anew;
}

// Adds the slices and GPUs that the driver reports.
void Agent::State::add_sight(das::Findings& findings) {
  const MutexLock lock(mutex);
  findings.slices = found.discovery.slices;
  for (const das::FoundGpu& gpu : found.discovery.gpus) {
    if (!gpu.lost) {
      findings.gpus.insert(gpu.uuid);
    }
  }
}

// Before anything is published: what the run before this one left.
Result<void> Agent::State::recover() {
  ATHANOR_TRY(const bool anew, rebooted());
  das::Findings findings{.sight = allocator->look(),
                         .files = folder.files(),
                         .records = slices->records(),
                         .emulated = emulated(),
                         .rebooted = anew};
  if (!findings.sight.seen) {
    return Error::unavailable("the node's claims are not known yet");
  }
  add_sight(findings);
  const das::Measures measures = das::measures_of(findings);
  std::vector<Step> steps;
  for (const das::Claim& claim : measures.stale_claims) {
    log::info("a slice did not outlive the node's restart; its pod is to be deleted",
              {{"claim", claim.object.name()}, {"pod", claim.pod.text()}});
    steps.emplace_back(
        Patch{.target = {&das::kAllocationClaim, claim.object.key()},
              .merge = Value::object({{"status", das::restarted_status(claim, clock->now())}}),
              .subresource = "status",
              .guard = {.uid = std::string(claim.object.uid())}});
  }
  if (!steps.empty()) {
    ATHANOR_TRY_VOID(writes->run(steps));
  }
  for (const das::CdiSpec& file : measures.remove_files) {
    folder.remove(file);
  }
  for (const das::SliceRecord& record : measures.forget) {
    slices->forget(record);
  }
  collect(measures.destroy);
  slices->adopt(findings.sight.claims);
  allocator->adopt(das::ledger_of(folder.files(), findings.sight));
  return {};
}

void Agent::State::collect(const std::vector<das::SliceRecord>& records) {
  for (const das::SliceRecord& record : records) {
    const auto done = slices->destroy(record);
    if (!done.ok()) {
      log::warn("what is left of a slice cannot be destroyed",
                {{"claim", record.claim}, {"error", done.error().message}});
      writes->tell({.about = {&das::kNodeAccelerator, {options.settings.ns, options.node}},
                    .type = "Warning",
                    .reason = das::kSliceDestroyFailed,
                    .note = fmt::format("{} on {}, slot {}: {}", record.profile, record.gpu,
                                        record.start, done.error().message)});
      continue;
    }
    log::info("what was left of a slice is destroyed", {{"claim", record.claim}});
    metrics
        .counter("das_claims_garbage_collected_total",
                 "What was left of claims and is collected, by reason.",
                 {{"reason", "SliceWithoutClaim"}})
        .add();
  }
}

// Slices and files whose claims are gone (docs/spec/das.md G6, G7), files that are missing.
void Agent::State::tidy() {
  // Records and files first: a claim whose slice is made meanwhile is in a view that is taken
  // later.
  das::Findings findings{
      .files = folder.files(), .records = slices->records(), .emulated = emulated()};
  findings.sight = allocator->look();
  if (!driver->synced()) {
    return;
  }
  add_sight(findings);
  // The findings are from before the restart: counts each record's slice as present, so that
  // measures_of() decides whether to destroy it.
  findings.slices.clear();
  for (const das::SliceRecord& record : findings.records) {
    findings.slices.push_back({record.gpu, record.device, record.start, record.size});
  }
  const das::Measures measures = das::measures_of(findings);
  for (const das::CdiSpec& file : measures.remove_files) {
    folder.remove(file);
  }
  collect(measures.destroy);
  allocator->restore_files();
  if (preparer) {
    preparer->tidy();
  }
}

void Agent::State::keep() {
  using Steady = std::chrono::steady_clock;
  auto due = Steady::now();
  auto quiet = Steady::time_point::max();  // when nothing will have been asked for a while
  while (!stopping) {
    const auto now = Steady::now();
    if (now >= due) {
      due = now + kTidy;
      tidy();
      allocator->compare();
      quiet = now + kQuiet;
    } else if (asked.exchange(false)) {
      allocator->compare();
      quiet = now + kQuiet;
    } else if (now >= quiet) {
      shrink();
      quiet = Steady::time_point::max();
    }
    const auto next = std::min({due, quiet, asked ? now + kCompareSoon : due});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now);
    if (watch->wait(left) && !stopping) {
      allocator->restore_files();
    }
  }
}

void Agent::State::watch_gpus() {
  using Steady = std::chrono::steady_clock;
  constexpr Duration kStep = std::chrono::seconds(1);
  const bool by_annotation = options.settings.allocation_api == "both";
  auto looked_at = Steady::now();
  std::string wished;
  while (!stopping) {
    const auto step = Steady::now() + std::chrono::milliseconds(200);
    const bool event = gpus ? gpus->wait_for_event(kStep) : false;
    if (!event) {
      std::this_thread::sleep_until(step);  // a driver without events answers at once
    }
    const bool changed = modes && modes->tend();
    std::string now = wishes.text();
    const bool wanted = now != wished;
    const auto due = looked_at + (by_annotation || pending ? kSoon : kLook);
    if (!event && !changed && !wanted && Steady::now() < due) {
      continue;
    }
    wished = std::move(now);
    looked_at = Steady::now();
    if (const auto looked = find(); !looked.ok()) {
      log::warn("the GPUs cannot be looked at", {{"error", looked.error().message}});
    }
  }
}

void Agent::State::allocate(const std::string& profile, const AllocateAsk& ask, AllocateDone done) {
  std::vector<das::DeviceAsk> asks;
  for (const std::vector<std::string>& ids : ask) {
    asks.push_back({.profile = profile, .ids = ids});
  }
  allocator->ask(std::move(asks), [this, done = std::move(done)](auto devices) {
    if (!devices.ok() && is_occupied(devices.error())) {
      look_again();
    }
    done(std::move(devices));
    asked = true;
    watch->wake();
  });
}

Result<void> Agent::State::start(const std::function<bool(Duration)>& pause) {
  constexpr Duration kSyncPause = std::chrono::milliseconds(20);
  constexpr Duration kTryPause = std::chrono::seconds(1);
  ATHANOR_TRY_VOID(open_client());
  ATHANOR_TRY_VOID(serve());
  watch.emplace(folder.path());
  if (!wait_for_policy(pause) || !open_gpus(pause)) {
    return {};
  }
  make_driver();
  while (true) {
    auto looked = find();
    if (looked.ok()) {
      break;
    }
    if (looked.error().code == 400) {
      return looked;  // a setting that never becomes right
    }
    log::warn("the node cannot be looked at", {{"error", looked.error().message}});
    if (!pause(kTryPause)) {
      return {};
    }
  }
  driver->start();
  while (!driver->synced()) {
    if (!pause(kSyncPause)) {
      return {};
    }
  }
  while (true) {
    const auto recovered = recover();
    if (recovered.ok()) {
      break;
    }
    log::warn("what a run before left cannot be looked at", {{"error", recovered.error().message}});
    if (!pause(kTryPause)) {
      return {};
    }
  }
  plugins = std::make_unique<Plugins>(PluginsOptions{
      .folder = options.plugin_folder,
      .registers = [this] { allocator->doubt(); },
      .allocate = [this](const std::string& profile, const AllocateAsk& ask,
                         AllocateDone done) { allocate(profile, ask, std::move(done)); }});
  if (preparer) {
    ATHANOR_TRY(
        dra, DraServer::start(
                 {.driver = das::kDraDriver,
                  .registry = options.registry_folder,
                  .folder = options.drivers_folder,
                  .prepare = [this](std::vector<ClaimName> claims,
                                    const PrepareDone& done) { prepare(std::move(claims), done); },
                  .unprepare =
                      [this](std::vector<ClaimName> claims, const UnprepareDone& done) {
                        preparer->unprepare(std::move(claims), done);
                      }}));
  }
  ready = true;
  ATHANOR_TRY_VOID(find());
  keeper = std::thread([this] { keep(); });
  looker = std::thread([this] { watch_gpus(); });
  log::info("the agent is ready", {{"node", options.node}});
  return {};
}

void Agent::State::stop() {
  stopping = true;
  if (watch) {
    watch->wake();
  }
  if (plugins) {
    plugins->stop();
  }
  for (std::thread* thread : {&keeper, &looker}) {
    if (thread->joinable()) {
      thread->join();
    }
  }
  if (preparer) {
    preparer->stop();
  }
  dra.reset();
  if (allocator) {
    allocator->stop();
  }
  if (driver) {
    driver->drain(std::chrono::seconds(2));
    driver->stop();
  }
  endpoint.reset();
  if (client) {
    client->stop();
  }
}

Agent::Agent(Options options, std::map<std::string, std::string> environment)
    : state_(std::make_unique<State>(std::move(options), std::move(environment))) {}

Agent::~Agent() {
  stop();
}

Result<void> Agent::start(const std::function<bool(Duration)>& pause) {
  return state_->start(pause);
}

void Agent::stop() {
  state_->stop();
}

}  // namespace athanor::agent
