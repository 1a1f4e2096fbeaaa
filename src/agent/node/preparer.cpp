// SPDX-License-Identifier: Apache-2.0
#include "agent/node/preparer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "agent/node/api_writes.hpp"
#include "agent/node/queue_thread.hpp"
#include "api/builtin.hpp"
#include "base/condition_variable.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "systems/das/agent/claim_devices.hpp"
#include "systems/das/agent/looks.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/life/slice_making.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"

namespace athanor::agent {
namespace {

using das::Claim;

constexpr int kNotFound = 404;

constexpr const char* kNothingSeen = "the node's claims are not known yet";

const Value& source_of(const Claim& mirror) {
  return mirror.object.spec()[das::kMirrorMember];
}

bool made(const Claim& mirror) {
  return mirror.state == das::kProcessing || mirror.state == das::kInUse ||
         mirror.state == das::kOrphaned;
}

std::vector<Claim> mirrors_of(const das::NodeSight& sight, std::string_view claim_uid) {
  std::vector<Claim> mirrors;
  for (const Claim& claim : sight.claims) {
    if (das::is_mirror(claim.object) && source_of(claim)["uid"].as_string() == claim_uid) {
      mirrors.push_back(claim);
    }
  }
  return mirrors;
}

}  // namespace

struct Preparer::State {
  explicit State(PreparerOptions wanted) : options(std::move(wanted)) {}

  Result<std::vector<PreparedDevice>> prepare(const ClaimName& name);
  Result<void> unprepare(const ClaimName& name);
  Result<std::vector<Claim>> mirrors(const Object& claim,
                                     const std::vector<das::AllocatedDevice>& devices);
  Result<std::vector<das::RequestGroup>> groups(const Object& claim, const das::NodeSight& sight);
  Result<std::vector<std::string>> make(const std::vector<Claim>& mirrors);
  Result<void> write_state(const std::vector<Claim>& mirrors, std::string_view state);
  void tidy();
  [[nodiscard]] std::string whole_profile(const std::string& gpu) const;

