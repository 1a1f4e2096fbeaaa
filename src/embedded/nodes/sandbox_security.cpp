// SPDX-License-Identifier: Apache-2.0
// Security contexts. A container's own members win over the pod's.
#include "embedded/nodes/sandbox_security.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "embedded/nodes/image_entrypoints.hpp"

namespace athanor::nodes {
namespace {

// What container runtimes give to root, and what does no harm outside the container. Others reach
// the machine: its network, which pods share, its devices, its clock, its kernel.
constexpr std::string_view kGranted[] = {
    "AUDIT_WRITE", "CHOWN",    "DAC_OVERRIDE",     "FOWNER",   "FSETID", "KILL",
    "MKNOD",       "NET_RAW",  "NET_BIND_SERVICE", "SETFCAP",  "SETGID", "SETPCAP",
    "SETUID",      "IPC_LOCK", "SYS_CHROOT",       "SYS_NICE", "LEASE"};

const Value& setting_of(const Object& pod, const Value& container, std::string_view name) {
  const Value& own = container["securityContext"][name];
  return own.is_null() ? pod.spec()["securityContext"][name] : own;
}

std::string_view bare_name(std::string_view capability) {
  constexpr std::string_view kPrefix = "CAP_";
  return capability.starts_with(kPrefix) ? capability.substr(kPrefix.size()) : capability;
}

// As a kubelet names a pod.
std::string described(const Object& pod, const Value& container) {
  return fmt::format("(pod: \"{}_{}({})\", container: {})", pod.name(), pod.ns(), pod.uid(),
                     container["name"].as_string());
}

// The user that distroless images name `nonroot`. Images are not pulled here: one that is not known
// and may not run as root gets this one.
constexpr std::int64_t kNonRoot = 65532;

// Settles runAsNonRoot: sets the user where only the image would, or returns the refusal.
std::string settle_non_root(const Object& pod, const Value& container, Value& value,
                            const Value& image, const LabUser& user) {
  if (!setting_of(pod, container, "runAsNonRoot").as_bool()) {
    return {};
  }
  if (value["user"].is_integer()) {
    return value["user"].as_int() != 0
               ? std::string()
               : "container's runAsUser breaks non-root policy " + described(pod, container);
  }
  if (image["user"].is_integer() && image["user"].as_int() != 0) {
    return {};  // it is set with the rest of the image
  }
  if (user.id != 0) {
    return {};
  }
  const std::int64_t own = image_user(container["image"].as_string()).value_or(kNonRoot);
  if (own == 0) {
    return "container has runAsNonRoot and image will run as root " + described(pod, container);
  }
  value.set("user", own);
  return {};
}

// Names the containers that run as root: "a, b".
std::string root_containers(const Object& pod) {
  std::string names;
  for (const char* list : {"initContainers", "containers"}) {
    for (const Value& container : pod.spec()[list].items()) {
      if (setting_of(pod, container, "runAsUser") == Value(0)) {
        names += (names.empty() ? "" : ", ") + container["name"].str();
      }
    }
  }
  return names;
}

}  // namespace

bool is_granted_capability(std::string_view name) {
  return std::ranges::find(kGranted, bare_name(name)) != std::end(kGranted);
}

LabUser lab_user(const View& view) {
  LabUser user;
  user.id = view.config("kubelet")["user"].as_int(user.id);
  user.several_groups = view.config("kubelet")["severalGroups"].as_bool();
  user.cpu_limits = view.config("kubelet")["cpuLimits"].as_bool();
  return user;
}

SandboxSecurity sandbox_security(const Object& pod, const Value& container, const Value& image,
                                 const LabUser& user) {
  SandboxSecurity result{.value = Value::object()};
  Value& value = result.value;
  for (const auto& [name, member] :
       {std::pair("runAsUser", "user"), std::pair("runAsGroup", "group")}) {
    if (const Value& id = setting_of(pod, container, name); id.is_integer()) {
      value.set(member, id);
    }
  }
  const Value& context = pod.spec()["securityContext"];
  Value groups =
      context["supplementalGroups"].is_list() ? context["supplementalGroups"] : Value::list();
  if (context["fsGroup"].is_integer()) {
    groups.push_back(context["fsGroup"]);
  }
  if (!groups.empty()) {
    value.set("groups", std::move(groups));
  }
  for (const char* list : {"add", "drop"}) {
    if (const Value& names = container["securityContext"]["capabilities"][list]; !names.empty()) {
      value.set(list, names);
    }
  }
  if (container["securityContext"]["allowPrivilegeEscalation"] == Value(false)) {
    value.set("noNewPrivileges", true);
  }
  result.refusal = settle_non_root(pod, container, value, image, user);
  return result;
}

std::vector<std::string> unmet_security(const Object& pod, const LabUser& user) {
  std::vector<std::string> unmet;
  const Value& context = pod.spec()["securityContext"];
  const bool groups = !context["supplementalGroups"].empty() || context["fsGroup"].is_integer();
  if (user.id < 0) {
    return unmet;
  }
  if (user.id != 0 && groups && !user.several_groups) {
    unmet.push_back(fmt::format(
        "supplementalGroups and fsGroup are not applied: the lab runs as user {}, of which one "
        "user and one group id can be mapped (/etc/subuid and newuidmap would give it more)",
        user.id));
  }
  if (const std::string roots = root_containers(pod);
      user.id != 0 && !roots.empty() && !user.several_groups) {
    unmet.push_back(fmt::format(
        "runAsUser 0 of {} is the only user: the lab runs as user {}, of which one user and one "
        "group id can be mapped, so chown and su to others fail (/etc/subuid and newuidmap would "
        "give it more)",
        roots, user.id));
  }
  std::string missing;
  std::string escalating;
  for (const char* list : {"initContainers", "containers"}) {
    for (const Value& container : pod.spec()[list].items()) {
      if (container["securityContext"]["allowPrivilegeEscalation"].as_bool()) {
        escalating += (escalating.empty() ? "" : ", ") + container["name"].str();
      }
      for (const Value& name : container["securityContext"]["capabilities"]["add"].items()) {
        if (!is_granted_capability(name.as_string()) && name.as_string() != "ALL") {
          missing += (missing.empty() ? "" : ", ") + name.str();
        }
      }
    }
  }
  if (!escalating.empty()) {
    unmet.push_back(fmt::format(
        "allowPrivilegeEscalation: true has no effect: processes gain no privileges in {}",
        escalating));
  }
  if (!missing.empty()) {
    unmet.push_back(fmt::format(
        "capabilities that reach this machine are not given to containers: {}", missing));
  }
  return unmet;
}

}  // namespace athanor::nodes
