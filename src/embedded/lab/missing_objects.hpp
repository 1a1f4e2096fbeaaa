// SPDX-License-Identifier: Apache-2.0
// The objects that a lab has by definition and that its server lacks. A start tries all of them;
// what is refused is tried again beside the controllers, as only a running lab ends the deletion of
// a namespace, and only its users change a quota, a policy or a webhook.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "embedded/lab/installer.hpp"

namespace athanor::lab {

// add(), apply(), keep_trying() and stop() from one thread, in this order; waiting() from any.
class MissingObjects {
 public:
  // Who wrote an object: a mistake in a file is the error of its author's first start.
  enum class Origin : std::uint8_t { Program, File };

  // Requires that both outlive it.
  MissingObjects(apiserver::Server& server, const Clock& clock);
  MissingObjects(const MissingObjects&) = delete;
  MissingObjects& operator=(const MissingObjects&) = delete;
  ~MissingObjects();  // stops

  // Adds an object; without a namespace it goes to `ns` if its kind has one.
  void add(Value object, std::string ns, Origin origin);
  // Applies what is missing, in the order of add(), until refusals and slow webhooks have taken
  // about five seconds. Errors: an object of a file that no server would take.
  Result<void> apply();
  // Applies what is still missing again and again, on a thread of its own, until nothing is.
  void keep_trying();
  void stop();

  // Returns "Kind name: reason" of what is missing.
  [[nodiscard]] std::vector<std::string> waiting() const;

 private:
  struct Entry {
    Value object{};
    std::string ns{};
    Origin origin = Origin::Program;
    bool told = false;  // the log says that it waits
  };
  struct Thread;
  // "ns/NAME" and "kind/GROUP/KIND" of what is being deleted, with all that belongs to it.
  using Ending = std::set<std::string>;

  Result<void> try_all(bool first);
  static std::string obstacle_of(const Installer::Applied& applied, Ending& ending);
  [[nodiscard]] bool stopping() const;

  Installer installer_;
  const Clock& clock_;
  std::vector<Entry> entries_{};  // of the thread, once it runs
  std::unique_ptr<Thread> thread_;
  mutable Mutex mutex_{};
  std::vector<std::string> waiting_ ATHANOR_GUARDED_BY(mutex_){};
};

}  // namespace athanor::lab
