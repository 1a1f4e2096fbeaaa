// SPDX-License-Identifier: Apache-2.0
// Conversion of custom resources by a webhook (docs/spec/apiserver.md 13.6).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/apiserver/request/conversation.hpp"
#include "embedded/store/store.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// spec.conversion of a CRD with strategy Webhook.
struct ConversionWebhook {
  Value client_config{};
  std::string review_version = "v1";  // of apiextensions.k8s.io
};

// The webhook client of conversions, and where Services are looked up. Both null: no webhook can be
// asked.
struct VersionContext {
  const store::Store* store = nullptr;
  Conversation* conversation = nullptr;
};

// Returns all objects in that version, in their order. Sends those of other versions in one call
// for each version from which they come.
StatusResult<std::vector<Value>> convert_by_webhook(const ConversionWebhook& webhook,
                                                    std::span<const Value> objects,
                                                    std::string_view to_version,
                                                    const VersionContext& context);

}  // namespace athanor::apiserver
