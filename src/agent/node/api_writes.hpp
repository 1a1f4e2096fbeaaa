// SPDX-License-Identifier: Apache-2.0
// Steps that the agent carries out itself, while a kubelet waits, instead of through the engine.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "client/api_client.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"

namespace athanor::runtime {
class EventRecorder;
}

namespace athanor::agent {

// Thread-safe.
class ApiWrites {
 public:
  ApiWrites(std::shared_ptr<client::ApiClient> client, const Clock& clock, Entropy& entropy);
  ~ApiWrites();
  ApiWrites(const ApiWrites&) = delete;
  ApiWrites& operator=(const ApiWrites&) = delete;

  // Sends all at once and waits for every answer: the objects as they are now, in order. What is to
  // be deleted and is gone counts as deleted. The first error, else.
  Result<std::vector<Object>> run(const std::vector<Step>& steps);
  // Sends an event and does not wait.
  void tell(const Emit& event);
  // Returns the object. Error NotFound: there is none; another one: no answer within `patience`.
  Result<Object> get(const Ref& ref, Duration patience = std::chrono::seconds(5));

 private:
  std::shared_ptr<client::ApiClient> client_;
  const Clock& clock_;
  Mutex mutex_{};
  std::unique_ptr<runtime::EventRecorder> recorder_ ATHANOR_PT_GUARDED_BY(mutex_);
};

}  // namespace athanor::agent
