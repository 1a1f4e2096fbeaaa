// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/certificate_kind.hpp"

#include "base/time.hpp"

namespace athanor::apiserver {
namespace {

// Conditions that come without their times get them.
void add_times(Value& conditions, Instant now) {
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    for (const char* field : {"lastUpdateTime", "lastTransitionTime"}) {
      if (conditions[i][field].is_null()) {
        conditions.item(i).set(field, format_time(now));
      }
    }
  }
}

}  // namespace

void prepare_certificate_request(Value& object, const KindContext& context) {
  Value& spec = object.member("spec");
  for (const char* field : {"username", "uid", "groups", "extra"}) {
    spec.erase(field);
  }
  if (context.user != nullptr) {
    const Value user = context.user->to_value();
    for (const Member& member : user.members()) {
      spec.set(member.key(), member.value);
    }
  }
}

void prepare_certificate_update(Value& object, const Value& old_object,
                                const KindContext& context) {
  object.set("spec", old_object["spec"]);
  if (context.subresource.empty()) {
    return;
  }
  if (context.subresource == "approval") {
    Value status = old_object["status"];
    status.set("conditions", object["status"]["conditions"]);
    object.set("status", std::move(status));
  }
  if (object["status"]["conditions"].is_list()) {
    add_times(object.member("status").member("conditions"), context.now);
  }
}

}  // namespace athanor::apiserver
