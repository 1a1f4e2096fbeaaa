// SPDX-License-Identifier: Apache-2.0
// Targets, names, texts and order of steps and references.
#include "runtime/view/step.hpp"

#include <tuple>
#include <type_traits>
#include <variant>

namespace athanor {

namespace {

std::string_view mode_name(Propagation mode) {
  switch (mode) {
    case Propagation::Background:
      return "Background";
    case Propagation::Foreground:
      return "Foreground";
    case Propagation::Orphan:
      return "Orphan";
  }
  return "";
}

void put_guard(Value& out, const Guard& guard) {
  if (!guard.uid.empty()) {
    out.set("uid", guard.uid);
  }
  if (!guard.resource_version.empty()) {
    out.set("resourceVersion", guard.resource_version);
  }
}

void put_text(Value& out, std::string_view key, std::string_view text) {
  if (!text.empty()) {
    out.set(key, text);
  }
}

Value body_of(const Apply& step) {
  Value out = Value::object({{"target", to_value(step.target)}, {"fields", step.fields}});
  put_text(out, "manager", step.manager);
  if (!step.force) {
    out.set("force", false);
  }
  return out;
}
Value body_of(const Create& step) {
  return Value::object({{"target", to_value(step.target)}, {"object", step.object}});
}
Value body_of(const Patch& step) {
  Value out = Value::object({{"target", to_value(step.target)}, {"merge", step.merge}});
  put_text(out, "subresource", step.subresource);
  put_guard(out, step.guard);
  return out;
}
Value body_of(const Status& step) {
  Value out = Value::object({{"target", to_value(step.target)}, {"status", step.status}});
  put_guard(out, step.guard);
  put_text(out, "appliedAs", step.applied_as);
  return out;
}
Value body_of(const Replace& step) {
  Value out = Value::object({{"target", to_value(step.target)}, {"object", step.object}});
  put_text(out, "subresource", step.subresource);
  return out;
}
Value body_of(const Delete& step) {
  Value out = Value::object({{"target", to_value(step.target)}});
  put_guard(out, step.guard);
  if (step.mode != Propagation::Background) {
    out.set("mode", mode_name(step.mode));
  }
  if (step.grace_seconds) {
    out.set("graceSeconds", *step.grace_seconds);
  }
  return out;
}
Value body_of(const Emit& step) {
  Value out = Value::object({{"about", to_value(step.about)}});
  put_text(out, "uid", step.about_uid);
  out.set("type", step.type);
  out.set("reason", step.reason);
  out.set("note", step.note);
  put_text(out, "component", step.component);
  put_text(out, "id", step.id);
  return out;
}
Value body_of(const Act& step) {
  return Value::object({{"id", step.id}, {"verb", step.verb}, {"args", step.args}});
}

auto names(const Kind& kind) {
  return std::tie(kind.group, kind.name, kind.version);
}

}  // namespace

const Ref* target_of(const Step& step) {
  return std::visit(
      [](const auto& one) -> const Ref* {
        using S = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<S, Act>) {
          return nullptr;
        } else if constexpr (std::is_same_v<S, Emit>) {
          return &one.about;
        } else {
          return &one.target;
        }
      },
      step);
}

std::string_view name_of(const Step& step) {
  static constexpr std::string_view kNames[] = {"apply",   "create", "patch", "status",
                                                "replace", "delete", "emit",  "act"};
  return kNames[step.index()];
}

Value to_value(const Step& step) {
  Value body = std::visit([](const auto& one) { return body_of(one); }, step);
  Value out;
  out.set(name_of(step), std::move(body));
  return out;
}

Value to_value(const Ref& ref) {
  Value out = Value::object();
  if (ref.kind != nullptr) {
    out.set("apiVersion", ref.kind->api_version());
    out.set("kind", ref.kind->name);
  }
  put_text(out, "namespace", ref.key.ns);
  out.set("name", ref.key.name);
  return out;
}

Value wanted_status(const Value& current, const Value& given) {
  Value wanted = current.is_object() ? current : Value::object();
  for (const Member& member : given.members()) {
    if (member.value.is_null()) {
      wanted.erase(member.key());
    } else {
      wanted.set(member.key(), member.value);
    }
  }
  return wanted;
}

bool RefOrder::operator()(const Ref& a, const Ref& b) const {
  if (a.kind != b.kind && names(*a.kind) != names(*b.kind)) {
    return names(*a.kind) < names(*b.kind);
  }
  return a.key < b.key;
}

bool KindOrder::operator()(const Kind* a, const Kind* b) const {
  return a != b && names(*a) < names(*b);
}

}  // namespace athanor
