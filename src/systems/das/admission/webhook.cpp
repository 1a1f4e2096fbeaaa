// SPDX-License-Identifier: Apache-2.0
// The patch is computed on the raw JSON: fields that Athanor does not know stay as they are.
#include "systems/das/admission/webhook.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "api/builtin.hpp"
#include "api/runtime_class.hpp"
#include "kube/text/quantity.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/quota.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/sharing/share.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::das {
namespace {

constexpr int kUnprocessable = 422;
constexpr std::string_view kWholeGpu = "nvidia.com/gpu";
constexpr std::string_view kExcluded[] = {
    kDefaultNamespace,       "cert-manager",        "kube-system", "openshift-operators",
    "openshift-marketplace", "nvidia-gpu-operator", "gpu-operator"};

// Only pods that name a GPU's resource: while the webhook is away all others are created at once
// (docs/spec/das.md W-B1).
std::string condition() {
  std::string starts = "k.startsWith('nvidia.com/') || k.startsWith('mig.das.com/')";
  for (const Vendor* vendor : vendors()) {
    for (const std::string_view prefix : vendor->facts().prefixes) {
      starts += fmt::format(" || k.startsWith('{}')", prefix);
    }
  }
  const std::string names =
      "has(c.resources) && has(c.resources.limits) && c.resources.limits.exists(k, " + starts + ")";
  return "object.spec.containers.exists(c, " + names +
         ") || (has(object.spec.initContainers) && object.spec.initContainers.exists(c, " + names +
         "))";
}
constexpr int kTimeoutSeconds = 5;

struct Container {
  Value resources{};
  std::set<std::string> profiles{};
};

Error unknown_profile(std::string_view text, std::string_view container) {
  return {
      .code = kUnprocessable,
      .reason = "Invalid",
      .message = fmt::format("unknown MIG profile \"{}\" in container \"{}\"", text, container)};
}

// The part of a key behind its prefix: "1g.5gb" of "nvidia.com/mig-1g.5gb".
std::string_view profile_text(std::string_view key) {
  for (const std::string_view prefix : {kNvidiaMigPrefix, kResourcePrefix}) {
    if (key.starts_with(prefix)) {
      return key.substr(prefix.size());
    }
  }
  return key;
}

bool is_ours(std::string_view key, std::string_view whole) {
  return key.starts_with(kNvidiaMigPrefix) || key.starts_with(kResourcePrefix) ||
         (!whole.empty() && key == kWholeGpu);
}

// Rules of one container. Keys of both spellings that mean one profile are added up.
Result<Container> rewrite(const Value& resources, std::string_view name, std::string_view whole) {
  Container result{.resources = resources};
  std::map<std::string, Quantity> wanted;     // by target key
  std::map<std::string, bool> from_nvidia{};  // whether a key of NVIDIA's spelling is part of it
  Value limits = Value::object();
  for (const Member& limit : resources["limits"].members()) {
    if (!is_ours(limit.key(), whole)) {
      limits.set(limit.key(), limit.value);
      continue;
    }
    auto profile = limit.key() == kWholeGpu ? std::optional(std::string(whole))
                                            : profile_of_resource(limit.key());
    if (!profile && limit.key().starts_with(kNvidiaMigPrefix)) {
      return unknown_profile(profile_text(limit.key()), name);
    }
    // Ours without a profile, as mig.das.com/gpu, is kept: no node offers it (R3).
    const bool known = profile.has_value();
    if (!known) {
      profile = std::string(profile_text(limit.key()));
    }
    const auto quantity = Quantity::parse(limit.value);
    if (!quantity) {
      limits.set(limit.key(), limit.value);  // the API server says what is wrong with it
      continue;
    }
    if (quantity->is_zero()) {
      continue;
    }
    const std::string target = known ? resource_of(*profile) : std::string(limit.key());
    const auto [entry, fresh] = wanted.try_emplace(target, *quantity);
    if (!fresh) {
      entry->second += *quantity;
    }
    from_nvidia[target] = from_nvidia[target] || limit.key() != target;
    result.profiles.insert(*profile);
  }
  const bool touched = !wanted.empty() || limits.size() != resources["limits"].size();
  if (!touched) {
    return result;
  }
  Value requests = Value::object();
  for (const Member& request : resources["requests"].members()) {
    if (!is_ours(request.key(), whole)) {
      requests.set(request.key(), request.value);
    }
  }
  for (const auto& [target, quantity] : wanted) {
    limits.set(target, quantity.text());
    const Value* given = resources["requests"].find(target);
    // A request of the same key stays when nothing else changes (docs/spec/das.md W-B10).
    if (from_nvidia[target] || given != nullptr) {
      requests.set(target, quantity.text());
    }
  }
  result.resources.set("limits", limits);
  if (!requests.empty()) {
    result.resources.set("requests", requests);
  } else {
    result.resources.erase("requests");
  }
  return result;
}

bool opted_out(const View& view, const AdmissionRequest& request) {
  const auto opts_out = [](const Value& labels) {
    return labels[kMutateLabel].as_string() == "false";
  };
  const auto ns = view.get(api::kNamespace, {"", request.key.ns});
  return opts_out(request.object["metadata"]["labels"]) ||
         (ns && opts_out(ns->metadata()["labels"]));
}

bool excluded(const Settings& settings, std::string_view ns) {
  return ns == settings.ns || std::ranges::find(kExcluded, ns) != std::end(kExcluded);
}

// The pod's runtime class: from the annotation of the DASOperator, else the default of the mode.
std::string runtime_class(const View& view, const Settings& settings) {
  const auto op = view.get(kDASOperator, {settings.ns, kOperatorName});
  if (op && op->metadata()["annotations"].contains(kRuntimeClassAnnotation)) {
    return std::string(op->annotation(kRuntimeClassAnnotation));
  }
  return settings.emulated() ? "" : kRuntimeClass;
}

// The operands are removed: pods stay as they are, as nothing would schedule them (docs/spec/das.md
// 10.5).
bool is_removed(const View& view, const Settings& settings) {
  const auto op = view.get<DASOperator>({settings.ns, kOperatorName});
  return op && op->spec.management_state == "Removed";
}

// The profile that takes the place of nvidia.com/gpu; empty: that resource is left alone.
Result<std::string> whole_profile(const View& view, const Settings& settings, const Value& pod) {
  const auto wants_whole = [](const Value& container) {
    return container["resources"]["limits"].contains(kWholeGpu);
  };
  if (settings.whole_gpu != "map" ||
      (std::ranges::none_of(pod["spec"]["containers"].items(), wants_whole) &&
       std::ranges::none_of(pod["spec"]["initContainers"].items(), wants_whole))) {
    return std::string();
  }
  std::set<std::string> candidates;
  for (const Object& node : view.list(kNodeAccelerator)) {
    const std::string_view type = node.spec()["acceleratorType"].as_string();
    if (!type.empty() && type != kNvidiaMig) {
      continue;
    }
    for (const MigTable& table : read_resources(node.status()["nodeResources"]).tables) {
      for (const MigProfile& profile : table.profiles) {
        const auto name = parse_profile(profile.name);
        if (name && name->attributes.empty() && profile.size == table.slots) {
          candidates.insert(profile.name);
        }
      }
    }
  }
  if (candidates.size() != 1) {
    return Error{
        .code = kUnprocessable,
        .reason = "Invalid",
        .message = fmt::format("{} cannot be mapped to a MIG profile: {} candidate profiles",
                               kWholeGpu, candidates.size())};
  }
  return *candidates.begin();
}

// Without the object the API server refuses every pod that names it (docs/spec/das.md W-B6).
void set_runtime_class(const View& view, const std::string& wanted, Value& pod,
                       std::vector<std::string>& warnings) {
  if (wanted.empty()) {
    return;
  }
  if (view.get(api::kRuntimeClass, {"", wanted})) {
    pod.member("spec").set("runtimeClassName", wanted);
  } else {
    warnings.push_back(
        fmt::format("RuntimeClass \"{}\" not found: spec.runtimeClassName is not set", wanted));
  }
}

void warn_of_absent(const View& view, const std::vector<std::string>& profiles, Verdict& verdict) {
  std::set<std::string> offered;
  for (const Object& node : view.list(kNodeAccelerator)) {
    for (std::string& profile : offered_profiles(node.status()["nodeResources"])) {
      offered.insert(std::move(profile));
    }
  }
  for (const std::string& profile : profiles) {
    if (!offered.contains(profile)) {
      verdict.warnings.push_back(
          fmt::format("no node currently offers MIG profile \"{}\"", profile));
    }
  }
}

}  // namespace

