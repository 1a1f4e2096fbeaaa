// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/auth/pod_references.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace athanor::apiserver {
namespace {

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";

bool is_mirror(const Value& pod) {
  return pod["metadata"]["annotations"].contains(kMirror);
}

// Where the environment of some container takes from `source` ("secret", "configMap").
bool in_environment(const Value& pod, std::string_view source, std::string_view name) {
  const std::string key_ref = std::string(source) + "KeyRef";
  const std::string whole_ref = std::string(source) + "Ref";
  for (const std::string_view list : {"containers", "initContainers", "ephemeralContainers"}) {
    for (const Value& container : pod["spec"][list].items()) {
      for (const Value& variable : container["env"].items()) {
        if (variable["valueFrom"][key_ref]["name"].as_string() == name) {
          return true;
        }
      }
      for (const Value& from : container["envFrom"].items()) {
        if (from[whole_ref]["name"].as_string() == name) {
          return true;
        }
      }
    }
  }
  return false;
}

bool in_projection(const Value& volume, std::string_view source, std::string_view name) {
  const auto sources = volume["projected"]["sources"].items();
  return std::any_of(sources.begin(), sources.end(),
                     [&](const Value& one) { return one[source]["name"].as_string() == name; });
}

// Members of a volume (of a pod, or a PersistentVolume's spec) that name a Secret.
bool volume_names_secret(const Value& volume, std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kTexts[] = {{"secret", "secretName"},
                                                                      {"azureFile", "secretName"}};
  constexpr std::array<std::string_view, 7> kReferences = {
      "cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"};
  constexpr std::array<std::string_view, 3> kCsi = {"nodePublishSecretRef", "nodeStageSecretRef",
                                                    "nodeExpandSecretRef"};
  return std::ranges::any_of(kTexts,
                             [&](const auto& text) {
                               return volume[text.first][text.second].as_string() == name;
                             }) ||
         std::ranges::any_of(kReferences,
                             [&](std::string_view kind) {
                               return volume[kind]["secretRef"]["name"].as_string() == name;
                             }) ||
         std::ranges::any_of(kCsi, [&](std::string_view reference) {
           return volume["csi"][reference]["name"].as_string() == name;
         });
}

// Names of the claims that the pod's volumes mount.
std::vector<std::string> claims_of(const Value& pod) {
  std::vector<std::string> claims;
  for (const Value& volume : pod["spec"]["volumes"].items()) {
    if (const Value& claim = volume["persistentVolumeClaim"]; claim.is_object()) {
      claims.push_back(claim["claimName"].str());
    } else if (volume.contains("ephemeral")) {
      claims.push_back(pod["metadata"]["name"].str() + "-" + volume["name"].str());
    }
  }
  return claims;
}

// A volume behind one of the pod's claims names the Secret, in this namespace or another one.
bool claimed_volume_names_secret(const store::Store& store, const Value& pod,
                                 std::string_view name) {
  const std::string ns = pod["metadata"]["namespace"].str();
  const std::vector<std::string> claims = claims_of(pod);
  return std::ranges::any_of(claims, [&](const std::string& claim) {
    const store::StoredPtr stored = store.get("persistentvolumeclaims", {ns, claim});
    if (stored == nullptr) {
      return false;
    }
    const std::string volume = stored->body["spec"]["volumeName"].str();
    const store::StoredPtr found =
        volume.empty() ? nullptr : store.get("persistentvolumes", {"", volume});
    return found != nullptr && found->body["spec"]["claimRef"]["name"].as_string() == claim &&
           found->body["spec"]["claimRef"]["namespace"].as_string() == ns &&
           volume_names_secret(found->body["spec"], name);
  });
}

}  // namespace

bool pod_reads_secret(const store::Store& store, const Value& pod, std::string_view name) {
  if (is_mirror(pod)) {
    return false;
  }
  const auto pulls = pod["spec"]["imagePullSecrets"].items();
  const auto volumes = pod["spec"]["volumes"].items();
  return in_environment(pod, "secret", name) ||
         std::any_of(pulls.begin(), pulls.end(),
                     [&](const Value& pull) { return pull["name"].as_string() == name; }) ||
         std::any_of(volumes.begin(), volumes.end(),
                     [&](const Value& volume) {
                       return volume_names_secret(volume, name) ||
                              in_projection(volume, "secret", name);
                     }) ||
         claimed_volume_names_secret(store, pod, name);
}

bool pod_reads_config_map(const store::Store& /*store*/, const Value& pod, std::string_view name) {
  if (is_mirror(pod)) {
    return false;
  }
  const auto volumes = pod["spec"]["volumes"].items();
  return in_environment(pod, "configMap", name) ||
         std::any_of(volumes.begin(), volumes.end(), [&](const Value& volume) {
           return volume["configMap"]["name"].as_string() == name ||
                  in_projection(volume, "configMap", name);
         });
}

bool pod_mounts_claim(const store::Store& /*store*/, const Value& pod, std::string_view name) {
  const std::vector<std::string> claims = claims_of(pod);
  return !is_mirror(pod) && std::ranges::find(claims, name) != claims.end();
}

bool pod_uses_resource_claim(const store::Store& /*store*/, const Value& pod,
                             std::string_view name) {
  if (is_mirror(pod)) {
    return false;
  }
  const auto uses = [&](const Value& list) {
    const auto items = list.items();
    return std::any_of(items.begin(), items.end(), [&](const Value& one) {
      return one["resourceClaimName"].as_string() == name;
    });
  };
  return uses(pod["spec"]["resourceClaims"]) || uses(pod["status"]["resourceClaimStatuses"]);
}

bool pod_runs_as(const store::Store& /*store*/, const Value& pod, std::string_view name) {
  return !is_mirror(pod) && pod["spec"]["serviceAccountName"].as_string() == name;
}

}  // namespace athanor::apiserver
