// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/serving/local_services.hpp"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "embedded/bridge/in_process_webhooks.hpp"
#include "embedded/bridge/store_snapshot.hpp"
#include "kube/text/json.hpp"

namespace athanor::lab {
namespace {

constexpr int kNotAllowed = 405;

struct Url {
  std::string host{}, path{}, query{};
};
Url url_parts_of(std::string_view url) {
  constexpr std::string_view kScheme = "https://";
  Url parts;
  if (url.starts_with(kScheme)) {
    url.remove_prefix(kScheme.size());
  }
  const std::size_t slash = std::min(url.find('/'), url.size());
  const std::string_view authority = url.substr(0, slash);
  parts.host = authority.substr(0, authority.find(':'));
  url.remove_prefix(slash);
  const std::size_t mark = std::min(url.find('?'), url.size());
  parts.path = url.substr(0, mark);
  parts.query = url.substr(std::min(mark + 1, url.size()));
  return parts;
}

// What a question needs; immutable once the lab runs.
struct Served {
  std::map<std::string, const ServedGroup*, std::less<>> groups{};
  SystemConfig config{};
  std::vector<Index> indexes{};
  bridge::StoredForms forms{};
  std::function<const store::Store&()> store{};
  std::function<Instant()> clock{};
};

std::unique_ptr<apiserver::OutsideAnswer> answer(const Served& served,
                                                 const apiserver::OutsideRequest& request) {
  const Url url = url_parts_of(request.url);
  const auto group = served.groups.find(url.host);
  if (group == served.groups.end()) {
    return nullptr;
  }
  auto reply = std::make_unique<apiserver::OutsideAnswer>();
  reply->headers = {{"content-type", "application/json"}};
  if (request.method != "GET") {
    reply->status = kNotAllowed;
    reply->body = R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":405,)"
                  R"("reason":"MethodNotAllowed","message":"this API is read-only"})";
    return reply;
  }
  const bridge::AnswerQuery nothing;
  const Instant now = served.clock();
  bridge::StoreSnapshot snapshot(served.store(), served.config, served.indexes, nothing, now);
  snapshot.read_by(served.forms);
  Reads reads;
  const GroupAnswer said = group->second->answer(
      View(snapshot, reads), {.path = url.path, .query = url.query, .now = now});
  reply->status = said.code;
  reply->body = json::print(said.body);
  return reply;
}

}  // namespace

LocalServices local_services(Systems systems, const SystemConfig& config,
                             std::function<const store::Store&()> store,
                             std::function<Instant()> clock) {
  auto served = std::make_shared<Served>(
      Served{.config = config, .store = std::move(store), .clock = std::move(clock)});
  served->forms = bridge::stored_forms(systems);
  for (const System* system : systems) {
    if (system->served_group != nullptr) {
      served->groups.emplace(system->served_group->host, system->served_group);
    }
    for (const Operator* op : system->operators) {
      served->indexes.insert(served->indexes.end(), op->indexes.begin(), op->indexes.end());
    }
  }
  return [served](const apiserver::OutsideRequest& request) { return answer(*served, request); };
}

}  // namespace athanor::lab
