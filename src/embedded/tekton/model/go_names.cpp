// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/go_names.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/tekton.hpp"
#include "base/ascii.hpp"

namespace athanor::tekton {
namespace {

// Fields of Kubernetes' own types in tasks and bindings.
constexpr std::string_view kCoreNames[] = {"accessModes",
                                           "add",
                                           "allowPrivilegeEscalation",
                                           "audience",
                                           "capabilities",
                                           "claimName",
                                           "command",
                                           "configMap",
                                           "configMapKeyRef",
                                           "configMapRef",
                                           "containerPort",
                                           "csi",
                                           "defaultMode",
                                           "devicePath",
                                           "downwardAPI",
                                           "driver",
                                           "drop",
                                           "emptyDir",
                                           "exec",
                                           "expirationSeconds",
                                           "failureThreshold",
                                           "fieldPath",
                                           "fieldRef",
                                           "fsType",
                                           "host",
                                           "hostPath",
                                           "hostPort",
                                           "httpGet",
                                           "initialDelaySeconds",
                                           "items",
                                           "key",
                                           "limits",
                                           "medium",
                                           "mode",
                                           "mountPath",
                                           "mountPropagation",
                                           "name",
                                           "nodePublishSecretRef",
                                           "optional",
                                           "path",
                                           "periodSeconds",
                                           "persistentVolumeClaim",
                                           "port",
                                           "ports",
                                           "prefix",
                                           "privileged",
                                           "projected",
                                           "protocol",
                                           "readOnly",
                                           "readOnlyRootFilesystem",
                                           "requests",
                                           "resource",
                                           "resourceFieldRef",
                                           "runAsGroup",
                                           "runAsNonRoot",
                                           "runAsUser",
                                           "scheme",
                                           "secret",
                                           "secretKeyRef",
                                           "secretName",
                                           "secretRef",
                                           "server",
                                           "serviceAccountToken",
                                           "sizeLimit",
                                           "sources",
                                           "storageClassName",
                                           "subPath",
                                           "subPathExpr",
                                           "successThreshold",
                                           "tcpSocket",
                                           "timeoutSeconds",
                                           "type",
                                           "value",
                                           "valueFrom",
                                           "volumeAttributes"};

// Members whose own members are keys of a map, or a value of any shape.
constexpr std::string_view kMaps[] = {"annotations", "default",      "labels",          "limits",
                                      "matchLabels", "nodeSelector", "properties",      "requests",
                                      "spec",        "value",        "volumeAttributes"};

using Names = std::map<std::string, std::string, std::less<>>;  // in lower case: as declared

void collect_names(const api::TypeInfo& type, std::set<const api::TypeInfo*>& seen, Names& names) {
  if (!seen.insert(&type).second) {
    return;
  }
  for (const api::FieldInfo& field : type.fields) {
    names.emplace(lower(field.name), field.name);
    const api::MemberOps* ops = field.ops;
    while (ops != nullptr && ops->type == nullptr) {
      ops = ops->element;
    }
    if (ops != nullptr) {
      collect_names(ops->type(), seen, names);
    }
  }
}

const Names& declared_names() {
  static const Names kNames = [] {
    Names names;
    for (const std::string_view name : kCoreNames) {
      names.emplace(lower(name), name);
    }
    std::set<const api::TypeInfo*> seen;
    for (const api::CustomKind* kind : api::tekton_kinds()) {
      for (const api::VersionInfo& version : kind->versions) {
        collect_names(version.type(), seen, names);
      }
    }
    return names;
  }();
  return kNames;
}

bool is_map(std::string_view name) {
  return std::find(std::begin(kMaps), std::end(kMaps), name) != std::end(kMaps);
}

// Returns the renamed tree; the same nodes where nothing is renamed.
Value renamed(const Value& tree) {
  Value result = tree;
  for (std::size_t i = 0; i < tree.size() && tree.is_list(); ++i) {
    if (tree[i].is_object()) {
      Value item = renamed(tree[i]);
      if (!item.identical(tree[i])) {
        result.item(i) = std::move(item);
      }
    }
  }
  for (const Member& member : tree.members()) {
    std::string name(member.key());
    const auto declared = declared_names().find(lower(name));
    if (declared != declared_names().end() && declared->second != name &&
        !tree.contains(declared->second)) {
      result.erase(name);
      name = declared->second;
      result.set(name, member.value);
    }
    if (!is_map(name) && (member.value.is_object() || member.value.is_list())) {
      Value value = renamed(member.value);
      if (!value.identical(member.value)) {
        result.set(name, std::move(value));
      }
    }
  }
  return result;
}

}  // namespace

void use_declared_names(Value& spec) {
  Value changed = renamed(spec);
  if (!changed.identical(spec)) {
    spec = std::move(changed);
  }
}

}  // namespace athanor::tekton