Result<Rewritten> rewrite_pod(const Value& pod, std::string_view whole) {
  if (const auto conflict = conflict_in(pod["spec"])) {
    return Error{.code = kUnprocessable, .reason = "Invalid", .message = conflict->message};
  }
  Rewritten result{.pod = pod};
  std::set<std::string> profiles;
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
    for (std::size_t i = 0; i < pod["spec"][list].size(); ++i) {
      const Value& container = pod["spec"][list][i];
      if (!container["resources"]["limits"].is_object()) {
        continue;
      }
      ATHANOR_TRY(Container changed,
                  rewrite(container["resources"], container["name"].as_string(), whole));
      profiles.insert(changed.profiles.begin(), changed.profiles.end());
      if (changed.resources != container["resources"]) {
        result.pod.member("spec").member(list).item(i).set("resources",
                                                           std::move(changed.resources));
      }
    }
  }
  result.marked = !profiles.empty() || !shares_in(pod["spec"]).empty();
  result.profiles.assign(profiles.begin(), profiles.end());
  if (result.marked) {
    result.pod.member("spec").set("schedulerName", kSchedulerName);
  }
  return result;
}

Verdict mutate_pod(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  const Settings settings = settings_of(view);
  if (request.operation != AdmissionRequest::Operation::Create || !request.subresource.empty() ||
      excluded(settings, request.key.ns) || is_removed(view, settings)) {
    return Verdict::allow();
  }
  if (request.object["kind"].as_string() != "Pod") {
    return Verdict::deny("expected a Pod", 400);
  }
  const auto whole = whole_profile(view, settings, request.object);
  auto rewritten =
      whole.ok() ? rewrite_pod(request.object, *whole) : Result<Rewritten>(whole.error());
  if (rewritten.ok() && !rewritten->marked && rewritten->pod == request.object) {
    return Verdict::allow();
  }
  if (opted_out(view, request)) {
    return Verdict::allow();
  }
  if (!rewritten.ok()) {
    return Verdict::refuse(rewritten.error());
  }
  if (!request.object["spec"]["nodeName"].as_string().empty()) {
    Verdict verdict = Verdict::allow();
    verdict.warnings.emplace_back(
        "spec.nodeName is set: MIG resources of this pod are not rewritten");
    return verdict;
  }
  std::vector<std::string> warnings;
  if (rewritten->marked) {
    set_runtime_class(view, runtime_class(view, settings), rewritten->pod, warnings);
  }
  if (!settings.memory_quota_resource.empty()) {
    charge_memory(rewritten->pod, settings.memory_quota_resource);
  }
  Verdict verdict = Verdict::change(request.object, rewritten->pod);
  verdict.warnings = std::move(warnings);
  warn_of_absent(view, rewritten->profiles, verdict);
  for (std::string& warning : quota_warnings(view, request.key.ns, rewritten->profiles)) {
    verdict.warnings.push_back(std::move(warning));
  }
  return verdict;
}

std::span<const Webhook> das_webhooks() {
  static constexpr WebhookRule kNewPod[] = {{&api::kPod, "CREATE", ""}};
  static const std::string kCondition = condition();
  static const Webhook kWebhooks[] = {{.name = "instaslice.redhat.com",
                                       .path = "/mutate-pod",
                                       .configuration = "das-mutating-webhook-configuration",
                                       .mutating = true,
                                       .rules = kNewPod,
                                       .admit = mutate_pod,
                                       .except = kExcluded,
                                       .condition = kCondition,
                                       .timeout_seconds = kTimeoutSeconds,
                                       .result_metric = "das_webhook_mutations_total",
                                       .reviews_faults = true}};
  return kWebhooks;
}

}  // namespace athanor::das
