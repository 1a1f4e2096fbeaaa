// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/live_list.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "base/clock.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/verbs.hpp"
#include "kube/text/json.hpp"

namespace athanor::cli {
namespace {

constexpr Duration kListPoll = std::chrono::milliseconds(250);

}  // namespace

LiveList::LiveList(Session& session, LiveListOptions options, Handlers handlers)
    : session_(session),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      reconnection_(options_.what_runs, options_.patience) {}

std::string LiveList::path() const {
  std::string url = Session::path(*options_.kind, options_.ns) + "?";
  if (!options_.name.empty()) {
    url += "fieldSelector=" + client::escape("metadata.name=" + options_.name) + "&";
  }
  return url;
}

int LiveList::run() {
  while (!error_) {
    const Instant now = wall_clock()->now();
    if (interrupt_.came()) {
      return kInterrupted;
    }
    if (reconnection_.lost(now)) {
      Terminal(STDERR_FILENO)
          .print(fmt::format("athanor: the API server is away ({}); {}\n", reconnection_.why(),
                             options_.goes_on));
      return kOutcomeUnknown;
    }
    if (!open_ && reconnection_.due(now)) {
      connect(now);
    }
    session_.connection().run(kListPoll);
    if (handlers_.tick) {
      handlers_.tick(now);
    }
  }
  return fail(*error_);
}

// Lists where the watch cannot go on; shows what changed meanwhile and reports what is gone.
void LiveList::connect(Instant now) {
  if (version_.empty()) {
    const auto list = session_.connection().call({.path = path()});
    if (!list.ok()) {
      return refused(list.error(), now);
    }
    reconnection_.answered();
    version_ = (*list)["metadata"]["resourceVersion"].str();
    std::set<Key> there;
    for (Value item : (*list)["items"].items()) {
      item.set("apiVersion", options_.kind->api_version());
      item.set("kind", options_.kind->name);
      const Object object(std::move(item));
      there.insert(object.key());
      show(object);
    }
    for (auto entry = shown_.begin(); entry != shown_.end();) {
      if (there.contains(entry->first)) {
        ++entry;
        continue;
      }
      handlers_.gone(entry->first);
      entry = shown_.erase(entry);
    }
  }
  open();
}

void LiveList::open() {
  open_ = true;
  stream_ =
      session_.connection().stream(fmt::format("{}watch=true&resourceVersion={}", path(), version_),
                                   {.line = [this](std::string_view line) { on_line(line); },
                                    .ended =
                                        [this](const Result<void>& outcome) {
                                          open_ = false;
                                          if (!outcome.ok()) {
                                            version_.clear();
                                            refused(outcome.error(), wall_clock()->now());
                                          }
                                        }});
}

void LiveList::refused(const Error& error, Instant now) {
  if (reconnection_.is_final(error, now)) {
    error_ = error;
  }
}

void LiveList::on_line(std::string_view line) {
  const auto event = json::parse(line);
  if (!event.ok()) {
    return;
  }
  const std::string_view type = (*event)["type"].as_string();
  const Object object((*event)["object"]);
  if (type == "ERROR") {
    version_.clear();
    stream_.reset();
    open_ = false;
    return;
  }
  reconnection_.answered();
  version_ = std::string(object.resource_version());
  if (type == "DELETED") {
    handlers_.gone(object.key());
    shown_.erase(object.key());
  } else if (type != "BOOKMARK") {
    show(object);
  }
}

void LiveList::show(const Object& object) {
  std::string& version = shown_[object.key()];
  if (std::exchange(version, std::string(object.resource_version())) != object.resource_version()) {
    handlers_.shown(object);
  }
}

}  // namespace athanor::cli
