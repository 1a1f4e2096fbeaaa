// SPDX-License-Identifier: Apache-2.0
// The workloads that wait for quota, as the engine's caches keep them: by queue, by what decides
// about them, by their last message, each group in queue order. A cycle looks at the heads of
// groups, so that ten thousand equal workloads cost as much as one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kueue_integration.hpp"
#include "embedded/kueue/model/workload_info.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// A Workload with this label holds, or waits for, all of the flavor that the label names; later
// ones are not admitted before it (docs/spec/hearth.md 9.5).
inline constexpr std::string_view kLockLabel = "fournos.dev/cluster-lock";

using api::kueue::kGatedBy;

// Returns true if a workload is active, without quota, neither finished nor being deleted.
bool is_waiting(const Object& workload);
// Returns the index "kueue-waiting": "all" while a workload waits.
const Index& waiting_index();
// Returns the index "kueue-waiting-in": "namespace/queue" while a workload waits.
const Index& waiting_in_index();
// Returns the select of waiting_in_index() for one LocalQueue.
Select waiting_in(const Key& local_queue);
// Returns a digest of reason and message of a QuotaReserved False condition; empty without a
// reason.
std::string message_digest(std::string_view reason, std::string_view message);

// Returns true if the message of a waiting workload cannot wait for a later run: it has none, or
// one that promises preemptions and gives it a place before others.
bool is_message_due(const Object& workload);

// Workloads of one LocalQueue that the rules of admission treat alike: the same requests, the same
// state of checks and of requeueing.
class Shape {
 public:
  // Groups of one shape, as waiting_shapes finds them.
  Shape(const View& view, RequeueTimestamp timestamp) : view_(view), timestamp_(timestamp) {}
  void add_group(std::string group, std::string message_digest);

  // Puts workloads that wait for their own preemptions first from now on (7.2).
  void put_preemptors_first();
  // Returns the first in queue order that was not taken; nullptr at the end.
  [[nodiscard]] const Object* head();
  void take();
  // Returns those not taken whose last message has another digest.
  [[nodiscard]] std::vector<Object> with_other_message(std::string_view digest);
  // Returns true if any of them, taken or not, has a message with another digest, or none.
  [[nodiscard]] bool has_other_message(std::string_view digest) const;
  // Returns those of with_other_message() for which is_message_due().
  [[nodiscard]] std::vector<Object> with_due_message(std::string_view digest);
  // Returns true if all of them, taken or not, have a message.
  [[nodiscard]] bool has_message() const;
  // Returns those not taken that have no message.
  [[nodiscard]] std::vector<Object> without_message();

 private:
  struct Entries {
    std::string group{};
    std::string message_digest{};  // of all of the group
    std::vector<Object> read{};    // a part of the group
    std::size_t next = 0;
    bool whole = false;  // nothing behind `read`
  };
  [[nodiscard]] const Object* head_of(Entries& entries);
  template <typename Chosen>
  [[nodiscard]] std::vector<Object> rest_of(const Chosen& chosen);

  const View& view_;
  RequeueTimestamp timestamp_;
  std::vector<Entries> groups_{};
  bool preemptors_first_ = false;
  Entries* first_ = nullptr;  // the group of head(); nullptr: not known
};

// A shape with the LocalQueue of its workloads.
struct WaitingShape {
  Key local_queue{};
  Shape shape;
};
// Returns every shape that waits, by LocalQueue.
std::vector<WaitingShape> waiting_shapes(const View& view, RequeueTimestamp timestamp);

}  // namespace athanor::kueue
