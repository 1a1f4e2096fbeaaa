// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/network/ingress_rules.hpp"

#include <fmt/format.h>

#include "embedded/kinds/edit.hpp"
#include "kube/text/formats.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kMaxController = 250;

bool is_address(std::string_view text) {
  return !text.empty() && (matches_format("ipv4", text) || matches_format("ipv6", text));
}

void require_segment(FieldErrors& errors, const std::string& path, const Value& name) {
  if (require(errors, path, name)) {
    check_name(errors, path, name.as_string(), &validate_path_segment);
  }
}

// A reference to an object of the same namespace.
void check_local_reference(FieldErrors& errors, const Value& reference, const std::string& path) {
  if (!reference["apiGroup"].is_null()) {
    check_name(errors, path + ".apiGroup", reference["apiGroup"].as_string(),
               &validate_dns1123_subdomain);
  }
  require_segment(errors, path + ".kind", reference["kind"]);
  require_segment(errors, path + ".name", reference["name"]);
}

void check_backend(FieldErrors& errors, const Value& backend, const std::string& path) {
  const Value& service = backend["service"];
  const Value& resource = backend["resource"];
  if (!service.is_null() && !resource.is_null()) {
    errors.push_back(
        FieldError::invalid(path, "", "cannot set both resource and service backends"));
  } else if (!resource.is_null()) {
    check_local_reference(errors, resource, path + ".resource");
  } else if (service.is_null()) {
    errors.push_back(FieldError::invalid(path, "", "resource or service backend is required"));
  } else {
    require_name(errors, path + ".service.name", service["name"].as_string(),
                 &validate_dns1035_label);
    const Value& name = service["port"]["name"];
    const std::int64_t number = service["port"]["number"].as_int();
    if (!name.as_string().empty() && number != 0) {
      errors.push_back(FieldError::invalid(path, "", "cannot set both port name & port number"));
    } else if (!name.as_string().empty()) {
      check_port_or_name(errors, path + ".service.port.name", name);
    } else if (number != 0) {
      check_port(errors, path + ".service.port.number", number);
    } else {
      errors.push_back(FieldError::required(path, "port name or number is required"));
    }
  }
}

void check_path(FieldErrors& errors, const Value& path, const std::string& here) {
  const Value& type = path["pathType"];
  if (type.is_null()) {
    errors.push_back(FieldError::required(here + ".pathType", "pathType must be specified"));
    return;
  }
  const std::string_view text = path["path"].as_string();
  const auto wrong = [&](const std::string& why) {
    errors.push_back(FieldError::invalid(here + ".path", text, why));
  };
  if (is_one_of(type.as_string(), {"Exact", "Prefix"})) {
    if (!text.starts_with('/')) {
      wrong("must be an absolute path");
    }
    for (const std::string_view part : {"//", "/./", "/../", "%2f", "%2F"}) {
      if (text.find(part) != std::string_view::npos) {
        wrong(fmt::format("must not contain '{}'", part));
      }
    }
    for (const std::string_view end : {"/..", "/."}) {
      if (text.ends_with(end)) {
        wrong(fmt::format("cannot end with '{}'", end));
      }
    }
  } else if (type.as_string() == "ImplementationSpecific") {
    if (!text.empty() && !text.starts_with('/')) {
      wrong("must be an absolute path");
    }
  } else {
    errors.push_back(FieldError::not_supported(here + ".pathType", type,
                                               {"Exact", "ImplementationSpecific", "Prefix"}));
  }
  check_backend(errors, path["backend"], here + ".backend");
}

// "*.example.com": a wildcard for the first label alone.
void check_wildcard(FieldErrors& errors, const std::string& path, std::string_view host) {
  if (!host.starts_with("*.") || validate_dns1123_subdomain(host.substr(2))) {
    errors.push_back(FieldError::invalid(
        path, host,
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
        "which must consist of lower case alphanumeric characters, '-' or '.' and end with an "
        "alphanumeric character (e.g. '*.example.com', regex used for validation is "
        R"('\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'))"));
  }
}

void check_host(FieldErrors& errors, const std::string& path, std::string_view host) {
  if (host.find('*') != std::string_view::npos) {
    check_wildcard(errors, path, host);
  } else {
    check_name(errors, path, host, &validate_dns1123_subdomain);
  }
}

