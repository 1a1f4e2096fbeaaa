// SPDX-License-Identifier: Apache-2.0
// The one table of the console's routes: requests are dispatched by it, and openapi.json is made
// from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "console/model/row_table.hpp"
#include "console/routes/exchange.hpp"
#include "net/http.hpp"

namespace athanor::console {

// How a route is protected. Open: without a session. Read: with one. Change: also with Origin and
// CSRF, refused when read-only.
enum class Guard : std::uint8_t { Open, Read, Change };

// One route.
struct Route {
  std::string_view method{};
  std::string_view path{};  // "/api/v1/jobs/{ns}/{name}"
  std::string_view summary{};
  net::Response (*handle)(Exchange& exchange) = nullptr;
  Guard guard = Guard::Read;
  const ListShape& (*shape)() = nullptr;       // of a list
  std::vector<std::string_view> parameters{};  // of the query, besides those of lists
  std::string_view content_type = "application/json";
  std::vector<std::string_view> body{};  // members of a JSON body: "ttl", "transfer:boolean"
};

// Returns all routes, in the order of the description.
std::span<const Route> all_routes();

// A route with the parts of a path.
struct FoundRoute {
  const Route* route = nullptr;
  std::map<std::string, std::string, std::less<>> parts{};
};
// Returns the route of a method and a path; nullptr with an error 404 or 405.
Result<FoundRoute> find_route(std::string_view method, std::string_view path);

// Returns the names that the query of a request to the route may have.
std::vector<std::string_view> query_names(const Route& route);
// Checks that the query of a request has no other names than the route's; those of Part A take
// any. The error's message names the first one, `unknown`, and those that are known.
Result<void> check_query(const Route& route, const net::Request& request, std::string& unknown);

// Checks that a JSON body has no other members than the route's; a body that is a whole object,
// and one of Part A, may have any. The error is as that of check_query.
Result<void> check_body(const Route& route, const Value& body, std::string& unknown);

// Returns the description of all routes in the form of OpenAPI 3.
Value openapi_document(std::string_view version);

// Returns the routes of each area.
std::vector<Route> job_routes();
std::vector<Route> fleet_routes();
std::vector<Route> appwrapper_routes();
std::vector<Route> node_routes();
std::vector<Route> system_routes();
std::vector<Route> schedule_routes();
std::vector<Route> log_routes();
std::vector<Route> result_routes();
std::vector<Route> what_if_routes();
std::vector<Route> tree_routes();
std::vector<Route> legacy_routes();

}  // namespace athanor::console
