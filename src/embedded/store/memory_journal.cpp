// SPDX-License-Identifier: Apache-2.0
// A journal that keeps nothing: every commit counts as durable at once.
#include "embedded/store/store.hpp"

namespace athanor::store {
namespace {

class MemoryJournal final : public Journal {
 public:
  Result<Recovered> recover() override { return Recovered{}; }
  void append(Revision /*revision*/, std::span<const EventPtr> /*events*/,
              std::function<void(Result<void>)> done) override {
    done({});
  }
  Result<void> writable() override { return {}; }
  void close() override {}
};

}  // namespace

Result<std::vector<EventPtr>> Journal::read(std::string_view /*resource*/, Revision after,
                                            Revision /*until*/) {
  return Error{.code = 410,
               .reason = "Expired",
               .message = "the journal keeps no history behind " + std::to_string(after)};
}

bool is_volatile(std::string_view resource) {
  return resource == "events" || resource == "events.events.k8s.io";
}

std::unique_ptr<Journal> memory_journal() {
  return std::make_unique<MemoryJournal>();
}

}  // namespace athanor::store
