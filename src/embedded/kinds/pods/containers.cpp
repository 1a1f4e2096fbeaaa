// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/pods/containers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/field_refs.hpp"
#include "embedded/kinds/pods/security_rules.hpp"
#include "embedded/kinds/pods/volume_rules.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::apiserver {
namespace {

void check_request(FieldErrors& errors, const Value& resources, const std::string& path,
                   const Member& request) {
  const auto asked = Quantity::parse(request.value);
  const Value& limit_value = resources["limits"][request.key()];
  const auto limit = Quantity::parse(limit_value);
  const bool strict =
      is_extended_resource(request.key()) || request.key().starts_with("hugepages-");
  if (!limit) {
    if (strict) {
      errors.push_back(FieldError::required(path + ".limits",
                                            "Limit must be set for non overcommitable resources"));
    }
    return;
  }
  if (strict && asked && *asked != *limit) {
    errors.push_back(FieldError::invalid(
        path + ".requests", asked->text(),
        fmt::format("must be equal to {} limit of {}", request.key(), limit->text())));
  } else if (asked && *asked > *limit) {
    errors.push_back(FieldError::invalid(
        path + ".requests", asked->text(),
        fmt::format("must be less than or equal to {} limit of {}", request.key(), limit->text())));
  }
}

void check_ports(FieldErrors& errors, const Value& ports, const std::string& path) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Value& port = ports[i];
    const std::string here = at(path, i);
    const std::string name = port["name"].str();
    if (!name.empty()) {
      const std::size_t before = errors.size();
      check_port_or_name(errors, here + ".name", Value(name));
      if (errors.size() == before && !names.insert(name).second) {
        errors.push_back(FieldError::duplicate(here + ".name", name));
      }
    }
    if (port["containerPort"].as_int() == 0) {
      errors.push_back(FieldError::required(here + ".containerPort"));
    } else {
      check_port(errors, here + ".containerPort", port["containerPort"].as_int());
    }
    if (port["hostPort"].as_int() != 0) {
      check_port(errors, here + ".hostPort", port["hostPort"].as_int());
    }
    check_choice(errors, here + ".protocol", port["protocol"], {"SCTP", "TCP", "UDP"});
  }
}

void check_env(FieldErrors& errors, const Value& list, const std::string& path) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value& env = list[i];
    const std::string here = at(path, i);
    const std::string_view name = env["name"].as_string();
    if (name.empty()) {
      errors.push_back(FieldError::required(here + ".name"));
    } else if (!std::all_of(name.begin(), name.end(),
                            [](char c) { return c >= ' ' && c <= '~' && c != '='; })) {
      errors.push_back(FieldError::invalid(here + ".name", name,
                                           "a valid environment variable name must consist only "
                                           "of printable ASCII characters other than '='"));
    }
    if (!env["valueFrom"].is_null()) {
      check_value_source(errors, env, here + ".valueFrom");
    }
  }
}

// What belongs to one mount and to no other; the reference names the list, not the mount.
void check_mount_options(FieldErrors& errors, const Value& mount, bool privileged,
                         const std::string& list, const std::string& here) {
  const std::string_view sub_path = mount["subPath"].as_string();
  const std::string_view expression = mount["subPathExpr"].as_string();
  check_descending_path(errors, list + ".subPath", sub_path);
  if (!expression.empty() && !sub_path.empty()) {
    errors.push_back(FieldError::invalid(here + ".subPathExpr", expression,
                                         "subPathExpr and subPath are mutually exclusive"));
  }
  check_descending_path(errors, list + ".subPathExpr", expression);
  const Value& propagation = mount["mountPropagation"];
  if (!propagation.is_null()) {
    check_choice_always(errors, list + ".mountPropagation", propagation,
                        {"Bidirectional", "HostToContainer", "None"});
    if (propagation.as_string() == "Bidirectional" && !privileged) {
      errors.push_back(FieldError::forbidden(
          list + ".mountPropagation",
          "Bidirectional mount propagation is available only to privileged containers"));
    }
  }
  const Value& recursive = mount["recursiveReadOnly"];
  if (recursive.is_null() || recursive.as_string() == "Disabled") {
    return;
  }
  if (!is_one_of(recursive.as_string(), {"Enabled", "IfPossible"})) {
    errors.push_back(FieldError::not_supported(list + ".recursiveReadOnly", recursive,
                                               {"Disabled", "Enabled", "IfPossible"}));
    return;
  }
  if (!mount["readOnly"].as_bool()) {
    errors.push_back(FieldError::forbidden(list + ".recursiveReadOnly",
                                           "may only be specified when readOnly is true"));
  }
  if (!propagation.is_null() && propagation.as_string() != "None") {
    errors.push_back(
        FieldError::forbidden(list + ".recursiveReadOnly",
                              "may only be specified when mountPropagation is None or not "
                              "specified"));
  }
}

