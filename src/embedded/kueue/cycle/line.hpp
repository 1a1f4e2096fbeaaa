// SPDX-License-Identifier: Apache-2.0
// What waits for one ClusterQueue, best head first (docs/spec/kueue.md 7.2).
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "embedded/kueue/cycle/snapshot.hpp"
#include "embedded/kueue/cycle/waiting.hpp"

namespace athanor::kueue {

// The pending workloads of one ClusterQueue during one cycle. The queue must outlive it. Not
// thread-safe.
class Line {
 public:
  // Puts workloads that wait for their own preemptions first under BestEffortFIFO.
  Line(const ClusterQueue& queue, RequeueTimestamp timestamp)
      : queue_(&queue), timestamp_(timestamp) {}

  void add(Shape shape) {
    if (!queue_->strict_fifo) {
      shape.put_preemptors_first();
    }
    shapes_.push_back(std::move(shape));
    queue_head(shapes_.size() - 1);
  }
  [[nodiscard]] const ClusterQueue& queue() const { return *queue_; }
  [[nodiscard]] bool has_head() const { return !blocked_ && !heads_.empty(); }
  [[nodiscard]] std::vector<Shape>& shapes() { return shapes_; }
  [[nodiscard]] Shape& shape() { return shapes_[heads_.begin()->second]; }
  [[nodiscard]] const QueueOrder& order() const { return std::get<1>(heads_.begin()->first); }
  [[nodiscard]] const Object& head() { return *shape().head(); }
  // Takes the head, which was admitted.
  void take() {
    const std::size_t index = heads_.begin()->second;
    shapes_[index].take();
    heads_.erase(heads_.begin());
    queue_head(index);
  }
  // Leaves the head and all of its shape waiting.
  void drop_shape() { heads_.erase(heads_.begin()); }
  // Ends the line for this run: workloads behind the head are not considered.
  void block() { blocked_ = true; }
  // Keeps these flavors from workloads behind the head.
  void keep_flavors(const std::set<std::string>& flavors) {
    kept_flavors_.insert(flavors.begin(), flavors.end());
  }
  [[nodiscard]] bool keeps(const std::string& flavor) const {
    return kept_flavors_.contains(flavor);
  }

 private:
  void queue_head(std::size_t index) {
    if (const Object* head = shapes_[index].head()) {
      const bool sticky = !queue_->strict_fifo && awaits_preemption(*head);
      heads_.emplace(std::tuple(!sticky, queue_order(*head, timestamp_)), index);
    }
  }

  const ClusterQueue* queue_ = nullptr;
  RequeueTimestamp timestamp_ = RequeueTimestamp::Eviction;
  std::vector<Shape> shapes_{};
  std::map<std::tuple<bool, QueueOrder>, std::size_t> heads_{};  // shapes, by the order of heads
  std::set<std::string> kept_flavors_{};
  bool blocked_ = false;
};

}  // namespace athanor::kueue
