// SPDX-License-Identifier: Apache-2.0
// GET of componentstatuses: the parts of the control plane, and whether they run.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/apiserver/read/selection.hpp"
#include "embedded/apiserver/request/handlers.hpp"
#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/request/shape.hpp"
#include "embedded/apiserver/request/subresource.hpp"

namespace athanor::apiserver {
namespace {

// A part, and the Lease that one outside of this process holds; without: the store.
struct Component {
  std::string_view name{};
  std::string_view lease{};
};

constexpr Component kComponents[] = {{"controller-manager", "kube-controller-manager"},
                                     {"etcd-0", ""},
                                     {"scheduler", "kube-scheduler"}};

// Returns why a part does not run, or nothing.
std::string trouble_of(const Call& call, const Component& component) {
  const std::vector<std::string>& own = call.core.options.components;
  if (component.lease.empty() || std::ranges::find(own, component.name) != own.end()) {
    return {};
  }
  const store::StoredPtr lease = call.core.store.get("leases.coordination.k8s.io",
                                                     {"kube-system", std::string(component.lease)});
  if (lease == nullptr) {
    return fmt::format("the Lease kube-system/{} has no holder", component.lease);
  }
  const Value& spec = lease->body["spec"];
  const auto renewed = parse_time(spec["renewTime"].as_string());
  const std::chrono::seconds lasts{spec["leaseDurationSeconds"].as_int()};
  return renewed && call.now <= *renewed + lasts
             ? std::string{}
             : fmt::format("the Lease kube-system/{} has expired", component.lease);
}

Value status_of(const Call& call, const Component& component) {
  const std::string trouble = trouble_of(call, component);
  Value condition = Value::object({{"type", "Healthy"}});
  condition.set("status", trouble.empty() ? "True" : "False");
  condition.set("message", trouble.empty() ? "ok" : trouble);
  return Value::object(
      {{"kind", "ComponentStatus"},
       {"apiVersion", "v1"},
       {"metadata", Value::object({{"name", component.name}, {"creationTimestamp", Value()}})},
       {"conditions", Value::list({std::move(condition)})}});
}

}  // namespace

StatusResult<Response> get_component_status(Call& call) {
  for (const Component& component : kComponents) {
    if (component.name == call.path.name) {
      ATHANOR_TRY_VOID(check_shape(*call.resource, call.accepted, false));
      return object_response(call, status_of(call, component), 200);
    }
  }
  return status::not_found(call.qualified_resource(), call.path.name);
}

StatusResult<Response> list_component_statuses(Call& call) {
  ATHANOR_TRY(const Selection selection, Selection::read(call.request, *call.resource));
  IncludeObject include = IncludeObject::Metadata;
  if (call.accepted.shape == Shape::Table) {
    ATHANOR_TRY(include, read_include_object(call.request));
  }
  std::vector<Value> objects;
  for (const Component& component : kComponents) {
    if (Value status = status_of(call, component); selection.matches(status)) {
      objects.push_back(std::move(status));
    }
  }
  ATHANOR_TRY_VOID(check_shape(*call.resource, call.accepted, true));
  return value_response(
      call, shape_list(*call.resource, call.accepted, include, objects, {}, call.now), 200);
}

}  // namespace athanor::apiserver