void check_mounts(FieldErrors& errors, const Value& container, const std::set<std::string>& volumes,
                  const std::string& path) {
  std::set<std::string_view> device_names;
  std::set<std::string_view> device_paths;
  for (const Value& device : container["volumeDevices"].items()) {
    device_names.insert(device["name"].as_string());
    device_paths.insert(device["devicePath"].as_string());
  }
  std::set<std::string> paths;
  const Value& mounts = container["volumeMounts"];
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const std::string here = at(path, i);
    const std::string name = mounts[i]["name"].str();
    if (name.empty()) {
      errors.push_back(FieldError::required(here + ".name"));
    }
    if (!volumes.contains(name)) {
      errors.push_back(FieldError::not_found(here + ".name", name));
    }
    const std::string mount = mounts[i]["mountPath"].str();
    if (mount.empty()) {
      errors.push_back(FieldError::required(here + ".mountPath"));
    }
    if (!paths.insert(mount).second) {
      errors.push_back(FieldError::invalid(here + ".mountPath", mount, "must be unique"));
    }
    if (device_names.contains(name)) {
      errors.push_back(
          FieldError::invalid(here + ".name", name, "must not already exist in volumeDevices"));
    }
    if (device_paths.contains(mount)) {
      errors.push_back(FieldError::invalid(here + ".mountPath", mount,
                                           "must not already exist as a path in volumeDevices"));
    }
    check_mount_options(errors, mounts[i], container["securityContext"]["privileged"].as_bool(),
                        path, here);
  }
}

void check_env_from(FieldErrors& errors, const Value& list, const std::string& path) {
  for (const Value& source : list.items()) {
    const std::size_t count = (source["configMapRef"].is_object() ? 1U : 0U) +
                              (source["secretRef"].is_object() ? 1U : 0U);
    if (count != 1) {
      errors.push_back(
          FieldError::invalid(path, "",
                              count == 0 ? "must specify one of: `configMapRef` or `secretRef`"
                                         : "may not have more than one field specified at a time"));
    }
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (const std::string_view kind : {"configMapRef", "secretRef"}) {
      if (list[i][kind].is_object()) {
        require(errors, below(below(at(path, i), kind), "name"), list[i][kind]["name"]);
      }
    }
  }
}

void check_resize_policy(FieldErrors& errors, const Value& list, std::string_view pod_policy,
                         const std::string& path) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value& resource = list[i]["resourceName"];
    const Value& policy = list[i]["restartPolicy"];
    if (!seen.insert(resource.str()).second) {
      errors.push_back(FieldError::duplicate(at(path, i), resource));
    }
    require_choice(errors, path, resource, {"cpu", "memory"});
    require_choice(errors, path, policy, {"NotRequired", "RestartContainer"});
    if (pod_policy == "Never" && policy.as_string() != "NotRequired") {
      errors.push_back(FieldError::invalid(
          path, policy, "must be 'NotRequired' when `restartPolicy` is 'Never'"));
    }
  }
}

