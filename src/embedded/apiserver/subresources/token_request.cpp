// SPDX-License-Identifier: Apache-2.0
// Tokens for service accounts (docs/spec/apiserver.md 16.3).
#include <fmt/format.h>

#include <chrono>

#include "embedded/apiserver/auth/handlers.hpp"
#include "embedded/apiserver/auth/token_checker.hpp"
#include "embedded/apiserver/request/subresource.hpp"
#include "embedded/apiserver/request/token_signer.hpp"
#include "embedded/apiserver/write/write.hpp"
#include "embedded/apiserver/write/write_options.hpp"
#include "kube/names/field_error.hpp"
#include "kube/schema/types.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kGroup = "authentication.k8s.io";
constexpr std::int64_t kDefaultSeconds = 3600;
constexpr std::int64_t kMinSeconds = 600;
constexpr std::int64_t kMaxSeconds = std::int64_t{1} << 32;
// What kubelets ask for; such a token lives longer, so that clients that never reload it go on, and
// says when it should have been replaced.
constexpr std::int64_t kKubeletSeconds = 3607;
constexpr std::int64_t kExtendedSeconds = std::int64_t{365} * 24 * 3600;

struct Bound {
  Value claims{};  // {"pod": {name, uid}, "node": ...}
  bool is_pod = false;
};

Value reference(const Value& object) {
  return Value::object({{"name", object["metadata"]["name"]}, {"uid", object["metadata"]["uid"]}});
}

// The objects that the token shall not outlive.
StatusResult<Bound> bind(const Call& call, const Value& wanted) {
  Bound bound{.claims = Value::object(), .is_pod = false};
  if (wanted.is_null()) {
    return bound;
  }
  const std::string_view kind = wanted["kind"].as_string();
  const std::string name = wanted["name"].str();
  const std::string_view resource = kind == "Pod"      ? "pods"
                                    : kind == "Secret" ? "secrets"
                                    : kind == "Node"   ? "nodes"
                                                       : "";
  if (resource.empty()) {
    return status::bad_request(
        fmt::format("cannot bind token to object of type {}", wanted["kind"].as_string()));
  }
  const std::string ns = kind == "Node" ? std::string() : call.path.ns;
  const store::StoredPtr object = call.core.store.get(resource, {ns, name});
  if (object == nullptr) {
    return status::not_found({resource, ""}, name);
  }
  const std::string_view uid = wanted["uid"].as_string();
  const std::string_view found = object->body["metadata"]["uid"].as_string();
  if (!uid.empty() && uid != found) {
    return status::conflict({kind, ""}, name,
                            fmt::format("the UID in the bound object reference ({}) does not match "
                                        "the UID in record. The object might have been deleted and "
                                        "then recreated",
                                        uid));
  }
  if (kind == "Pod") {
    const Value& spec = object->body["spec"];
    if (spec["serviceAccountName"].as_string() != call.path.name) {
      return status::bad_request(
          fmt::format("cannot bind token for serviceaccount \"{}\" to pod \"{}\" running with "
                      "different serviceaccount name.",
                      call.path.name, name));
    }
    bound.is_pod = true;
    bound.claims.set("pod", reference(object->body));
    if (const std::string node = spec["nodeName"].str(); !node.empty()) {
      const store::StoredPtr stored = call.core.store.get("nodes", {"", node});
      bound.claims.set(
          "node", stored != nullptr ? reference(stored->body) : Value::object({{"name", node}}));
    }
    return bound;
  }
  bound.claims.set(kind == "Secret" ? "secret" : "node", reference(object->body));
  return bound;
}

StatusResult<void> check_spec(const Value& spec) {
  const std::int64_t seconds = spec["expirationSeconds"].as_int();
  const auto refuse = [&](std::string_view text) {
    return status::invalid({"TokenRequest", kGroup}, "",
                           {FieldError::invalid("spec.expirationSeconds", seconds, text)});
  };
  if (seconds < kMinSeconds) {
    return refuse("may not specify a duration less than 10 minutes");
  }
  if (seconds > kMaxSeconds) {
    return refuse("may not specify a duration larger than 2^32 seconds");
  }
  return {};
}

// The request with its defaults.
StatusResult<Value> read_request(Call& call, const Value& audiences) {
  const SchemaPtr schema = BuiltinTypes::get().by_kind(kGroup, "v1", "TokenRequest");
  ATHANOR_TRY(
      Value request,
      read_body(call,
                {.group = kGroup, .version = "v1", .kind = "TokenRequest", .schema = schema}));
  Value& metadata = request.member("metadata");
  for (const auto& [field, value] :
       {std::pair{"name", call.path.name}, std::pair{"namespace", call.path.ns}}) {
    const std::string given = metadata[field].str();
    if (!given.empty() && given != value) {
      return status::bad_request(
          fmt::format("the {} of the object ({}) does not match the {} on the URL ({})", field,
                      given, field, value));
    }
    metadata.set(field, value);
  }
  metadata.set("creationTimestamp", format_time(call.now));
  Value& spec = request.member("spec");
  if (spec["audiences"].empty()) {
    spec.set("audiences", audiences);
  }
  if (spec["expirationSeconds"].is_null()) {
    spec.set("expirationSeconds", kDefaultSeconds);
  }
  ATHANOR_TRY_VOID(check_spec(spec));
  return request;
}

}  // namespace

StatusResult<Response> handle_token_request(Call& call) {
  const store::StoredPtr account = call.core.store.get("serviceaccounts", call.key());
  if (account == nullptr) {
    return status::not_found({"serviceaccounts", ""}, call.path.name);
  }
  TokenSigner* signer = call.core.dependencies.tokens;
  if (signer == nullptr) {
    return status::internal("this server has no key to sign tokens with");
  }
  Value audiences = Value::list();
  for (const std::string& audience : server_audiences(call.core.options, signer)) {
    audiences.push_back(audience);
  }
  ATHANOR_TRY(Value request, read_request(call, audiences));
  ATHANOR_TRY(const WriteOptions options, read_write_options(call.request, "CreateOptions"));
  ATHANOR_TRY_VOID(admit_posted(call, "token", request, options));
  const Value& spec = request["spec"];
  ATHANOR_TRY(const Bound bound, bind(call, spec["boundObjectRef"]));

  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::seconds>(call.now.time_since_epoch()).count();
  const std::int64_t wanted = spec["expirationSeconds"].as_int();
  const bool for_server = spec["audiences"] == audiences;
  const bool extended = bound.is_pod && wanted == kKubeletSeconds && for_server;
  Value identity = Value::object({{"namespace", call.path.ns}});
  for (const Member& member : bound.claims.members()) {
    identity.set(member.key(), member.value);
  }
  identity.set("serviceaccount", reference(account->body));
  if (extended) {
    identity.set("warnafter", now + wanted);
  }
  const Value claims = Value::object({{"aud", spec["audiences"]},
                                      {"exp", now + (extended ? kExtendedSeconds : wanted)},
                                      {"iat", now},
                                      {"iss", signer->issuer()},
                                      {"jti", call.entropy().uuid()},
                                      {"kubernetes.io", identity},
                                      {"nbf", now},
                                      {"sub", service_account_user(call.path.ns, call.path.name)}});
  const Result<std::string> token = signer->sign(claims);
  if (!token.ok()) {
    return status::of(token.error());
  }
  request.set("status", Value::object({{"token", *token},
                                       {"expirationTimestamp",
                                        format_time(call.now + std::chrono::seconds(wanted))}}));
  return object_response(call, std::move(request), 201);
}

}  // namespace athanor::apiserver
