// SPDX-License-Identifier: Apache-2.0
// Reading and writing; nothing is judged here.
#include "cluster/admission_review.hpp"

#include <fmt/format.h>

#include "base/digest.hpp"
#include "kube/text/json.hpp"

namespace athanor::cluster {

namespace {

constexpr const char* kReviewVersion = "admission.k8s.io/v1";

using Operation = AdmissionRequest::Operation;

Result<Operation> operation_of(std::string_view text) {
  if (text == "CREATE") {
    return Operation::Create;
  }
  if (text == "UPDATE") {
    return Operation::Update;
  }
  if (text == "DELETE") {
    return Operation::Delete;
  }
  if (text == "CONNECT") {
    return Operation::Connect;
  }
  return Error::bad_request(fmt::format("unknown operation \"{}\"", text));
}

}  // namespace

Result<AdmissionRequest> parse_review(const Value& review) {
  const Value& asked = review["request"];
  if (review["apiVersion"].as_string() != kReviewVersion ||
      review["kind"].as_string() != "AdmissionReview" || !asked.is_object() ||
      asked["uid"].as_string().empty()) {
    return Error::bad_request("not an AdmissionReview of admission.k8s.io/v1 with a request");
  }
  AdmissionRequest request;
  ATHANOR_TRY(request.operation, operation_of(asked["operation"].as_string()));
  request.uid = asked["uid"].str();
  request.group = asked["resource"]["group"].str();
  request.version = asked["resource"]["version"].str();
  request.resource = asked["resource"]["resource"].str();
  request.kind = asked["kind"]["kind"].str();
  request.subresource = asked["subResource"].str();
  request.key = {asked["namespace"].str(), asked["name"].str()};
  request.user = asked["userInfo"]["username"].str();
  request.user_info = asked["userInfo"];
  const Value& groups = asked["userInfo"]["groups"];
  for (const Value& group : groups.items()) {
    request.groups.push_back(group.str());
  }
  request.object = asked["object"];
  request.old_object = asked["oldObject"];
  request.options = asked["options"];
  request.dry_run = asked["dryRun"].as_bool();
  return request;
}

Value answer_review(const std::string& uid, const Verdict& verdict) {
  Value response = Value::object({{"uid", uid}, {"allowed", verdict.allowed}});
  if (!verdict.allowed) {
    response.set("status", Value::object({{"code", verdict.code},
                                          {"reason", verdict.denial_reason()},
                                          {"message", verdict.message}}));
  } else if (!verdict.patch.is_null()) {
    response.set("patchType", "JSONPatch");
    response.set("patch", base64_encode(json::print(verdict.patch)));
  }
  if (!verdict.warnings.empty()) {
    Value warnings = Value::list();
    for (const std::string& warning : verdict.warnings) {
      warnings.push_back(warning);
    }
    response.set("warnings", std::move(warnings));
  }
  return Value::object(
      {{"apiVersion", kReviewVersion}, {"kind", "AdmissionReview"}, {"response", response}});
}

bool names_target(const Value& client_config, const WebhookTarget& target) {
  const Value& service = client_config["service"];
  if (service.is_object()) {
    return service["name"].as_string() == target.service &&
           service["namespace"].as_string() == target.ns;
  }
  const std::string_view url = client_config["url"].as_string();
  return !target.url.empty() && url.starts_with(target.url) &&
         (url.size() == target.url.size() || url[target.url.size()] == '/');
}

Value ca_bundle_patch(const Value& configuration, const WebhookTarget& target) {
  const std::string encoded = base64_encode(target.ca_bundle);
  Value webhooks = configuration["webhooks"];
  bool changed = false;
  for (std::size_t i = 0; i < webhooks.size(); ++i) {
    const Value& config = webhooks[i]["clientConfig"];
    if (names_target(config, target) && config["caBundle"].as_string() != encoded) {
      webhooks.item(i).member("clientConfig").set("caBundle", encoded);
      changed = true;
    }
  }
  // The list is replaced whole: only the version it was read from may take it.
  return changed ? Value::object({{"webhooks", webhooks}}) : Value();
}

Value conversion_bundle_patch(const Value& crd, const WebhookTarget& target) {
  const Value& config = crd.at({"spec", "conversion", "webhook", "clientConfig"});
  const std::string encoded = base64_encode(target.ca_bundle);
  if (!names_target(config, target) || config["caBundle"].as_string() == encoded) {
    return {};
  }
  Value patch = Value::object();
  patch.set_path({"spec", "conversion", "webhook", "clientConfig", "caBundle"}, encoded);
  return patch;
}

}  // namespace athanor::cluster
