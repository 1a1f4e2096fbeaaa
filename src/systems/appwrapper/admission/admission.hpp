// SPDX-License-Identifier: Apache-2.0
// Defaulting and validation of AppWrappers (docs/spec/appwrapper.md 3), and Kueue's own rules for
// them (3.7, 4.2). Pure functions of objects; webhooks.hpp serves them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"
#include "systems/appwrapper/model/settings.hpp"

namespace athanor::appwrapper {

// Returns a label value of a user's name or uid: cut to 63 bytes, other characters replaced (3.2).
std::string sanitized(std::string_view text);

// Serves this system's webhooks: all down to joined().

// Applies D1 to D3. `user_info` is {username, uid, groups, extra}.
Value with_defaults(const Value& object, const Value& user_info, const Settings& settings);
// Applies B-12: an update without podSetInfos keeps the stored ones while the AppWrapper runs.
Value with_kept_infos(const Value& object, const Value& old_object);

// What is known of a component's kind and of the user's right to create it.
struct Entitlement {
  std::string resource = "*";  // plural; "*": not served
  bool namespaced = true;
  bool allowed = true;
  std::string error{};  // the review failed
};
using Entitle = std::function<Entitlement(std::string_view api_version, std::string_view kind)>;

// An error is `<field path>: <Type>[: <value>]: <detail>`.
using Errors = std::vector<std::string>;

// Checks V1 to V10, B-5, B-7, B-11. `user` is named in refusals.
Errors validate_create(const Value& object, std::string_view user, const Entitle& entitle,
                       const Settings& settings);
// Checks U1 to U8.
Errors validate_update(const Value& object, const Value& old_object);
// Checks B-11 of one that is queued; empty: its name will do.
Errors check_queued_name(const Value& object);
// Returns one text for all errors: `e`, or `[e1, e2]` without repeats.
std::string joined(const Errors& errors);

// Serves Kueue's webhooks for this kind: all below.

// Applies D4: default queue, suspend, managedBy.
Value with_kueue_defaults(const View& view, const Value& object, const Queueing& queueing);
// Returns a sentence for each thing that an AppWrapper asks of Kueue without effect: names of
// labels and annotations that are not read, topologies (docs/spec/kueue.md 10.1). `reader` is whose
// integration it is.
std::vector<std::string> kueue_warnings(const Value& object, std::string_view reader);
// Checks K1, K2, K7.
Errors validate_kueue_create(const Value& object);
// Checks K3 to K6, K8. `has_default_queue`: the namespace has a LocalQueue `default`.
Errors validate_kueue_update(const Value& object, const Value& old_object, bool has_default_queue);

}  // namespace athanor::appwrapper
