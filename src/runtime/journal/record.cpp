// SPDX-License-Identifier: Apache-2.0
// Writing records.
#include "runtime/journal/record.hpp"

#include <utility>

#include "base/digest.hpp"
#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"
#include "runtime/view/step.hpp"

namespace athanor::runtime {

namespace {

constexpr std::string_view kMark = "redacted-";
constexpr std::size_t kDigest = 16;
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

std::string digest_of(std::string_view text) {
  const auto plain = base64_decode(text);
  if (plain && plain->starts_with(kMark)) {
    return std::string(text);
  }
  return base64_encode(std::string(kMark) + sha256_hex(text).substr(0, kDigest));
}

void hide(Value& secret, std::string_view part) {
  const Value data = secret[part];
  for (const Member& member : data.members()) {
    if (member.value.is_string()) {
      secret.member(part).set(member.key(), digest_of(member.value.as_string()));
    }
  }
}

bool may_hold_secret(const Value& value) {
  if (value.is_object()) {
    if (value["kind"].as_string() == "Secret") {
      return true;
    }
    for (const Member& member : value.members()) {
      if (may_hold_secret(member.value)) {
        return true;
      }
    }
  }
  if (value.is_list()) {
    for (const Value& item : value.items()) {
      if (may_hold_secret(item)) {
        return true;
      }
    }
  }
  return false;
}

Value text_of(const std::optional<Error>& error) {
  return error
             ? Value::object(
                   {{"code", error->code}, {"reason", error->reason}, {"message", error->message}})
             : Value();
}

std::string_view name_of(WriteVerb verb) {
  switch (verb) {
    case WriteVerb::Create:
      return "create";
    case WriteVerb::Replace:
      return "replace";
    case WriteVerb::MergePatch:
      return "patch";
    case WriteVerb::Apply:
      return "apply";
    case WriteVerb::Delete:
      return "delete";
  }
  return "create";
}

Value ticks(Instant now) {
  return now.time_since_epoch().count();
}

}  // namespace

Value redacted(const Value& value) {
  if (!may_hold_secret(value)) {
    return value;
  }
  Value shown = value;
  if (value.is_list()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (may_hold_secret(value[i])) {
        shown.item(i) = redacted(value[i]);
      }
    }
    return shown;
  }
  for (const Member& member : value.members()) {
    if (may_hold_secret(member.value)) {
      shown.set(member.key(), redacted(member.value));
    }
  }
  if (value["kind"].as_string() == "Secret") {
    hide(shown, "data");
    hide(shown, "stringData");
    if (!value["metadata"]["annotations"][kLastApplied].is_null()) {
      shown.member("metadata").member("annotations").erase(kLastApplied);
    }
  }
  return shown;
}

Value RecordHead::to_value(std::span<const Kind* const> kinds) const {
  Value operator_list = Value::list();
  for (const std::string& name : operators) {
    operator_list.push_back(name);
  }
  Value namespace_list = Value::list();
  for (const std::string& name : namespaces) {
    namespace_list.push_back(name);
  }
  Value kind_list = Value::list();
  for (const Kind* kind : kinds) {
    Value one = Value::object({{"group", kind->group},
                               {"version", kind->version},
                               {"kind", kind->name},
                               {"plural", kind->plural}});
    if (const auto place = places.find(kind); place != places.end()) {
      Value watched = Value::list();
      for (const std::string& name : place->second.watched) {
        watched.push_back(name);
      }
      one.set("namespaces", std::move(watched));
    }
    kind_list.push_back(std::move(one));
  }
  Value sections = Value::object();
  for (const auto& [section, settings] : config) {
    sections.set(section, settings);
  }
  return Value::object({{"athanor-record", 1},
                        {"version", version},
                        {"operators", operator_list},
                        {"namespaces", namespace_list},
                        {"config", sections},
                        {"kinds", kind_list},
                        // as text: JSON's numbers are signed
                        {"seed", std::to_string(seed)},
                        {"secrets", secrets}});
}

