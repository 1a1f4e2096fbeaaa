// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/explain/queue_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "api/kueue.hpp"
#include "base/ascii.hpp"
#include "embedded/kueue/cycle/holding.hpp"
#include "embedded/kueue/cycle/snapshot.hpp"
#include "embedded/kueue/explain/visibility.hpp"

namespace athanor::kueue {
namespace {

constexpr std::int64_t kBar = 20;

class TreeBuilder {
 public:
  TreeBuilder(const View& view, const Snapshot& queues)
      : view_(view), queues_(queues), quota_(queues.quota) {
    count_usage(queues_, quota_, view_);
  }

  Value run() {
    Value roots = Value::list();
    for (QuotaTree::NodeId node = 0; node < queues_.nodes.size(); ++node) {
      if (!quota_.parent(node)) {
        roots.push_back(describe(node));
      }
    }
    return roots;
  }

 private:
  Value describe(QuotaTree::NodeId node) {
    const TreeNode& known = queues_.nodes[node];
    Value value = Value::object({{"kind", known.queue == nullptr ? "Cohort" : "ClusterQueue"},
                                 {"name", known.name},
                                 {"resources", resources_of(node)}});
    if (known.queue != nullptr) {
      add_queue(*known.queue, value);
      return value;
    }
    Value children = Value::list();
    for (const QuotaTree::NodeId cohort : known.cohorts) {
      children.push_back(describe(cohort));
    }
    for (const ClusterQueue* queue : known.queues) {
      children.push_back(describe(queue->node));
    }
    value.set("children", std::move(children));
    return value;
  }

  Value resources_of(QuotaTree::NodeId node) {
    const bool cohort = queues_.nodes[node].queue == nullptr;
    Value resources = Value::list();
    for (const auto& [cell, id] : quota_.cells()) {
      const Amount quota = cohort ? quota_.subtree(node, id) : quota_.nominal(node, id);
      const Amount used = quota_.usage(node, id);
      if (quota == 0 && used == 0) {
        continue;
      }
      resources.push_back(
          Value::object({{"flavor", cell.flavor},
                         {"resource", cell.resource},
                         {"quota", amount_text(cell.resource, quota)},
                         {"used", amount_text(cell.resource, used)},
                         {"borrowed", amount_text(cell.resource, quota_.borrowed(node, cell))},
                         {"share", share_of(used, quota)}}));
    }
    return resources;
  }

  static std::int64_t share_of(Amount used, Amount quota) {
    return quota <= 0 ? (used > 0 ? 100 : 0)
                      : static_cast<std::int64_t>(100.0 * static_cast<double>(used) /
                                                  static_cast<double>(quota));
  }

  void add_queue(const ClusterQueue& queue, Value& value) {
    const Tally tally = tally_of(view_, reserved_in(queue.name));
    value.set("admitted", tally.admitted);
    value.set("waiting", static_cast<std::int64_t>(pending_workloads(view_, queue.name).size()));
    if (!queue.active()) {
      value.set("inactive", queue.inactive_message);
    }
    Value locals = Value::list();
    for (const auto& [key, local] : queues_.local_queues) {
      if (local.cluster_queue == queue.name) {
        locals.push_back(key.text());
      }
    }
    value.set("localQueues", std::move(locals));
  }

