// SPDX-License-Identifier: Apache-2.0
// Comparing reads and steps with declarations.
#include "runtime/rights/access.hpp"

#include <algorithm>

#include "api/builtin.hpp"
#include "base/ascii.hpp"
#include "runtime/view/any_kind.hpp"
#include "runtime/view/live.hpp"
#include "runtime/view/select.hpp"
#include "runtime/view/step.hpp"

namespace athanor {
namespace {

bool declares(std::span<const Kind* const> kinds, const Kind* kind) {
  return std::ranges::any_of(kinds, [&](const Kind* one) {
    return one == kind || one == &kAnyKind ||
           (kind != nullptr && one->group == kind->group && one->name == kind->name);
  });
}

std::string missing(const Operator& op, const Kind& kind, std::string_view verb,
                    std::string_view subresource = {}) {
  const bool allowed = std::ranges::any_of(op.access, [&](const Access& access) {
    return (access.kind == &kind || access.kind == &kAnyKind ||
            (access.kind->group == kind.group && access.kind->name == kind.name)) &&
           access.subresource == subresource && has_verb(access, verb);
  });
  if (allowed) {
    return {};
  }
  std::string text(verb);
  text += ' ';
  text += kind.plural;
  if (!subresource.empty()) {
    text += '/';
    text += subresource;
  }
  return kind.group.empty() ? text : text + " of " + std::string(kind.group);
}

// Returns the object or the patch that a step sends; Null: none.
Value body_of_step(const Step& step) {
  return std::visit(
      [](const auto& one) -> Value {
        using S = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<S, Apply>) {
          return one.fields;
        } else if constexpr (std::is_same_v<S, Create> || std::is_same_v<S, Replace>) {
          return one.object;
        } else if constexpr (std::is_same_v<S, Patch>) {
          return one.merge;
        } else {
          return {};
        }
      },
      step);
}

// Returns the kind of an owner reference among those that the operator declares.
const Kind* declared_kind_of(const Operator& op, const Value& owner) {
  const auto is_it = [&](const Kind* kind) {
    return kind != nullptr && kind->name == owner["kind"].as_string() &&
           kind->api_version() == owner["apiVersion"].as_string();
  };
  if (is_it(op.primary)) {
    return op.primary;
  }
  const auto found = std::ranges::find_if(op.reads, is_it);
  return found == op.reads.end() ? nullptr : *found;
}

std::string missing_access(const Operator& op, const Step& step) {
  const Kind& kind = std::holds_alternative<Emit>(step) ? api::kEvent : *target_of(step)->kind;
  return std::visit(
      [&](const auto& one) -> std::string {
        using S = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<S, Apply> || std::is_same_v<S, Emit>) {
          const std::string create = missing(op, kind, "create");
          return create.empty() ? missing(op, kind, "patch") : create;
        } else if constexpr (std::is_same_v<S, Create>) {
          return missing(op, kind, "create");
        } else if constexpr (std::is_same_v<S, Patch>) {
          return missing(op, kind, "patch", one.subresource);
        } else if constexpr (std::is_same_v<S, Status>) {
          return missing(op, kind, "patch", "status");
        } else if constexpr (std::is_same_v<S, Replace>) {
          return missing(op, kind, one.subresource == "binding" ? "create" : "update",
                         one.subresource);
        } else {
          return missing(op, kind, "delete");
        }
      },
      step);
}

}  // namespace

bool has_verb(const Access& access, std::string_view verb) {
  const auto words = words_of(access.verbs, ' ');
  return std::ranges::find(words, verb) != words.end();
}

bool may_read(const Operator& op, const Kind* kind) {
  return kind == op.primary || declares(op.reads, kind);
}

std::string undeclared_read(const Operator& op, const Reads& reads) {
  for (const Ref& ref : reads.objects) {
    if (!may_read(op, ref.kind)) {
      return "get " + std::string(ref.kind->plural);
    }
  }
  for (const Reads::ListRead& read : reads.lists) {
    if (!may_read(op, read.kind)) {
      return "list " + std::string(read.kind->plural);
    }
    if (!op.singleton && is_coarse(*read.kind, read.select) && !declares(op.small, read.kind)) {
      return "list all " + std::string(read.kind->plural) + ", which are not declared small";
    }
  }
  return {};
}

std::string undeclared_live_read(const Operator& op, const Reads& reads) {
  if (op.access.empty()) {
    return {};
  }
  for (const auto& [text, max_age] : reads.observations) {
    const auto query = LiveQuery::parse(text);
    if (!query) {
      continue;
    }
    const Kind kind{query->group, query->version, query->kind, query->plural, true};
    const bool list = query->key.name.empty();
    if (list && (declares(op.reads, &kind) || declares({&op.primary, 1}, &kind))) {
      continue;
    }
    if (std::string needs = missing(op, kind, list ? "list" : "get"); !needs.empty()) {
      return needs;
    }
  }
  return {};
}

std::string undeclared_owner(const Operator& op, const Plan& plan) {
  if (op.access.empty()) {
    return {};
  }
  for (const Step& step : plan.steps()) {
    const Value owners = body_of_step(step).at({"metadata", "ownerReferences"});
    // Changing the owners of an existing object requires the right to delete it.
    if (owners.size() > 0 && !std::holds_alternative<Create>(step)) {
      if (std::string needs = missing(op, *target_of(step)->kind, "delete"); !needs.empty()) {
        return needs;
      }
    }
    for (const Value& owner : body_of_step(step).at({"metadata", "ownerReferences"}).items()) {
      const Kind* kind =
          owner["blockOwnerDeletion"].as_bool() ? declared_kind_of(op, owner) : nullptr;
      if (kind == nullptr) {
        continue;
      }
      if (std::string needs = missing(op, *kind, "update", "finalizers"); !needs.empty()) {
        return needs;
      }
    }
  }
  return {};
}

std::string undeclared_step(const Operator& op, const Plan& plan) {
  for (const Step& step : plan.steps()) {
    if (std::holds_alternative<Act>(step)) {
      continue;
    }
    if (!op.access.empty()) {
      if (std::string needs = missing_access(op, step); !needs.empty()) {
        return needs;
      }
    }
    if (!std::holds_alternative<Emit>(step) && !declares(op.writes, target_of(step)->kind)) {
      return std::string(name_of(step)) + " " + std::string(target_of(step)->kind->plural);
    }
  }
  return {};
}

}  // namespace athanor
