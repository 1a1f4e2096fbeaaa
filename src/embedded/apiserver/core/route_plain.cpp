// SPDX-License-Identifier: Apache-2.0
// Paths other than resources (docs/spec/apiserver.md 4).
#include <fmt/format.h>

#include <algorithm>

#include "embedded/apiserver/core/request_metrics.hpp"
#include "embedded/apiserver/read/discovery.hpp"
#include "embedded/apiserver/read/health.hpp"
#include "embedded/apiserver/read/openapi_endpoints.hpp"
#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/request/route.hpp"
#include "embedded/apiserver/request/token_signer.hpp"

namespace athanor::apiserver {
namespace {

Value version_document() {
  return Value::object({{"major", "1"},
                        {"minor", "35"},
                        {"emulationMajor", "1"},
                        {"emulationMinor", "35"},
                        {"minCompatibilityMajor", "1"},
                        {"minCompatibilityMinor", "34"},
                        {"gitVersion", "v1.35.4+athanor.0.1.0"},
                        {"gitCommit", ""},
                        {"gitTreeState", "clean"},
                        {"buildDate", "2026-01-01T00:00:00Z"},
                        {"goVersion", ""},
                        {"compiler", "g++ " __VERSION__},
                        {"platform", "linux/amd64"}});
}

Response json_response(Value value, std::string_view cache_control = {}) {
  Response response;
  response.value = std::move(value);
  if (!cache_control.empty()) {
    response.headers.emplace_back("Cache-Control", std::string(cache_control));
  }
  return response;
}

Response metrics_response(std::string text) {
  Response response = text_response(200, std::move(text));
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return response;
}

// The algorithms of the keys that sign tokens.
Value signing_algorithms(const Value& key_set) {
  Value algorithms = Value::list();
  const Value& keys = key_set["keys"];
  for (const Value& key : keys.items()) {
    const auto known = algorithms.items();
    if (std::find(known.begin(), known.end(), key["alg"]) == known.end()) {
      algorithms.push_back(key["alg"]);
    }
  }
  return algorithms.empty() ? Value::list({"RS256"}) : algorithms;
}

StatusResult<Response> openid_configuration(const Core& core) {
  if (core.dependencies.tokens == nullptr) {
    return status::page_not_found();
  }
  const std::string keys = fmt::format("https://{}:{}/openid/v1/jwks", core.options.advertise_host,
                                       core.options.advertise_port);
  return json_response(Value::object({{"issuer", core.dependencies.tokens->issuer()},
                                      {"jwks_uri", keys},
                                      {"response_types_supported", Value::list({"id_token"})},
                                      {"subject_types_supported", Value::list({"public"})},
                                      {"id_token_signing_alg_values_supported",
                                       signing_algorithms(core.dependencies.tokens->jwks())}}),
                       "public, max-age=3600");
}

StatusResult<Response> key_set(const Core& core) {
  if (core.dependencies.tokens == nullptr) {
    return status::page_not_found();
  }
  Response response = json_response(core.dependencies.tokens->jwks(), "public, max-age=3600");
  response.content_type = "application/jwk-set+json";
  return response;
}

}  // namespace

StatusResult<Response> route_plain(Call& call) {
  const std::string& path = call.request.path;
  if (auto served = serve_discovery(call)) {
    return *std::move(served);
  }
  if (auto served = serve_health(call)) {
    return *std::move(served);
  }
  if (auto served = serve_openapi(call)) {
    return *std::move(served);
  }
  if (path == "/version" || path == "/version/") {
    return json_response(version_document());
  }
  if (path == "/metrics") {
    std::string text = call.core.metrics->text(call.core);
    if (call.core.dependencies.metrics) {
      text += call.core.dependencies.metrics();
    }
    return metrics_response(std::move(text));
  }
  if (path == "/debug/queue" && call.core.dependencies.queue) {
    auto queue = call.core.dependencies.queue();
    return queue.ok() ? StatusResult<Response>(json_response(*std::move(queue)))
                      : status::of(queue.error());
  }
  if (path == "/metrics/slis") {
    return metrics_response(RequestMetrics::health_text(call.core));
  }
  if (path == "/.well-known/openid-configuration") {
    return openid_configuration(call.core);
  }
  if (path == "/openid/v1/jwks") {
    return key_set(call.core);
  }
  return status::page_not_found();
}

}  // namespace athanor::apiserver
