// SPDX-License-Identifier: Apache-2.0
#include "extender/wire.hpp"

#include <fmt/core.h>

#include "base/ascii.hpp"

namespace athanor::extender {
namespace {

// A member by its name in lower case, as Go's decoder finds it; Null where there is none.
const Value& member(const Value& object, std::string_view lower_name) {
  static const Value kNull;
  for (const Member& one : object.members()) {
    if (lower(one.key()) == lower_name) {
      return one.value;
    }
  }
  return kNull;
}

Error bad(std::string_view what, std::string_view rule) {
  return Error::bad_request(fmt::format("{} {}", what, rule));
}

Result<void> check_envelope(const Value& body) {
  return body.is_object() ? Result<void>() : bad("the body", "must be a JSON object");
}

Result<Object> read_pod(const Value& body) {
  const Value& pod = member(body, "pod");
  if (!pod.is_object()) {
    return bad("Pod", "must be an object");
  }
  Object object(pod);
  if (object.name().empty() || object.ns().empty() || object.uid().empty()) {
    return bad("Pod", "must have metadata.name, metadata.namespace and metadata.uid");
  }
  if (!object.spec().is_object()) {
    return bad("Pod.spec", "must be an object");
  }
  return object;
}

Result<std::string> text_of(const Value& body, std::string_view lower_name, std::string_view name) {
  const Value& value = member(body, lower_name);
  if (!value.is_string() || value.as_string().empty()) {
    return bad(name, "must be a text that is not empty");
  }
  return value.str();
}

Value texts(const std::map<std::string, std::string>& reasons) {
  Value object = Value::object();
  for (const auto& [node, reason] : reasons) {
    object.set(node, reason);
  }
  return object;
}

Result<void> read_names(const Value& names, NodesQuestion& question) {
  if (!names.is_list()) {
    return bad("NodeNames", "must be a list of texts");
  }
  for (const Value& name : names.items()) {
    if (!name.is_string() || name.as_string().empty()) {
      return bad("NodeNames", "must be a list of texts");
    }
    question.names.push_back(name.str());
  }
  return {};
}

Result<void> read_nodes(const Value& list, NodesQuestion& question) {
  const Value& items = member(list, "items");
  if (!list.is_object() || !(items.is_list() || items.is_null())) {
    return bad("Nodes", "must be a NodeList");
  }
  question.whole = true;
  for (const Value& node : items.items()) {
    Object object(node);
    if (object.name().empty()) {
      return bad("Nodes.items", "must be nodes with a name");
    }
    question.names.emplace_back(object.name());
    question.nodes.insert_or_assign(std::string(object.name()), std::move(object));
  }
  return {};
}

Result<Victims> read_victims(std::string_view node, const Value& written) {
  const Value& pods = member(written, "pods");
  if (!written.is_object() || !(pods.is_list() || pods.is_null())) {
    return bad(fmt::format("the victims of node {}", node), "must have a list of Pods");
  }
  Victims victims{.violations = member(written, "numpdbviolations").as_int()};
  for (const Value& pod : pods.items()) {
    // A MetaPod, or a whole Pod.
    const Value& uid = member(pod, "uid").is_null() ? pod["metadata"]["uid"] : member(pod, "uid");
    if (!uid.is_string() || uid.as_string().empty()) {
      return bad(fmt::format("the victims of node {}", node), "must have a UID each");
    }
    victims.uids.push_back(uid.str());
  }
  return victims;
}

}  // namespace

Result<NodesQuestion> read_nodes_question(const Value& body) {
  ATHANOR_TRY_VOID(check_envelope(body));
  NodesQuestion question;
  ATHANOR_TRY(question.pod, read_pod(body));
  const Value& names = member(body, "nodenames");
  const Value& nodes = member(body, "nodes");
  if (names.is_null() && nodes.is_null()) {
    return bad("NodeNames or Nodes", "must be given");
  }
  ATHANOR_TRY_VOID(names.is_null() ? read_nodes(nodes, question) : read_names(names, question));
  return question;
}

Value to_value(const FilterAnswer& answer, const NodesQuestion& question) {
  Value names;
  Value nodes;
  if (answer.error.empty() && question.whole) {
    Value items = Value::list();
    for (const std::string& name : answer.passed) {
      items.push_back(question.nodes.find(name)->second.body());
    }
    nodes = Value::object({{"metadata", Value::object()}, {"items", std::move(items)}});
  } else if (answer.error.empty()) {
    names = Value::list();
    for (const std::string& name : answer.passed) {
      names.push_back(name);
    }
  }
  return Value::object({{"Nodes", std::move(nodes)},
                        {"NodeNames", std::move(names)},
                        {"FailedNodes", texts(answer.failed)},
                        {"FailedAndUnresolvableNodes", texts(answer.unresolvable)},
                        {"Error", answer.error}});
}

Value to_value(const Points& points) {
  Value list = Value::list();
  for (const auto& [host, score] : points) {
    list.push_back(Value::object({{"Host", host}, {"Score", score}}));
  }
  return list;
}

Result<BindQuestion> read_bind_question(const Value& body) {
  ATHANOR_TRY_VOID(check_envelope(body));
  BindQuestion question;
  ATHANOR_TRY(question.name, text_of(body, "podname", "PodName"));
  ATHANOR_TRY(question.ns, text_of(body, "podnamespace", "PodNamespace"));
  ATHANOR_TRY(question.uid, text_of(body, "poduid", "PodUID"));
  ATHANOR_TRY(question.node, text_of(body, "node", "Node"));
  return question;
}

Value bind_answer(std::string_view error) {
  return Value::object({{"Error", error}});
}

Result<PreemptQuestion> read_preempt_question(const Value& body) {
  ATHANOR_TRY_VOID(check_envelope(body));
  PreemptQuestion question;
  ATHANOR_TRY(question.pod, read_pod(body));
  const Value& meta = member(body, "nodenametometavictims");
  const Value& whole = member(body, "nodenametovictims");
  const Value& given = meta.empty() ? whole : meta;
  if (!given.is_object() && !given.is_null()) {
    return bad("NodeNameToMetaVictims", "must be an object");
  }
  for (const Member& one : given.members()) {
    ATHANOR_TRY(question.nodes[std::string(one.key())], read_victims(one.key(), one.value));
  }
  return question;
}

Value preempt_answer(const std::map<std::string, Victims>& nodes) {
  Value out = Value::object();
  for (const auto& [node, victims] : nodes) {
    Value pods = Value::list();
    for (const std::string& uid : victims.uids) {
      pods.push_back(Value::object({{"UID", uid}}));
    }
    out.set(node,
            Value::object({{"Pods", std::move(pods)}, {"NumPDBViolations", victims.violations}}));
  }
  return Value::object({{"NodeNameToMetaVictims", std::move(out)}});
}

}  // namespace athanor::extender