void check_handler(FieldErrors& errors, const Value& handler, std::string_view kind,
                   const Value& grace, const std::string& path) {
  if (kind == "exec") {
    require(errors, path + ".command", handler["command"]);
  } else if (kind == "httpGet") {
    require(errors, path + ".path", handler["path"]);
    check_port_or_name(errors, path + ".port", handler["port"]);
    check_choice_always(errors, path + ".scheme", handler["scheme"], {"HTTP", "HTTPS"});
  } else if (kind == "tcpSocket" || kind == "grpc") {
    check_port_or_name(errors, path + ".port", handler["port"]);
  } else if (const std::int64_t seconds = handler["seconds"].as_int();
             grace.is_number() && (seconds < 0 || seconds > grace.as_int())) {
    errors.push_back(FieldError::invalid(
        path, seconds,
        fmt::format("must be non-negative and less than terminationGracePeriodSeconds ({})",
                    grace.as_int())));
  }
}

// What a probe or a hook does: exactly one thing.
void check_handlers(FieldErrors& errors, const Value& holder, const Value& grace,
                    const std::string& path) {
  std::size_t handlers = 0;
  for (const std::string_view kind : {"exec", "httpGet", "tcpSocket", "grpc", "sleep"}) {
    if (!holder[kind].is_object()) {
      continue;
    }
    const std::string here = below(path, kind);
    if (++handlers > 1) {
      errors.push_back(FieldError::forbidden(here, "may not specify more than 1 handler type"));
    } else {
      check_handler(errors, holder[kind], kind, grace, here);
    }
  }
  if (handlers == 0) {
    errors.push_back(FieldError::required(path, "must specify a handler type"));
  }
}

void check_probe(FieldErrors& errors, const Value& probe, const Value& grace,
                 const std::string& path, std::string_view kind) {
  if (probe.is_null()) {
    return;
  }
  check_handlers(errors, probe, grace, path);
  for (const std::string_view field : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                       "successThreshold", "failureThreshold"}) {
    check_not_negative(errors, below(path, field), probe[field]);
  }
  const Value& own_grace = probe["terminationGracePeriodSeconds"];
  if (own_grace.is_number() && own_grace.as_int() <= 0) {
    errors.push_back(FieldError::invalid(path + ".terminationGracePeriodSeconds", own_grace,
                                         "must be greater than 0"));
  }
  if (kind == "readinessProbe" && !own_grace.is_null()) {
    errors.push_back(FieldError::invalid(path + ".terminationGracePeriodSeconds", own_grace,
                                         "must not be set for readinessProbes"));
  }
  if (kind != "readinessProbe" && probe["successThreshold"].as_int(1) != 1) {
    errors.push_back(
        FieldError::invalid(path + ".successThreshold", probe["successThreshold"], "must be 1"));
  }
}

// The pod that a container belongs to.
struct Owner {
  const Value& spec;
  const std::set<std::string>& volumes;
};

void check_container(FieldErrors& errors, const Value& container, const std::string& path,
                     const Owner& owner) {
  require_name(errors, path + ".name", container["name"].as_string(), &validate_dns1123_label);
  require(errors, path + ".image", container["image"]);
  check_choice(errors, path + ".imagePullPolicy", container["imagePullPolicy"],
               {"Always", "IfNotPresent", "Never"});
  check_choice(errors, path + ".terminationMessagePolicy", container["terminationMessagePolicy"],
               {"File", "FallbackToLogsOnError"});
  check_ports(errors, container["ports"], path + ".ports");
  check_env(errors, container["env"], path + ".env");
  check_env_from(errors, container["envFrom"], path + ".envFrom");
  check_mounts(errors, container, owner.volumes, path + ".volumeMounts");
  check_resources(errors, container["resources"], path + ".resources");
  check_resize_policy(errors, container["resizePolicy"], owner.spec["restartPolicy"].as_string(),
                      path + ".resizePolicy");
  check_container_security(errors, container["securityContext"], owner.spec,
                           path + ".securityContext");
  if (const Value& policy = container["restartPolicy"]; !policy.is_null()) {
    check_choice_always(errors, path + ".restartPolicy", policy, {"Always", "Never", "OnFailure"});
  }
}

// What happens at certain moments in the life of a container that stays.
void check_moments(FieldErrors& errors, const Value& container, const Value& spec,
                   const std::string& path) {
  const Value& grace = spec["terminationGracePeriodSeconds"];
  for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    check_probe(errors, container[probe], grace, below(path, probe), probe);
  }
  for (const std::string_view hook : {"postStart", "preStop"}) {
    if (container["lifecycle"][hook].is_object()) {
      check_handlers(errors, container["lifecycle"][hook], grace, below(path + ".lifecycle", hook));
    }
  }
}

