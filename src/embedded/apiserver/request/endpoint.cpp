// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/request/endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/digest.hpp"
#include "cel/functions/ip_address.hpp"
#include "kube/names/selector.hpp"
#include "kube/text/text.hpp"
#include "kube/value/condition.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kSlices = "endpointslices.discovery.k8s.io";
constexpr std::string_view kServiceLabel = "kubernetes.io/service-name";

std::string join_address(std::string_view host, std::int64_t port) {
  return host.find(':') == std::string_view::npos ? fmt::format("{}:{}", host, port)
                                                  : fmt::format("[{}]:{}", host, port);
}

// The number of the port that is called `name`; an only port has no name.
std::optional<std::int64_t> port_of(const Value& ports, std::string_view name) {
  for (const Value& port : ports.items()) {
    if (port["name"].as_string() == name) {
      return port["port"].as_int();
    }
  }
  return std::nullopt;
}

std::optional<std::string> from_slices(const store::Store& store, std::string_view ns,
                                       std::string_view name, std::string_view port_name) {
  const auto page = store.list(kSlices, {.ns = std::string(ns)});
  if (!page.ok()) {
    return std::nullopt;
  }
  for (const store::StoredPtr& slice : page->items) {
    const Value& body = slice->body;
    const auto port = port_of(body["ports"], port_name);
    if (body["metadata"]["labels"][kServiceLabel].as_string() != name || !port) {
      continue;
    }
    for (const Value& endpoint : body["endpoints"].items()) {
      if (endpoint["conditions"]["ready"].as_bool(true) && !endpoint["addresses"].empty()) {
        return join_address(endpoint["addresses"][0].as_string(), *port);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> from_endpoints(const store::Store& store, const Key& key,
                                          std::string_view port_name) {
  const store::StoredPtr stored = store.get("endpoints", key);
  if (stored == nullptr) {
    return std::nullopt;
  }
  for (const Value& subset : stored->body["subsets"].items()) {
    const auto port = port_of(subset["ports"], port_name);
    if (port && !subset["addresses"].empty()) {
      return join_address(subset["addresses"][0]["ip"].as_string(), *port);
    }
  }
  return std::nullopt;
}

// A target port of one pod: a number, or the name of a container's port.
std::optional<std::int64_t> target_port(const Value& service_port, const Value& pod) {
  const Value& target = service_port["targetPort"];
  if (target.is_integer()) {
    return target.as_int();
  }
  if (!target.is_string()) {
    return service_port["port"].as_int();
  }
  for (const Value& container : pod["spec"]["containers"].items()) {
    for (const Value& port : container["ports"].items()) {
      if (port["name"].as_string() == target.as_string()) {
        return port["containerPort"].as_int();
      }
    }
  }
  return std::nullopt;
}

// Before the endpoints' controller has been there, or where none runs.
std::optional<std::string> from_pods(const store::Store& store, std::string_view ns,
                                     const Value& service, const Value& service_port) {
  const Value& wanted = service["spec"]["selector"];
  if (wanted.empty()) {
    return std::nullopt;
  }
  const auto selector = LabelSelector::from_value(Value::object({{"matchLabels", wanted}}));
  const auto page = store.list("pods", {.ns = std::string(ns)});
  if (!selector.ok() || !page.ok()) {
    return std::nullopt;
  }
  for (const store::StoredPtr& stored : page->items) {
    const Value& pod = stored->body;
    const std::string_view address = pod["status"]["podIP"].as_string();
    if (address.empty() || pod["metadata"].contains("deletionTimestamp") ||
        !selector->matches(pod["metadata"]["labels"]) ||
        !condition_is(pod["status"]["conditions"], "Ready", "True")) {
      continue;
    }
    if (const auto port = target_port(service_port, pod)) {
      return join_address(address, *port);
    }
  }
  return std::nullopt;
}

const Value* find_port(const Value& service, std::int64_t number) {
  for (const Value& port : service["spec"]["ports"].items()) {
    if (port["port"].as_int() == number) {
      return &port;
    }
  }
  return nullptr;
}

// A path without empty parts, "." and ".."; "/" for none. Test suites write "https://host//path",
// which servers would answer with a redirect.
std::string clean_path(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part == ".." && !parts.empty()) {
      parts.pop_back();
    } else if (!part.empty() && part != "." && part != "..") {
      parts.push_back(part);
    }
  }
  return fmt::format("/{}", fmt::join(parts, "/"));
}

// "https://host//path" with its path cleaned.
std::string with_clean_path(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::size_t host = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t path = std::min(url.find('/', host), url.size());
  return std::string(url.substr(0, path)) + clean_path(url.substr(path));
}

}  // namespace

bool is_link_local(std::string_view address) {
  std::string_view host = address;
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else if (host.find(':') == host.rfind(':')) {
    host = host.substr(0, host.find(':'));
  }
  constexpr std::string_view kNetworks[] = {"169.254.0.0/16", "fe80::/10"};
  const cel::IpParsed parsed = cel::parse_ip(host.substr(0, host.find('%')));
  return parsed.address && std::ranges::any_of(kNetworks, [&](std::string_view network) {
           const auto cidr = cel::parse_cidr(network);
           return cidr && cidr->contains(*parsed.address);
         });
}

namespace {

// What the Service itself says, whatever its endpoints; nullopt: nothing.
std::optional<ServiceEndpoint> named_by_service(const Value& service, std::int64_t port,
                                                ServiceUse use) {
  const std::string_view fixed =
      service["metadata"]["annotations"][kEndpointAnnotation].as_string();
  const bool external = service["spec"]["type"].as_string() == "ExternalName";
  if (fixed.empty() && !external) {
    return std::nullopt;
  }
  if (use == ServiceUse::Proxy) {
    return ServiceEndpoint{
        .failure =
            fmt::format("service \"{}\" is reached at its {}, which services/proxy does not "
                        "follow without --proxy-named-endpoints",
                        service["metadata"]["name"].as_string(),
                        fixed.empty() ? std::string_view("externalName") : kEndpointAnnotation)};
  }
  return ServiceEndpoint{
      .address = fixed.empty() ? join_address(service["spec"]["externalName"].as_string(), port)
                               : std::string(fixed)};
}

std::optional<std::string> from_endpoints_or_pods(const store::Store& store, const Key& key,
                                                  const Value& service, const Value& entry) {
  const std::string_view port_name = entry["name"].as_string();
  std::optional<std::string> address = from_slices(store, key.ns, key.name, port_name);
  if (!address) {
    address = from_endpoints(store, key, port_name);
  }
  return address ? address : from_pods(store, key.ns, service, entry);
}

ServiceEndpoint unless_link_local(ServiceEndpoint endpoint) {
  if (!is_link_local(endpoint.address)) {
    return endpoint;
  }
  return {.failure =
              fmt::format("{} is a link-local address, which is not allowed", endpoint.address)};
}

}  // namespace

ServiceEndpoint resolve_service(const store::Store& store, const Key& key, std::int64_t port,
                                ServiceUse use) {
  const store::StoredPtr stored = store.get("services", key);
  if (stored == nullptr) {
    return {.failure = fmt::format("service \"{}\" not found", key.name)};
  }
  const Value& service = stored->body;
  if (auto named = named_by_service(service, port, use)) {
    return unless_link_local(*std::move(named));
  }
  const Value* entry = find_port(service, port);
  if (entry == nullptr) {
    return {.failure = fmt::format("no service port {} found for service \"{}\"", port, key.name)};
  }
  std::optional<std::string> address = from_endpoints_or_pods(store, key, service, *entry);
  if (!address) {
    return {.failure = fmt::format("no endpoints available for service \"{}\"", key.name)};
  }
  return unless_link_local({.address = *std::move(address)});
}

Target webhook_target(const store::Store& store, const Value& client_config,
                      std::string_view query) {
  constexpr std::int64_t kDefaultPort = 443;
  Target target;
  const Value& service = client_config["service"];
  if (service.is_object()) {
    const std::string_view name = service["name"].as_string();
    const std::string_view ns = service["namespace"].as_string();
    const std::int64_t port = service["port"].as_int(kDefaultPort);
    target.request.url = fmt::format("https://{}.{}.svc:{}{}", name, ns, port,
                                     clean_path(service["path"].as_string()));
    ServiceEndpoint endpoint =
        resolve_service(store, {std::string(ns), std::string(name)}, port, ServiceUse::Extension);
    target.request.connect_to = std::move(endpoint.address);
    target.failure = std::move(endpoint.failure);
  } else {
    target.request.url = with_clean_path(client_config["url"].as_string());
    target.request.link_local = true;  // only administrators name webhooks by address
  }
  if (!query.empty()) {
    target.request.url += fmt::format("?{}", query);
  }
  const std::string_view bundle = client_config["caBundle"].as_string();
  target.request.ca_pem = base64_decode(bundle).value_or(std::string());
  return target;
}

std::string refusal_text(const OutsideAnswer& answer) {
  const std::string_view type = answer.header("content-type");
  const bool text = type.empty() || type.starts_with("text/");
  std::string_view body = text ? std::string_view(answer.body) : "unknown";
  while (!body.empty() && (body.back() == '\n' || body.back() == '\r' || body.back() == ' ')) {
    body.remove_suffix(1);
  }
  switch (answer.status) {
    case 400:
      return "the server rejected our request for an unknown reason";
    case 401:
      return "the server has asked for the client to provide credentials";
    case 403:
      return std::string(body);
    case 404:
      return "the server could not find the requested resource";
    case 405:
      return "the server does not allow this method on the requested resource";
    case 409:
      return "the server reported a conflict";
    case 422:
      return "the server rejected our request due to an error in our request";
    case 429:
      return "the server has received too many requests and has asked us to try again later";
    case 503:
      return "the server is currently unable to handle the request";
    case 504:
      return "the server was unable to return a response in the time allotted, but may still be "
             "processing the request";
    default:
      break;
  }
  if (answer.status >= 500) {
    return fmt::format("an error on the server ({}) has prevented the request from succeeding",
                       go_quote(body));
  }
  return fmt::format(
      "the server responded with the status code {} but did not return more information",
      answer.status);
}

std::string post_failure(std::string_view url, std::string_view cause) {
  return fmt::format("Post {}: {}", go_quote(url), cause);
}

}  // namespace athanor::apiserver
