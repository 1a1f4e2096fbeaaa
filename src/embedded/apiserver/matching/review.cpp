// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/matching/review.hpp"

#include <fmt/format.h>

#include "embedded/apiserver/matching/match.hpp"
#include "embedded/apiserver/request/call.hpp"
#include "embedded/apiserver/request/endpoint.hpp"
#include "embedded/apiserver/resources/versions.hpp"
#include "kube/text/json.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kGroup = "admission.k8s.io";
constexpr int kFirstFailure = 300;

Value kind_value(const Value& object) {
  const std::string_view api_version = object["apiVersion"].as_string();
  const std::size_t slash = api_version.find('/');
  const bool core = slash == std::string_view::npos;
  return Value::object({{"group", core ? std::string_view() : api_version.substr(0, slash)},
                        {"version", core ? api_version : api_version.substr(slash + 1)},
                        {"kind", object["kind"]}});
}

Value resource_value(const ResourceInfo& resource) {
  return Value::object(
      {{"group", resource.group}, {"version", resource.version}, {"resource", resource.plural}});
}

const Value& subject(const Value& object, const Value& old_object) {
  return object.is_null() ? old_object : object;
}

Value options_value(const AdmissionAttributes& request) {
  Value options = request.options.is_object() ? request.options : Value::object();
  if (request.operation == Operation::Delete) {
    options.set("kind", "DeleteOptions");
    options.set("apiVersion", "meta.k8s.io/v1");
  }
  return options;
}

// What is wrong with the answer's envelope; empty: nothing.
std::string wrong_with(const Value& review, const Hook& hook, const std::string& uid) {
  const std::string expected = fmt::format("{}/{}", kGroup, hook.review_version);
  const Value& response = review["response"];
  if (!response.is_object()) {
    return "webhook response was absent";
  }
  if (hook.review_version == "v1" || !response["uid"].is_null()) {
    if (response["uid"].as_string() != uid) {
      return fmt::format("expected response.uid={}, got {}", go_quote(uid),
                         go_quote(response["uid"].as_string()));
    }
  }
  if (review["apiVersion"].as_string() != expected ||
      review["kind"].as_string() != "AdmissionReview") {
    return fmt::format("expected webhook response of {}, Kind=AdmissionReview, got {}, Kind={}",
                       expected, review["apiVersion"].as_string(), review["kind"].as_string());
  }
  const bool patch = !response["patch"].as_string().empty();
  const Value& type = response["patchType"];
  if (!hook.mutating) {
    return patch             ? "validating webhook may not return response.patch"
           : !type.is_null() ? "validating webhook may not return response.patchType"
                             : "";
  }
  if (hook.review_version != "v1") {
    return {};
  }
  if (patch && type.is_null()) {
    return "webhook returned response.patch but not response.patchType";
  }
  if (!patch && !type.is_null()) {
    return "webhook returned response.patchType but not response.patch";
  }
  if (patch && type.as_string() != "JSONPatch") {
    return fmt::format("webhook returned invalid response.patchType of {}",
                       go_quote(type.as_string()));
  }
  return {};
}

HookReply read_answer(const OutsideAnswer& answer, const std::string& url, const Hook& hook,
                      const std::string& uid) {
  HookReply reply{.there = true};
  const auto failed = [&](const std::string& cause) {
    reply.failure = "failed to call webhook: " + cause;
    return reply;
  };
  if (!answer.failure.empty()) {
    return failed(post_failure(url, answer.failure));
  }
  if (answer.status < 200 || answer.status >= kFirstFailure) {
    return failed(refusal_text(answer));
  }
  const auto review = json::parse(answer.body);
  if (!review.ok() || !review->is_object()) {
    return failed(fmt::format("couldn't get version/kind; json parse error: {}",
                              review.ok() ? "the body is no object" : review.error().message));
  }
  if (const std::string wrong = wrong_with(*review, hook, uid); !wrong.empty()) {
    reply.failure = "received invalid webhook response: " + wrong;
    return reply;
  }
  reply.response = (*review)["response"];
  return reply;
}

StatusDetails details_of(const Value& value) {
  StatusDetails details{.name = value["name"].str(),
                        .group = value["group"].str(),
                        .kind = value["kind"].str(),
                        .uid = value["uid"].str()};
  for (const Value& cause : value["causes"].items()) {
    details.causes.push_back({.reason = cause["reason"].str(),
                              .message = cause["message"].str(),
                              .field = cause["field"].str()});
  }
  if (const Value& seconds = value["retryAfterSeconds"]; seconds.is_integer()) {
    details.retry_after_seconds = static_cast<int>(seconds.as_int());
  }
  return details;
}

StatusError denial(const Hook& hook, const Value& said) {
  constexpr std::int64_t kLowest = 400;
  constexpr std::int64_t kHighest = 599;
  StatusError error;
  const std::int64_t code = said["code"].as_int();
  error.code = static_cast<int>(code < kLowest || code > kHighest ? kLowest : code);
  error.reason = said["reason"].str();
  const std::string by =
      fmt::format("admission webhook {} denied the request", go_quote(hook.name));
  if (!said["message"].as_string().empty()) {
    error.message = fmt::format("{}: {}", by, said["message"].as_string());
  } else if (!error.reason.empty()) {
    error.message = fmt::format("{}: {}", by, error.reason);
  } else {
    error.message = by + " without explanation";
  }
  if (said["details"].is_object()) {
    error.details = details_of(said["details"]);
  }
  return error;
}

}  // namespace

