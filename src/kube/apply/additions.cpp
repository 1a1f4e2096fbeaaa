// SPDX-License-Identifier: Apache-2.0
#include "kube/apply/additions.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "kube/apply/field_set.hpp"
#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"

namespace athanor {

namespace {

// Fields that other writers fill in. An empty kind: of every kind; an empty parent: at any depth.
struct Exempt {
  std::string_view kind{};
  std::string_view parent{};
  std::string_view name{};
};
constexpr std::array kExempt{
    // Labels and annotations of others, their finalizers and owners; also those of pod templates.
    Exempt{"", "", "metadata"},
    Exempt{"", "", "status"},
    // An autoscaler's.
    Exempt{"", "spec", "replicas"},
    // Written by whoever issues certificates.
    Exempt{"", "", "caBundle"},
    Exempt{"CustomResourceDefinition", "spec", "conversion"},
    // Written by the controllers of tokens and pull secrets.
    Exempt{"ServiceAccount", "", "secrets"},
    Exempt{"ServiceAccount", "", "imagePullSecrets"},
    // Allocated by the API server for the first writer.
    Exempt{"Service", "spec", "clusterIP"},
    Exempt{"Service", "spec", "clusterIPs"},
    Exempt{"Service", "spec", "ipFamilies"},
    Exempt{"Service", "spec", "ipFamilyPolicy"},
};

bool is_exempt(std::string_view kind, std::string_view parent, std::string_view name) {
  return std::ranges::any_of(kExempt, [&](const Exempt& one) {
    return (one.kind.empty() || one.kind == kind) && one.name == name &&
           (one.parent.empty() || one.parent == parent);
  });
}

// Defaults of the API server. A client that wrote the whole object owns them; a patch without them
// would change nothing.
struct Default {
  std::string_view name{};
  std::string_view json{};
};
constexpr std::array kDefaults{
    Default{"apiGroup", R"("rbac.authorization.k8s.io")"},
    Default{"apiVersion", R"("v1")"},
    Default{"defaultMode", "420"},
    Default{"dnsPolicy", R"("ClusterFirst")"},
    Default{"enableServiceLinks", "true"},
    Default{"failureThreshold", "3"},
    Default{"imagePullPolicy", R"("IfNotPresent")"},
    Default{"internalTrafficPolicy", R"("Cluster")"},
    Default{"matchPolicy", R"("Equivalent")"},
    Default{"maxSurge", "0"},
    Default{"maxUnavailable", "1"},
    Default{"minReadySeconds", "0"},
    Default{"namespaceSelector", "{}"},
    Default{"objectSelector", "{}"},
    Default{"periodSeconds", "10"},
    Default{"progressDeadlineSeconds", "600"},
    Default{"protocol", R"("TCP")"},
    Default{"reinvocationPolicy", R"("Never")"},
    Default{"restartPolicy", R"("Always")"},
    Default{"revisionHistoryLimit", "10"},
    Default{"schedulerName", R"("default-scheduler")"},
    Default{"scheme", R"("HTTP")"},
    Default{"scope", R"("*")"},
    Default{"securityContext", "{}"},
    Default{"sessionAffinity", R"("None")"},
    Default{"successThreshold", "1"},
    Default{"terminationGracePeriodSeconds", "30"},
    Default{"terminationMessagePath", R"("/dev/termination-log")"},
    Default{"terminationMessagePolicy", R"("File")"},
    Default{"timeoutSeconds", "1"},
};

// Returns true for a field that the API server sets where a manifest has none.
bool is_default(std::string_view name, const Value& owner, const Value& value) {
  if (name == "serviceAccount") {
    return value == owner["serviceAccountName"];
  }
  if (value.is_string() && value.as_string().empty()) {
    return true;  // as hostPath's type
  }
  return std::ranges::any_of(kDefaults, [&](const Default& one) {
    return one.name == name && json::print(value) == one.json;
  });
}

bool is_item(const Value& item, const Value& keys) {
  return std::ranges::all_of(
      keys.members(), [&](const Member& member) { return item[member.key()] == member.value; });
}

// Returns true for an item of a manifest, which may lack keys that have defaults.
bool may_be_item(const Value& item, const Value& keys) {
  return std::ranges::all_of(keys.members(), [&](const Member& member) {
    return !item.contains(member.key()) || item[member.key()] == member.value;
  });
}

// Returns true if a value has members or items beyond those of `wanted`, but for defaults.
bool has_more(const Value& value, const Value& wanted) {
  if (value.is_object()) {
    return std::ranges::any_of(value.members(), [&](const Member& member) {
      const Value* kept = wanted.find(member.key());
      return kept == nullptr ? !is_default(member.key(), value, member.value)
                             : has_more(member.value, *kept);
    });
  }
  if (!value.is_list()) {
    return false;
  }
  if (value.size() != wanted.size()) {
    return true;
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (has_more(value[i], wanted[i])) {
      return true;
    }
  }
  return false;
}

const FieldSet& children_of(const FieldSet::Entry* entry) {
  static const FieldSet kNone;
  return entry == nullptr ? kNone : entry->children;
}

// Takes the fields that others own out of an object; what is applied, or still owned, stays.
class Removal {
 public:
  explicit Removal(std::string_view kind) : kind_(kind) {}

