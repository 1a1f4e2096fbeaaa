// SPDX-License-Identifier: Apache-2.0
// The administrator's requests, and the state that equal runs must share.
#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "simulation/world_impl.hpp"

namespace athanor::sim {

namespace {

// What another client put on an object (Scene::foreign_fields).
constexpr std::string_view kForeign = "foreign.example.com/mark";

// "jobs" for Job, "policies" for Policy: enough for the kinds that worlds create by their bodies
// alone; custom kinds are found in their definitions.
std::string guessed_plural(std::string_view kind) {
  std::string plural(kind);
  std::transform(plural.begin(), plural.end(), plural.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  if (plural.ends_with("y")) {
    plural.replace(plural.size() - 1, 1, "ies");
  } else if (plural.ends_with("s") || plural.ends_with("ch") || plural.ends_with("x")) {
    plural += "es";
  } else {
    plural += "s";
  }
  return plural;
}

constexpr std::string_view kClusterScoped[] = {
    "Namespace",   "Node",          "PersistentVolume", "CustomResourceDefinition",
    "ClusterRole", "PriorityClass", "StorageClass",     "ClusterRoleBinding",
    "RuntimeClass"};

struct Place {
  std::string plural{};
  bool namespaced = true;
};

Place place_of(const store::Store& store, std::string_view group, std::string_view kind) {
  const auto definitions = store.list("customresourcedefinitions.apiextensions.k8s.io", {});
  if (definitions.ok()) {
    for (const store::StoredPtr& definition : definitions->items) {
      const Value& spec = definition->body["spec"];
      if (spec["group"].as_string() == group && spec["names"]["kind"].as_string() == kind) {
        return {.plural = spec["names"]["plural"].str(),
                .namespaced = spec["scope"].as_string() != "Cluster"};
      }
    }
  }
  const bool cluster = std::find(std::begin(kClusterScoped), std::end(kClusterScoped), kind) !=
                       std::end(kClusterScoped);
  return {.plural = guessed_plural(kind), .namespaced = !cluster};
}

// Times and identities differ between runs that are equal in every way that matters.
Value blurred(const Value& value,
              const std::map<std::string, std::string, std::less<>>& names_of_uids) {
  if (value.is_object()) {
    Value out = Value::object();
    for (const Member& member : value.members()) {
      static constexpr std::string_view kVarying[] = {"managedFields",     "resourceVersion",
                                                      "creationTimestamp", "uid",
                                                      "generation",        "observedGeneration"};
      const bool varies =
          std::find(std::begin(kVarying), std::end(kVarying), member.key()) != std::end(kVarying) ||
          member.key() == kForeign;
      if (!varies) {
        out.set(member.key(), blurred(member.value, names_of_uids));
      }
    }
    return out;
  }
  if (value.is_list()) {
    Value out = Value::list();
    for (const Value& item : value.items()) {
      out.push_back(blurred(item, names_of_uids));
    }
    return out;
  }
  if (value.is_string()) {
    if (const auto uid = names_of_uids.find(value.as_string()); uid != names_of_uids.end()) {
      return "uid of " + uid->second;
    }
    if (value.as_string().size() >= 20 && parse_time(value.as_string())) {
      return "time";
    }
  }
  return value;
}

// Not part of what a world comes to.
bool passes_by(std::string_view resource) {
  return resource == "events" || resource == "leases.coordination.k8s.io";
}

}  // namespace

Result<Object> World::Impl::admin_call(net::Request request) {
  request.credentials.internal_user = kAdministrator;
  const net::Response response = server->handle(std::move(request), clock.now());
  runtime::WriteResult result = bridge::to_result(0, response);
  if (result.error) {
    return *std::move(result.error);
  }
  return *std::move(result.object);
}

Result<Object> World::Impl::admin_request(std::string_view method, const Object& object,
                                          Value body) {
  const std::string api_version(object.api_version());
  const auto slash = api_version.find('/');
  const std::string group = slash == std::string::npos ? "" : api_version.substr(0, slash);
  const std::string version =
      slash == std::string::npos ? api_version : api_version.substr(slash + 1);
  const Place place = place_of(*store, group, object.kind());
  const Kind kind{.group = group,
                  .version = version,
                  .name = object.kind(),
                  .plural = place.plural,
                  .namespaced = place.namespaced};
  net::Request request{.method = std::string(method),
                       .path = runtime::collection_path(kind, object.ns())};
  if (method != "POST") {
    request.path += "/" + std::string(object.name());
  }
  request.headers.emplace("content-type", "application/json");
  request.body = std::move(body);
  return admin_call(std::move(request));
}

void World::Impl::mark_foreign(const store::Event& event) {
  const store::Stored& stored = *event.object;
  if (event.type != store::Event::Type::Added || passes_by(stored.resource) ||
      !operator_kinds.contains(stored.resource) ||
      std::find(scene.labels_overwritten.begin(), scene.labels_overwritten.end(),
                stored.resource) != scene.labels_overwritten.end()) {
    return;
  }
  const Object object(stored.body);
  const std::string api_version(object.api_version());
  const auto slash = api_version.find('/');
  const auto dot = stored.resource.find('.');
  const Kind kind{
      .group = slash == std::string::npos ? std::string_view()
                                          : std::string_view(api_version).substr(0, slash),
      .version = slash == std::string::npos ? std::string_view(api_version)
                                            : std::string_view(api_version).substr(slash + 1),
      .name = object.kind(),
      .plural = std::string_view(stored.resource).substr(0, dot),
      .namespaced = !stored.key.ns.empty()};
  const Value mark = Value::object({{kForeign, object.name()}});
  const auto marked = world.patch(
      kind, stored.key,
      Value::object(
          {{"metadata",
            Value::object({{"uid", object.uid()}, {"labels", mark}, {"annotations", mark}})}}));
  if (marked.ok()) {
    foreign.emplace(object.uid(), stored.resource + " " + stored.key.text());
  }
}

void World::Impl::check_foreign() {
  if (foreign.empty()) {
    return;
  }
  ++invariant_checks["foreign fields survive"];
  for (const store::StoredPtr& stored : world.stored()) {
    const Object object(stored->body);
    const auto at = foreign.find(std::string(object.uid()));
    if (at != foreign.end() &&
        (object.label(kForeign).empty() || object.annotation(kForeign).empty())) {
      failure = at->second + " lost a foreign label or annotation";
      return;
    }
  }
}

Value World::final_state() const {
  const store::Store& store = *impl_->store;
  std::vector<std::string> resources = store.resources();
  std::sort(resources.begin(), resources.end());
  std::map<std::string, std::string, std::less<>> names_of_uids;
  std::map<std::string, std::vector<store::StoredPtr>> all;
  for (const std::string& resource : resources) {
    if (passes_by(resource)) {
      continue;
    }
    auto page = store.list(resource, {});
    if (!page.ok()) {
      continue;
    }
    for (const store::StoredPtr& item : page->items) {
      names_of_uids.emplace(Object(item->body).uid(), resource + " " + item->key.text());
    }
    all.emplace(resource, std::move(page->items));
  }
  Value out = Value::object();
  for (const auto& [resource, items] : all) {
    Value objects = Value::object();
    for (const store::StoredPtr& item : items) {
      objects.set(item->key.text(), blurred(item->body, names_of_uids));
    }
    if (!items.empty()) {
      out.set(resource, std::move(objects));
    }
  }
  return out;
}

std::vector<store::StoredPtr> World::stored() const {
  const store::Store& store = *impl_->store;
  std::vector<std::string> resources = store.resources();
  std::sort(resources.begin(), resources.end());
  std::vector<store::StoredPtr> all;
  for (const std::string& resource : resources) {
    if (passes_by(resource)) {
      continue;
    }
    const auto page = store.list(resource, {});
    if (page.ok()) {
      all.insert(all.end(), page->items.begin(), page->items.end());
    }
  }
  return all;
}

Result<Object> World::create(Value object) {
  const Object view(object);
  return impl_->admin_request("POST", view, std::move(object));
}

Result<Object> World::replace(Value object) {
  const Object view(object);
  return impl_->admin_request("PUT", view, std::move(object));
}

Result<Object> World::patch(const Kind& kind, const Key& key, Value merge,
                            std::string_view subresource) {
  runtime::WriteRequest write{.verb = runtime::WriteVerb::MergePatch,
                              .target = {&kind, key},
                              .subresource = std::string(subresource),
                              .body = std::move(merge),
                              .manager = "simulation-admin",
                              .user = std::string(kAdministrator)};
  return impl_->admin_call(bridge::to_request(write));
}

Result<void> World::remove(const Kind& kind, const Key& key, Propagation mode) {
  runtime::WriteRequest write = runtime::request_for(Delete{.target = {&kind, key}, .mode = mode});
  write.user = kAdministrator;
  auto done = impl_->admin_call(bridge::to_request(write));
  if (!done.ok()) {
    return std::move(done).error();
  }
  return {};
}

void World::vanish(const Kind& kind, const Key& key) {
  store::Store& store = *impl_->store;
  std::vector<store::StoredPtr> leaving;
  if (auto first = store.get(bridge::KindFeed::resource_of(kind), key)) {
    leaving.push_back(std::move(first));
  }
  for (std::size_t i = 0; i < leaving.size(); ++i) {
    for (store::StoredPtr& owned : store.owned_by(Object(leaving[i]->body).uid())) {
      const auto known = std::find_if(leaving.begin(), leaving.end(), [&](const auto& one) {
        return one->resource == owned->resource && one->key == owned->key;
      });
      if (known == leaving.end()) {
        leaving.push_back(std::move(owned));
      }
    }
  }
  std::vector<store::Write> writes;
  writes.reserve(leaving.size());
  for (const store::StoredPtr& one : leaving) {
    writes.push_back({.resource = one->resource, .key = one->key});
  }
  const std::size_t heard = impl_->loop_inbox.size();
  ATHANOR_CHECK(store.commit(writes, now()).ok(), "what is there can leave");
  // Nothing is left behind that the server's loops would have to look at.
  impl_->loop_inbox.resize(std::min(heard, impl_->loop_inbox.size()));
}

std::optional<Object> World::get(const Kind& kind, const Key& key) const {
  const auto stored = impl_->store->get(bridge::KindFeed::resource_of(kind), key);
  if (stored == nullptr) {
    return std::nullopt;
  }
  return Object(stored->body);
}

std::vector<Object> World::list(const Kind& kind, std::string_view ns) const {
  std::vector<Object> objects;
  const auto page =
      impl_->store->list(bridge::KindFeed::resource_of(kind), {.ns = std::string(ns)});
  if (page.ok()) {
    for (const store::StoredPtr& item : page->items) {
      objects.emplace_back(item->body);
    }
  }
  return objects;
}

}  // namespace athanor::sim
