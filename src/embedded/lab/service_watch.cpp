// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/service_watch.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace athanor::lab {
namespace {

constexpr std::string_view kServices = "services";
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
  listening_ =
      store.listen([this, changed = std::move(changed)](std::span<const store::EventPtr> events) {
        const bool concerned = std::ranges::any_of(events, [](const store::EventPtr& event) {
          return event->object->resource == kServices || event->object->resource == kSlices;
        });
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

nodes::ServiceTablePtr ServiceWatch::table() {
  const MutexLock lock(mutex_);
  if (stale_) {
    stale_ = false;  // before it is read: a commit meanwhile makes it stale again
    const std::vector<Value> services = bodies(store_, kServices);
    const std::vector<Value> slices = bodies(store_, kSlices);
    table_ =
        std::make_shared<const nodes::ServiceTable>(nodes::make_service_table(services, slices));
  }
  return table_;
}

}  // namespace athanor::lab
