// SPDX-License-Identifier: Apache-2.0
// The built-in resources as the server serves them: Appendix D and T joined with the generic
// behaviour of docs/spec/apiserver.md 14.3 and the field selectors of 8.5.
#include <algorithm>
#include <array>
#include <span>

#include "base/ascii.hpp"
#include "embedded/apiserver/crd/crd_behaviour.hpp"
#include "embedded/kinds/event_converter.hpp"
#include "embedded/kinds/kind_behaviour.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "embedded/kinds/workloads/autoscaler_converter.hpp"
#include "embedded/store/store.hpp"
#include "kube/schema/data.hpp"
#include "kube/schema/resources.hpp"
#include "kube/schema/types.hpp"

namespace athanor::apiserver {
namespace {

// One row of 14.3 for each resource that differs from "no generation, PUT without RV, nothing
// else".
struct Generic {
  std::string_view plural{};
  bool generation = false;
  bool unconditional_update = true;
  bool put_creates = false;
  bool returns_object = false;
};

constexpr std::array kGeneric = {
    Generic{.plural = "endpointslices", .generation = true},
    Generic{.plural = "serviceaccounts", .returns_object = true},
    Generic{.plural = "persistentvolumes", .returns_object = true},
    Generic{.plural = "persistentvolumeclaims", .returns_object = true},
    Generic{.plural = "resourcequotas", .returns_object = true},
    Generic{.plural = "storageclasses", .returns_object = true},
    Generic{.plural = "volumeattributesclasses", .returns_object = true},
    Generic{.plural = "resourceclaims", .returns_object = true},
    Generic{.plural = "resourceclaimtemplates", .returns_object = true},
    Generic{.plural = "namespaces", .returns_object = true},
    Generic{.plural = "pods", .generation = true, .returns_object = true},
    Generic{.plural = "podtemplates", .generation = true, .returns_object = true},
    Generic{.plural = "replicationcontrollers", .generation = true},
    Generic{.plural = "jobs", .generation = true},
    Generic{.plural = "deviceclasses", .generation = true, .returns_object = true},
    Generic{.plural = "resourceslices", .generation = true, .returns_object = true},
    Generic{.plural = "services", .put_creates = true, .returns_object = true},
    Generic{.plural = "endpoints", .put_creates = true},
    Generic{.plural = "events", .put_creates = true},
    Generic{.plural = "limitranges", .put_creates = true},
    Generic{.plural = "roles", .put_creates = true},
    Generic{.plural = "rolebindings", .put_creates = true},
    Generic{.plural = "clusterroles", .put_creates = true},
    Generic{.plural = "clusterrolebindings", .put_creates = true},
    Generic{.plural = "deployments", .generation = true},
    Generic{.plural = "replicasets", .generation = true},
    Generic{.plural = "statefulsets", .generation = true},
    Generic{.plural = "daemonsets", .generation = true},
    Generic{.plural = "cronjobs", .generation = true},
    Generic{.plural = "ingresses", .generation = true},
    Generic{.plural = "ingressclasses", .generation = true},
    Generic{.plural = "networkpolicies", .generation = true},
    Generic{.plural = "priorityclasses", .generation = true},
    Generic{.plural = "flowschemas", .generation = true},
    Generic{.plural = "prioritylevelconfigurations", .generation = true},
    Generic{.plural = "leases", .unconditional_update = false, .put_creates = true},
    Generic{.plural = "runtimeclasses", .unconditional_update = false, .put_creates = true},
    Generic{.plural = "poddisruptionbudgets", .generation = true, .unconditional_update = false},
    Generic{.plural = "validatingwebhookconfigurations",
            .generation = true,
            .unconditional_update = false},
    Generic{.plural = "mutatingwebhookconfigurations",
            .generation = true,
            .unconditional_update = false},
    Generic{
        .plural = "validatingadmissionpolicies", .generation = true, .unconditional_update = false},
    Generic{.plural = "validatingadmissionpolicybindings",
            .generation = true,
            .unconditional_update = false},
    Generic{.plural = "csinodes", .unconditional_update = false, .returns_object = true},
    Generic{.plural = "csidrivers", .unconditional_update = false, .returns_object = true},
    Generic{.plural = "volumeattachments", .unconditional_update = false, .returns_object = true},
    Generic{.plural = "csistoragecapacities", .unconditional_update = false},
    Generic{.plural = "customresourcedefinitions",
            .generation = true,
            .unconditional_update = false,
            .returns_object = true},
};

struct Selectable {
  std::string_view group{};
  std::string_view plural{};
  std::string_view fields{};  // separated by blanks
};

constexpr std::array kSelectable = {
    Selectable{"", "pods",
               "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName "
               "spec.hostNetwork status.phase status.podIP status.podIPs "
               "status.nominatedNodeName spec.host"},
    Selectable{"", "nodes", "spec.unschedulable"},
    Selectable{"", "namespaces", "status.phase"},
    Selectable{"", "secrets", "type"},
    Selectable{"", "events",
               "involvedObject.kind involvedObject.namespace involvedObject.name "
               "involvedObject.uid involvedObject.apiVersion involvedObject.resourceVersion "
               "involvedObject.fieldPath reason reportingComponent source type"},
    Selectable{"events.k8s.io", "events",
               "regarding.kind regarding.namespace regarding.name regarding.uid "
               "regarding.apiVersion regarding.resourceVersion regarding.fieldPath reason "
               "reportingController type"},
    Selectable{"batch", "jobs", "status.successful"},
    Selectable{"", "replicationcontrollers", "status.replicas"},
    Selectable{"", "services", "spec.clusterIP spec.type"},
    Selectable{"certificates.k8s.io", "certificatesigningrequests", "spec.signerName"},
    Selectable{"resource.k8s.io", "resourceslices", "spec.nodeName spec.driver"},
};

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) {
      result.emplace_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

NameRule name_rule_of(const BuiltinResource& resource) {
  if (resource.group == "rbac.authorization.k8s.io" || resource.plural == "ipaddresses" ||
      (resource.group.empty() && resource.plural == "events") ||
      (resource.group == "policy" && resource.plural == "poddisruptionbudgets")) {
    return NameRule::PathSegment;
  }
  if (resource.group == "apps" && resource.plural == "statefulsets") {
    return NameRule::Label;  // the names of its pods start with it
  }
  if (resource.group.empty() && resource.plural == "namespaces") {
    return NameRule::NamespaceName;
  }
  if (resource.group.empty() && resource.plural == "services") {
    return NameRule::Label1035;
  }
  return NameRule::Subdomain;
}

// "Desired:integer*"
PrinterColumn parse_column(std::string_view text) {
  PrinterColumn column;
  text = trimmed(text, " \r");
  if (text.ends_with('*')) {
    column.priority = 1;
    text.remove_suffix(1);
  }
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    column.type = std::string(text.substr(colon + 1));
    text = text.substr(0, colon);
  }
  column.name = std::string(text);
  return column;
}

// The columns of "GROUP/VERSION PLURAL: A | B" in Appendix T.
std::vector<PrinterColumn> columns_of(std::string_view api_version, std::string_view plural) {
  const std::string head = std::string(api_version) + " " + std::string(plural) + ":";
  std::string_view text = data::table_columns_text();
  std::vector<PrinterColumn> columns;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(head)) {
      continue;
    }
    line.remove_prefix(head.size());
    while (!line.empty()) {
      const std::size_t bar = std::min(line.find('|'), line.size());
      columns.push_back(parse_column(line.substr(0, bar)));
      line.remove_prefix(std::min(bar + 1, line.size()));
    }
  }
  if (columns.empty()) {
    columns.push_back({.name = "Name"});
    columns.push_back({.name = "Age"});
  }
  for (PrinterColumn& column : columns) {
    if (column.name == "Name") {
      column.format = "name";
    }
    column.description = column.name + " of the object";
  }
  return columns;
}