  const View& view_;
  const Snapshot& queues_;
  QuotaTree quota_;
};

std::string bar(std::int64_t share) {
  const std::int64_t full = std::clamp<std::int64_t>((share * kBar + 50) / 100, 0, kBar);
  return std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(kBar - full), '.');
}

std::string cell_name(const Value& resource) {
  return resource["flavor"].str() + "/" + resource["resource"].str();
}

// The longest name of a cell with the indentation before it.
std::size_t width_of(const Value& nodes, std::size_t depth) {
  std::size_t width = 0;
  for (const Value& node : nodes.items()) {
    for (const Value& one : node["resources"].items()) {
      width = std::max(width, cell_name(one).size() + depth * 2);
    }
    width = std::max(width, width_of(node["children"], depth + 1));
  }
  return width;
}

void print(const Value& node, std::size_t depth, std::size_t width, std::string& out) {
  const std::string indent(depth * 2, ' ');
  out += fmt::format("{}{} {}", indent, node["kind"].as_string(), node["name"].as_string());
  if (node["kind"].as_string() == "ClusterQueue") {
    out += fmt::format(": {} admitted, {} waiting", node["admitted"].as_int(),
                       node["waiting"].as_int());
  }
  if (node.contains("inactive")) {
    out += fmt::format(" (inactive: {})", node["inactive"].as_string());
  }
  out += "\n";
  for (const Value& one : node["resources"].items()) {
    const std::string borrowed = one["borrowed"].str();
    out +=
        fmt::format("{}  {:<{}} [{}] {} of {}{}\n", indent, cell_name(one), width - depth * 2,
                    bar(one["share"].as_int()), one["used"].as_string(), one["quota"].as_string(),
                    borrowed == "0" ? "" : fmt::format(", {} borrowed", borrowed));
  }
  for (const Value& local : node["localQueues"].items()) {
    out += fmt::format("{}  LocalQueue {}\n", indent, local.as_string());
  }
  for (const Value& child : node["children"].items()) {
    print(child, depth + 1, width, out);
  }
}

// One value for each quota of a node, or one for a node without quotas.
void add_items(const Value& node, const std::string& parent, std::vector<Value>& items) {
  Value base = Value::object({{"kind", node["kind"]}, {"name", node["name"]}});
  if (!parent.empty()) {
    base.set("parent", parent);
  }
  for (const char* member : {"admitted", "waiting", "inactive", "localQueues"}) {
    if (node.contains(member)) {
      base.set(member, node[member]);
    }
  }
  for (const Value& resource : node["resources"].items()) {
    Value item = base;
    for (const Member& member : resource.members()) {
      item.set(member.key(), member.value);
    }
    items.push_back(std::move(item));
  }
  if (node["resources"].empty()) {
    items.push_back(std::move(base));
  }
  for (const Value& child : node["children"].items()) {
    add_items(child, node["name"].str(), items);
  }
}

}  // namespace

Value queue_tree(const View& view) {
  const auto queues = read_queues(view);
  return TreeBuilder(view, *queues).run();
}

std::string queue_tree_text(const Value& tree) {
  std::string out;
  const std::size_t width = width_of(tree, 0);
  for (const Value& root : tree.items()) {
    print(root, 0, width, out);
  }
  return out;
}

std::string queue_tree_names(const Value& tree) {
  std::string names;
  for (const Value& node : tree.items()) {
    names += fmt::format("{}.kueue.x-k8s.io/{}\n", lower(node["kind"].as_string()),
                         node["name"].as_string());
    for (const Value& local : node["localQueues"].items()) {
      const std::string_view key = local.as_string();
      names += fmt::format("localqueue.kueue.x-k8s.io/{}\n", key.substr(key.find('/') + 1));
    }
    names += queue_tree_names(node["children"]);
  }
  return names;
}

std::vector<std::string> queue_tree_header() {
  return {"KIND", "NAME",  "PARENT",   "FLAVOR",   "RESOURCE", "QUOTA",
          "USED", "SHARE", "BORROWED", "ADMITTED", "WAITING"};
}

std::vector<Value> queue_tree_items(const Value& tree) {
  std::vector<Value> items;
  for (const Value& node : tree.items()) {
    add_items(node, "", items);
  }
  return items;
}

std::vector<std::vector<std::string>> queue_tree_rows(const Value& tree) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& item : queue_tree_items(tree)) {
    std::vector<std::string> row;
    for (const char* member : {"kind", "name", "parent", "flavor", "resource", "quota", "used",
                               "share", "borrowed", "admitted", "waiting"}) {
      const Value& cell = item[member];
      row.push_back(
          cell.is_null() ? "-"
          : cell.is_integer()
              ? fmt::format("{}{}", cell.as_int(), member == std::string_view("share") ? "%" : "")
              : cell.str());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace athanor::kueue
