// SPDX-License-Identifier: Apache-2.0
#include "embedded/workloads/network/endpoint_slices.hpp"

#include <fmt/core.h>

#include <map>
#include <set>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/network/endpoint_pods.hpp"
#include "kube/text/json.hpp"

namespace athanor::workloads {
namespace {

std::string identity(const Value& endpoint) {
  const std::string_view uid = endpoint["targetRef"]["uid"].as_string();
  return uid.empty() ? endpoint["addresses"][0].str() : std::string(uid);
}

bool same(const Value& a, const Value& b) {
  return a == b || (a.empty() && b.empty());
}

class Packer {
 public:
  Packer(const SliceSettings& settings, const std::vector<Object>& present)
      : settings_(settings), present_(present), taken_(names_of(present)) {}

  Plan pack(const std::vector<SliceWish>& wishes) {
    for (const SliceWish& wish : wishes) {
      if (!wish.endpoints.empty()) {
        pack(wish);
      }
    }
    if (written_ == 0 && settings_.keeps_one_empty) {
      keep_one_empty();
    }
    for (const Object& slice : present_) {
      if (!kept_.contains(std::string(slice.name())) && !slice.deleting()) {
        plan_.then(Delete{.target = {&api::kEndpointSlice, slice.key()},
                          .guard = {.uid = std::string(slice.uid())}});
      }
    }
    return std::move(plan_);
  }

 private:
  void pack(const SliceWish& wish) {
    std::map<std::string, Value> waiting;
    std::vector<std::string> order;
    for (const Value& endpoint : wish.endpoints) {
      if (waiting.emplace(identity(endpoint), endpoint).second) {
        order.push_back(identity(endpoint));
      }
    }
    std::vector<std::pair<const Object*, std::vector<Value>>> slices;
    for (const Object& slice : present_) {
      if (slice.deleting() || slice.body()["addressType"].as_string() != wish.address_type ||
          !same(slice.body()["ports"], wish.ports)) {
        continue;
      }
      std::vector<Value> stays;
      for (const Value& endpoint : slice.body()["endpoints"].items()) {
        if (const auto found = waiting.find(identity(endpoint)); found != waiting.end()) {
          stays.push_back(found->second);
          waiting.erase(found);
        }
      }
      if (!stays.empty()) {
        slices.emplace_back(&slice, std::move(stays));
      }
    }
    std::vector<Value> left;
    for (const std::string& name : order) {
      if (const auto found = waiting.find(name); found != waiting.end()) {
        left.push_back(found->second);
      }
    }
    fill(wish, slices, left);
  }

  void fill(const SliceWish& wish,
            std::vector<std::pair<const Object*, std::vector<Value>>>& slices,
            const std::vector<Value>& left) {
    auto next = left.begin();
    for (auto& [slice, endpoints] : slices) {
      while (next != left.end() && endpoints.size() < settings_.most) {
        endpoints.push_back(*next++);
      }
      write(slice, wish, Value::list(std::move(endpoints)));
    }
    while (next != left.end()) {
      std::vector<Value> endpoints;
      while (next != left.end() && endpoints.size() < settings_.most) {
        endpoints.push_back(*next++);
      }
      write(reusable(wish), wish, Value::list(std::move(endpoints)));
    }
  }

  // A slice that no endpoints keep: an empty one, or one whose ports are no longer wanted.
  const Object* reusable(const SliceWish& wish) {
    for (const Object& slice : present_) {
      if (!slice.deleting() && slice.body()["endpoints"].empty() &&
          slice.body()["addressType"].as_string() == wish.address_type &&
          !kept_.contains(std::string(slice.name()))) {
        return &slice;
      }
    }
    return nullptr;
  }

  void keep_one_empty() {
    const Object* first = nullptr;
    for (const Object& slice : present_) {
      if (!slice.deleting() && slice.body()["addressType"].as_string() == "IPv4") {
        first = &slice;
        break;
      }
    }
    write(first, {}, Value::list());
  }

  void write(const Object* slice, const SliceWish& wish, const Value& endpoints) {
    ++written_;
    if (slice == nullptr) {
      create(wish, endpoints);
      return;
    }
    kept_.emplace(slice->name());
    if (same(slice->body()["endpoints"], endpoints) && same(slice->body()["ports"], wish.ports) &&
        slice->metadata()["labels"] == settings_.labels) {
      return;
    }
    Value body = slice->body();
    body.set("endpoints", endpoints);
    body.set("ports", wish.ports);
    Value& metadata = body.member("metadata");
    metadata.set("labels", settings_.labels);
    if (!settings_.annotations.empty()) {
      metadata.set("annotations", settings_.annotations);
    }
    plan_.then(Replace{.target = {&api::kEndpointSlice, slice->key()}, .object = std::move(body)});
  }

  void create(const SliceWish& wish, const Value& endpoints) {
    std::string name;
    for (int attempt = 0; name.empty() || !taken_.insert(name).second; ++attempt) {
      name = hashed_name(settings_.name_prefix, fmt::format("{}/{}", settings_.name_seed, attempt));
    }
    Value metadata = Value::object({{"name", name},
                                    {"generateName", settings_.name_prefix},
                                    {"namespace", settings_.ns},
                                    {"labels", settings_.labels},
                                    {"ownerReferences", Value::list({settings_.owner})}});
    if (!settings_.annotations.empty()) {
      metadata.set("annotations", settings_.annotations);
    }
    plan_.then(Create{.target = {&api::kEndpointSlice, {settings_.ns, name}},
                      .object = Value::object({{"apiVersion", "discovery.k8s.io/v1"},
                                               {"kind", "EndpointSlice"},
                                               {"metadata", metadata},
                                               {"addressType", wish.address_type},
                                               {"endpoints", endpoints},
                                               {"ports", wish.ports}})});
  }

  const SliceSettings& settings_;
  const std::vector<Object>& present_;
  std::set<std::string> taken_;
  std::set<std::string> kept_{};
  std::size_t written_ = 0;
  Plan plan_{};
};

}  // namespace

Plan plan_slices(const SliceSettings& settings, const std::vector<Object>& present,
                 const std::vector<SliceWish>& wishes) {
  return Packer(settings, present).pack(wishes);
}

}  // namespace athanor::workloads
