// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/request/flow_index.hpp"

#include <algorithm>
#include <tuple>

#include "base/mutex.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kSchemas = "flowschemas.flowcontrol.apiserver.k8s.io";
constexpr std::string_view kPriorityLevels =
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io";
constexpr std::string_view kAccountPrefix = "system:serviceaccount:";

// Whether a list of texts has one, or "*".
bool lists(const Value& list, std::string_view text) {
  const auto items = list.items();
  return std::ranges::any_of(items, [&](const Value& item) {
    return item.as_string() == "*" || item.as_string() == text;
  });
}

bool matches_subject(const Value& subject, const UserInfo& user) {
  const std::string_view kind = subject["kind"].as_string();
  if (kind == "User") {
    const std::string_view name = subject["user"]["name"].as_string();
    return name == "*" || name == user.name;
  }
  if (kind == "Group") {
    const std::string_view name = subject["group"]["name"].as_string();
    return name == "*" || user.in_group(name);
  }
  const std::string account =
      std::string(kAccountPrefix) + subject["serviceAccount"]["namespace"].str() + ":";
  const std::string_view name = subject["serviceAccount"]["name"].as_string();
  return kind == "ServiceAccount" &&
         (name == "*" ? user.name.starts_with(account) : user.name == account + std::string(name));
}

bool matches_flow_resource(const Value& rule, const Attributes& attributes) {
  const std::string resource = attributes.subresource.empty()
                                   ? attributes.resource
                                   : attributes.resource + "/" + attributes.subresource;
  return lists(rule["verbs"], attributes.verb) && lists(rule["apiGroups"], attributes.group) &&
         lists(rule["resources"], resource) &&
         (attributes.ns.empty() ? rule["clusterScope"].as_bool()
                                : lists(rule["namespaces"], attributes.ns));
}

bool matches_path(const Value& rule, const Attributes& attributes) {
  const auto urls = rule["nonResourceURLs"].items();
  return lists(rule["verbs"], attributes.verb) && std::ranges::any_of(urls, [&](const Value& url) {
           const std::string_view text = url.as_string();
           return text == attributes.path ||
                  (text.ends_with('*') &&
                   attributes.path.starts_with(text.substr(0, text.size() - 1)));
         });
}

bool matches_flow(const Value& rule, const Attributes& attributes) {
  const auto subjects = rule["subjects"].items();
  if (std::ranges::none_of(subjects, [&](const Value& subject) {
        return matches_subject(subject, *attributes.user);
      })) {
    return false;
  }
  const auto rules = rule[attributes.is_resource ? "resourceRules" : "nonResourceRules"].items();
  return std::ranges::any_of(rules, [&](const Value& one) {
    return attributes.is_resource ? matches_flow_resource(one, attributes)
                                  : matches_path(one, attributes);
  });
}

}  // namespace

struct FlowIndex::Schema {
  std::int64_t precedence = 0;
  std::string name{};
  Value rules{};
  FlowClass flow{};
};

FlowIndex::FlowIndex(store::Store& store)
    : store_(store), listener_(store.listen([this](std::span<const store::EventPtr> events) {
        for (const store::EventPtr& event : events) {
          if (event->object->resource == kSchemas || event->object->resource == kPriorityLevels) {
            stale_ = true;
          }
        }
      })) {}

std::shared_ptr<const FlowIndex::Schemas> FlowIndex::schemas() const {
  const MutexLock lock(mutex_);
  if (!stale_.exchange(false)) {
    return schemas_;
  }
  constexpr std::int64_t kDefaultPrecedence = 1000;
  auto made = std::make_shared<Schemas>();
  if (const auto page = store_.list(kSchemas, {}); page.ok()) {
    for (const store::StoredPtr& stored : page->items) {
      const Value& spec = stored->body["spec"];
      const store::StoredPtr level =
          store_.get(kPriorityLevels, {"", spec["priorityLevelConfiguration"]["name"].str()});
      if (level != nullptr) {
        made->push_back({.precedence = spec["matchingPrecedence"].as_int(kDefaultPrecedence),
                         .name = stored->key.name,
                         .rules = spec["rules"],
                         .flow = {.schema = stored->key.name,
                                  .level = level->key.name,
                                  .schema_uid = stored->body["metadata"]["uid"].str(),
                                  .level_uid = level->body["metadata"]["uid"].str()}});
      }
    }
  }
  std::ranges::sort(*made, {},
                    [](const Schema& schema) { return std::tie(schema.precedence, schema.name); });
  schemas_ = std::move(made);
  return schemas_;
}

std::optional<FlowClass> FlowIndex::classify(const Attributes& attributes) const {
  const std::shared_ptr<const Schemas> known = schemas();
  for (const Schema& schema : *known) {
    const auto rules = schema.rules.items();
    if (std::ranges::any_of(rules,
                            [&](const Value& rule) { return matches_flow(rule, attributes); })) {
      return schema.flow;
    }
  }
  return std::nullopt;
}

}  // namespace athanor::apiserver
