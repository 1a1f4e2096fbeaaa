// SPDX-License-Identifier: Apache-2.0
#include "console/routes/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/builtin.hpp"
#include "console/data/features.hpp"
#include "console/data/job_rows.hpp"
#include "kube/text/json.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::console {
namespace {

// The words of B5 for the API server's reasons.
std::string reason_of(const Error& error) {
  constexpr std::pair<int, std::string_view> kByCode[] = {
      {400, "BadRequest"}, {401, "Unauthorized"}, {403, "Forbidden"}, {404, "NotFound"},
      {409, "Conflict"},   {421, "BadRequest"},   {422, "Invalid"}};
  for (const auto& [code, reason] : kByCode) {
    if (code == error.code) {
      return std::string(reason);
    }
  }
  return "Unavailable";
}

int status_of(const Error& error) {
  return error.code >= 400 && error.code < 600 ? error.code : 500;
}

}  // namespace

const std::string& Exchange::part(std::string_view name) const {
  static const std::string kNone;
  const auto found = path.find(name);
  return found == path.end() ? kNone : found->second;
}

net::Response answer_value(const Value& value, int status) {
  return {.status = status, .body = json::print(value)};
}

net::Response answer_error(const Error& error, std::string_view field, std::string_view token) {
  Value body = Value::object(
      {{"code", status_of(error)}, {"reason", reason_of(error)}, {"message", error.message}});
  if (!field.empty()) {
    body.set("field", field);
  }
  if (!token.empty()) {
    body.set("token", token);
  }
  return answer_value(Value::object({{"error", std::move(body)}}), status_of(error));
}

net::Response answer_detail(int status, std::string_view detail) {
  return answer_value(Value::object({{"detail", detail}}), status);
}

net::Response answer_text(std::string body, std::string content_type, int status) {
  return {.status = status, .content_type = std::move(content_type), .body = std::move(body)};
}

void note_change(Exchange& exchange, std::string_view action, std::string_view object,
                 const Error* error) {
  const std::string& user = exchange.viewer().user;
  exchange.services.history.note(
      Value::object({{"at", format_time(exchange.now())},
                     {"user", user.empty() ? "anonymous" : user},
                     {"action", action},
                     {"object", object},
                     {"outcome", error == nullptr ? "done" : error->message}}));
}

Visible visible_namespaces(Exchange& exchange, const Kind& kind) {
  Services& services = exchange.services;
  if (services.settings.auth == AuthMode::None) {
    return {.all = true};
  }
  std::set<std::string> namespaces;
  for (const Object& object : services.world.facts()->all(kind)) {
    namespaces.emplace(object.ns());
  }
  if (&kind == &api::kFournosJob) {
    for (const Value& row : *services.history.rows()) {
      namespaces.insert(row["ns"].str());
    }
  }
  return services.access.visible(exchange.viewer(), kind, namespaces);
}

Sight sight_of(Exchange& exchange) {
  return {.jobs = visible_namespaces(exchange, api::kFournosJob),
          .pods = visible_namespaces(exchange, api::kPod)};
}

Value visible_items(const Value& list, const Visible& visible) {
  if (visible.all) {
    return list;
  }
  Value items = Value::list();
  for (const Value& item : list.items()) {
    if (visible.shows(item["ns"].as_string())) {
      items.push_back(item);
    }
  }
  return items;
}

bool may_list(Exchange& exchange, const Kind& kind) {
  return exchange.services.access.may(exchange.viewer(), "list", kind, "").value_or(false);
}

net::Response deny(const Kind& kind) {
  return answer_error(Error{.code = 403,
                            .reason = "Forbidden",
                            .message = fmt::format("you may not list {}", kind.plural)});
}

net::Response answer_list(Exchange& exchange, const ListShape& shape, const Kind& kind,
                          const Rows& rows, const Kind* named) {
  const Instant now = exchange.now();
  const auto query = parse_query(shape, exchange.request.query, now);
  if (!query.ok()) {
    return answer_error(Error::bad_request(query.error().message), query.error().field,
                        query.error().token);
  }
  const Visible visible = visible_namespaces(exchange, kind);
  const bool elapsed = shape.name == "jobs";
  Rows shown;
  if (!visible.all || elapsed) {
    shown.reserve(rows.size());
    for (const Value& row : rows) {
      if (visible.shows(row["ns"].as_string())) {
        shown.push_back(row);
        if (elapsed) {
          add_elapsed(shown.back(), now);
        }
      }
    }
  }
  Value answer = list_answer(shape, *query, !visible.all || elapsed ? shown : rows);
  const std::shared_ptr<const Facts> facts = exchange.services.world.facts();
  answer.set("resourceVersion", std::to_string(facts->version()));
  answer.set("now", format_time(now));
  answer.set("partial",
             !visible.all || (named != nullptr && !visible_namespaces(exchange, *named).all));
  Value unavailable = Value::list();
  if (const KindObjects* state = facts->state(kind); state != nullptr && state->error) {
    unavailable.push_back(std::string(kind.plural) + ": " + state->error->message);
  }
  if (const std::string error = elapsed ? exchange.services.history.state().error : "";
      !error.empty()) {
    unavailable.push_back("history: " + error);
  }
  answer.set("unavailable", std::move(unavailable));
  return answer_value(answer);
}

Key path_key(const Exchange& exchange) {
  return {.ns = exchange.part("ns"), .name = exchange.part("name")};
}

net::Response with_named_object(
    Exchange& exchange,
    const std::function<net::Response(const Kind& kind, const Object& object)>& make) {
  const Kind* kind = find_shown_kind(exchange.text("apiVersion"), exchange.text("kind"));
  if (kind == nullptr) {
    return answer_error(Error::bad_request("the console shows no such kind"), "kind");
  }
  const Key key{kind->namespaced ? exchange.text("ns") : "", exchange.text("name")};
  if (key.name.empty()) {
    return answer_error(Error::bad_request("name is required"), "name");
  }
  const auto object = exchange.services.port.get(exchange.viewer(), *kind, key);
  return object.ok() ? make(*kind, *object) : answer_error(object.error());
}

}  // namespace athanor::console
