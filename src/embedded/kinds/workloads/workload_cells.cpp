// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/workloads/workload_cells.hpp"

#include <fmt/format.h>

#include "kube/value/object.hpp"

namespace athanor::apiserver {
namespace {

Value number(const Value& value) {
  return {value.as_int()};
}

Value pods_of(const Value& object) {
  return object["spec"]["template"]["spec"];
}

}  // namespace

Cells deployment_cells(const Value& object, Instant now) {
  const Value& status = object["status"];
  return {
      name_cell(object),
      fmt::format("{}/{}", status["readyReplicas"].as_int(), object["spec"]["replicas"].as_int()),
      status["updatedReplicas"].as_int(),
      status["availableReplicas"].as_int(),
      age_cell(object, now),
      containers_cell(pods_of(object)),
      images_cell(pods_of(object)),
      selector_cell(object["spec"]["selector"])};
}

Cells replica_set_cells(const Value& object, Instant now) {
  const Value& status = object["status"];
  return {name_cell(object),
          number(object["spec"]["replicas"]),
          number(status["replicas"]),
          number(status["readyReplicas"]),
          age_cell(object, now),
          containers_cell(pods_of(object)),
          images_cell(pods_of(object)),
          selector_cell(object["spec"]["selector"])};
}

Cells replication_controller_cells(const Value& object, Instant now) {
  Cells cells = replica_set_cells(object, now);
  cells.back() = labels_cell(object["spec"]["selector"]);
  return cells;
}

Cells stateful_set_cells(const Value& object, Instant now) {
  return {name_cell(object),
          fmt::format("{}/{}", object["status"]["readyReplicas"].as_int(),
                      object["spec"]["replicas"].as_int()),
          age_cell(object, now), containers_cell(pods_of(object)), images_cell(pods_of(object))};
}

Cells daemon_set_cells(const Value& object, Instant now) {
  const Value& status = object["status"];
  return {name_cell(object),
          number(status["desiredNumberScheduled"]),
          number(status["currentNumberScheduled"]),
          number(status["numberReady"]),
          number(status["updatedNumberScheduled"]),
          number(status["numberAvailable"]),
          labels_cell(pods_of(object)["nodeSelector"]),
          age_cell(object, now),
          containers_cell(pods_of(object)),
          images_cell(pods_of(object)),
          selector_cell(object["spec"]["selector"])};
}

Cells controller_revision_cells(const Value& object, Instant now) {
  const Object read(object);
  const auto owner = read.controller();
  std::string controller{kNone};
  if (owner) {
    const std::size_t slash = owner->api_version.find('/');
    std::string kind;
    for (const char c : owner->kind) {
      kind += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    controller =
        slash == std::string::npos
            ? fmt::format("{}/{}", kind, owner->name)
            : fmt::format("{}.{}/{}", kind, owner->api_version.substr(0, slash), owner->name);
  }
  return {name_cell(object), controller, object["revision"].as_int(), age_cell(object, now)};
}

}  // namespace athanor::apiserver
