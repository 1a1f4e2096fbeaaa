// SPDX-License-Identifier: Apache-2.0
// Which APIServices there are, and how their servers are.
#include "embedded/apiserver/aggregation/aggregation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/digest.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "embedded/apiserver/request/call.hpp"
#include "embedded/apiserver/request/endpoint.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kResource = "apiservices.apiregistration.k8s.io";
constexpr std::chrono::seconds kCheckEvery{30};
constexpr std::chrono::seconds kRetryAfter{2};
constexpr std::chrono::seconds kCheckTimeout{5};
constexpr std::int64_t kDefaultPort = 443;

struct ServiceName {
  std::string ns{}, name{};
  std::int64_t port = kDefaultPort;
};

ServiceName service_of(const RemoteApi& api) {
  const Value& service = api.spec["service"];
  return {.ns = service["namespace"].str(),
          .name = service["name"].str(),
          .port = service["port"].as_int(kDefaultPort)};
}

struct Finding {
  std::string_view reason{};
  std::string message{};
};

// Why a Service has no address, as the aggregator words it.
Finding unreachable(const store::Store& store, const ServiceName& service) {
  const store::StoredPtr stored = store.get("services", {service.ns, service.name});
  const std::string what = fmt::format("service/{} in \"{}\"", service.name, service.ns);
  if (stored == nullptr) {
    return {.reason = "ServiceNotFound", .message = what + " is not present"};
  }
  for (const Value& port : stored->body["spec"]["ports"].items()) {
    if (port["port"].as_int() == service.port) {
      return {
          .reason = "MissingEndpoints",
          .message = fmt::format("endpointslices for {} have no addresses with port name \"{}\"",
                                 what, port["name"].as_string())};
    }
  }
  return {.reason = "ServicePortError",
          .message = fmt::format("{} is not listening on port {}", what, service.port)};
}

std::string discovery_path(const RemoteApi& api) {
  return fmt::format("/apis/{}/{}", api.group, api.version);
}

}  // namespace

Aggregation::Aggregation(Core& core) : core_(core) {}

Aggregation::~Aggregation() = default;

OutsideRequest Aggregation::request_to(const RemoteApi& api) const {
  const ServiceName service = service_of(api);
  OutsideRequest request;
  request.url = fmt::format("https://{}.{}.svc:{}", service.name, service.ns, service.port);
  request.connect_to =
      resolve_service(core_.store, {service.ns, service.name}, service.port, ServiceUse::Extension)
          .address;
  request.ca_pem = base64_decode(api.spec["caBundle"].as_string()).value_or(std::string());
  request.insecure_skip_verify = api.spec["insecureSkipTLSVerify"].as_bool();
  request.certificate_pem = core_.options.proxy_client_certificate_pem;
  request.key_pem = core_.options.proxy_client_key_pem;
  return request;
}

void Aggregation::tick(Instant now) {
  take_answers(now);
  read_services();
  const MutexLock lock(mutex_);
  for (auto& [name, api] : remotes_) {
    const ServiceName service = service_of(api);
    const std::string address = resolve_service(core_.store, {service.ns, service.name},
                                                service.port, ServiceUse::Extension)
                                    .address;
    if (!api.checking && (now >= api.next_check || address != api.address)) {
      api.address = address;
      check(api, now);
    }
  }
}

void Aggregation::read_services() {
  const auto page = core_.store.list(kResource, {});
  if (!page.ok()) {
    return;
  }
  const ResourceTablePtr table = core_.registry.table();
  std::map<std::string, RemoteApi, std::less<>> present;
  const MutexLock lock(mutex_);
  for (const store::StoredPtr& stored : page->items) {
    const Value& spec = stored->body["spec"];
    const std::string_view group = spec["group"].as_string();
    const std::string_view version = spec["version"].as_string();
    if (!spec["service"].is_object() || table->has_version(group, version)) {
      continue;
    }
    RemoteApi api;
    if (const auto known = remotes_.find(stored->key.name);
        known != remotes_.end() && known->second.spec == spec) {
      api = known->second;
    }
    api.name = stored->key.name;
    api.group = std::string(group);
    api.version = std::string(version);
    api.group_priority = spec["groupPriorityMinimum"].as_int();
    api.version_priority = spec["versionPriority"].as_int();
    api.spec = spec;
    present.emplace(api.name, std::move(api));
  }
  remotes_ = std::move(present);
}

