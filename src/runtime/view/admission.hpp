// SPDX-License-Identifier: Apache-2.0
// Admission: what a system says to a request before it is stored. A pure function like reconcile;
// the embedded server and the webhook server ask it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

// One request of the API server as an admission webhook sees it.
struct AdmissionRequest {
  enum class Operation : std::uint8_t { Create, Update, Delete, Connect };
  std::string uid{};
  Operation operation = Operation::Create;
  std::string group{}, version{}, resource{}, kind{};
  std::string subresource{};
  Key key{};  // the name may be empty: generateName
  std::string user{};
  std::vector<std::string> groups{};
  Value user_info{};   // {username, uid, groups, extra}: all that is known of the user
  Value object{};      // Null on Delete
  Value old_object{};  // Null on Create
  Value options{};
  bool dry_run = false;
};

// A webhook's answer: allowed, perhaps with changes and warnings, or denied.
struct Verdict {
  bool allowed = true;
  int code = 403;
  std::string reason{};   // of a denial; empty: by the code
  std::string message{};  // of a denial
  Value patch{};          // a JSON patch (RFC 6902), or Null
  std::vector<std::string> warnings{};

  static Verdict allow() { return {}; }
  static Verdict deny(std::string message, int code = 403) {
    return {.allowed = false, .code = code, .message = std::move(message)};
  }
  // Denies with an error's text, without the API server's prefix of every denial (`admission
  // webhook "NAME" denied the request: `).
  static Verdict refuse(const Error& error);
  // Returns the reason of a denial: as given, or by the code.
  [[nodiscard]] std::string denial_reason() const;
  // Allows with the changes that lead from `before` to `after`: whole members of the root and of
  // metadata, spec and status.
  static Verdict change(const Value& before, const Value& after);
};

// Decides on a request. Pure: reads nothing but `view`.
using Admit = Verdict (*)(const View& view, const AdmissionRequest& request, Instant now);

// Requests that reach a webhook: operations on a kind, or on a subresource of it.
struct WebhookRule {
  const Kind* kind = nullptr;
  std::string_view operations{};  // "CREATE UPDATE"
  std::string_view subresource{};
};

// One webhook of a system. Reads what its operators' caches hold.
struct Webhook {
  std::string_view name{};           // "vclusterqueue.kb.io"
  std::string_view path{};           // empty: "/" and the name
  std::string_view configuration{};  // the object that registers it; empty: the program's own
  bool mutating = false;
  std::span<const WebhookRule> rules{};
  Admit admit = nullptr;
  bool ignore_failure = false;  // no answer: let the request pass instead of refusing it
  // A stand-in's part of a review that another system registers under the same name: asked in labs
  // beside it, and in production only where the other does not run.
  bool yields_to_namesake = false;
  std::string_view ns{};  // only objects of this namespace; empty: of every one
  // Objects of these namespaces never reach it.
  std::span<const std::string_view> except{};
  std::string_view condition{};  // CEL: only requests for which it holds; empty: all
  int timeout_seconds = 10;
  // A counter of its answers by `result`: mutated, unchanged or denied; empty: none.
  std::string_view result_metric{};
  // A request that is no review gets a denial with code 400 as AdmissionReview, not a Status.
  bool reviews_faults = false;

  [[nodiscard]] std::string url_path() const;
};

}  // namespace athanor
