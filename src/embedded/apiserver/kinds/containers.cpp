// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/kinds/containers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "embedded/apiserver/kinds/edit.hpp"
#include "embedded/apiserver/kinds/field_refs.hpp"
#include "kube/quantity.hpp"

namespace athanor::apiserver {
namespace {

bool is_standard(std::string_view name) {
  return is_one_of(name, {"cpu", "memory", "ephemeral-storage"}) || name.starts_with("hugepages-");
}

// Within kubernetes.io, or without a domain: Kubernetes' own.
bool is_native(std::string_view name) {
  return name.find('/') == std::string_view::npos || name.find("kubernetes.io/") == 0;
}

void check_amount(FieldErrors& errors, const std::string& path, std::string_view name,
                  const Value& quantity) {
  if (const NameError bad = validate_qualified_name(name)) {
    errors.push_back(FieldError::invalid(path, name, *bad));
  } else if (name.find('/') == std::string_view::npos && !is_standard(name)) {
    errors.push_back(
        FieldError::invalid(path, name, "must be a standard resource type or fully qualified"));
    errors.push_back(FieldError::invalid(path, name, "must be a standard resource for containers"));
  }
  check_quantity(errors, path, quantity);
  const auto amount = Quantity::parse(quantity);
  if (is_extended_resource(name) && amount && amount->milli_value() % 1000 != 0) {
    errors.push_back(FieldError::invalid(path, quantity, "must be an integer"));
  }
}

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

void check_mounts(FieldErrors& errors, const Value& mounts, const std::set<std::string>& volumes,
                  const std::string& path) {
  std::set<std::string> paths;
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
    } else if (!paths.insert(mount).second) {
      errors.push_back(FieldError::invalid(here + ".mountPath", mount, "must be unique"));
    }
  }
}

void check_handler(FieldErrors& errors, const Value& handler, std::string_view kind,
                   const std::string& path) {
  if (kind == "exec") {
    require(errors, path + ".command", handler["command"]);
  } else if (kind == "httpGet") {
    require(errors, path + ".path", handler["path"]);
    check_port_or_name(errors, path + ".port", handler["port"]);
    check_choice(errors, path + ".scheme", handler["scheme"], {"HTTP", "HTTPS"});
  } else if (kind == "tcpSocket" || kind == "grpc") {
    check_port_or_name(errors, path + ".port", handler["port"]);
  }
}

// What a probe or a hook does: exactly one thing.
void check_handlers(FieldErrors& errors, const Value& holder, const std::string& path) {
  std::size_t handlers = 0;
  for (const std::string_view kind : {"exec", "httpGet", "tcpSocket", "grpc", "sleep"}) {
    if (!holder[kind].is_object()) {
      continue;
    }
    const std::string here = below(path, kind);
    if (++handlers > 1) {
      errors.push_back(FieldError::forbidden(here, "may not specify more than 1 handler type"));
    } else {
      check_handler(errors, holder[kind], kind, here);
    }
  }
  if (handlers == 0) {
    errors.push_back(FieldError::required(path, "must specify a handler type"));
  }
}

void check_probe(FieldErrors& errors, const Value& probe, const std::string& path, bool liveness) {
  if (probe.is_null()) {
    return;
  }
  check_handlers(errors, probe, path);
  for (const std::string_view field : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                       "successThreshold", "failureThreshold"}) {
    check_not_negative(errors, below(path, field), probe[field]);
  }
  if (liveness && probe["successThreshold"].as_int(1) != 1) {
    errors.push_back(
        FieldError::invalid(path + ".successThreshold", probe["successThreshold"], "must be 1"));
  }
}

void check_container(FieldErrors& errors, const Value& container, const std::string& path,
                     const std::set<std::string>& volumes) {
  const std::string_view image = container["image"].as_string();
  if (image.empty()) {
    errors.push_back(FieldError::required(path + ".image"));
  } else if (image.front() == ' ' || image.back() == ' ') {
    errors.push_back(FieldError::invalid(path + ".image", image,
                                         "must not have leading or trailing whitespace"));
  }
  check_choice(errors, path + ".imagePullPolicy", container["imagePullPolicy"],
               {"Always", "IfNotPresent", "Never"});
  check_choice(errors, path + ".terminationMessagePolicy", container["terminationMessagePolicy"],
               {"File", "FallbackToLogsOnError"});
  check_ports(errors, container["ports"], path + ".ports");
  check_env(errors, container["env"], path + ".env");
  check_mounts(errors, container["volumeMounts"], volumes, path + ".volumeMounts");
  check_probe(errors, container["livenessProbe"], path + ".livenessProbe", true);
  check_probe(errors, container["readinessProbe"], path + ".readinessProbe", false);
  check_probe(errors, container["startupProbe"], path + ".startupProbe", true);
  for (const std::string_view hook : {"postStart", "preStop"}) {
    if (container["lifecycle"][hook].is_object()) {
      check_handlers(errors, container["lifecycle"][hook], below(path + ".lifecycle", hook));
    }
  }
  check_resources(errors, container["resources"], path + ".resources");
}

// Two containers cannot have the same port of the node.
void check_host_ports(FieldErrors& errors, const Value& containers, const std::string& path) {
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

bool is_extended_resource(std::string_view name) {
  return !is_native(name) && !name.starts_with("requests.");
}

void check_resources(FieldErrors& errors, const Value& resources, const std::string& path) {
  for (const std::string_view list : {"limits", "requests"}) {
    for (const Member& amount : resources[list].members()) {
      check_amount(errors, at(below(path, list), amount.key()), amount.key(), amount.value);
    }
  }
  for (const Member& request : resources["requests"].members()) {
    check_request(errors, resources, path, request);
  }
}

void check_containers(FieldErrors& errors, const Value& spec, const std::string& path) {
  std::set<std::string> volumes;
  for (const Value& volume : spec["volumes"].items()) {
    if (volume.size() <= 2) {  // a name and one source; others do not count
      volumes.insert(volume["name"].str());
    }
  }
  if (spec["containers"].empty()) {
    errors.push_back(FieldError::required(path + ".containers"));
  }
  std::set<std::string> names;
  for (const std::string_view list : {"containers", "initContainers"}) {
    const Value& containers = spec[list];
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const std::string here = at(below(path, list), i);
      const std::string name = containers[i]["name"].str();
      require_name(errors, here + ".name", name, &validate_dns1123_label);
      if (!name.empty() && !names.insert(name).second) {
        errors.push_back(FieldError::duplicate(here + ".name", name));
      }
      check_container(errors, containers[i], here, volumes);
      const Value& policy = containers[i]["restartPolicy"];
      if (list == "initContainers" && policy.as_string() != "Always") {
        check_init_container(errors, containers[i], here);
      }
      if (list == "initContainers") {
        check_choice(errors, here + ".restartPolicy", policy, {"Always", "Never", "OnFailure"});
      }
    }
    if (list == "containers") {
      check_host_ports(errors, containers, below(path, list));
    }
  }
}

}  // namespace athanor::apiserver