// With mutex_ held.
void Aggregation::check(RemoteApi& api, Instant now) {
  api.next_check = now + kRetryAfter;
  if (api.address.empty()) {
    Finding finding = unreachable(core_.store, service_of(api));
    return report(api, finding.reason, std::move(finding.message), now);
  }
  if (core_.dependencies.outside == nullptr) {
    return report(api, "FailedDiscoveryCheck", "this server has no network", now);
  }
  api.checking = true;
  ask(api, discovery_path(api), false);
}

void Aggregation::ask(const RemoteApi& api, const std::string& path, bool openapi) {
  OutsideRequest request = request_to(api);
  request.method = "GET";
  request.url += path;
  request.headers = {{"Accept", "application/json"},
                     {"User-Agent", "kube-aggregator"},
                     {"X-Remote-User", "system:kube-aggregator"},
                     {"X-Remote-Group", "system:masters"}};
  request.timeout = kCheckTimeout;
  core_.dependencies.outside->ask(
      std::move(request), [inbox = inbox_, name = api.name, openapi](OutsideAnswer answer) {
        const MutexLock lock(inbox->mutex);
        inbox->answers.push_back({.name = name, .openapi = openapi, .answer = std::move(answer)});
      });
}

void Aggregation::take_answers(Instant now) {
  std::vector<Inbox::Answer> answers;
  {
    const MutexLock lock(inbox_->mutex);
    answers.swap(inbox_->answers);
  }
  const MutexLock lock(mutex_);
  for (const Inbox::Answer& one : answers) {
    const auto found = remotes_.find(one.name);
    if (found == remotes_.end()) {
      continue;
    }
    if (one.openapi) {
      take_openapi(found->second, one.answer);
    } else {
      take_answer(found->second, one.answer, now);
    }
  }
}

void Aggregation::take_answer(RemoteApi& api, const OutsideAnswer& answer, Instant now) {
  api.checking = false;
  const std::string url = fmt::format("https://{}{}", api.address, discovery_path(api));
  if (!answer.failure.empty()) {
    report(api, "FailedDiscoveryCheck",
           fmt::format("failing or missing response from {}: Get \"{}\": {}", url, url,
                       answer.failure),
           now);
  } else if (answer.status < 200 || answer.status >= 300) {
    report(api, "FailedDiscoveryCheck",
           fmt::format("failing or missing response from {}: bad status from {}: {}", url, url,
                       answer.status),
           now);
  } else {
    if (const auto list = json::parse(answer.body); list.ok()) {
      api.discovery = *list;
    }
    api.next_check = now + kCheckEvery;
    report(api, "Passed", "all checks passed", now);
    ask(api, "/openapi/v3" + discovery_path(api), true);
  }
}

// A server without such a document is served all the same.
void Aggregation::take_openapi(RemoteApi& api, const OutsideAnswer& answer) {
  if (!answer.failure.empty() || answer.status != 200 || !json::parse(answer.body).ok()) {
    api.openapi = nullptr;
    return;
  }
  api.openapi = std::make_shared<const std::string>(answer.body);
  api.openapi_hash = sha256_hex(answer.body);
  std::ranges::transform(api.openapi_hash, api.openapi_hash.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
}

// With mutex_ held. The condition is written when it changes.
void Aggregation::report(RemoteApi& api, std::string_view reason, std::string message,
                         Instant now) {
  api.available = reason == "Passed";
  const store::StoredPtr stored = core_.store.get(kResource, {"", api.name});
  if (stored == nullptr) {
    return;
  }
  Value body = stored->body;
  Value& conditions = body.member("status").member("conditions");
  set_condition(conditions,
                {.type = "Available",
                 .status = api.available ? "True" : "False",
                 .reason = std::string(reason),
                 .message = std::move(message)},
                now);
  if (body == stored->body) {
    return;
  }
  const store::Write write{.resource = std::string(kResource),
                           .key = stored->key,
                           .body = std::move(body),
                           .expected = stored->revision};
  if (const auto written = core_.store.commit({&write, 1}, now); !written.ok()) {
    api.next_check = now;  // another client wrote: again with the next tick
  }
}

bool Aggregation::empty() const {
  const MutexLock lock(mutex_);
  return remotes_.empty();
}

std::vector<RemoteApi> Aggregation::remotes() const {
  const MutexLock lock(mutex_);
  std::vector<RemoteApi> all;
  all.reserve(remotes_.size());
  for (const auto& [name, api] : remotes_) {
    all.push_back(api);
  }
  return all;
}

std::vector<RemoteApi> Aggregation::described() const {
  std::vector<RemoteApi> all = remotes();
  std::erase_if(all, [](const RemoteApi& api) { return api.openapi == nullptr; });
  return all;
}

std::optional<RemoteApi> Aggregation::find(std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto found = remotes_.find(name);
  return found == remotes_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace athanor::apiserver