Value review_request(const HookCall& call) {
  const AdmissionAttributes& request = call.request;
  Value value = Value::object();
  value.set("kind", kind_value(subject(call.object, call.old_object)));
  value.set("resource", resource_value(call.version));
  if (!request.subresource.empty()) {
    value.set("subResource", request.subresource);
  }
  value.set("requestKind", kind_value(subject(request.object, request.old_object)));
  value.set("requestResource", resource_value(*request.resource));
  if (!request.subresource.empty()) {
    value.set("requestSubResource", request.subresource);
  }
  if (!request.key.name.empty()) {
    value.set("name", request.key.name);
  }
  if (const std::string& ns = request_namespace(request); !ns.empty()) {
    value.set("namespace", ns);
  }
  value.set("operation", Value(operation_name(request.operation)));
  value.set("userInfo", request.user != nullptr ? request.user->to_value() : Value::object());
  value.set("object", call.object);
  value.set("oldObject", call.old_object);
  value.set("dryRun", request.dry_run);
  value.set("options", options_value(request));
  return value;
}

VersionContext versions_of(const AdmissionContext& context) {
  return context.call == nullptr ? VersionContext() : context.call->versions();
}

StatusResult<Value> in_version(const ResourceInfo& from, const ResourceInfo& to,
                               const Value& object, const AdmissionContext& context) {
  // Other kinds (a Scale) come in one version alone.
  if (&from == &to || object.is_null() || object["kind"].as_string() != from.kind) {
    return object;
  }
  ATHANOR_TRY(const Value stored, to_storage(from, object, versions_of(context)));
  return to_served(to, stored, 0, versions_of(context));
}

StatusResult<HookCall> prepare_call(const Hook& hook, const AdmissionAttributes& request,
                                    const ResourceInfo& version, const AdmissionContext& context) {
  ATHANOR_TRY(Value object, in_version(*request.resource, version, request.object, context));
  ATHANOR_TRY(Value old_object,
              in_version(*request.resource, version, request.old_object, context));
  return HookCall{.hook = hook,
                  .request = request,
                  .version = version,
                  .object = std::move(object),
                  .old_object = std::move(old_object)};
}

StatusResult<void> check_dry_run(const HookCall& call) {
  if (call.request.dry_run && !call.hook.takes_dry_run) {
    return status::bad_request(
        fmt::format("admission webhook {} does not support dry run", go_quote(call.hook.name)));
  }
  return {};
}

HookReply ask_hook(const HookCall& call, const AdmissionContext& context) {
  const Hook& hook = call.hook;
  Target target = webhook_target(context.store, hook.client_config,
                                 fmt::format("timeout={}s", hook.timeout.count()));
  if (!target.failure.empty()) {
    return {
        .there = true,
        .failure = "failed to call webhook: " + post_failure(target.request.url, target.failure)};
  }
  const Value asked = review_request(call);
  const std::string url = target.request.url;
  // The same webhook asked about the same write: the same answer. A second round asks again, as the
  // webhook may have changed its mind.
  const std::string key = fmt::format(
      "{}|{}|{}|{}", hook.mutating ? "mutating" : "validating", hook.id,
      call.request.reinvocation.second_round && hook.mutating ? 2 : 1, json::print(asked));
  const auto* reply =
      context.call->conversation.ask(key, [&](const std::string& uid) -> OutsideRequest {
        Value request = Value::object({{"uid", uid}});
        for (const Member& member : asked.members()) {
          request.set(member.key(), member.value);
        }
        const Value review =
            Value::object({{"kind", "AdmissionReview"},
                           {"apiVersion", fmt::format("{}/{}", kGroup, hook.review_version)},
                           {"request", std::move(request)}});
        target.request.headers = {{"Content-Type", "application/json"},
                                  {"Accept", "application/json, */*"},
                                  {"User-Agent", "kube-apiserver-admission"}};
        target.request.body = json::print(review);
        target.request.timeout = hook.timeout;
        return std::move(target.request);
      });
  if (reply == nullptr) {
    return {};
  }
  return read_answer(*reply->answer, url, hook, reply->uid);
}

void annotate_round(std::string_view prefix, const Hook& hook, std::size_t index,
                    const AdmissionAttributes& request, const AdmissionContext& context,
                    std::string value) {
  context.call->annotate(
      fmt::format("{}.webhook.admission.k8s.io/round_{}_index_{}", prefix,
                  hook.mutating && request.reinvocation.second_round ? 1 : 0, index),
      std::move(value));
}

StatusResult<bool> judge(const Hook& hook, const HookReply& reply, std::size_t index,
                         AdmissionAttributes& request, const AdmissionContext& context) {
  if (!reply.failure.empty()) {
    if (hook.ignores_failure) {
      annotate_round(hook.mutating ? "failed-open.mutation" : "failed-open.validating", hook, index,
                     request, context, hook.name);
      return false;
    }
    return status::internal(
        fmt::format("failed calling webhook {}: {}", go_quote(hook.name), reply.failure));
  }
  for (const Value& warning : reply.response["warnings"].items()) {
    request.warnings.push_back(warning.str());
  }
  const Value& annotations = reply.response["auditAnnotations"];
  for (const Member& annotation : annotations.members()) {
    context.call->annotate(fmt::format("{}/{}", hook.name, annotation.key()),
                           annotation.value.str());
  }
  if (!reply.response["allowed"].as_bool()) {
    return denial(hook, reply.response["status"]);
  }
  return true;
}

}  // namespace athanor::apiserver
