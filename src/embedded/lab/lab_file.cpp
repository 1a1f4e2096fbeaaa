// SPDX-License-Identifier: Apache-2.0
// Parsing and checking of lab files.
#include "embedded/lab/lab_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <set>

#include "kube/names.hpp"
#include "kube/quantity.hpp"
#include "kube/yaml.hpp"

namespace athanor::lab {
namespace {

constexpr std::int64_t kMaxNodes = 5000;

// Walks the document and collects every problem with the line it is on.
class Reader {
 public:
  Reader(std::string_view name, const std::vector<std::pair<std::string, std::size_t>>& lines)
      : name_(name), lines_(lines.begin(), lines.end()) {}

  void problem(const std::string& path, std::string_view what) {
    problems_.push_back(
        fmt::format("{}:{}: {}: {}", name_, line_of(path), path.empty() ? "." : path, what));
  }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

  // False, with a problem noted, unless `value` is an object with these keys alone.
  bool object(const Value& value, const std::string& path,
              std::initializer_list<std::string_view> keys) {
    if (!value.is_object()) {
      problem(path, "must be a map");
      return false;
    }
    for (const Member& member : value.members()) {
      if (std::ranges::find(keys, member.key()) == keys.end()) {
        std::string known;
        for (const std::string_view key : keys) {
          known += (known.empty() ? "" : ", ") + std::string(key);
        }
        problem(join(path, member.key()), fmt::format("unknown key; known here: {}", known));
      }
    }
    return true;
  }

  std::string text(const Value& value, const std::string& path, std::string fallback = {}) {
    if (value.is_null()) {
      return fallback;
    }
    if (!value.is_string()) {
      problem(path, "must be a string");
      return fallback;
    }
    return value.str();
  }

  std::string dns_name(const Value& value, const std::string& path) {
    std::string name = text(value, path);
    if (name.empty()) {
      problem(path, "is required");
    } else if (const auto wrong = validate_dns1123_label(name)) {
      problem(path, fmt::format("\"{}\": {}", name, *wrong));
    }
    return name;
  }

  std::int64_t integer(const Value& value, const std::string& path, std::int64_t fallback,
                       std::int64_t least, std::int64_t most) {
    if (value.is_null()) {
      return fallback;
    }
    if (!value.is_integer() || value.as_int() < least || value.as_int() > most) {
      problem(path, fmt::format("must be an integer from {} to {}", least, most));
      return fallback;
    }
    return value.as_int();
  }

  // Scalars become text: capacities and settings are written 8 as often as "8".
  std::map<std::string, std::string> scalars(const Value& value, const std::string& path) {
    std::map<std::string, std::string> result;
    if (value.is_null()) {
      return result;
    }
    if (!value.is_object()) {
      problem(path, "must be a map");
      return result;
    }
    for (const Member& member : value.members()) {
      const Value& scalar = member.value;
      if (scalar.is_string()) {
        result.emplace(member.key(), scalar.str());
      } else if (scalar.is_integer()) {
        result.emplace(member.key(), fmt::format("{}", scalar.as_int()));
      } else if (scalar.is_bool()) {
        result.emplace(member.key(), scalar.as_bool() ? "true" : "false");
      } else {
        problem(join(path, member.key()), "must be a string or a number");
      }
    }
    return result;
  }

  std::map<std::string, std::string> quantities(const Value& value, const std::string& path) {
    auto result = scalars(value, path);
    for (const auto& [key, quantity] : result) {
      const auto parsed = Quantity::parse(std::string_view(quantity));
      if (!parsed || parsed->is_negative()) {
        problem(join(path, key),
                fmt::format("\"{}\" is not a quantity such as 8, 500m or 64Gi", quantity));
      }
    }
    return result;
  }

  static std::string join(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
  }
  static std::string join(const std::string& path, std::size_t index) {
    return fmt::format("{}[{}]", path, index);
  }

 private:
  // The line of the node, or of its nearest parent.
  [[nodiscard]] std::size_t line_of(std::string path) const {
    while (true) {
      if (const auto found = lines_.find(path); found != lines_.end()) {
        return found->second;
      }
      const std::size_t cut = path.find_last_of(".[");
      if (cut == std::string::npos) {
        return 1;
      }
      path.resize(cut);
    }
  }

