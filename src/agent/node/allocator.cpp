// SPDX-License-Identifier: Apache-2.0
#include "agent/node/allocator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "agent/node/api_writes.hpp"
#include "agent/node/queue_thread.hpp"
#include "api/builtin.hpp"
#include "base/check.hpp"
#include "base/condition_variable.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "runtime/metrics/metrics.hpp"
#include "systems/das/agent/exchange.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/sharing/share.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::agent {
namespace {

using das::Claim;

constexpr std::chrono::seconds kReleaseRetry{60};
constexpr std::chrono::seconds kLookPatience{2};
constexpr std::chrono::seconds kReadPatience{1};
// A kubelet that ended is back by then; a slice in use cannot be destroyed anyway.
constexpr std::chrono::seconds kCompareRetry{1};
constexpr int kCompareTries = 30;

// Versions of one kind grow, and are numbers.
std::uint64_t version_of(const Object& object) {
  std::uint64_t version = 0;
  const std::string_view text = object.resource_version();
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

// An event about the pod of a claim.
Emit event(const Claim& claim, const char* type, const char* reason, std::string note) {
  return {.about = {&api::kPod, claim.pod},
          .about_uid = claim.pod_uid,
          .type = type,
          .reason = reason,
          .note = std::move(note)};
}

}  // namespace

struct Allocator::State final : das::AllocateWorld {
  explicit State(AllocatorOptions wanted)
      : options(std::move(wanted)), exchange(options.folder->exchange()) {}

  // ---- the world of one Allocate call, on the questions' thread
  das::NodeSight look() override;
  Result<std::optional<Object>> find_pod(const Claim& claim) override;
  void wait(Duration time) override {
    MutexLock lock(mutex);
    woken.wait_for(lock, time, [this]() ATHANOR_REQUIRES(mutex) { return stopping; });
  }
  Result<void> write_state(std::span<const Claim> claims, std::string_view state) override;
  Result<std::vector<std::string>> make_slices(std::span<const Claim> claims) override;
  void destroy_slices(std::span<const Claim> claims) override;
  std::string slice_of(const Claim& claim) override { return options.slices->name_of(claim); }
  Result<void> write_file(const das::CdiSpec& spec) override { return options.folder->write(spec); }
  void remove_file(const das::CdiSpec& spec) override { options.folder->remove(spec); }
  std::optional<std::vector<das::Holder>> holders() override;
  Result<void> give(const das::Transfer& transfer) override;
  Result<void> keep_exchange(const std::string& text) override ATHANOR_REQUIRES(ledger_mutex) {
    ATHANOR_TRY_VOID(options.folder->write_exchange(text));
    exchange = text;
    return {};
  }
  std::string kept_exchange() override ATHANOR_REQUIRES(ledger_mutex) { return exchange; }

  void answer(const std::vector<das::DeviceAsk>& asks, const Done& done);
  void release(const Claim& claim, const Released& released, int tries);
  das::Ending end_of(const Claim& claim, int tries) ATHANOR_REQUIRES(ledger_mutex);
  void note(std::vector<Object> objects);

