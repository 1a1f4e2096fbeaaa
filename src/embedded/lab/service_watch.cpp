// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/service_watch.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace athanor::lab {
namespace {

constexpr std::string_view kServices = "services";
constexpr std::string_view kPods = "pods";
constexpr std::string_view kSlices = "endpointslices.discovery.k8s.io";

std::vector<Value> bodies(const store::Store& store, std::string_view resource) {
  std::vector<Value> result;
  const auto page = store.list(resource, {});
  if (page.ok()) {
    result.reserve(page->items.size());
    for (const store::StoredPtr& stored : page->items) {
      result.push_back(stored->body);
    }
  }
  return result;
}

}  // namespace

void ServiceWatch::listen(store::Store& store, std::function<void()> changed) {
  {
    const std::vector<Value> pods = bodies(store, kPods);
    const MutexLock lock(mutex_);
    for (const Value& pod : pods) {
      if (nodes::has_host_ports(pod)) {
        pods_.emplace(Key{pod["metadata"]["namespace"].str(), pod["metadata"]["name"].str()}, pod);
      }
    }
  }
  listening_ =
      store.listen([this, changed = std::move(changed)](std::span<const store::EventPtr> events) {
        bool concerned = false;
        for (const store::EventPtr& event : events) {
          concerned = take(*event) || concerned;
        }
        if (!concerned) {
          return;
        }
        {
          const MutexLock lock(mutex_);
          stale_ = true;
        }
        changed();
      });
}

bool ServiceWatch::take(const store::Event& event) {
  const store::Stored& object = *event.object;
  if (object.resource != kPods) {
    return object.resource == kServices || object.resource == kSlices;
  }
  const bool has = event.type != store::Event::Type::Deleted && nodes::has_host_ports(object.body);
  const MutexLock lock(mutex_);
  if (!has) {
    return pods_.erase(object.key) > 0;
  }
  pods_.insert_or_assign(object.key, object.body);
  return true;
}

nodes::ServiceTablePtr ServiceWatch::table() {
  const MutexLock lock(mutex_);
  if (stale_) {
    stale_ = false;  // before it is read: a commit meanwhile makes it stale again
    const std::vector<Value> services = bodies(store_, kServices);
    const std::vector<Value> slices = bodies(store_, kSlices);
    std::vector<Value> pods;
    pods.reserve(pods_.size());
    for (const auto& [key, pod] : pods_) {
      pods.push_back(pod);
    }
    // The pod that started first keeps a host port.
    std::ranges::stable_sort(pods, {}, [](const Value& pod) {
      return std::string(pod["status"]["startTime"].as_string());
    });
    table_ = std::make_shared<const nodes::ServiceTable>(
        nodes::make_service_table(services, slices, pods));
  }
  return table_;
}

}  // namespace athanor::lab
