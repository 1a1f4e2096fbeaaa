// SPDX-License-Identifier: Apache-2.0
// What the `authorizer` variable asks: the world that evaluates an expression answers.
#pragma once

#include <string>

#include "kube/value/value.hpp"

namespace athanor::cel {

// One access review: a subject with a verb on a path or a resource.
struct AccessQuestion {
  // The subject; empty: the user of the request.
  std::string service_account_namespace{};
  std::string service_account_name{};
  // A path, or a resource.
  std::string path{};
  std::string group{}, resource{}, subresource{}, ns{}, name{}, verb{};
  // As they were written; an authorizer that does not look at selectors may leave them alone.
  std::string field_selector{}, label_selector{};
};

// Answer of an access review.
struct AccessAnswer {
  bool allowed = false;
  std::string reason{};
  std::string error{};  // the question could not be answered
};

// Answers access reviews of expressions.
class Authority {
 public:
  virtual ~Authority() = default;
  [[nodiscard]] virtual AccessAnswer ask(const AccessQuestion& question) const = 0;
};

}  // namespace athanor::cel
