// SPDX-License-Identifier: Apache-2.0
// Where a Service can be reached, and a clientConfig as a request to ask with
// (docs/spec/apiserver.md 15.2): what admission webhooks, conversion webhooks and aggregated API
// servers share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "embedded/apiserver/core/outside.hpp"
#include "embedded/store/store.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// On a Service: "HOST:PORT" that it is reached at, whatever its endpoints say.
inline constexpr std::string_view kEndpointAnnotation = "athanor.dev/endpoint";

struct ServiceEndpoint {
  std::string address{};  // "127.0.0.1:9443"
  std::string failure{};  // set: there is no address, in Kubernetes' words
};
// In this order: the annotation above, an ExternalName, a ready address of the Service's
// EndpointSlices or Endpoints, a ready pod that its selector matches.
ServiceEndpoint resolve_service(const store::Store& store, std::string_view ns,
                                std::string_view name, std::int64_t port);

struct Target {
  OutsideRequest request{};  // url, connect_to and ca_pem are set
  std::string failure{};     // why it cannot be dialled; the url is set all the same
};
// Of a webhook's clientConfig; `query` ("timeout=10s") may be empty.
Target webhook_target(const store::Store& store, const Value& client_config,
                      std::string_view query);

// What Go's client makes of an answer of 300 and above: "the server could not find the requested
// resource".
std::string refusal_text(const OutsideAnswer& answer);
// `Post "URL": CAUSE`.
std::string post_failure(std::string_view url, std::string_view cause);

}  // namespace athanor::apiserver