  AllocatorOptions options;
  Mutex mutex{};
  ConditionVariable woken{};
  // Claims as written, until the cache shows it.
  std::map<std::string, Object, std::less<>> newest ATHANOR_GUARDED_BY(mutex){};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  Mutex ledger_mutex{};  // held for a whole question
  das::Ledger ledger ATHANOR_GUARDED_BY(ledger_mutex){};
  std::string exchange ATHANOR_GUARDED_BY(ledger_mutex);  // that began; see das::Exchange
  std::atomic<bool> doubtful{false};
  QueueThread questions{};
  QueueThread releases{};
};

das::NodeSight Allocator::State::look() {
  // Shared with the reader, which may run when the question is given up.
  struct Seen {
    Mutex mutex{};
    ConditionVariable there{};
    std::optional<das::NodeSight> sight ATHANOR_GUARDED_BY(mutex){};
  };
  auto seen = std::make_shared<Seen>();
  options.inspect([seen, node = options.node](const View& view, Instant /*now*/) {
    das::NodeSight now{.claims = das::claims_on(view, node)};
    for (const das::ShareClaim& share : das::shares_on(view, node)) {
      now.claims.push_back(*das::read_slice_or_share(share.object));
    }
    for (const Object& pod : view.list(api::kPod, {.index = "node", .index_value = node})) {
      now.pods[std::string(pod.uid())] = pod;
    }
    const MutexLock lock(seen->mutex);
    seen->sight = std::move(now);
    seen->there.notify_one();
  });
  das::NodeSight sight;
  {
    MutexLock lock(seen->mutex);
    if (!seen->there.wait_for(lock, kLookPatience, [&seen]() ATHANOR_REQUIRES(seen->mutex) {
          return seen->sight.has_value();
        })) {
      return {.seen = false};
    }
    sight = *std::move(seen->sight);
  }
  const MutexLock lock(mutex);
  std::map<std::string, Object, std::less<>> kept;
  for (Claim& claim : sight.claims) {
    const auto written = newest.find(claim.object.uid());
    if (written == newest.end()) {
      continue;
    }
    if (version_of(claim.object) < version_of(written->second)) {
      if (auto now = das::read_slice_or_share(written->second)) {
        claim = *std::move(now);
      }
    }
    kept[written->first] = claim.object;  // a call under way may hold an older one
  }
  newest.swap(kept);
  return sight;
}

Result<std::optional<Object>> Allocator::State::find_pod(const Claim& claim) {
  constexpr int kNotFound = 404;
  auto pod = options.writes->get({&api::kPod, claim.pod}, kReadPatience);
  if (!pod.ok() && pod.error().code != kNotFound) {
    return std::move(pod).error();
  }
  if (!pod.ok() || pod->uid() != claim.pod_uid ||
      pod->spec()["nodeName"].as_string() != options.node) {
    return std::optional<Object>();
  }
  return std::optional<Object>(*std::move(pod));
}

void Allocator::State::note(std::vector<Object> objects) {
  const MutexLock lock(mutex);
  for (Object& object : objects) {
    newest[std::string(object.uid())] = std::move(object);
  }
}

Result<void> Allocator::State::write_state(std::span<const Claim> claims, std::string_view state) {
  std::vector<Step> steps;
  for (const Claim& claim : claims) {
    // What this call wrote before counts, not what the caller saw then.
    Value status = claim.object.status();
    {
      const MutexLock lock(mutex);
      if (const auto written = newest.find(claim.object.uid()); written != newest.end()) {
        status = written->second.status();
      }
    }
    if (status["state"].as_string() == state) {
      continue;
    }
    steps.emplace_back(Patch{
        .target = {&das::kAllocationClaim, claim.object.key()},
        .merge =
            Value::object({{"status", das::claim_status(status, {state}, claim.object.generation(),
                                                        options.clock->now())}}),
        .subresource = "status",
        .guard = {.uid = std::string(claim.object.uid())}});
  }
  ATHANOR_TRY(std::vector<Object> written, options.writes->run(steps));
  note(std::move(written));
  return {};
}

Result<std::vector<std::string>> Allocator::State::make_slices(std::span<const Claim> claims) {
  auto made = options.slices->make(claims);
  for (const Claim& claim : claims) {
    options.writes->tell(made.ok()
                             ? event(claim, "Normal", "SliceCreated", das::place_of(claim))
                             : event(claim, "Warning", "SliceCreateFailed", made.error().message));
  }
  return made;
}

void Allocator::State::destroy_slices(std::span<const Claim> claims) {
  for (const Claim& claim : claims) {
    if (const auto done = options.slices->destroy(claim); !done.ok()) {
      log::warn("a slice was not destroyed; its record stays",
                {{"claim", claim.object.name()}, {"error", done.error().message}});
      options.writes->tell(event(claim, "Warning", das::kSliceDestroyFailed, done.error().message));
    }
  }
}

void Allocator::State::answer(const std::vector<das::DeviceAsk>& asks, const Done& done) {
  const auto began = std::chrono::steady_clock::now();
  Result<std::vector<std::string>> devices = Error::unavailable("the agent ends");
  {
    const MutexLock lock(ledger_mutex);
    if (doubtful.exchange(false)) {
      ledger.doubt();
    }
    devices = das::allocate(asks, ledger, *this, options.allocate);
  }
  options.metrics
      ->histogram("das_allocate_seconds", "How long answering a kubelet's Allocate takes.",
                  Metrics::duration_buckets())
      .observe(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  if (!devices.ok()) {
    options.metrics
        ->counter("das_allocation_failures_total", "Allocate calls that failed, by reason.",
                  {{"reason", devices.error().reason}})
        .add();
    log::warn("devices were not allocated", {{"error", devices.error().message}});
  }
  done(std::move(devices));
}

std::optional<std::vector<das::Holder>> Allocator::State::holders() {
  const auto devices = list_devices(options.pod_resources);
  if (!devices.ok()) {
    log::debug("pod resources cannot be read", {{"error", devices.error().message}});
    return std::nullopt;
  }
  const das::NodeSight sight = look();
  std::vector<das::Holder> holders;
  for (const ContainerDevices& one : *devices) {
    const auto profile = one.resource.starts_with(das::kResourcePrefix)
                             ? das::profile_of_resource(one.resource)
                         : das::is_share_resource(one.resource) ? std::optional(one.resource)
                                                                : std::nullopt;
    const auto pod = std::ranges::find_if(
        sight.pods, [&](const auto& entry) { return entry.second.key() == one.pod; });
    if (profile) {
      holders.push_back({.pod_uid = pod == sight.pods.end() ? "" : pod->first,
                         .container = one.container,
                         .profile = *profile,
                         .ids = one.ids,
                         .pod = one.pod});
    }
  }
  return holders;
}

Result<void> Allocator::State::give(const das::Transfer& transfer) {
  ATHANOR_TRY(std::vector<Object> written,
              options.writes->run({Patch{.target = {&das::kAllocationClaim, transfer.claim},
                                         .merge = das::patch_of(transfer),
                                         .guard = {.uid = transfer.claim_uid}}}));
  note(std::move(written));
  log::info("a claim goes to the pod that has its devices",
            {{"claim", transfer.claim.name}, {"pod", transfer.pod.text()}});
  return {};
}

das::Ending Allocator::State::end_of(const Claim& claim, int tries) {
  const das::Ending ending = das::end_of(claim, ledger, *this, options.allocate);
  std::error_code none;
  // A kubelet that does not say for long, or never does: its pod's end counts.
  const bool says = std::filesystem::exists(options.pod_resources, none) && tries < kCompareTries;
  return ending == das::Ending::Unknown && !says ? das::Ending::Destroy : ending;
}

void Allocator::State::release(const Claim& claim, const Released& released, int tries) {
  das::Ending ending{};
  {
    const MutexLock lock(ledger_mutex);
    ending = end_of(claim, tries);
    if (ending == das::Ending::Destroy) {
      das::drop_grant(claim, options.folder->files(), ledger, *this);
    }
  }
  if (ending == das::Ending::Another) {
    released.done();
    return;
  }
  if (ending != das::Ending::Destroy) {
    releases.add_in(kCompareRetry,
                    [this, claim, released, tries] { release(claim, released, tries + 1); });
    return;
  }
  const auto done = options.slices->destroy(claim);
  if (done.ok()) {
    released.done();
    return;
  }
  released.trouble(done.error());
  options.writes->tell(event(claim, "Warning", das::kSliceDestroyFailed, done.error().message));
  log::warn("a slice cannot be destroyed; tried again in a minute",
            {{"claim", claim.object.name()}, {"error", done.error().message}});
  releases.add_in(kReleaseRetry,
                  [this, claim, released, tries] { release(claim, released, tries); });
}

Allocator::Allocator(AllocatorOptions options)
    : state_(std::make_unique<State>(std::move(options))) {
  ATHANOR_CHECK(state_->options.inspect != nullptr, "claims are looked up");
}

Allocator::~Allocator() {
  stop();
}

void Allocator::ask(std::vector<das::DeviceAsk> asks, const Done& done) {
  const auto refuse = [done] { done(Error::unavailable("the agent ends")); };
  const bool taken = state_->questions.add(
      [state = state_.get(), asks = std::move(asks), done] { state->answer(asks, done); }, refuse);
  if (!taken) {
    refuse();
  }
}

void Allocator::release(das::Claim claim, Released released) {
  state_->releases.add([state = state_.get(), claim = std::move(claim),
                        released = std::move(released)] { state->release(claim, released, 0); });
}

das::NodeSight Allocator::look() {
  return state_->look();
}

void Allocator::adopt(das::Ledger ledger) {
  const MutexLock lock(state_->ledger_mutex);
  state_->ledger = std::move(ledger);
}

void Allocator::doubt() {
  state_->doubtful = true;
}

void Allocator::compare() {
  const MutexLock lock(state_->ledger_mutex);
  if (const auto holders = state_->holders()) {
    das::compare(*holders, state_->ledger, *state_, state_->options.allocate);
  }
}

void Allocator::restore_files() {
  const das::NodeSight sight = look();
  const MutexLock lock(state_->ledger_mutex);
  std::set<std::pair<std::string, std::string>> containers;
  for (const das::Grant& grant : state_->ledger.grants()) {
    const Object* pod = sight.pod(grant.pod_uid);
    if (pod != nullptr && !das::has_ended(*pod) && !das::never_restarts(*pod)) {
      containers.emplace(grant.pod_uid, grant.container);
    }
  }
  for (const auto& [uid, container] : containers) {
    for (const das::CdiSpec& file : das::container_files(state_->ledger, uid, container, sight,
                                                         *state_, state_->options.allocate)) {
      if (!state_->options.folder->has(file)) {
        log::info("a CDI file is written again", {{"file", file.file_name()}});
        static_cast<void>(state_->options.folder->write(file));
      }
    }
  }
}

das::Ledger Allocator::ledger() const {
  const MutexLock lock(state_->ledger_mutex);
  return state_->ledger;
}

void Allocator::stop() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->woken.notify_all();
  state_->questions.stop();
  state_->releases.stop();
}

}  // namespace athanor::agent
