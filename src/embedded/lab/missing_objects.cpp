// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/missing_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/condition_variable.hpp"
#include "base/contain.hpp"
#include "base/log.hpp"

namespace athanor::lab {
namespace {

// Limit of the first pass over the objects: webhooks that do not answer could hold a start for
// minutes. Only refused writes count, and of accepted ones the part beyond kPlainWrite: however
// slow the machine is, jobs must find the objects that the server accepts.
constexpr Duration kPatience = std::chrono::seconds(5);
constexpr Duration kPlainWrite = std::chrono::seconds(2);
constexpr std::chrono::milliseconds kFirstPause{500};
constexpr std::chrono::milliseconds kMostPause{10'000};

std::string name_of(const Value& object) {
  return fmt::format("{} {}", object["kind"].as_string(), object["metadata"]["name"].as_string());
}

std::string group_of(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string()
                                         : std::string(api_version.substr(0, slash));
}

std::string kind_mark(std::string_view group, std::string_view kind) {
  return fmt::format("kind/{}/{}", group, kind);
}
std::string namespace_mark(std::string_view name) {
  return fmt::format("ns/{}", name);
}

std::string finalizers_of(const Value& object) {
  std::string text;
  for (const Value* holder : {&object["metadata"], &object["spec"]}) {
    for (const Value& finalizer : (*holder)["finalizers"].items()) {
      text += (text.empty() ? "" : ", ") + finalizer.str();
    }
  }
  return text;
}

// Returns what a write uses up of kPatience.
Duration patience_for(Duration took, bool taken) {
  return std::max(Duration::zero(), taken ? took - kPlainWrite : took);
}

// Returns true for a document that no state of the server makes valid.
bool is_mistake(const Error& error) {
  const bool by_admission = error.message.find(" denied ") != std::string::npos;
  return !by_admission && (error.code == 400 || error.code == 404 || error.code == 422);
}

}  // namespace

struct MissingObjects::Thread {
  Mutex mutex{};
  ConditionVariable news{};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  std::thread thread{};
};

MissingObjects::MissingObjects(apiserver::Server& server, const Clock& clock)
    : installer_(server, clock), clock_(clock), thread_(std::make_unique<Thread>()) {}

MissingObjects::~MissingObjects() {
  stop();
}

void MissingObjects::add(Value object, std::string ns, Origin origin) {
  entries_.push_back({.object = std::move(object), .ns = std::move(ns), .origin = origin});
}

Result<void> MissingObjects::apply() {
  return try_all(true);
}

void MissingObjects::keep_trying() {
  if (entries_.empty()) {
    return;
  }
  thread_->thread = std::thread([this] {
    std::chrono::milliseconds pause = kFirstPause;
    while (!entries_.empty()) {
      {
        MutexLock lock(thread_->mutex);
        if (thread_->news.wait_for(lock, pause, [this]() ATHANOR_REQUIRES(thread_->mutex) {
              return thread_->stopping;
            })) {
          return;
        }
      }
      static_cast<void>(contain([this] { static_cast<void>(try_all(false)); }));
      pause = std::min(pause * 2, kMostPause);
    }
  });
}

void MissingObjects::stop() {
  {
    const MutexLock lock(thread_->mutex);
    thread_->stopping = true;
    thread_->news.notify_one();
  }
  if (thread_->thread.joinable()) {
    thread_->thread.join();
  }
}

std::vector<std::string> MissingObjects::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_;
}

bool MissingObjects::stopping() const {
  const MutexLock lock(thread_->mutex);
  return thread_->stopping;
}

// Returns why the object that the server has is not the lab's yet; empty: it is.
std::string MissingObjects::obstacle_of(const Installer::Applied& applied, Ending& ending) {
  const Value& object = applied.object;
  const std::string group = group_of(object["apiVersion"].as_string());
  const std::string_view kind = object["kind"].as_string();
  const Value& metadata = object["metadata"];
  if (metadata.contains("deletionTimestamp")) {
    if (group.empty() && kind == "Namespace") {
      ending.insert(namespace_mark(metadata["name"].as_string()));
    } else if (kind == "CustomResourceDefinition") {
      const Value& spec = object["spec"];
      ending.insert(kind_mark(spec["group"].as_string(), spec["names"]["kind"].as_string()));
    }
    const std::string finalizers = finalizers_of(object);
    return fmt::format("{}: is being deleted{}", name_of(object),
                       finalizers.empty() ? "" : fmt::format(" (finalizers: {})", finalizers));
  }
  if (ending.contains(namespace_mark(metadata["namespace"].as_string()))) {
    return fmt::format("{}: its namespace {} is being deleted", name_of(object),
                       metadata["namespace"].as_string());
  }
  if (ending.contains(kind_mark(group, kind))) {
    return fmt::format("{}: its CustomResourceDefinition is being deleted", name_of(object));
  }
  return applied.refusal ? applied.refusal->message : std::string();
}

Result<void> MissingObjects::try_all(bool first) {
  Duration held = Duration::zero();
  Ending ending;
  std::vector<Entry> left;
  std::vector<std::string> waiting;
  for (Entry& entry : entries_) {
    std::string why;
    if ((first && held > kPatience) || stopping()) {
      why = fmt::format("{}: was not tried yet", name_of(entry.object));
    } else {
      const Instant begun = clock_.now();
      const auto applied = installer_.apply(entry.object, entry.ns);
      held += patience_for(clock_.now() - begun, applied.ok() && !applied->refusal);
      if (!applied.ok() && first && entry.origin == Origin::File && waiting.empty() &&
          is_mistake(applied.error())) {
        return applied.error();
      }
      why = applied.ok() ? obstacle_of(*applied, ending) : applied.error().message;
      if (why.empty() && !applied->conflict.empty()) {
        log::warn("another manager changed the lab's object; it stays as it is",
                  {{"object", name_of(entry.object)}, {"why", applied->conflict}});
      }
    }
    if (why.empty()) {
      if (entry.told) {
        log::info("an object of the lab is there now", {{"object", name_of(entry.object)}});
      }
      continue;
    }
    if (!std::exchange(entry.told, true)) {
      log::warn("an object of the lab waits", {{"why", why}});
    }
    waiting.push_back(std::move(why));
    left.push_back(std::move(entry));
  }
  entries_ = std::move(left);
  const MutexLock lock(mutex_);
  waiting_ = std::move(waiting);
  return {};
}

}  // namespace athanor::lab