Value to_value(const Effect& effect) {
  if (const auto* send = std::get_if<SendWrite>(&effect)) {
    const WriteRequest& request = send->request;
    Value write = Value::object({{"id", send->id},
                                 {"controller", send->op},
                                 {"verb", name_of(request.verb)},
                                 {"target", athanor::to_value(request.target)}});
    if (!request.subresource.empty()) {
      write.set("subresource", request.subresource);
    }
    if (!request.body.is_null()) {
      write.set("body", request.body);
    }
    return write;
  }
  if (const auto* probe = std::get_if<Probe>(&effect)) {
    return Value::object({{"probe", probe->query}, {"id", probe->id}});
  }
  if (const auto* execute = std::get_if<Execute>(&effect)) {
    return Value::object({{"act", execute->verb + ":" + execute->id}, {"args", execute->args}});
  }
  if (const auto* relist = std::get_if<Relist>(&effect)) {
    return Value::object({{"relist", relist->kind->name}, {"namespace", relist->ns}});
  }
  return {};
}

void Recorder::begin(const Engine& engine) {
  if (begun_) {
    return;
  }
  begun_ = true;
  std::int64_t number = 0;
  for (const Kind* kind : engine.kinds()) {
    numbers_[kind] = number++;
  }
  write(head_.to_value(engine.kinds()));
}

void Recorder::write(const Value& line) {
  if (sink_ && !sink_(json::print(line) + "\n")) {
    sink_ = nullptr;
  }
}

Value Recorder::shown(const Value& value) const {
  return head_.secrets ? value : redacted(value);
}

Value Recorder::line_of(const Engine& engine, const WatchEvent& event, Instant now) const {
  const Value kind = numbers_.at(event.kind);
  if (event.type == WatchEvent::Type::Bookmark) {
    return Value::list({"b", ticks(now), kind, event.object.resource_version(), event.ns});
  }
  const char* const what = event.type == WatchEvent::Type::Deleted ? "d" : "c";
  const Value after = shown(event.object.body());
  if (const Object* known = engine.cached(*event.kind, event.object.key())) {
    const Value before = shown(known->body());
    Value delta = make_merge_patch(before, after);
    // A null within an object is something that a merge patch cannot say.
    if (apply_merge_patch(before, delta) == after) {
      Value key = Value::list({event.object.ns(), event.object.name()});
      return Value::list({what, ticks(now), kind, key, std::move(delta)});
    }
  }
  return Value::list({what, ticks(now), kind, Value(), after});
}

Value Recorder::line_of(const Engine& /*engine*/, const Relisted& list, Instant now) const {
  Value objects = Value::list();
  for (const Object& object : list.objects) {
    objects.push_back(shown(object.body()));
  }
  Value line = Value::list({"l", ticks(now), numbers_.at(list.kind), list.version, list.ns,
                            std::move(objects), text_of(list.error)});
  if (!list.first || !list.last || list.early) {
    line.push_back(list.first);
    line.push_back(list.last);
    line.push_back(list.early);
  }
  return line;
}

Value Recorder::line_of(const Engine& /*engine*/, const WriteResult& result, Instant now) const {
  return Value::list(
      {"w", ticks(now), result.id, result.object ? shown(result.object->body()) : Value(),
       text_of(result.error), result.unknown,
       result.retry_after ? Value(result.retry_after->count()) : Value(), result.hidden});
}

Value Recorder::line_of(const Engine& /*engine*/, const Observation& seen, Instant now) const {
  return Value::list({"o", ticks(now), seen.query, seen.asked,
                      seen.value ? shown(*seen.value) : Value(), text_of(seen.error)});
}

Value Recorder::line_of(const Engine& /*engine*/, const Tick& /*tick*/, Instant now) const {
  return Value::list({"t", ticks(now)});
}

Value Recorder::line_of(const Engine& /*engine*/, const ClockStep& step, Instant now) const {
  return Value::list({"s", ticks(now), step.by.count()});
}

void Recorder::input(const Engine& engine, const Input& input, Instant now) {
  if (!sink_) {
    return;
  }
  begin(engine);
  write(std::visit([&](const auto& one) { return line_of(engine, one, now); }, input));
}

void Recorder::ran(std::span<const Effect> effects, Instant now) {
  if (!sink_) {
    return;
  }
  Value decided = Value::list();
  for (const Effect& effect : effects) {
    const Value one = to_value(effect);
    if (!one.is_null()) {
      decided.push_back(shown(one));
    }
  }
  write(Value::list({"r", ticks(now), std::move(decided)}));
}

}  // namespace athanor::runtime
