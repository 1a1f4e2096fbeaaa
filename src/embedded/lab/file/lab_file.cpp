// SPDX-License-Identifier: Apache-2.0
// Parsing and checking of lab files.
#include "embedded/lab/file/lab_file.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "base/near_name.hpp"
#include "embedded/lab/file/lab_reader.hpp"
#include "embedded/lab/file/lab_targets.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::lab {
namespace {

constexpr std::int64_t kMaxNodes = 5000;

Node read_node(Reader& reader, const Value& value, const std::string& path,
               std::span<const LabNodeMember> members) {
  Node node;
  std::vector<std::string_view> known{"name", "count", "capacity", "labels", "taints"};
  for (const LabNodeMember& member : members) {
    known.push_back(member.name);
  }
  if (!reader.object(value, path, known)) {
    return node;
  }
  node.name = reader.dns_name(value["name"], Reader::join(path, "name"));
  node.count = static_cast<int>(
      reader.integer(value["count"], Reader::join(path, "count"), 1, 1, kMaxNodes));
  node.capacity = reader.quantities(value["capacity"], Reader::join(path, "capacity"));
  node.labels = reader.labels(value["labels"], Reader::join(path, "labels"));
  for (const LabNodeMember& member : members) {
    if (!value.contains(member.name)) {
      continue;
    }
    // The file's own settings are not read yet: defaults take their place in this check.
    if (const auto extra = member.read(value[member.name], Value()); !extra.ok()) {
      reader.problem(Reader::join(path, member.name), extra.error().message);
      continue;
    }
    node.members.emplace(member.name, value[member.name]);
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

Value read_words(Reader& reader, const Value& value, const std::string& path) {
  Value words = Value::list();
  if (!value.is_null() && !value.is_list()) {
    reader.problem(path, "must be a list of words");
    return words;
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    words.push_back(reader.text(value[i], Reader::join(path, i)));
  }
  return words;
}

LabImage read_image(Reader& reader, const Value& value, const std::string& path) {
  LabImage image;
  if (!reader.object(value, path,
                     {"name", "entrypoint", "cmd", "env", "user", "group", "workingDir", "archive",
                      "seconds"})) {
    return image;
  }
  const auto at = [&](const char* member) { return Reader::join(path, member); };
  image.name = reader.text(value["name"], at("name"));
  if (image.name.empty()) {
    reader.problem(at("name"), "is required");
  }
  image.archive = reader.text(value["archive"], at("archive"));
  Value env = Value::list();
  for (const auto& [name, text] : reader.scalars(value["env"], at("env"))) {
    env.push_back(fmt::format("{}={}", name, text));
  }
  image.value =
      Value::object({{"name", image.name},
                     {"entrypoint", read_words(reader, value["entrypoint"], at("entrypoint"))},
                     {"cmd", read_words(reader, value["cmd"], at("cmd"))},
                     {"env", std::move(env)},
                     {"workingDir", reader.text(value["workingDir"], at("workingDir"))}});
  constexpr std::int64_t kMostId = 2'147'483'647;
  for (const char* member : {"user", "group"}) {
    if (value.contains(member)) {
      image.value.set(member, reader.integer(value[member], at(member), 0, 0, kMostId));
    }
  }
  constexpr double kMostSeconds = 31'536'000;  // a year
  if (const Value& seconds = value["seconds"]; !seconds.is_null()) {
    if (!seconds.is_number() || seconds.as_double() < 0 || seconds.as_double() > kMostSeconds) {
      reader.problem(at("seconds"), "must be a number of seconds from 0 to 31536000");
    }
    image.value.set("seconds", seconds);
  }
  return image;
}

// Reads a list of named entries and refuses a name used twice.
template <class T, class ReadOne>
std::vector<T> read_list(Reader& reader, const Value& list, const std::string& path,
                         ReadOne read_one) {
  auto entries = read_entries<T>(reader, list, path, read_one);
  check_names(reader, entries, path);
  return entries;
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

std::string upper(std::string text) {
  for (char& c : text) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

// An unread name would be a typing error without any effect.
void read_settings(Reader& reader, const Value& value, std::span<const std::string_view> known,
                   Lab& lab) {
  lab.settings = reader.scalars(value, "settings");
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [name, text] : lab.settings) {
    const std::string path = Reader::join("settings", name);
    lab.setting_places[name] = reader.place(path);
    const bool is_known = std::ranges::any_of(
        names, [&](const std::string& candidate) { return lower(candidate) == lower(name); });
    if (!names.empty() && !is_known) {
      const std::string near = near_name(upper(name), names);
      reader.problem(path, near.empty()
                               ? "no system has such a setting (docs/lab.md)"
                               : "no system has such a setting; did you mean " + near + "?");
    }
  }
}

}  // namespace

Result<Lab> parse_lab(std::string_view text, std::string_view name, const LabWords& words) {
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
                    {"apiVersion", "kind", "namespace", "nodes", "clusters", "targets", "queues",
                     "priorityClasses", "images", "manifests", "settings"})) {
    if (root["apiVersion"].as_string() != "athanor.dev/v1" || root["kind"].as_string() != "Lab") {
      reader.problem("apiVersion",
                     "a lab file starts with \"apiVersion: athanor.dev/v1\" and \"kind: Lab\"");
    }
    if (root.contains("namespace")) {
      lab.ns = reader.dns_name(root["namespace"], "namespace");
    }
    lab.nodes = read_list<Node>(reader, root["nodes"], "nodes",
                                [&](Reader& one, const Value& value, const std::string& path) {
                                  return read_node(one, value, path, words.members);
                                });
    lab.clusters = read_list<Cluster>(reader, root["clusters"], "clusters", read_cluster);
    lab.targets = read_targets(reader, root["targets"], "targets");
    lab.queues = read_list<Queue>(reader, root["queues"], "queues", read_queue);
    read_priority_classes(reader, root["priorityClasses"], lab);
    lab.images = read_list<LabImage>(reader, root["images"], "images", read_image);
    read_settings(reader, root["settings"], words.settings, lab);
    for (std::size_t i = 0; i < root["manifests"].size(); ++i) {
      lab.manifests.push_back(reader.text(root["manifests"][i], Reader::join("manifests", i)));
    }
    if (!root["manifests"].is_null() && !root["manifests"].is_list()) {
      reader.problem("manifests", "must be a list of file names");
    }
    if (!lab.queues.empty() && lab.clusters.empty() && lab.targets.empty()) {
      reader.problem("queues", "a queue needs at least one cluster with quota, or a target");
    }
  }
  if (!reader.problems().empty()) {
    return Error::bad_request(reader.text_of_problems());
  }
  return lab;
}

}  // namespace athanor::lab