void check_rule(FieldErrors& errors, const Value& rule, const std::string& path) {
  if (const std::string_view host = rule["host"].as_string(); !host.empty()) {
    if (is_address(host)) {
      errors.push_back(
          FieldError::invalid(path + ".host", host, "must be a DNS name, not an IP address"));
    }
    check_host(errors, path + ".host", host);
  }
  if (!rule["http"].is_object()) {
    return;
  }
  const Value& paths = rule["http"]["paths"];
  require(errors, path + ".http.paths", paths);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    check_path(errors, paths[i], at(path + ".http.paths", i));
  }
}

// "example.com/path".
void check_controller(FieldErrors& errors, std::string_view name) {
  const std::string path = "spec.controller";
  if (name.empty()) {
    errors.push_back(FieldError::required(path));
    return;
  }
  if (name.size() > kMaxController) {
    errors.push_back(FieldError::too_long(path, static_cast<std::int64_t>(kMaxController)));
  }
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == name.size()) {
    errors.push_back(FieldError::invalid(
        path, name, R"(must be a domain-prefixed path (such as "acme.io/foo"))"));
    return;
  }
  if (const NameError error = validate_dns1123_subdomain(name.substr(0, slash))) {
    errors.push_back(FieldError::invalid(path, name.substr(0, slash), *error));
  }
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=%:@/";
  if (name.substr(slash + 1).find_first_not_of(kAllowed) != std::string_view::npos) {
    errors.push_back(FieldError::invalid(path, name.substr(slash + 1), "Invalid path"));
  }
}

}  // namespace

FieldErrors check_ingress_spec(const Value& spec) {
  FieldErrors errors;
  const Value& rules = spec["rules"];
  if (rules.empty() && spec["defaultBackend"].is_null()) {
    errors.push_back(
        FieldError::invalid("spec", rules, "either `defaultBackend` or `rules` must be specified"));
  }
  if (!spec["defaultBackend"].is_null()) {
    check_backend(errors, spec["defaultBackend"], "spec.defaultBackend");
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    check_rule(errors, rules[i], at("spec.rules", i));
  }
  for (std::size_t i = 0; i < spec["tls"].size(); ++i) {
    const Value& tls = spec["tls"][i];
    for (std::size_t k = 0; k < tls["hosts"].size(); ++k) {
      check_host(errors, at(at("spec.tls", i) + ".hosts", k), tls["hosts"][k].as_string());
    }
    if (const std::string_view secret = tls["secretName"].as_string(); !secret.empty()) {
      check_name(errors, at("spec.tls", i) + ".secretName", secret, &validate_dns1123_subdomain);
    }
  }
  if (!spec["ingressClassName"].is_null()) {
    check_name(errors, "spec.ingressClassName", spec["ingressClassName"].as_string(),
               &validate_dns1123_subdomain);
  }
  return errors;
}

FieldErrors check_ingress_class_spec(const Value& spec) {
  FieldErrors errors;
  check_controller(errors, spec["controller"].as_string());
  const Value& parameters = spec["parameters"];
  if (!parameters.is_object()) {
    return errors;
  }
  check_local_reference(errors, parameters, "spec.parameters");
  const Value& scope = parameters["scope"];
  const Value& ns = parameters["namespace"];
  if (scope.is_null()) {
    errors.push_back(FieldError::required("spec.parameters.scope"));
    return errors;
  }
  check_choice_always(errors, "spec.parameters.scope", scope, {"Cluster", "Namespace"});
  if (scope.as_string() == "Namespace") {
    if (ns.is_null()) {
      errors.push_back(FieldError::required("spec.parameters.namespace",
                                            "`parameters.scope` is set to 'Namespace'"));
    } else {
      check_name(errors, "spec.parameters.namespace", ns.as_string(), &validate_dns1123_label);
    }
  } else if (scope.as_string() == "Cluster" && !ns.is_null()) {
    errors.push_back(FieldError::forbidden("spec.parameters.namespace",
                                           "`parameters.scope` is set to 'Cluster'"));
  }
  return errors;
}

FieldErrors check_load_balancer(const Value& status) {
  FieldErrors errors;
  const Value& ingress = status["loadBalancer"]["ingress"];
  for (std::size_t i = 0; i < ingress.size(); ++i) {
    const std::string here = at("status.loadBalancer.ingress", i);
    if (const std::string_view ip = ingress[i]["ip"].as_string(); !ip.empty()) {
      check_ip(errors, here + ".ip", ip);
    }
    if (const std::string_view host = ingress[i]["hostname"].as_string(); !host.empty()) {
      check_name(errors, here + ".hostname", host, &validate_dns1123_subdomain);
      if (is_address(host)) {
        errors.push_back(
            FieldError::invalid(here + ".hostname", host, "must be a DNS name, not an IP address"));
      }
    }
  }
  return errors;
}

}  // namespace athanor::apiserver
