// SPDX-License-Identifier: Apache-2.0
// Actions:
//   {type: exec, command}  {type: http, scheme, host, port, path, headers: [[name, value]..],
//   agent, anyStatus (of hooks: who asks, and that any answer will do)}
//   {type: tcp, host, port}  {type: grpc, host, port, service}  {type: sleep, seconds}
//   {type: error, message}: it cannot be done, and why
#include "embedded/nodes/sandbox_probes.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace athanor::nodes {
namespace {

constexpr std::int64_t kHighestPort = 65535;

// A port by its number or by its name among the container's; nullopt: no port has that name.
std::optional<std::int64_t> port_of(const Value& container, const Value& port) {
  if (port.is_integer()) {
    return port.as_int();
  }
  for (const Value& one : container["ports"].items()) {
    if (one["name"].as_string() == port.as_string()) {
      return one["containerPort"].as_int();
    }
  }
  std::int64_t number = 0;
  for (const char digit : port.as_string()) {
    if (digit < '0' || digit > '9' || number > kHighestPort) {
      return std::nullopt;
    }
    number = number * 10 + (digit - '0');
  }
  return number;
}

Value headers_of(const Value& http) {
  Value headers = Value::list();
  for (const Value& header : http["httpHeaders"].items()) {
    headers.push_back(Value::list({header["name"], header["value"]}));
  }
  return headers;
}

Value cannot(const std::string& message) {
  return Value::object({{"type", "error"}, {"message", message}});
}

Value action_of(const Value& container, const Value& handler, std::string_view address,
                const WordExpansion& expand) {
  if (handler.contains("exec")) {
    Value command = Value::list();
    for (const Value& word : handler["exec"]["command"].items()) {
      command.push_back(expand(word.as_string()));
    }
    return Value::object({{"type", "exec"}, {"command", std::move(command)}});
  }
  if (handler.contains("sleep")) {
    return Value::object({{"type", "sleep"}, {"seconds", handler["sleep"]["seconds"].as_int()}});
  }
  const bool http = handler.contains("httpGet");
  const bool grpc = handler.contains("grpc");
  const Value& target = handler[http ? "httpGet" : grpc ? "grpc" : "tcpSocket"];
  const auto port = port_of(container, target["port"]);
  if (!port || *port < 1 || *port > kHighestPort) {
    return cannot(port ? fmt::format("invalid port number: {}", *port)
                       : fmt::format("strconv.Atoi: parsing \"{}\": invalid syntax",
                                     target["port"].as_string()));
  }
  const std::string_view host = target["host"].as_string();
  Value action = Value::object({{"type", http   ? "http"
                                         : grpc ? "grpc"
                                                : "tcp"},
                                {"host", host.empty() ? address : host},
                                {"port", *port}});
  if (http) {
    const std::string_view scheme = target["scheme"].as_string();
    const std::string path = target["path"].str();
    action.set("scheme", scheme.empty() ? std::string_view("HTTP") : scheme);
    action.set("path", path.starts_with('/') ? path : "/" + path);
    action.set("headers", headers_of(target));
  } else if (grpc) {
    action.set("service", target["service"].str());
  }
  return action;
}

}  // namespace

Value sandbox_probes(const Value& container, std::string_view address,
                     const WordExpansion& expand) {
  Value probes = Value::object();
  for (const auto& [member, name] :
       {std::pair("startupProbe", "startup"), std::pair("livenessProbe", "liveness"),
        std::pair("readinessProbe", "readiness")}) {
    const Value& probe = container[member];
    if (!probe.is_object()) {
      continue;
    }
    Value action = action_of(container, probe, address, expand);
    for (const char* number : {"initialDelaySeconds", "periodSeconds", "timeoutSeconds",
                               "successThreshold", "failureThreshold"}) {
      if (probe.contains(number)) {
        action.set(number, probe[number]);
      }
    }
    if (const Value& own = probe["terminationGracePeriodSeconds"]; own.is_integer()) {
      action.set("graceSeconds", own);
    }
    probes.set(name, std::move(action));
  }
  return probes;
}

Value sandbox_hook(const Value& container, const Value& handler, std::string_view address,
                   const WordExpansion& expand) {
  if (!handler.is_object() || handler.empty()) {
    return {};
  }
  if (handler.contains("tcpSocket")) {
    return cannot("invalid handler: tcpSocket is for probes");  // Kubernetes accepts and fails it
  }
  Value hook = action_of(container, handler, address, expand);
  if (hook["type"].as_string() == "http") {
    hook.set("agent", "kube-lifecycle");
    hook.set("anyStatus", true);
  }
  return hook;
}

}  // namespace athanor::nodes
