// SPDX-License-Identifier: Apache-2.0
// Where a Service can be reached, and a clientConfig as a request to ask with
// (docs/spec/apiserver.md 15.2): what admission webhooks, conversion webhooks and aggregated API
// servers share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "embedded/apiserver/request/outside.hpp"
#include "embedded/store/store.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// On a Service: "HOST:PORT" that it is reached at, whatever its endpoints say.
inline constexpr std::string_view kEndpointAnnotation = "athanor.dev/endpoint";

// "HOST:PORT" of a Service, or why there is none.
struct ServiceEndpoint {
  std::string address{};  // "127.0.0.1:9443"
  std::string failure{};  // set: there is no address, in Kubernetes' words
};
// The client of a Service. Webhooks and APIServices are set up by the cluster's
// administrators; services/NAME/proxy serves all who may edit Services, and must not lead them to
// addresses of their own choice.
enum class ServiceUse : std::uint8_t { Extension, Proxy };

// Resolves by these, in this order: the annotation above and an ExternalName (each for Extension
// alone), a ready address of the Service's EndpointSlices or Endpoints, a ready pod that its
// selector matches. A link-local address is none.
ServiceEndpoint resolve_service(const store::Store& store, const Key& service, std::int64_t port,
                                ServiceUse use);

// Returns true for "169.254.1.1:80", "[fe80::1]:80" and the like, with or without a port.
bool is_link_local(std::string_view address);

// A request ready to send, or why it cannot be sent.
struct Target {
  OutsideRequest request{};  // url, connect_to and ca_pem are set
  std::string failure{};     // why it cannot be dialled; the url is set all the same
};
// Resolves a webhook's clientConfig; `query` ("timeout=10s") may be empty.
Target webhook_target(const store::Store& store, const Value& client_config,
                      std::string_view query);

// Returns the text of Go's client for an answer of 300 and above: "the server could not find the
// requested resource".
std::string refusal_text(const OutsideAnswer& answer);
// Returns `Post "URL": CAUSE`.
std::string post_failure(std::string_view url, std::string_view cause);

}  // namespace athanor::apiserver
