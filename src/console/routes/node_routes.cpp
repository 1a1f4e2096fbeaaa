// SPDX-License-Identifier: Apache-2.0
// Routes of nodes (docs/spec/dashboard.md B4.9); failures and new nodes are for a lab's emulated
// ones.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>

#include "api/builtin.hpp"
#include "console/data/accelerator_rows.hpp"
#include "console/data/row_texts.hpp"
#include "console/routes/route_table.hpp"
#include "embedded/nodes/emulated_node.hpp"
#include "embedded/nodes/nodes.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::console {
namespace {

using net::Response;

Response list_nodes(Exchange& exchange) {
  const auto tables = exchange.services.board.tables();
  return answer_list(exchange, node_shape(), api::kNode, tables->list("nodes"));
}

Response show_node(Exchange& exchange) {
  const auto tables = exchange.services.board.tables();
  const std::string& name = exchange.part("name");
  if (!may_list(exchange, api::kNode)) {
    return deny(api::kNode);
  }
  const Object* node = tables->facts->find(api::kNode, {"", name});
  if (node == nullptr) {
    return answer_error(Error::not_found(fmt::format("node \"{}\" not found", name)));
  }
  const Visible visible = visible_namespaces(exchange, api::kPod);
  Value pods = Value::list();
  for (const Object& pod : tables->facts->all(api::kPod)) {
    if (pod.spec()["nodeName"].as_string() == name && visible.shows(pod.ns())) {
      pods.push_back(pod_value(pod));
    }
  }
  Value row;
  for (const Value& one : tables->list("nodes")) {
    row = one["name"].as_string() == name ? one : row;
  }
  return answer_value(Value::object({{"node", std::move(row)},
                                     {"object", shown_object(*node)},
                                     {"conditions", condition_list(node->status()["conditions"])},
                                     {"pods", std::move(pods)}}));
}

Response cordon_node(Exchange& exchange, bool cordon) {
  const std::string& name = exchange.part("name");
  const auto patched = exchange.services.port.patch(
      exchange.viewer(), api::kNode, {"", name},
      Value::object(
          {{"spec", Value::object({{"unschedulable", cordon ? Value(true) : Value()}})}}));
  note_change(exchange, cordon ? "cordon" : "uncordon", "Node/" + name,
              patched.ok() ? nullptr : &patched.error());
  return patched.ok() ? answer_value(Value::object(
                            {{"message",
                              fmt::format("{} {}", name, cordon ? "is cordoned" : "takes pods")}}))
                      : answer_error(patched.error());
}

Response cordon_node_route(Exchange& exchange) {
  return cordon_node(exchange, true);
}

Response uncordon_node_route(Exchange& exchange) {
  return cordon_node(exchange, false);
}

// Returns the reason against a change of emulated nodes: the console is no lab's.
std::optional<Error> not_in_lab(const Exchange& exchange) {
  return exchange.services.embedded
             ? std::nullopt
             : std::optional(Error::conflict(
                   "nodes are emulated in a lab alone: use the console of athanor up"));
}

// Returns the reason why the node of the path cannot be made to fail or recover.
std::optional<Error> not_emulated(const Exchange& exchange) {
  const std::string& name = exchange.part("name");
  const auto facts = exchange.services.world.facts();
  const Object* node = facts->find(api::kNode, {"", name});
  if (node == nullptr) {
    return Error::not_found(fmt::format("node \"{}\" not found", name));
  }
  return node->label(nodes::kEmulatedLabel) == "true"
             ? std::nullopt
             : std::optional(Error::conflict(fmt::format("node {} is not emulated", name)));
}

Response change_failure(Exchange& exchange, const Value& patch, std::string_view action,
                        std::string_view effect) {
  const std::string& name = exchange.part("name");
  if (const auto error = not_in_lab(exchange)) {
    return answer_error(*error);
  }
  if (const auto error = not_emulated(exchange)) {
    return answer_error(*error);
  }
  const auto patched =
      exchange.services.port.patch(exchange.viewer(), api::kNode, {"", name}, patch);
  note_change(exchange, action, "Node/" + name, patched.ok() ? nullptr : &patched.error());
  return patched.ok()
             ? answer_value(Value::object({{"message", fmt::format("{} {}", name, effect)}}))
             : answer_error(patched.error());
}

Response fail_node(Exchange& exchange) {
  return change_failure(exchange, nodes::fail_patch(), "fail", "has failed");
}

Response recover_node(Exchange& exchange) {
  return change_failure(exchange, nodes::recover_patch(), "recover", "recovers");
}

struct WrongNodeField {
  std::string_view field{};
  Error error{};
};

// Adds the amounts of the body to a node's capacity.
std::optional<WrongNodeField> read_capacity(const Value& amounts, nodes::NewNode& node) {
  if (!amounts.is_null() && !amounts.is_object()) {
    return WrongNodeField{"capacity", Error::bad_request("capacity must be a map of quantities")};
  }
  for (const Member& amount : amounts.members()) {
    const auto quantity = Quantity::parse(amount.value);
    if (!quantity || *quantity < Quantity()) {
      return WrongNodeField{"capacity",
                            Error::bad_request(fmt::format(
                                "capacity {} must be a quantity such as 8 or 64Gi", amount.key()))};
    }
    node.capacity.insert_or_assign(std::string(amount.key()), quantity->text());
  }
  return std::nullopt;
}

Response add_node(Exchange& exchange) {
  if (const auto error = not_in_lab(exchange)) {
    return answer_error(*error);
  }
  const std::string name = exchange.body["name"].str();
  if (name.empty()) {
    return answer_error(Error::bad_request("name is required"), "name");
  }
  nodes::NewNode node{.name = name};
  if (const std::string like = exchange.body["like"].str(); !like.empty()) {
    const auto facts = exchange.services.world.facts();
    const Object* model = facts->find(api::kNode, {"", like});
    auto made =
        model == nullptr || !may_list(exchange, api::kNode)
            ? Result<nodes::NewNode>(Error::bad_request(fmt::format("node \"{}\" not found", like)))
            : nodes::node_like(*model, name);
    if (!made.ok()) {
      return answer_error(made.error(), "like");
    }
    node = *std::move(made);
  }
  if (const auto wrong = read_capacity(exchange.body["capacity"], node)) {
    return answer_error(wrong->error, wrong->field);
  }
  const auto created =
      exchange.services.port.create(exchange.viewer(), api::kNode, nodes::node_object(node));
  note_change(exchange, "add", "Node/" + name, created.ok() ? nullptr : &created.error());
  return created.ok()
             ? answer_value(Value::object({{"message", fmt::format("node {} added", name)}}), 201)
             : answer_error(created.error(), created.error().code == 422 ? "name" : "");
}

}  // namespace

std::vector<Route> node_routes() {
  return {
      {.method = "GET",
       .path = "/api/v1/nodes",
       .summary = "List nodes",
       .handle = list_nodes,
       .shape = node_shape},
      {.method = "GET",
       .path = "/api/v1/nodes/{name}",
       .summary = "Show one node with its pods",
       .handle = show_node},
      {.method = "POST",
       .path = "/api/v1/nodes/{name}/cordon",
       .summary = "Keep new pods off a node",
       .handle = cordon_node_route,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/v1/nodes/{name}/uncordon",
       .summary = "Let new pods onto a node",
       .handle = uncordon_node_route,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/v1/nodes",
       .summary = "Add an emulated node; in a lab",
       .handle = add_node,
       .guard = Guard::Change,
       .body = {"name", "like", "capacity:object"}},
      {.method = "POST",
       .path = "/api/v1/nodes/{name}/fail",
       .summary = "Let an emulated node fail",
       .handle = fail_node,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/v1/nodes/{name}/recover",
       .summary = "Let an emulated node recover",
       .handle = recover_node,
       .guard = Guard::Change},
  };
}

}  // namespace athanor::console
