// SPDX-License-Identifier: Apache-2.0
// Inputs and results of a handler of the console.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "console/access/access.hpp"
#include "console/data/sight.hpp"
#include "console/history/history.hpp"
#include "console/logs/log_archive.hpp"
#include "console/logs/log_cache.hpp"
#include "console/logs/log_follower.hpp"
#include "console/model/list_query.hpp"
#include "console/model/settings.hpp"
#include "console/model/simulator.hpp"
#include "console/pages/page_files.hpp"
#include "console/stream/board.hpp"
#include "console/world/api_port.hpp"
#include "console/world/world.hpp"
#include "kube/value/value.hpp"
#include "net/http.hpp"

namespace athanor::console {

// Collaborators of the handlers; all outlive them.
struct Services {
  const Settings& settings;
  const Clock& clock;
  World& world;
  Board& board;
  History& history;
  Access& access;
  const ApiPort& port;
  LogArchive& logs;
  LogFollower& follower;
  LogCache& read_logs;
  Simulator simulator{};                 // never empty
  const ApiPort* controllers = nullptr;  // their endpoints; null: none are configured
  PageFiles files{};
  std::string version{};
  bool embedded = false;               // served by `athanor up`
  std::atomic<int> result_readers{0};  // requests that wait for a pod with results
  std::atomic<bool> simulates{false};  // a request waits for the simulator
};

struct Route;

// One request with who sent it.
struct Exchange {
  const net::Request& request;
  Services& services;
  const Route& route;
  Session session{};
  std::map<std::string, std::string, std::less<>> path{};  // parts by name
  Value body{};                                            // of JSON
  std::map<std::string, std::string, std::less<>> form{};
  [[nodiscard]] const std::string& part(std::string_view name) const;
  // Returns the first value of a parameter of the query, or nullopt. The route's row lists the
  // name.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
  // Returns its first value as a text; `otherwise` where the query has none.
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise = {}) const;
  // Returns all values of such a parameter.
  [[nodiscard]] std::vector<std::string_view> parameters(std::string_view name) const;
  [[nodiscard]] Instant now() const { return services.clock.now(); }
  [[nodiscard]] const Viewer& viewer() const { return session.viewer; }
};

// Answers with a value as JSON.
net::Response answer_value(const Value& value, int status = 200);
// Answers with an error: {"error": {code, reason, message, field}} (docs/spec/dashboard.md B5).
net::Response answer_error(const Error& error, std::string_view field = {},
                           std::string_view token = {});
// Answers as the routes of Part A do: {"detail": "..."}.
net::Response answer_detail(int status, std::string_view detail);
net::Response answer_text(std::string body, std::string content_type, int status = 200);

// Notes a change for the audit log.
void note_change(Exchange& exchange, std::string_view action, std::string_view object,
                 const Error* error);

// Returns true if the viewer may list the kind in the namespace of a row.
Visible visible_namespaces(Exchange& exchange, const Kind& kind);

// Returns the namespaces whose jobs and pods the viewer may list.
Sight sight_of(Exchange& exchange);

// Returns the items of a list in namespaces that are visible.
Value visible_items(const Value& list, const Visible& visible);

// Returns true if the viewer may list the kind everywhere.
bool may_list(Exchange& exchange, const Kind& kind);
// Answers 403: the viewer may not list the kind.
net::Response deny(const Kind& kind);

// Reads a list of a topic: rows that the viewer may see, filtered, sorted, cut. It is partial if
// the viewer may not see all objects of the kind, or of the kind that its rows name.
net::Response answer_list(Exchange& exchange, const ListShape& shape, const Kind& kind,
                          const Rows& rows, const Kind* named = nullptr);

// Returns namespace and name in the path.
Key path_key(const Exchange& exchange);

// Answers what `make` makes of the object that the query names by apiVersion, kind, ns and name, if
// pages show such a kind and the viewer may get it.
net::Response with_named_object(
    Exchange& exchange,
    const std::function<net::Response(const Kind& kind, const Object& object)>& make);

}  // namespace athanor::console