  void take(Value& node, const Value& wanted, const FieldSet& others, const FieldSet& own,
            std::string_view parent) {
    for (const FieldSet::Entry& entry : others.entries()) {
      const std::string_view element = entry.element.as_string();
      if (path_element::is_field(element)) {
        take_field(node, wanted, entry, own.find(element), parent);
      } else if (element.starts_with("k:") || element.starts_with("v:")) {
        take_item(node, wanted, entry, own.find(element), parent);
      }
    }
  }
  [[nodiscard]] bool changed() const { return changed_; }

 private:
  void take_field(Value& node, const Value& wanted, const FieldSet::Entry& entry,
                  const FieldSet::Entry* own, std::string_view parent) {
    const std::string_view name = path_element::field_name(entry.element.as_string());
    const Value* there = node.find(name);
    if (there == nullptr || is_exempt(kind_, parent, name)) {
      return;
    }
    const Value* kept = wanted.find(name);
    if (kept == nullptr && own == nullptr) {
      if (is_default(name, node, *there)) {
        return;
      }
      if (entry.member || entry.children.empty()) {
        node.erase(name);
        changed_ = true;
        return;
      }
    }
    if (kept != nullptr && entry.children.empty()) {
      // A list or map that has one owner as a whole: the applier lost it to the one that added.
      if (has_more(*there, *kept)) {
        node.set(name, *kept);
        changed_ = true;
      }
      return;
    }
    Value& child = node.member(name);
    const bool had_any = !child.empty();
    take(child, wanted[name], entry.children, children_of(own), name);
    if (kept == nullptr && own == nullptr && had_any && child.empty()) {
      node.erase(name);
    }
  }

  void take_item(Value& node, const Value& wanted, const FieldSet::Entry& entry,
                 const FieldSet::Entry* own, std::string_view parent) {
    const std::string_view element = entry.element.as_string();
    const auto key = json::parse(element.substr(2));
    if (!key.ok() || !node.is_list()) {
      return;
    }
    const bool keyed = element.starts_with("k:");
    const auto kept = std::ranges::find_if(wanted.items(), [&](const Value& item) {
      return keyed ? may_be_item(item, *key) : item == *key;
    });
    const bool is_kept = kept != wanted.items().end();
    for (std::size_t i = node.size(); i-- > 0;) {
      if (keyed ? !is_item(node[i], *key) : node[i] != *key) {
        continue;
      }
      if (!is_kept && own == nullptr && (entry.member || !keyed)) {
        node.erase_item(i);
        changed_ = true;
      } else if (keyed) {
        take(node.item(i), is_kept ? *kept : Value(), entry.children, children_of(own), parent);
      }
      return;
    }
  }

  std::string_view kind_;
  bool changed_ = false;
};

FieldSet fields_of(const Value& entry) {
  auto fields = FieldSet::from_fields_v1(entry["fieldsV1"]);
  return fields.ok() ? *std::move(fields) : FieldSet();
}

}  // namespace

std::optional<Value> without_additions(const Value& object, const Value& fields,
                                       std::string_view applier) {
  FieldSet own;
  FieldSet others;
  bool applied = false;
  const Value& entries = object["metadata"]["managedFields"];
  for (const Value& entry : entries.items()) {
    if (!entry["subresource"].as_string().empty()) {
      continue;
    }
    if (entry["manager"].as_string() != applier) {
      others = others.united(fields_of(entry));
    } else if (entry["operation"].as_string() == "Apply") {
      own = own.united(fields_of(entry));
      applied = true;
    }
  }
  if (!applied || others.empty()) {
    return std::nullopt;
  }
  Value rest = object;
  Removal removal(object["kind"].as_string());
  removal.take(rest, fields, others, own, {});
  return removal.changed() ? std::optional(std::move(rest)) : std::nullopt;
}

std::optional<Value> removal_of_additions(const Value& object, const Value& fields,
                                          std::string_view applier) {
  const auto rest = without_additions(object, fields, applier);
  return rest ? std::optional(make_merge_patch(object, *rest)) : std::nullopt;
}

}  // namespace athanor