// Two containers cannot have the same port of the node.
void check_host_ports(FieldErrors& errors, const std::vector<Value>& containers,
                      const std::string& path) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Value& ports = containers[i]["ports"];
    for (std::size_t k = 0; k < ports.size(); ++k) {
      const std::int64_t port = ports[k]["hostPort"].as_int();
      std::string text = fmt::format("{}/{}/{}", ports[k]["protocol"].as_string(),
                                     ports[k]["hostIP"].as_string(), port);
      if (port != 0 && !taken.insert(text).second) {
        errors.push_back(FieldError::duplicate(at(at(path, i) + ".ports", k) + ".hostPort", text));
      }
    }
  }
}

// A pod on the node's network has the node's ports.
void check_node_ports(FieldErrors& errors, const Value& spec, const std::string& path) {
  if (!spec["hostNetwork"].as_bool()) {
    return;
  }
  const Value& containers = spec["containers"];
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Value& ports = containers[i]["ports"];
    for (std::size_t k = 0; k < ports.size(); ++k) {
      const std::int64_t host = ports[k]["hostPort"].as_int();
      if ((path == "spec" || host != 0) && host != ports[k]["containerPort"].as_int()) {
        errors.push_back(
            FieldError::invalid(at(at(path + ".containers", i) + ".ports", k) + ".hostPort", host,
                                "must match `containerPort` when `hostNetwork` is true"));
      }
    }
  }
}

// What runs to its end before the others start has nothing to be probed.
void check_init_container(FieldErrors& errors, const Value& container, const std::string& path) {
  for (const std::string_view field :
       {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
    if (!container[field].is_null()) {
      errors.push_back(FieldError::forbidden(
          below(path, field), "may not be set for init containers without restartPolicy=Always"));
    }
  }
}

}  // namespace

void check_resources(FieldErrors& errors, const Value& resources, const std::string& path,
                     void (*check_kind)(FieldErrors& errors, const std::string& path,
                                        std::string_view name)) {
  for (const std::string_view list : {"limits", "requests"}) {
    for (const Member& amount : resources[list].members()) {
      const std::string here = at(below(path, list), amount.key());
      check_kind(errors, here, amount.key());
      check_resource_amount(errors, here, amount.key(), amount.value);
    }
  }
  for (const Member& request : resources["requests"].members()) {
    check_request(errors, resources, path, request);
  }
}

void check_containers(FieldErrors& errors, const Value& spec, const std::set<std::string>& volumes,
                      const std::string& path) {
  const Owner owner{.spec = spec, .volumes = volumes};
  const Value& containers = spec["containers"];
  if (containers.empty()) {
    errors.push_back(FieldError::required(path + ".containers"));
  }
  std::set<std::string> names;
  std::vector<Value> all;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const std::string here = at(path + ".containers", i);
    const std::string name = containers[i]["name"].str();
    check_container(errors, containers[i], here, owner);
    if (!names.insert(name).second) {
      errors.push_back(FieldError::duplicate(here + ".name", name));
    }
    check_moments(errors, containers[i], spec, here);
    all.push_back(containers[i]);
  }
  check_host_ports(errors, all, path + ".containers");
  const Value& init_containers = spec["initContainers"];
  for (std::size_t i = 0; i < init_containers.size(); ++i) {
    const Value& container = init_containers[i];
    const std::string here = at(path + ".initContainers", i);
    const std::string name = container["name"].str();
    check_container(errors, container, here, owner);
    if (names.contains(name)) {
      errors.push_back(FieldError::duplicate(here + ".name", name));
    } else if (!name.empty()) {
      names.insert(name);
    }
    // One after the other, so each by itself: the reference always reports the first.
    check_host_ports(errors, {container}, path + ".initContainers");
    if (container["restartPolicy"].as_string() == "Always") {
      check_moments(errors, container, spec, here);
    } else {
      check_init_container(errors, container, here);
    }
  }
  check_node_ports(errors, spec, path);
}

}  // namespace athanor::apiserver