void set_storage(ResourceInfo& info) {
  info.storage = store::resource_name(info.plural, info.group);
  info.storage_api_version = info.api_version();
  info.storage_kind = info.kind;
  if (info.plural == "events") {
    info.storage = "events";
    info.storage_api_version = "v1";
    info.converter = &event_converter();
  } else if (info.plural == "horizontalpodautoscalers") {
    info.storage_api_version = "autoscaling/v2";
    info.converter = &autoscaler_converter();
  }
}

void set_flags(ResourceInfo& info) {
  const auto* generic = std::find_if(kGeneric.begin(), kGeneric.end(),
                                     [&](const Generic& row) { return row.plural == info.plural; });
  if (generic != kGeneric.end()) {
    info.has_generation = generic->generation;
    info.unconditional_update = generic->unconditional_update;
    info.put_creates = generic->put_creates;
    info.delete_returns_object = generic->returns_object;
  }
  for (const Selectable& row : kSelectable) {
    if (row.plural == info.plural && row.group == info.group) {
      info.selectable_fields = words(row.fields);
    }
  }
  if (info.group.empty() && info.plural == "endpoints") {
    info.deprecation_warning =
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
  } else if (info.plural == "componentstatuses") {
    info.deprecation_warning = "v1 ComponentStatus is deprecated in v1.19+";
  }
}

std::shared_ptr<const ResourceInfo> make_resource(const BuiltinResource& resource) {
  auto info = std::make_shared<ResourceInfo>();
  info->group = resource.group;
  info->version = resource.version;
  info->plural = resource.plural;
  info->singular = resource.singular;
  info->kind = resource.kind;
  info->list_kind = resource.kind + "List";
  info->namespaced = resource.namespaced;
  info->verbs = resource.verbs;
  info->short_names = resource.short_names;
  info->categories = resource.categories;
  for (const BuiltinSubresource& item : resource.subresources) {
    info->subresources.push_back({.name = item.name,
                                  .group = item.group,
                                  .version = item.version,
                                  .kind = item.kind,
                                  .verbs = item.verbs});
  }
  info->schema = BuiltinTypes::get().by_kind(resource.group, resource.version, resource.kind);
  info->stored = resource.has_verb("get") && resource.plural != "componentstatuses";
  info->name_rule = name_rule_of(resource);
  info->columns = columns_of(info->api_version(), info->plural);
  info->behaviour = info->plural == "customresourcedefinitions"
                        ? &crd_behaviour()
                        : kind_behaviour(info->group, info->version, info->plural);
  set_storage(*info);
  set_flags(*info);
  if (info->plural == "deployments" || info->plural == "replicasets" ||
      info->plural == "statefulsets" || info->plural == "replicationcontrollers") {
    info->scale = ScalePaths{.spec_replicas = ".spec.replicas",
                             .status_replicas = ".status.replicas",
                             .label_selector = {}};
  }
  return info;
}

}  // namespace

std::vector<std::shared_ptr<const ResourceInfo>> built_in_resources() {
  // Made once: they never change, and a simulation starts thousands of servers.
  static const std::vector<std::shared_ptr<const ResourceInfo>> kResources = [] {
    std::vector<std::shared_ptr<const ResourceInfo>> resources;
    for (const BuiltinResource& resource : builtin_resources()) {
      resources.push_back(make_resource(resource));
    }
    return resources;
  }();
  return kResources;
}

}  // namespace athanor::apiserver
