// SPDX-License-Identifier: Apache-2.0
// pods/NAME/proxy, services/NAME/proxy and nodes/NAME/proxy: plain HTTP to what serves there
// (docs/spec/apiserver.md 12.4).
#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "embedded/apiserver/aggregation/forwarding.hpp"
#include "embedded/apiserver/request/endpoint.hpp"
#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/subresources/node_host.hpp"
#include "embedded/apiserver/subresources/pod_subresources.hpp"

namespace athanor::apiserver {
namespace {

// "[SCHEME:]NAME[:PORT]"; two parts are name and port, but for "https:NAME:".
struct BackendName {
  std::string scheme = "http";
  std::string name{};
  std::string port{};  // a number or a name; may be empty
};

std::optional<BackendName> split_name(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = std::min(text.find(':'), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) {
      break;
    }
    text.remove_prefix(end + 1);
  }
  BackendName result;
  if (parts.size() == 1) {
    result.name = parts[0];
  } else if (parts.size() == 2) {
    result.name = parts[0];
    result.port = parts[1];
  } else if (parts.size() == 3 && (parts[0].empty() || parts[0] == "http" || parts[0] == "https")) {
    result.scheme = parts[0].empty() ? "http" : parts[0];
    result.name = parts[1];
    result.port = parts[2];
  } else {
    return std::nullopt;
  }
  return result.name.empty() ? std::nullopt : std::optional(result);
}

StatusError unavailable(std::string message) {
  return status::of({.code = 503, .reason = "ServiceUnavailable", .message = std::move(message)});
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

// "HOST:PORT" of a Service's backend.
StatusResult<std::string> service_address(const Call& call, const BackendName& wanted) {
  const Key key{call.path.ns, wanted.name};
  const store::StoredPtr stored = call.core.store.get("services", key);
  if (stored == nullptr) {
    return status::not_found(call.qualified_resource(), wanted.name);
  }
  const Value& ports = stored->body["spec"]["ports"];
  std::optional<std::int64_t> number = number_of(wanted.port);
  for (const Value& port : ports.items()) {
    if (!number && port["name"].as_string() == wanted.port) {
      number = port["port"].as_int();
    }
  }
  if (!number) {
    return unavailable(fmt::format("no endpoints available for service \"{}\"", call.path.name));
  }
  const ServiceUse use =
      call.core.options.proxy_named_endpoints ? ServiceUse::Extension : ServiceUse::Proxy;
  const ServiceEndpoint endpoint = resolve_service(call.core.store, key, *number, use);
  if (endpoint.address.empty()) {
    return unavailable(endpoint.failure);
  }
  return endpoint.address;
}

StatusResult<std::string> pod_address(const Call& call, const BackendName& wanted) {
  const store::StoredPtr stored = call.core.store.get("pods", {call.path.ns, wanted.name});
  if (stored == nullptr) {
    return status::not_found(call.qualified_resource(), wanted.name);
  }
  const Value& pod = stored->body;
  const std::string_view host = pod["status"]["podIP"].as_string();
  if (host.empty() || is_link_local(host)) {
    return status::bad_request("address not allowed");
  }
  std::optional<std::int64_t> port = number_of(wanted.port);
  for (const Value& container : pod["spec"]["containers"].items()) {
    for (const Value& declared : container["ports"].items()) {
      if (!port && (wanted.port.empty() || declared["name"].as_string() == wanted.port)) {
        port = declared["containerPort"].as_int();
      }
    }
  }
  const bool bare_ipv6 = host.find(':') != std::string_view::npos;
  const std::int64_t fallback = wanted.scheme == "https" ? 443 : 80;
  return fmt::format("{}{}{}:{}", bare_ipv6 ? "[" : "", host, bare_ipv6 ? "]" : "",
                     port.value_or(fallback));
}

// Returns the address of a node's kubelet; for an emulated node a name that the lab knows.
StatusResult<std::string> node_address(const Call& call, const BackendName& wanted) {
  const store::StoredPtr stored = call.core.store.get("nodes", {"", wanted.name});
  if (stored == nullptr) {
    return status::not_found(call.qualified_resource(), wanted.name);
  }
  constexpr std::string_view kEmulated = "athanor.dev/emulated";
  if (stored->body["metadata"]["labels"][kEmulated].as_string() == "true") {
    return wanted.name + std::string(kNodeHost);
  }
  const Value& status = stored->body["status"];
  const std::int64_t port =
      number_of(wanted.port)
          .value_or(status["daemonEndpoints"]["kubeletEndpoint"]["Port"].as_int());
  for (const Value& address : status["addresses"].items()) {
    if (port != 0 && address["type"].as_string() == "InternalIP") {
      if (is_link_local(address["address"].as_string())) {
        return status::bad_request("address not allowed");
      }
      return fmt::format("{}:{}", address["address"].as_string(), port);
    }
  }
  return unavailable(fmt::format(
      "error trying to reach service: node \"{}\" has no kubelet that listens", wanted.name));
}

StatusResult<std::string> address_of(const Call& call, const BackendName& wanted) {
  const std::string& plural = call.resource->plural;
  return plural == "services" ? service_address(call, wanted)
         : plural == "pods"   ? pod_address(call, wanted)
                              : node_address(call, wanted);
}

// What is asked of the backend: the path behind ".../proxy".
std::string_view path_behind(const Call& call) {
  const std::string_view path = call.request.path;
  const std::string own = fmt::format("/{}/{}/proxy", call.path.resource, call.path.name);
  const std::size_t at = path.find(own);
  return at == std::string_view::npos ? std::string_view() : path.substr(at + own.size());
}

// Redirects a client that requested the proxy itself to the proxy's root.
Response root_redirect(const Request& request) {
  Response response = text_response(301, "");
  const std::string target = request_target(request);
  const std::size_t query = std::min(target.find('?'), target.size());
  response.headers.emplace_back("Location", target.substr(0, query) + "/" + target.substr(query));
  return response;
}

OutsideRequest backend_request(const Call& call, const BackendName& wanted,
                               std::string_view address) {
  const Request& request = call.request;
  OutsideRequest out;
  Request behind;
  behind.path = std::string(path_behind(call));
  behind.query = request.query;
  if (behind.path.empty()) {
    behind.path = "/";
  }
  out.method = request.method;
  out.url = fmt::format("{}://{}{}", wanted.scheme, address, request_target(behind));
  // The API server does not know the backends' authorities.
  out.insecure_skip_verify = wanted.scheme == "https";
  pass_headers(request, call.core.options.front_proxy, out);
  if (!request.peer.empty()) {
    out.headers.emplace_back("X-Forwarded-For", request.peer);
  }
  Request asked;
  asked.path = request.path;
  out.headers.emplace_back("X-Forwarded-Uri", request_target(asked));
  out.body = body_text(request);
  out.timeout =
      std::chrono::duration_cast<std::chrono::milliseconds>(call.core.options.request_timeout);
  out.stream = true;
  if (asks_to_switch(request)) {
    pass_upgrade(request, out);
  }
  return out;
}

// Redirects of the backend lead through the proxy.
void keep_inside(const Call& call, Response& response) {
  const std::string_view behind = path_behind(call);
  Request before;
  before.path = call.request.path.substr(0, call.request.path.size() - behind.size());
  const std::string prefix = request_target(before);
  for (auto& [name, value] : response.headers) {
    if (name == "Location" && value.starts_with("/") && !value.starts_with("//")) {
      value.insert(0, prefix);
    }
  }
}

}  // namespace

StatusResult<Response> handle_proxy(Call& call) {
  const std::optional<BackendName> wanted = split_name(call.path.name);
  if (!wanted) {
    return status::bad_request(
        fmt::format("invalid {} request \"{}\"", call.resource->singular, call.path.name));
  }
  const std::string& method = call.request.method;
  if (path_behind(call).empty() && !asks_to_switch(call.request) &&
      (method == "GET" || method == "HEAD")) {
    return root_redirect(call.request);
  }
  // Once asked, the backend that was chosen stays.
  const auto* reply = call.conversation.find("backend");
  if (reply == nullptr) {
    ATHANOR_TRY(const std::string address, address_of(call, *wanted));
    reply = call.conversation.ask("backend", [&](const std::string& /*uid*/) {
      return backend_request(call, *wanted, address);
    });
  }
  if (reply == nullptr || !reply->answer) {
    return status::pending();
  }
  if (!reply->answer->failure.empty()) {
    return unavailable("error trying to reach service: " + reply->answer->failure);
  }
  Response response = passed_on(call.request, *reply->answer);
  keep_inside(call, response);
  return response;
}

}  // namespace athanor::apiserver
