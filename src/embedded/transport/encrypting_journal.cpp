// SPDX-License-Identifier: Apache-2.0
#include "embedded/transport/encrypting_journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kube/text/json.hpp"
#include "kube/value/value_extent.hpp"

namespace athanor::transport {
namespace {

using store::Event;
using store::EventPtr;
using store::Revision;
using store::Stored;
using store::StoredPtr;

// The one member, beside the revision, of an encrypted object's body.
constexpr std::string_view kEncrypted = "athanor.dev/encrypted";

std::string name_of(const Stored& object) {
  return fmt::format("{}/{}/{}", object.resource, object.key.ns, object.key.name);
}

class EncryptingJournal final : public store::Journal {
 public:
  EncryptingJournal(std::unique_ptr<store::Journal> inner, Encryption encryption)
      : inner_(std::move(inner)), encryption_(std::move(encryption)) {}

  Result<Recovered> recover() override {
    ATHANOR_TRY(Recovered recovered, inner_->recover());
    for (StoredPtr& object : recovered.objects) {
      ATHANOR_TRY(object, opened(object));
    }
    return recovered;
  }

  void append(Revision revision, std::span<const EventPtr> events,
              std::function<void(Result<void>)> done) override {
    if (std::ranges::none_of(events, [this](const EventPtr& event) {
          return encryption_.encrypts(event->object->resource);
        })) {
      return inner_->append(revision, events, std::move(done));
    }
    std::vector<EventPtr> kept(events.begin(), events.end());
    for (EventPtr& event : kept) {
      auto changed = sealed(event);
      if (!changed.ok()) {
        return done(changed.error());
      }
      event = *std::move(changed);
    }
    inner_->append(revision, kept, std::move(done));
  }

  Result<void> writable() override { return inner_->writable(); }
  void close() override { inner_->close(); }
  [[nodiscard]] std::optional<Reach> reach() const override { return inner_->reach(); }
  [[nodiscard]] Result<std::vector<EventPtr>> read(std::string_view resource, Revision after,
                                                   Revision until) override {
    ATHANOR_TRY(auto events, inner_->read(resource, after, until));
    for (EventPtr& event : events) {
      auto changed = std::make_shared<Event>(*event);
      ATHANOR_TRY(changed->object, opened(event->object));
      ATHANOR_TRY(changed->previous, opened(event->previous));
      event = std::move(changed);
    }
    return events;
  }
  void trim(Instant now) override { inner_->trim(now); }

 private:
  [[nodiscard]] Result<EventPtr> sealed(const EventPtr& event) const {
    ATHANOR_TRY(StoredPtr object, sealed_object(event->object));
    ATHANOR_TRY(StoredPtr previous, sealed_object(event->previous));
    if (object == event->object && previous == event->previous) {
      return event;
    }
    auto changed = std::make_shared<Event>(*event);
    changed->object = std::move(object);
    changed->previous = std::move(previous);
    return EventPtr(std::move(changed));
  }

  [[nodiscard]] Result<StoredPtr> sealed_object(const StoredPtr& object) const {
    if (object == nullptr || !encryption_.encrypts(object->resource)) {
      return object;
    }
    ATHANOR_TRY(const auto text,
                encryption_.encrypt(object->resource, name_of(*object), json::print(object->body)));
    if (!text) {
      return object;
    }
    auto changed = std::make_shared<Stored>(*object);
    const Value& revision = object->body["metadata"]["resourceVersion"];
    changed->body = Value::object(
        {{"metadata", Value::object({{"resourceVersion", revision}})}, {kEncrypted, *text}});
    return StoredPtr(std::move(changed));
  }

  [[nodiscard]] Result<StoredPtr> opened(const StoredPtr& object) const {
    if (object == nullptr || !object->body.contains(kEncrypted)) {
      return object;
    }
    const auto failed = [&](const Error& error) {
      return error.with_context(fmt::format("{} is encrypted", name_of(*object)));
    };
    const auto text = encryption_.decrypt(object->resource, name_of(*object),
                                          object->body[kEncrypted].as_string());
    if (!text.ok()) {
      return failed(text.error());
    }
    auto body = json::parse(*text, {.max_depth = static_cast<int>(kMaxRowLevels)});
    if (!body.ok()) {
      return failed(body.error());  // CBC does not notice a wrong key itself
    }
    auto changed = std::make_shared<Stored>(*object);
    changed->body = *std::move(body);
    return StoredPtr(std::move(changed));
  }

  std::unique_ptr<store::Journal> inner_;
  const Encryption encryption_;
};

}  // namespace

std::unique_ptr<store::Journal> encrypting_journal(std::unique_ptr<store::Journal> inner,
                                                   Encryption encryption) {
  return std::make_unique<EncryptingJournal>(std::move(inner), std::move(encryption));
}

}  // namespace athanor::transport