  std::string name_;
  std::map<std::string, std::size_t> lines_{};
  std::vector<std::string> problems_{};
};

Node read_node(Reader& reader, const Value& value, const std::string& path) {
  Node node;
  if (!reader.object(value, path, {"name", "count", "capacity", "labels", "taints"})) {
    return node;
  }
  node.name = reader.dns_name(value["name"], Reader::join(path, "name"));
  node.count = static_cast<int>(
      reader.integer(value["count"], Reader::join(path, "count"), 1, 1, kMaxNodes));
  node.capacity = reader.quantities(value["capacity"], Reader::join(path, "capacity"));
  node.labels = reader.scalars(value["labels"], Reader::join(path, "labels"));
  for (const auto& [key, label] : node.labels) {
    const auto wrong_key = validate_label_key(key);
    const auto wrong_value = validate_label_value(label);
    if (wrong_key || wrong_value) {
      reader.problem(Reader::join(Reader::join(path, "labels"), key),
                     wrong_key ? *wrong_key : *wrong_value);
    }
  }
  const std::string taints = Reader::join(path, "taints");
  for (std::size_t i = 0; i < value["taints"].size(); ++i) {
    const Value& entry = value["taints"][i];
    const std::string at = Reader::join(taints, i);
    if (!reader.object(entry, at, {"key", "value", "effect"})) {
      continue;
    }
    Taint taint{reader.text(entry["key"], at + ".key"), reader.text(entry["value"], at + ".value"),
                reader.text(entry["effect"], at + ".effect")};
    if (taint.key.empty()) {
      reader.problem(at + ".key", "is required");
    }
    if (taint.effect != "NoSchedule" && taint.effect != "PreferNoSchedule" &&
        taint.effect != "NoExecute") {
      reader.problem(at + ".effect", "must be NoSchedule, PreferNoSchedule or NoExecute");
    }
    node.taints.push_back(std::move(taint));
  }
  return node;
}

Cluster read_cluster(Reader& reader, const Value& value, const std::string& path) {
  Cluster cluster;
  if (reader.object(value, path, {"name", "quota", "kubeconfig"})) {
    cluster.name = reader.dns_name(value["name"], Reader::join(path, "name"));
    cluster.quota = reader.quantities(value["quota"], Reader::join(path, "quota"));
    cluster.kubeconfig = reader.text(value["kubeconfig"], Reader::join(path, "kubeconfig"));
  }
  return cluster;
}

Queue read_queue(Reader& reader, const Value& value, const std::string& path) {
  Queue queue;
  if (reader.object(value, path, {"name", "strategy"})) {
    queue.name = reader.dns_name(value["name"], Reader::join(path, "name"));
    queue.strategy = reader.text(value["strategy"], Reader::join(path, "strategy"), queue.strategy);
    if (queue.strategy != "StrictFIFO" && queue.strategy != "BestEffortFIFO") {
      reader.problem(Reader::join(path, "strategy"), "must be StrictFIFO or BestEffortFIFO");
    }
  }
  return queue;
}

// Reads a list of named entries and refuses a name used twice.
template <class T, class ReadOne>
std::vector<T> read_list(Reader& reader, const Value& list, const std::string& path,
                         ReadOne read_one) {
  std::vector<T> result;
  if (!list.is_null() && !list.is_list()) {
    reader.problem(path, "must be a list");
    return result;
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = Reader::join(path, i);
    T entry = read_one(reader, list[i], at);
    if (!entry.name.empty() && !names.insert(entry.name).second) {
      reader.problem(at + ".name", fmt::format("\"{}\" is declared twice", entry.name));
    }
    result.push_back(std::move(entry));
  }
  return result;
}

void read_priority_classes(Reader& reader, const Value& value, Lab& lab) {
  if (value.is_null()) {
    return;
  }
  if (!value.is_object()) {
    reader.problem("priorityClasses", "must be a map of name to integer");
    return;
  }
  for (const Member& member : value.members()) {
    const std::string path = Reader::join("priorityClasses", member.key());
    constexpr std::int64_t kMost = 2'147'483'647;
    lab.priority_classes.emplace_back(member.key(),
                                      reader.integer(member.value, path, 0, -kMost, kMost));
  }
}

}  // namespace

Result<Lab> parse_lab(std::string_view text, std::string_view name) {
  yaml::ParseOptions options{.strict = true};
  std::vector<std::pair<std::string, std::size_t>> lines;
  options.lines = &lines;
  auto parsed = yaml::parse(text, options);
  if (!parsed.ok()) {
    return parsed.error().with_context(name);
  }
  Reader reader(name, lines);
  Lab lab;
  const Value& root = *parsed;
  if (reader.object(root, "",
                    {"apiVersion", "kind", "namespace", "nodes", "clusters", "queues",
                     "priorityClasses", "manifests", "settings"})) {
    if (root["apiVersion"].as_string() != "athanor.dev/v1" || root["kind"].as_string() != "Lab") {
      reader.problem("apiVersion",
                     "a lab file starts with \"apiVersion: athanor.dev/v1\" and \"kind: Lab\"");
    }
    if (root.contains("namespace")) {
      lab.ns = reader.dns_name(root["namespace"], "namespace");
    }
    lab.nodes = read_list<Node>(reader, root["nodes"], "nodes", read_node);
    lab.clusters = read_list<Cluster>(reader, root["clusters"], "clusters", read_cluster);
    lab.queues = read_list<Queue>(reader, root["queues"], "queues", read_queue);
    read_priority_classes(reader, root["priorityClasses"], lab);
    lab.settings = reader.scalars(root["settings"], "settings");
    for (std::size_t i = 0; i < root["manifests"].size(); ++i) {
      lab.manifests.push_back(reader.text(root["manifests"][i], Reader::join("manifests", i)));
    }
    if (!root["manifests"].is_null() && !root["manifests"].is_list()) {
      reader.problem("manifests", "must be a list of file names");
    }
    if (!lab.queues.empty() && lab.clusters.empty()) {
      reader.problem("queues", "a queue needs at least one cluster with quota");
    }
  }
  if (!reader.problems().empty()) {
    std::string all;
    for (const std::string& problem : reader.problems()) {
      all += (all.empty() ? "" : "\n") + problem;
    }
    return Error::bad_request(std::move(all));
  }
  return lab;
}

}  // namespace athanor::lab
