// SPDX-License-Identifier: Apache-2.0
// Facts about a step that every reader of plans needs: its target, its name, its stable text.
#pragma once

#include <string_view>

#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/plan.hpp"

namespace athanor {

// Returns the object that a step writes, or for Emit the object it is about; nullptr for Act.
const Ref* target_of(const Step& step);
// Returns "apply", "create", "patch", "status", "replace", "delete", "emit", "act".
std::string_view name_of(const Step& step);
// Returns {"apply": {"target": {...}, "fields": {...}}}; leaves out default members.
Value to_value(const Step& step);
// Returns {"apiVersion", "kind", "namespace", "name"}.
Value to_value(const Ref& ref);

// Returns the status that a Status step asks for, given the current one: each key given replaces
// that key, Null removes it.
Value wanted_status(const Value& current, const Value& given);

// References ordered by names (group, kind, namespace, name, version), never by address: what
// ordered containers use wherever order can reach output.
struct RefOrder {
  bool operator()(const Ref& a, const Ref& b) const;
};
// Kinds ordered by names, never by address.
struct KindOrder {
  bool operator()(const Kind* a, const Kind* b) const;
};

}  // namespace athanor
