// SPDX-License-Identifier: Apache-2.0
// Secrets of type kubernetes.io/service-account-token get what their name promises.
#include <fmt/core.h>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "embedded/workloads/namespace_basics.hpp"
#include "runtime/view/live.hpp"

namespace athanor::workloads {
namespace {

constexpr const char* kType = "kubernetes.io/service-account-token";
constexpr const char* kNameAnnotation = "kubernetes.io/service-account.name";
constexpr const char* kUidAnnotation = "kubernetes.io/service-account.uid";
constexpr Duration kForEver = std::chrono::hours(24 * 365 * 100);

Plan reconcile_token(const View& view, const Key& key, Instant now) {
  Plan plan;
  const auto secret = view.get(api::kSecret, key);
  if (!secret || secret->deleting() || secret->body()["type"].as_string() != kType) {
    return plan;
  }
  const Key account_key{key.ns, std::string(secret->annotation(kNameAnnotation))};
  const auto account = view.get(api::kServiceAccount, account_key);
  const std::string_view uid = secret->annotation(kUidAnnotation);
  if (!account || (!uid.empty() && uid != account->uid())) {
    const Live live = read_live(view, api::kServiceAccount, account_key, now);
    const bool gone =
        live.known && (live.objects.empty() || (!uid.empty() && live.objects.front().uid() != uid));
    if (gone) {
      plan.then(Delete{.target = {&api::kSecret, key},
                       .guard = {.uid = std::string(secret->uid()),
                                 .resource_version = std::string(secret->resource_version())}});
    }
    return plan;
  }
  const Value& data = secret->body()["data"];
  Value wanted = Value::object({{"ca.crt", base64_encode(view.config("rootCA")["pem"].as_string())},
                                {"namespace", base64_encode(key.ns)}});
  if (data["token"].as_string().empty()) {
    const Observed token = view.observe(fmt::format("service-account-token:{}/{}/{}/{}", key.ns,
                                                    account->name(), account->uid(), key.name),
                                        kForEver);
    if (!token.value) {
      return plan;  // asked; runs again with the answer
    }
    wanted.set("token", base64_encode((*token.value)["token"].as_string()));
  }
  bool complete = uid == account->uid();
  for (const Member& entry : wanted.members()) {
    complete = complete && data[entry.key()] == entry.value;
  }
  if (!complete) {
    plan.then(Patch{
        .target = {&api::kSecret, key},
        .merge = Value::object(
            {{"metadata",
              Value::object({{"annotations", Value::object({{kUidAnnotation, account->uid()}})}})},
             {"data", wanted}}),
        .guard = {.uid = std::string(secret->uid()),
                  .resource_version = std::string(secret->resource_version())}});
  }
  return plan;
}

}  // namespace

const Operator& account_token_operator() {
  static const Kind* const kReads[] = {&api::kSecret, &api::kServiceAccount};
  static const Kind* const kWrites[] = {&api::kSecret};
  static const Operator kOperator{.name = "serviceaccount-token-controller",
                                  .primary = &api::kSecret,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_token,
                                  .user = "system:serviceaccount:kube-system:tokens-controller"};
  return kOperator;
}

}  // namespace athanor::workloads