  PreparerOptions options;
  Mutex mutex{};
  ConditionVariable woken{};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  QueueThread questions{};
};

std::string Preparer::State::whole_profile(const std::string& gpu) const {
  const das::NodeGpus node = das::read_resources(options.resources());
  for (const das::NodeGpu& one : node.gpus) {
    if (one.uuid != gpu) {
      continue;
    }
    const das::MigTable& table = node.tables[one.table];
    for (const das::MigProfile& profile : table.profiles) {
      if (profile.size == table.slots && profile.name.find('+') == std::string::npos) {
        return profile.name;
      }
    }
  }
  return {};
}

// The mirrors of the claim's devices, in order; they are waited for as slices of device plugins.
Result<std::vector<Claim>> Preparer::State::mirrors(
    const Object& claim, const std::vector<das::AllocatedDevice>& devices) {
  das::Looks looks;
  while (true) {
    std::vector<Claim> found;
    for (const das::AllocatedDevice& device : devices) {
      const Key key{options.ns, fmt::format("{}-{}", claim.uid(), device.device)};
      auto object = options.writes->get({&das::kAllocationClaim, key});
      if (!object.ok() && object.error().code != kNotFound) {
        return std::move(object).error();
      }
      auto mirror = object.ok() ? das::read_claim(*object) : std::nullopt;
      if (mirror && !mirror->object.deleting() && !mirror->state.empty()) {
        mirror->profile = mirror->profile.empty() ? whole_profile(mirror->gpu) : mirror->profile;
        found.push_back(*std::move(mirror));
      }
    }
    if (found.size() == devices.size()) {
      return found;
    }
    const auto pause = looks.next();
    MutexLock lock(mutex);
    if (!pause ||
        woken.wait_for(lock, *pause, [this]() ATHANOR_REQUIRES(mutex) { return stopping; })) {
      return Error::unavailable(
          fmt::format("requested {} allocations but only found {}", devices.size(), found.size()));
    }
  }
}

// How containers see the claim's devices.
Result<std::vector<das::RequestGroup>> Preparer::State::groups(const Object& claim,
                                                               const das::NodeSight& sight) {
  std::vector<Object> pods;
  for (const Value& consumer : claim.status()["reservedFor"].items()) {
    if (consumer["resource"].as_string() != "pods") {
      continue;
    }
    auto pod = options.writes->get({&api::kPod, {std::string(claim.ns()), consumer["name"].str()}});
    if (!pod.ok() && pod.error().code != kNotFound) {
      return std::move(pod).error();
    }
    if (pod.ok() && pod->uid() == consumer["uid"].as_string()) {
      pods.push_back(*std::move(pod));
    }
  }
  std::set<std::string> ours{std::string(claim.name())};
  for (const Claim& one : sight.claims) {
    if (das::is_mirror(one.object) && source_of(one)["namespace"].as_string() == claim.ns()) {
      ours.insert(source_of(one)["name"].str());
    }
  }
  return das::groups_of(claim, pods, ours);
}

Result<void> Preparer::State::write_state(const std::vector<Claim>& mirrors,
                                          std::string_view state) {
  std::vector<Step> steps;
  for (const Claim& mirror : mirrors) {
    const Object& object = mirror.object;
    // Conditions are a list, which a merge replaces: the newest is what counts.
    auto now = options.writes->get({&das::kAllocationClaim, object.key()});
    if (!now.ok() && now.error().code == kNotFound) {
      continue;
    }
    if (!now.ok()) {
      return std::move(now).error();
    }
    if (now->uid() != object.uid() || now->status()["state"].as_string() == state) {
      continue;
    }
    steps.emplace_back(Patch{
        .target = {&das::kAllocationClaim, object.key()},
        .merge =
            Value::object({{"status", das::claim_status(now->status(), {state}, now->generation(),
                                                        options.clock->now())}}),
        .subresource = "status",
        .guard = {.uid = std::string(object.uid())}});
  }
  ATHANOR_TRY(const std::vector<Object> written, options.writes->run(steps));
  static_cast<void>(written);
  return {};
}

// Slices that are there already are found again; a failure leaves none of the new ones.
Result<std::vector<std::string>> Preparer::State::make(const std::vector<Claim>& mirrors) {
  std::vector<Claim> fresh;
  std::ranges::copy_if(mirrors, std::back_inserter(fresh),
                       [](const Claim& mirror) { return mirror.state != das::kInUse; });
  ATHANOR_TRY_VOID(write_state(fresh, das::kProcessing));
  auto names = options.slices->make(mirrors);
  for (const Claim& mirror : fresh) {
    if (!mirror.pod.name.empty()) {
      options.writes->tell({.about = {&api::kPod, mirror.pod},
                            .about_uid = mirror.pod_uid,
                            .type = names.ok() ? "Normal" : "Warning",
                            .reason = names.ok() ? "SliceCreated" : "SliceCreateFailed",
                            .note = names.ok() ? das::place_of(mirror) : names.error().message});
    }
  }
  Result<void> written = names.ok() ? write_state(fresh, das::kInUse) : Result<void>();
  if (names.ok() && written.ok()) {
    return names;
  }
  for (const Claim& mirror : fresh) {
    static_cast<void>(options.slices->destroy(mirror));
  }
  // One that cannot be put back is prepared anew by the kubelet's next try.
  static_cast<void>(write_state(fresh, das::kCreated));
  return names.ok() ? std::move(written).error() : std::move(names).error();
}

Result<std::vector<PreparedDevice>> Preparer::State::prepare(const ClaimName& name) {
  ATHANOR_TRY(const Object claim,
              options.writes->get({&api::kResourceClaim, {name.ns, name.name}}));
  if (claim.uid() != name.uid) {
    return Error::conflict(fmt::format("resourceclaim \"{}\" has another uid", name.name));
  }
  const std::vector<das::AllocatedDevice> devices = das::allocated_devices(claim);
  if (devices.empty()) {
    return Error::conflict(fmt::format("resourceclaim \"{}\": no device of {} is allocated",
                                       name.name, das::kDraDriver));
  }
  for (const das::AllocatedDevice& device : devices) {
    if (device.pool != options.node) {
      return Error::conflict(fmt::format("resourceclaim \"{}\": its device {} is on node {}",
                                         name.name, device.device, device.pool));
    }
  }
  ATHANOR_TRY(const std::vector<Claim> mirrored, mirrors(claim, devices));
  const das::NodeSight sight = options.look();
  if (!sight.seen) {
    return Error::unavailable(kNothingSeen);
  }
  if (const std::string problem = das::conflict(mirrored, sight.claims); !problem.empty()) {
    return Error::conflict(problem);
  }
  ATHANOR_TRY(const std::vector<das::RequestGroup> seen, groups(claim, sight));
  ATHANOR_TRY(const std::vector<std::string> names, make(mirrored));
  std::map<std::string, std::string> slices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    slices[devices[i].device] = names[i];
  }
  ATHANOR_TRY_VOID(options.folder->write_claim(
      name.uid, das::claim_cdi(claim, seen, slices, options.cuda_visible)));
  std::vector<PreparedDevice> answer;
  std::set<std::string> given;  // each device of the file once: a runtime takes it once
  for (const das::AllocatedDevice& device : devices) {
    PreparedDevice one{.requests = {device.request}, .pool = device.pool, .name = device.device};
    for (const das::RequestGroup& group : seen) {
      // Containers of a group name its first request, too.
      if (group.contains(device.request)) {
        std::string cdi = das::claim_device(name.uid, group);
        if (given.insert(cdi).second) {
          one.cdi_devices.push_back(std::move(cdi));
        }
      }
    }
    answer.push_back(std::move(one));
  }
  return answer;
}

