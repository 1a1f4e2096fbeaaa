// SPDX-License-Identifier: Apache-2.0
// Expired bootstrap tokens.
#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "embedded/workloads/namespace_basics.hpp"

namespace athanor::workloads {
namespace {

Plan clean_token(const View& view, const Key& key, Instant now) {
  Plan plan;
  if (key.ns != "kube-system") {
    return plan;
  }
  const auto secret = view.get(api::kSecret, key);
  if (!secret || secret->deleting() ||
      secret->body()["type"].as_string() != "bootstrap.kubernetes.io/token") {
    return plan;
  }
  const std::string text =
      base64_decode(secret->body()["data"]["expiration"].as_string()).value_or(std::string());
  const auto end = parse_time(text);
  // One that cannot be read counts as expired.
  if (text.empty() || (end && now < *end)) {
    if (end) {
      plan.wake_at(*end);
    }
    return plan;
  }
  plan.then(Delete{.target = {&api::kSecret, key}, .guard = {.uid = std::string(secret->uid())}});
  return plan;
}

}  // namespace

const Operator& token_cleaner_operator() {
  static const Kind* const kKinds[] = {&api::kSecret};
  static const Operator kOperator{.name = "token-cleaner-controller",
                                  .primary = &api::kSecret,
                                  .reads = kKinds,
                                  .writes = kKinds,
                                  .reconcile = clean_token,
                                  .user = "system:serviceaccount:kube-system:token-cleaner"};
  return kOperator;
}

}  // namespace athanor::workloads
