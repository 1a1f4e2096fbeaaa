// SPDX-License-Identifier: Apache-2.0
#include "embedded/workloads/certificates.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "api/builtin.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"

namespace athanor::workloads {
namespace {

constexpr Duration kCertificateForEver = std::chrono::hours(24 * 365 * 100);
constexpr Duration kAnswerAge = std::chrono::seconds(10);
constexpr std::string_view kClient = "kubernetes.io/kube-apiserver-client";
constexpr std::string_view kKubeletClient = "kubernetes.io/kube-apiserver-client-kubelet";
constexpr std::string_view kKubeletServing = "kubernetes.io/kubelet-serving";
constexpr std::string_view kLegacy = "kubernetes.io/legacy-unknown";
constexpr std::string_view kNodePrefix = "system:node:";

bool has_condition(const Object& request, std::string_view type) {
  return find_condition(request.status()["conditions"], type)["status"].as_string() == "True";
}

bool is_issued(const Object& request) {
  return !request.status()["certificate"].as_string().empty();
}

std::set<std::string, std::less<>> usages_of(const Object& request) {
  std::set<std::string, std::less<>> usages;
  for (const Value& usage : request.spec()["usages"].items()) {
    usages.insert(usage.str());
  }
  return usages;
}

// What the request asks for; nullopt: not known yet. An object without "commonName" in it: it
// cannot be read, and "error" says why.
std::optional<Value> wish_of(const View& view, const Object& request) {
  const Observed wish =
      view.observe(fmt::format("certificate-request:{}", request.spec()["request"].as_string()),
                   kCertificateForEver);
  if (wish.error) {
    return Value::object({{"error", wish.error->message}});
  }
  return wish.value;
}

// Why a signer does not take the request; empty: it does.
std::string complaint(const Object& request, const Value& wish) {
  const std::string_view signer = request.spec()["signerName"].as_string();
  auto usages = usages_of(request);
  if (!wish["error"].is_null()) {
    return wish["error"].str();
  }
  if (signer == kLegacy) {
    return {};
  }
  const char* purpose = signer == kKubeletServing ? "server auth" : "client auth";
  if (usages.erase(purpose) == 0) {
    return fmt::format("usages did not contain {}", purpose);
  }
  usages.erase("digital signature");
  usages.erase("key encipherment");
  if (!usages.empty()) {
    return fmt::format("usage {} is not allowed for signer {}", *usages.begin(), signer);
  }
  const Value& organizations = wish["organizations"];
  if (signer == kClient) {
    const bool masters = std::ranges::any_of(organizations.items(), [](const Value& name) {
      return name.as_string() == "system:masters";
    });
    return masters
               ? fmt::format("use of {} signer with system:masters group is not allowed", signer)
               : std::string();
  }
  if (organizations.size() != 1 || organizations[0].as_string() != "system:nodes") {
    return "subject organization is not system:nodes";
  }
  if (!wish["commonName"].as_string().starts_with(kNodePrefix)) {
    return "subject common name does not begin with system:node: ";
  }
  if (!wish["others"].empty()) {
    return "email and URI subjectAltNames are not allowed";
  }
  if (signer == kKubeletClient && !wish["hosts"].empty()) {
    return "DNS and IP subjectAltNames are not allowed";
  }
  return signer == kKubeletServing && wish["hosts"].empty() ? "DNS or IP subjectAltName is required"
                                                            : std::string();
}

bool is_signer(std::string_view name) {
  return name == kClient || name == kKubeletClient || name == kKubeletServing || name == kLegacy;
}

Step set_condition_step(const Object& request, const Condition& condition, Instant now,
                        const std::string& subresource) {
  Value body = request.body();
  Value conditions = body["status"]["conditions"];
  set_condition(conditions, condition, now);
  body.set_path({"status", "conditions"}, conditions);
  return Replace{.target = {&api::kCertificateSigningRequest, request.key()},
                 .object = std::move(body),
                 .subresource = subresource};
}

Plan sign(const View& view, const Key& key, Instant now) {
  Plan plan;
  const auto request = view.get(api::kCertificateSigningRequest, key);
  if (!request || request->deleting() || is_issued(*request) ||
      !has_condition(*request, "Approved") || has_condition(*request, "Failed") ||
      !is_signer(request->spec()["signerName"].as_string())) {
    return plan;
  }
  const auto wish = wish_of(view, *request);
  if (!wish) {
    return plan;  // asked; runs again with the answer
  }
  if (const std::string wrong = complaint(*request, *wish); !wrong.empty()) {
    plan.then(set_condition_step(
        *request,
        {.type = "Failed", .status = "True", .reason = "SignerValidationFailure", .message = wrong},
        now, "status"));
    return plan;
  }
  const bool server = usages_of(*request).contains("server auth");
  const Observed certificate = view.observe(
      fmt::format("certificate:{}:{}:{}:{}", request->uid(), server ? "server" : "client",
                  request->spec()["expirationSeconds"].as_int(),
                  request->spec()["request"].as_string()),
      kCertificateForEver);
  if (certificate.value) {
    plan.then(
        Status{.target = {&api::kCertificateSigningRequest, key},
               .status = Value::object({{"certificate", (*certificate.value)["certificate"]}}),
               .guard = {.uid = std::string(request->uid())}});
  }
  return plan;
}

// Whether the user who asked may have such a request approved automatically.
std::optional<bool> may(const View& view, const Object& request, const char* subresource) {
  const Value& spec = request.spec();
  Value review = Value::object(
      {{"user", spec["username"]},
       {"groups", spec["groups"]},
       {"resourceAttributes", Value::object({{"group", "certificates.k8s.io"},
                                             {"resource", "certificatesigningrequests"},
                                             {"verb", "create"},
                                             {"version", "*"},
                                             {"subresource", subresource}})}});
  const Observed answer =
      view.observe(fmt::format("subject-access:{}", json::print(review)), kAnswerAge);
  return answer.value ? std::optional((*answer.value)["allowed"].as_bool()) : std::nullopt;
}

Plan approve(const View& view, const Key& key, Instant now) {
  Plan plan;
  const auto request = view.get(api::kCertificateSigningRequest, key);
  if (!request || request->deleting() || is_issued(*request) ||
      has_condition(*request, "Approved") || has_condition(*request, "Denied") ||
      request->spec()["signerName"].as_string() != kKubeletClient) {
    return plan;
  }
  const auto wish = wish_of(view, *request);
  if (!wish || !complaint(*request, *wish).empty()) {
    return plan;
  }
  // A node that asks for itself needs less than one that bootstraps.
  const bool self = (*wish)["commonName"].as_string() == request->spec()["username"].as_string();
  const auto allowed = may(view, *request, self ? "selfnodeclient" : "nodeclient");
  if (!allowed.value_or(false)) {
    return plan;
  }
  plan.then(set_condition_step(
      *request,
      {.type = "Approved",
       .status = "True",
       .reason = "AutoApproved",
       .message = self ? "Auto approving self kubelet client certificate after "
                         "SubjectAccessReview."
                       : "Auto approving kubelet client certificate after SubjectAccessReview."},
      now, "approval"));
  return plan;
}

// How long a request stays when its story is over, or never begins.
constexpr Duration kDecided = std::chrono::hours(1);
constexpr Duration kPending = std::chrono::hours(24);

Plan clean(const View& view, const Key& key, Instant now) {
  Plan plan;
  const auto request = view.get(api::kCertificateSigningRequest, key);
  if (!request || request->deleting()) {
    return plan;
  }
  Instant due = request->creation_time().value_or(now) + kPending;
  for (const char* type : {"Approved", "Denied", "Failed"}) {
    const Value& condition = find_condition(request->status()["conditions"], type);
    if (condition.is_null() || (type == std::string_view("Approved") && !is_issued(*request))) {
      continue;
    }
    if (const auto since = parse_time(condition["lastUpdateTime"].as_string())) {
      due = std::min(due, *since + kDecided);
    }
  }
  if (now < due) {
    plan.wake_at(due);
    return plan;
  }
  plan.then(Delete{.target = {&api::kCertificateSigningRequest, key},
                   .guard = {.uid = std::string(request->uid())}});
  return plan;
}

Operator make_operator(std::string_view name, std::span<const Kind* const> kinds,
                       Plan (*reconcile)(const View&, const Key&, Instant)) {
  return {.name = name,
          .primary = &api::kCertificateSigningRequest,
          .reads = kinds,
          .writes = kinds,
          .reconcile = reconcile,
          .user = "system:serviceaccount:kube-system:certificate-controller"};
}

constexpr const Kind* kKinds[] = {&api::kCertificateSigningRequest};

}  // namespace

const Operator& certificate_approving_operator() {
  static const Operator kOperator =
      make_operator("certificatesigningrequest-approving-controller", kKinds, approve);
  return kOperator;
}

const Operator& certificate_signing_operator() {
  static const Operator kOperator =
      make_operator("certificatesigningrequest-signing-controller", kKinds, sign);
  return kOperator;
}

const Operator& certificate_cleaner_operator() {
  static const Operator kOperator =
      make_operator("certificatesigningrequest-cleaner-controller", kKinds, clean);
  return kOperator;
}

}  // namespace athanor::workloads
