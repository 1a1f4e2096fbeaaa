// SPDX-License-Identifier: Apache-2.0
#include "embedded/workloads/sets/stateful_set_pods.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/sets/revisions.hpp"

namespace athanor::workloads {
namespace {

bool deletes(const Object& set, const char* when) {
  return set.spec()["persistentVolumeClaimRetentionPolicy"][when].as_string() == "Delete";
}

// The set's claims first; they hide volumes of the template with the same names.
Value volumes_of(const Object& set, const Value& pod_spec, std::int64_t ordinal) {
  Value volumes = Value::list();
  std::set<std::string_view> claimed;
  for (const Value& claim_template : set.spec()["volumeClaimTemplates"].items()) {
    const Value& name = claim_template["metadata"]["name"];
    claimed.insert(name.as_string());
    volumes.push_back(Value::object(
        {{"name", name},
         {"persistentVolumeClaim",
          Value::object({{"claimName", claim_name(set, claim_template, ordinal)}})}}));
  }
  for (const Value& volume : pod_spec["volumes"].items()) {
    if (!claimed.contains(volume["name"].as_string())) {
      volumes.push_back(volume);
    }
  }
  return volumes;
}

}  // namespace

std::int64_t ordinal_of(const Object& set, const Object& pod) {
  std::string_view name = pod.name();
  if (!name.starts_with(set.name()) || name.substr(set.name().size()).substr(0, 1) != "-") {
    return -1;
  }
  name.remove_prefix(set.name().size() + 1);
  std::int64_t ordinal = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), ordinal);
  return error == std::errc{} && end == name.data() + name.size() ? ordinal : -1;
}

std::string pod_name(const Object& set, std::int64_t ordinal) {
  return fmt::format("{}-{}", set.name(), ordinal);
}

std::string claim_name(const Object& set, const Value& claim_template, std::int64_t ordinal) {
  return fmt::format("{}-{}-{}", claim_template["metadata"]["name"].as_string(), set.name(),
                     ordinal);
}

Value make_stateful_pod(const Object& set, const Value& pod_template, std::int64_t ordinal,
                        const std::string& revision) {
  const std::string name = pod_name(set, ordinal);
  Value pod = make_pod(set, api::kStatefulSet, pod_template, name);
  pod.set_path({"metadata", "labels", kPodNameLabel}, name);
  pod.set_path({"metadata", "labels", kPodIndexLabel}, fmt::format("{}", ordinal));
  pod.set_path({"metadata", "labels", kRevisionHashLabel}, revision);
  Value& spec = pod.member("spec");
  spec.set("hostname", name);
  if (const Value& service = set.spec()["serviceName"]; !service.as_string().empty()) {
    spec.set("subdomain", service);
  }
  if (!set.spec()["volumeClaimTemplates"].empty()) {
    spec.set("volumes", volumes_of(set, spec, ordinal));
  }
  return pod;
}

Value make_claim(const Object& set, const Value& claim_template, std::int64_t ordinal) {
  Value metadata =
      Value::object({{"name", claim_name(set, claim_template, ordinal)}, {"namespace", set.ns()}});
  Value labels = claim_template["metadata"]["labels"];
  for (const Member& label : set.spec()["selector"]["matchLabels"].members()) {
    labels.set(label.key(), label.value);
  }
  if (!labels.empty()) {
    metadata.set("labels", labels);
  }
  if (!claim_template["metadata"]["annotations"].empty()) {
    metadata.set("annotations", claim_template["metadata"]["annotations"]);
  }
  if (deletes(set, "whenDeleted")) {
    metadata.set("ownerReferences", Value::list({controller_reference(set, api::kStatefulSet)}));
  }
  return Value::object({{"apiVersion", "v1"},
                        {"kind", "PersistentVolumeClaim"},
                        {"metadata", metadata},
                        {"spec", claim_template["spec"]}});
}

bool keeps_identity(const Object& set, const Object& pod, std::int64_t ordinal) {
  if (pod.label(kPodNameLabel) != pod.name()) {
    return false;
  }
  return std::ranges::all_of(
      set.spec()["volumeClaimTemplates"].items(), [&](const Value& claim_template) {
        const std::string claim = claim_name(set, claim_template, ordinal);
        return std::ranges::any_of(pod.spec()["volumes"].items(), [&](const Value& volume) {
          return volume["persistentVolumeClaim"]["claimName"].as_string() == claim;
        });
      });
}

Value claim_owners(const Object& set, const Object& pod, const Object& claim, bool condemned) {
  const bool with_pod = condemned && deletes(set, "whenScaled");
  const bool with_set = deletes(set, "whenDeleted") && !with_pod;
  Value owners = Value::list();
  for (const Value& owner : claim.metadata()["ownerReferences"].items()) {
    const std::string_view uid = owner["uid"].as_string();
    const std::string_view kind = owner["kind"].as_string();
    const bool ours =
        uid == set.uid() || (kind == "Pod" && owner["name"].as_string() == pod.name());
    if (!ours) {
      owners.push_back(owner);
    }
  }
  if (with_set) {
    owners.push_back(controller_reference(set, api::kStatefulSet));
  } else if (with_pod) {
    owners.push_back(controller_reference(pod, api::kPod));
  }
  return owners;
}

}  // namespace athanor::workloads