Result<void> Preparer::State::unprepare(const ClaimName& name) {
  if (name.uid.empty() || name.uid.find('/') != std::string::npos) {
    return Error::bad_request(fmt::format("\"{}\" is no uid", name.uid));
  }
  const das::NodeSight sight = options.look();
  if (!sight.seen) {
    return Error::unavailable(kNothingSeen);  // its slices would stay
  }
  options.folder->remove_claim(name.uid);
  const std::vector<Claim> mirrors = mirrors_of(sight, name.uid);
  for (const Claim& mirror : mirrors) {
    ATHANOR_TRY_VOID(options.slices->destroy(mirror));
  }
  // Nothing of it is on the node: the controllers delete it with its allocation.
  return write_state(mirrors, das::kCreated);
}

void Preparer::State::tidy() {
  const das::NodeSight sight = options.look();
  const std::vector<std::string> files = options.folder->claims();
  std::map<std::string, ClaimName> used;  // by uid
  for (const Claim& claim : sight.claims) {
    if (das::is_mirror(claim.object) && made(claim)) {
      const Value& source = source_of(claim);
      used[source["uid"].str()] = {.ns = source["namespace"].str(),
                                   .name = source["name"].str(),
                                   .uid = source["uid"].str()};
    }
  }
  for (const auto& [uid, name] : used) {
    const auto claim = options.writes->get({&api::kResourceClaim, {name.ns, name.name}});
    if (!claim.ok() && claim.error().code != kNotFound) {
      continue;
    }
    if (!claim.ok() || claim->uid() != uid || das::allocated_devices(*claim).empty()) {
      log::info("a claim that is gone is unprepared", {{"resourceclaim", name.name}});
      if (const auto done = unprepare(name); !done.ok()) {
        log::warn("a claim that is gone is not unprepared",
                  {{"resourceclaim", name.name}, {"error", done.error().message}});
      }
    } else if (std::ranges::find(files, uid) == files.end()) {
      log::info("a CDI file is written again", {{"resourceclaim", name.name}});
      static_cast<void>(prepare(name));
    }
  }
}

Preparer::Preparer(PreparerOptions options) : state_(std::make_unique<State>(std::move(options))) {}

Preparer::~Preparer() {
  stop();
}

void Preparer::prepare(std::vector<ClaimName> claims, const PrepareDone& done) {
  const auto refuse = [done, count = claims.size()] {
    done({count, Error::unavailable("the agent ends")});
  };
  const bool taken = state_->questions.add(
      [state = state_.get(), claims = std::move(claims), done] {
        std::vector<Result<std::vector<PreparedDevice>>> answers;
        for (const ClaimName& claim : claims) {
          answers.push_back(state->prepare(claim));
          if (!answers.back().ok()) {
            log::warn("a claim is not prepared",
                      {{"resourceclaim", claim.name}, {"error", answers.back().error().message}});
          }
        }
        done(std::move(answers));
      },
      refuse);
  if (!taken) {
    refuse();
  }
}

void Preparer::unprepare(std::vector<ClaimName> claims, const UnprepareDone& done) {
  const auto refuse = [done, count = claims.size()] {
    done({count, Error::unavailable("the agent ends")});
  };
  const bool taken = state_->questions.add(
      [state = state_.get(), claims = std::move(claims), done] {
        std::vector<Result<void>> answers;
        for (const ClaimName& claim : claims) {
          answers.push_back(state->unprepare(claim));
        }
        done(std::move(answers));
      },
      refuse);
  if (!taken) {
    refuse();
  }
}

void Preparer::tidy() {
  state_->questions.add([state = state_.get()] { state->tidy(); });
}

void Preparer::stop() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->woken.notify_all();
  state_->questions.stop();
}

}  // namespace athanor::agent
