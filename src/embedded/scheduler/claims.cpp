// SPDX-License-Identifier: Apache-2.0
#include "embedded/scheduler/claims.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "kube/names/node_match.hpp"

namespace athanor::scheduler {
namespace {

constexpr const char* kBindCompleted = "pv.kubernetes.io/bind-completed";

class ClaimsRun {
 public:
  ClaimsRun(const View& view, const Object& pod) : view_(view), pod_(pod) {}

  ClaimsState run() {
    for (const Value& volume : pod_.spec()["volumes"].items()) {
      if (const Value& named = volume["persistentVolumeClaim"]; named.is_object()) {
        look_at(named["claimName"].str(), false);
      } else if (volume["ephemeral"].is_object()) {
        look_at(fmt::format("{}-{}", pod_.name(), volume["name"].as_string()), true);
      }
    }
    return std::move(state_);
  }

 private:
  void refuse(std::string text) {
    if (state_.refusal.empty()) {
      state_.refusal = std::move(text);
    }
  }

  void look_at(const std::string& name, bool ephemeral) {
    const auto claim = view_.get(api::kPersistentVolumeClaim, {std::string(pod_.ns()), name});
    if (!claim) {
      return refuse(ephemeral ? fmt::format("waiting for ephemeral volume controller to create the "
                                            "persistentvolumeclaim \"{}\"",
                                            name)
                              : fmt::format("persistentvolumeclaim \"{}\" not found", name));
    }
    if (claim->status()["phase"].as_string() == "Lost") {
      return refuse(
          fmt::format("persistentvolumeclaim \"{}\" bound to non-existent persistentvolume \"{}\"",
                      name, claim->spec()["volumeName"].as_string()));
    }
    if (claim->deleting()) {
      return refuse(fmt::format("persistentvolumeclaim \"{}\" is being deleted", name));
    }
    const std::string bound = claim->spec()["volumeName"].str();
    if (!bound.empty() && claim->annotation(kBindCompleted) == "yes") {
      return check_volume(bound);
    }
    if (!waits_for_pods(*claim)) {
      return refuse("pod has unbound immediate PersistentVolumeClaims");
    }
    state_.waiting.push_back(*claim);
    if (state_.selected.empty()) {
      state_.selected = std::string(claim->annotation(kSelectedNode));
    }
  }

  void check_volume(const std::string& name) {
    const auto volume = view_.get(api::kPersistentVolume, {"", name});
    if (volume && volume->spec()["nodeAffinity"]["required"].is_object()) {
      state_.selectors.push_back(volume->spec()["nodeAffinity"]["required"]);
    }
  }

  [[nodiscard]] bool waits_for_pods(const Object& claim) const {
    const auto storage =
        view_.get(api::kStorageClass, {"", claim.spec()["storageClassName"].str()});
    return storage && storage->body()["volumeBindingMode"].as_string() == "WaitForFirstConsumer";
  }

  const View& view_;
  const Object& pod_;
  ClaimsState state_{};
};

}  // namespace

ClaimsState claims_state(const View& view, const Object& pod) {
  return ClaimsRun(view, pod).run();
}

bool reaches_volumes(const ClaimsState& claims, const Object& node) {
  return std::ranges::all_of(claims.selectors, [&](const Value& required) {
    const Value spec = Value::object(
        {{"affinity",
          Value::object(
              {{"nodeAffinity",
                Value::object({{"requiredDuringSchedulingIgnoredDuringExecution", required}})}})}});
    return matches_node(spec, node);
  });
}

}  // namespace athanor::scheduler
