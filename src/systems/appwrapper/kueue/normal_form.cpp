// SPDX-License-Identifier: Apache-2.0
// Field by field; what is not named is dropped.
#include "systems/appwrapper/kueue/normal_form.hpp"

#include <string>
#include <string_view>

#include "kube/text/quantity.hpp"

namespace athanor::appwrapper {
namespace {

void copy(const Value& from, Value& to, std::string_view field) {
  if (const Value& value = from[field]; !value.is_null()) {
    to.set(field, value);
  }
}

void copy_or(const Value& from, Value& to, std::string_view field, const Value& otherwise) {
  const Value& value = from[field];
  to.set(field, value.is_null() ? otherwise : value);
}

// Quantities in canonical text, rounded up to thousandths.
Value quantities(const Value& map) {
  Value result = Value::object();
  for (const Member& entry : map.members()) {
    const auto quantity = Quantity::parse(entry.value);
    if (!quantity) {
      result.set(entry.key(), entry.value);
      continue;
    }
    const auto milli = Quantity::from_milli(quantity->milli_value(), quantity->format());
    result.set(entry.key(), (milli < *quantity ? *quantity : milli).text());
  }
  return result;
}

// Always for images that may change under their name.
std::string_view pull_policy(std::string_view image) {
  if (image.find('@') != std::string_view::npos) {
    return "IfNotPresent";
  }
  const std::size_t slash = image.rfind('/');
  const std::size_t colon = image.rfind(':');
  const bool tagged =
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return !tagged || image.substr(colon + 1) == "latest" ? "Always" : "IfNotPresent";
}

Value container(const Value& from) {
  Value to = Value::object();
  for (const std::string_view field : {"name", "image", "command", "args"}) {
    copy(from, to, field);
  }
  Value resources = Value::object();
  for (const std::string_view group : {"requests", "limits"}) {
    if (!from["resources"][group].empty()) {
      resources.set(group, quantities(from["resources"][group]));
    }
  }
  copy(from["resources"], resources, "claims");  // B-13
  to.set("resources", std::move(resources));
  copy_or(from, to, "terminationMessagePath", "/dev/termination-log");
  copy_or(from, to, "terminationMessagePolicy", "File");
  copy_or(from, to, "imagePullPolicy", pull_policy(from["image"].as_string()));
  copy(from, to, "securityContext");
  return to;
}

Value containers(const Value& list, bool init) {
  Value result = Value::list();
  for (const Value& one : list.items()) {
    Value reduced = container(one);
    if (init) {
      copy(one, reduced, "restartPolicy");  // B-13: sidecars
    }
    result.push_back(std::move(reduced));
  }
  return result;
}

Value texts(const Value& map) {
  Value result = Value::object();
  for (const Member& entry : map.members()) {
    if (entry.value.is_string()) {
      result.set(entry.key(), entry.value);
    }
  }
  return result;
}

}  // namespace

Value normal_pod_template(const Value& pod_template) {
  const Value& from = pod_template["spec"];
  Value spec = Value::object();
  spec.set("containers", containers(from["containers"], false));
  if (!from["initContainers"].empty()) {
    spec.set("initContainers", containers(from["initContainers"], true));
  }
  copy_or(from, spec, "restartPolicy", "Always");
  copy_or(from, spec, "terminationGracePeriodSeconds", 30);
  copy_or(from, spec, "dnsPolicy", "ClusterFirst");
  copy_or(from, spec, "schedulerName", "default-scheduler");
  copy_or(from, spec, "preemptionPolicy", "PreemptLowerPriority");
  copy_or(from, spec, "securityContext", Value::object());
  for (const std::string_view field :
       {"nodeSelector", "nodeName", "affinity", "tolerations", "priorityClassName", "overhead",
        "topologySpreadConstraints", "resourceClaims", "resources"}) {
    copy(from, spec, field);
  }
  Value metadata = Value::object();
  for (const std::string_view field : {"labels", "annotations"}) {
    if (Value kept = texts(pod_template["metadata"][field]); !kept.empty()) {
      metadata.set(field, std::move(kept));
    }
  }
  return Value::object({{"metadata", std::move(metadata)}, {"spec", std::move(spec)}});
}

}  // namespace athanor::appwrapper
