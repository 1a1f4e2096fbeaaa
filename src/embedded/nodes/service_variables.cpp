// SPDX-License-Identifier: Apache-2.0
// The names of kubernetes/pkg/kubelet/envvars/envvars.go.
#include "embedded/nodes/service_variables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "api/builtin.hpp"
#include "base/ascii.hpp"

namespace athanor::nodes {
namespace {

std::string variable_name(std::string_view text) {
  std::string name(text);
  for (char& letter : name) {
    const bool small = letter >= 'a' && letter <= 'z';
    letter = small ? static_cast<char>(letter - 'a' + 'A') : letter == '-' ? '_' : letter;
  }
  return name;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> variables_of(const Object& service) {
  const std::string ip = service.spec()["clusterIP"].str();
  const auto ports = service.spec()["ports"].items();
  std::vector<std::pair<std::string, std::string>> variables;
  if (ip.empty() || ip == "None" || ports.empty()) {
    return variables;
  }
  const std::string name = variable_name(service.name());
  variables.emplace_back(name + "_SERVICE_HOST", ip);
  variables.emplace_back(name + "_SERVICE_PORT", fmt::format("{}", ports.front()["port"].as_int()));
  for (const Value& port : ports) {
    if (!port["name"].as_string().empty()) {
      variables.emplace_back(
          fmt::format("{}_SERVICE_PORT_{}", name, variable_name(port["name"].as_string())),
          fmt::format("{}", port["port"].as_int()));
    }
  }
  bool first = true;
  for (const Value& port : ports) {
    const std::string protocol =
        port["protocol"].as_string().empty() ? "TCP" : port["protocol"].str();
    const std::int64_t number = port["port"].as_int();
    const std::string url = fmt::format("{}://{}:{}", lower(protocol), ip, number);
    if (std::exchange(first, false)) {
      variables.emplace_back(name + "_PORT", url);
    }
    const std::string prefix = fmt::format("{}_PORT_{}_{}", name, number, protocol);
    variables.emplace_back(prefix, url);
    variables.emplace_back(prefix + "_PROTO", lower(protocol));
    variables.emplace_back(prefix + "_PORT", fmt::format("{}", number));
    variables.emplace_back(prefix + "_ADDR", ip);
  }
  return variables;
}

std::vector<std::pair<std::string, std::string>> service_variables(const View& view,
                                                                   const Object& pod) {
  std::vector<std::pair<std::string, std::string>> variables;
  const auto add = [&](const Object& service) {
    for (auto& variable : variables_of(service)) {
      variables.push_back(std::move(variable));
    }
  };
  // The API server's is there in every namespace.
  if (const auto own = view.get(api::kService, {"default", "kubernetes"})) {
    add(*own);
  }
  if (!pod.spec()["enableServiceLinks"].as_bool(true)) {
    return variables;
  }
  for (const Object& service : view.list(api::kService, {.ns = std::string(pod.ns())})) {
    if (service.name() != "kubernetes" || service.ns() != "default") {
      add(service);
    }
  }
  return variables;
}

}  // namespace athanor::nodes
