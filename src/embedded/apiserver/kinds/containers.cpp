// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/kinds/containers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "embedded/apiserver/kinds/edit.hpp"
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
    if (!name.empty() && !names.insert(name).second) {
      errors.push_back(FieldError::duplicate(here + ".name", name));
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
    const Value& source = env["valueFrom"];
    if (source.is_null()) {
      continue;
    }
    if (source.empty()) {
      errors.push_back(FieldError::invalid(
          here + ".valueFrom", "",
          "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
          "`secretKeyRef` or `fileKeyRef`"));
    } else if (source.size() > 1) {
      errors.push_back(FieldError::invalid(here + ".valueFrom", "",
                                           "may not have more than one field specified at a time"));
    }
    if (!env["value"].as_string().empty()) {
      errors.push_back(FieldError::invalid(here + ".valueFrom", "",
                                           "may not be specified when `value` is not empty"));
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
    } else if (!volumes.contains(name)) {
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

void check_probe(FieldErrors& errors, const Value& probe, const std::string& path, bool liveness) {
  if (probe.is_null()) {
    return;
  }
  std::size_t handlers = 0;
  for (const std::string_view handler : {"exec", "httpGet", "tcpSocket", "grpc"}) {
    handlers += probe.contains(handler) ? 1 : 0;
  }
  if (handlers == 0) {
    errors.push_back(FieldError::required(path, "must specify a handler type"));
  } else if (handlers > 1) {
    errors.push_back(FieldError::forbidden(path, "may not specify more than 1 handler type"));
  }
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
  check_resources(errors, container["resources"], path + ".resources");
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
  }
}

}  // namespace athanor::apiserver
