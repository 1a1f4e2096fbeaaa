// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/file/lab_targets.hpp"

#include <fmt/core.h>

#include <utility>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::lab {
namespace {

using targets::Faults;
using targets::NodeGroup;
using targets::SignIn;
using targets::Target;

constexpr std::int64_t kMaxTargets = 5000;
constexpr std::int64_t kMaxTargetNodes = 1'000'000;
constexpr std::int64_t kMaxGpus = 1'000'000;
constexpr std::int64_t kMaxPort = 65535;

NodeGroup read_group(Reader& reader, const Value& value, const std::string& path) {
  NodeGroup group;
  if (!reader.object(value, path,
                     {"name", "count", "gpus", "vendor", "model", "labels", "allocatable", "ready",
                      "schedulable"})) {
    return group;
  }
  const auto at = [&](const char* key) { return Reader::join(path, key); };
  if (value.contains("name")) {
    group.name = reader.dns_name(value["name"], at("name"));
  }
  group.count = reader.integer(value["count"], at("count"), 1, 0, kMaxTargetNodes);
  group.gpus = reader.integer(value["gpus"], at("gpus"), 0, 0, kMaxGpus);
  group.vendor = reader.text(value["vendor"], at("vendor"), "nvidia");
  if (group.vendor != "nvidia" && group.vendor != "amd") {
    reader.problem(at("vendor"), "must be nvidia or amd");
  }
  group.model = reader.text(value["model"], at("model"));
  group.labels = reader.scalars(value["labels"], at("labels"));
  group.allocatable = reader.scalars(value["allocatable"], at("allocatable"));
  group.ready = reader.flag(value["ready"], at("ready"), true);
  group.schedulable = reader.flag(value["schedulable"], at("schedulable"), true);
  return group;
}

std::vector<NodeGroup> read_groups(Reader& reader, const Value& list, const std::string& path) {
  auto groups = read_entries<NodeGroup>(reader, list, path, read_group);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].name.empty()) {
      groups[i].name = groups.size() == 1 ? "node" : fmt::format("node-{}", i + 1);
    }
  }
  check_names(reader, groups, path);
  return groups;
}

Faults read_faults(Reader& reader, const Value& value, const std::string& path) {
  Faults faults;
  if (value.is_null() ||
      !reader.object(value, path,
                     {"slow", "dead", "black-hole", "hang", "wrong-certificate", "unauthorized",
                      "forbidden", "garbage", "web-page", "endless", "redirect", "flapping"})) {
    return faults;
  }
  const auto at = [&](const char* key) { return Reader::join(path, key); };
  const auto flag = [&](const char* key) { return reader.flag(value[key], at(key), false); };
  if (value.contains("slow")) {
    faults.slow = reader.duration(value["slow"], at("slow"));
  }
  faults.dead = flag("dead");
  faults.black_hole = flag("black-hole");
  faults.hang = flag("hang");
  faults.wrong_certificate = flag("wrong-certificate");
  faults.unauthorized = flag("unauthorized");
  faults.forbidden = flag("forbidden");
  faults.garbage = flag("garbage");
  faults.web_page = flag("web-page");
  faults.endless = flag("endless");
  faults.redirect = reader.text(value["redirect"], at("redirect"));
  const Value& flapping = value["flapping"];
  if (!flapping.is_null() && reader.object(flapping, at("flapping"), {"up", "down"})) {
    faults.flapping =
        targets::Flapping{.up = reader.duration(flapping["up"], at("flapping") + ".up"),
                          .down = reader.duration(flapping["down"], at("flapping") + ".down")};
  }
  return faults;
}

SignIn read_sign_in(Reader& reader, const Value& value, const std::string& path) {
  const std::string text = reader.text(value, path, "certificate");
  if (text != "certificate" && text != "token" && text != "password") {
    reader.problem(path, "must be certificate, token or password");
  }
  return text == "token"      ? SignIn::Token
         : text == "password" ? SignIn::Password
                              : SignIn::Certificate;
}

LabTarget read_target(Reader& reader, const Value& value, const std::string& path) {
  LabTarget read;
  const auto at = [&](const char* key) { return Reader::join(path, key); };
  read.name = reader.dns_name(value["name"], at("name"));
  Target& target = read.target;
  target.name = read.name;
  target.port = static_cast<int>(reader.integer(value["port"], at("port"), 0, 0, kMaxPort));
  target.sign_in = read_sign_in(reader, value["signIn"], at("signIn"));
  target.version = reader.text(value["version"], at("version"), target.version);
  target.nodes = read_groups(reader, value["nodes"], at("nodes"));
  target.faults = read_faults(reader, value["faults"], at("faults"));
  read.onboard = reader.flag(value["onboard"], at("onboard"), true);
  read.owner = reader.text(value["owner"], at("owner"));
  read.ttl = reader.text(value["ttl"], at("ttl"));
  return read;
}

// As it was written, without what its name and its place in the lab say.
Value written_nodes(const std::vector<NodeGroup>& groups) {
  Value list = Value::list();
  for (const NodeGroup& group : groups) {
    Value entry = Value::object({{"name", group.name}, {"count", group.count}});
    if (group.gpus > 0) {
      entry.set("gpus", group.gpus);
    }
    if (group.vendor != "nvidia") {
      entry.set("vendor", group.vendor);
    }
    if (!group.model.empty()) {
      entry.set("model", group.model);
    }
    for (const auto& [key, map] :
         {std::pair{"labels", &group.labels}, {"allocatable", &group.allocatable}}) {
      for (const auto& [name, text] : *map) {
        entry.member(key).set(name, text);
      }
    }
    if (!group.ready) {
      entry.set("ready", false);
    }
    if (!group.schedulable) {
      entry.set("schedulable", false);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Value written_faults(const Faults& faults) {
  Value map = Value::object();
  const auto duration = [](std::chrono::milliseconds time) { return format_go_duration(time); };
  if (faults.slow.count() > 0) {
    map.set("slow", duration(faults.slow));
  }
  for (const auto& [key, set] : {std::pair{"dead", faults.dead},
                                 {"black-hole", faults.black_hole},
                                 {"hang", faults.hang},
                                 {"wrong-certificate", faults.wrong_certificate},
                                 {"unauthorized", faults.unauthorized},
                                 {"forbidden", faults.forbidden},
                                 {"garbage", faults.garbage},
                                 {"web-page", faults.web_page},
                                 {"endless", faults.endless}}) {
    if (set) {
      map.set(key, true);
    }
  }
  if (!faults.redirect.empty()) {
    map.set("redirect", faults.redirect);
  }
  if (faults.flapping) {
    map.set("flapping", Value::object({{"up", duration(faults.flapping->up)},
                                       {"down", duration(faults.flapping->down)}}));
  }
  return map;
}

Value make_target_object(const char* kind, const std::string& name, const std::string& ns) {
  Value metadata = Value::object({{"name", name}});
  if (!ns.empty()) {
    metadata.set("namespace", ns);
  }
  return Value::object({{"apiVersion", "v1"}, {"kind", kind}, {"metadata", std::move(metadata)}});
}

Value config_map(const std::string& ns, const LabTarget& entry) {
  Value object = make_target_object("ConfigMap", "target-" + entry.name, ns);
  object.set_path({"metadata", "labels"}, Value::object({{kTargetLabel, entry.name}}));
  object.set("data", Value::object({{"nodes", yaml::print(written_nodes(entry.target.nodes))},
                                    {"faults", yaml::print(written_faults(entry.target.faults))}}));
  return object;
}

Plan reconcile(const View& view, const Key& key, Instant /*now*/) {
  const auto map = view.get(api::kConfigMap, key);
  if (!map || map->label(kTargetLabel).empty() || map->deleting()) {
    return Plan::done();
  }
  Plan plan;
  const std::string ns = view.config(kTargetSection)["namespace"].str();
  const auto configuration =
      key.ns == ns ? configuration_of(*map)
                   : Result<Value>(Error::bad_request(fmt::format(
                         "targets are configured by ConfigMaps of namespace \"{}\" alone", ns)));
  if (!configuration.ok()) {
    plan.then(Emit{.about = {&api::kConfigMap, key},
                   .about_uid = std::string(map->uid()),
                   .type = "Warning",
                   .reason = "InvalidTarget",
                   .note = configuration.error().message});
    return plan;
  }
  plan.then(Act{.id = fmt::format("{}/{}", map->uid(), map->resource_version()),
                .verb = kConfigureTarget,
                .args = *configuration});
  return plan;
}

}  // namespace

std::vector<LabTarget> read_targets(Reader& reader, const Value& list, const std::string& path) {
  std::vector<LabTarget> result;
  if (!list.is_null() && !list.is_list()) {
    reader.problem(path, "must be a list");
    return result;
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value& value = list[i];
    const std::string at = Reader::join(path, i);
    if (!reader.object(value, at,
                       {"name", "count", "port", "signIn", "version", "nodes", "faults", "onboard",
                        "owner", "ttl"})) {
      continue;
    }
    const LabTarget read = read_target(reader, value, at);
    const std::int64_t count =
        reader.integer(value["count"], Reader::join(at, "count"), 1, 1, kMaxTargets);
    if (count > 1 && read.target.port != 0) {
      reader.problem(Reader::join(at, "port"), "several targets cannot share a port");
    }
    for (std::int64_t number = 1; number <= count; ++number) {
      LabTarget one = read;
      if (count > 1) {
        one.name = fmt::format("{}-{}", read.name, number);
        one.target.name = one.name;
      }
      result.push_back(std::move(one));
    }
  }
  check_names(reader, result, path);
  return result;
}

std::vector<Value> target_objects(const Lab& lab, const TargetWorld& world) {
  std::vector<Value> objects;
  if (lab.targets.empty()) {
    return objects;
  }
  objects.push_back(make_target_object("Namespace", world.ns, {}));
  for (const LabTarget& entry : lab.targets) {
    objects.push_back(config_map(world.ns, entry));
    if (entry.onboard) {
      const std::vector<Value> known = world.onboard({.name = entry.name,
                                                      .kubeconfig = world.kubeconfig(entry.name),
                                                      .owner = entry.owner,
                                                      .ttl = entry.ttl});
      objects.insert(objects.end(), known.begin(), known.end());
      objects.push_back(kubeconfig_secret(lab, entry.name, world.kubeconfig(entry.name)));
    }
  }
  return objects;
}

Result<Value> configuration_of(const Object& config_map) {
  Value args = Value::object({{"name", config_map.label(kTargetLabel)}});
  for (const char* key : {"nodes", "faults"}) {
    const Value& text = config_map.body()["data"][key];
    auto parsed = yaml::parse(text.as_string());
    if (!parsed.ok()) {
      return parsed.error().with_context(key);
    }
    args.set(key, *std::move(parsed));
  }
  ATHANOR_TRY(const Target checked, configured_target(args));
  return args;
}

Result<Target> configured_target(const Value& args) {
  Reader reader("target " + args["name"].str(), {});
  Target target;
  target.name = args["name"].str();
  target.nodes = read_groups(reader, args["nodes"], "nodes");
  target.faults = read_faults(reader, args["faults"], "faults");
  if (!reader.problems().empty()) {
    return Error::bad_request(reader.text_of_problems());
  }
  return target;
}

const Operator& target_operator() {
  static const Kind* const kReads[] = {&api::kConfigMap};
  static const Operator kOperator{.name = "emulated-target",
                                  .primary = &api::kConfigMap,
                                  .reads = kReads,
                                  .reconcile = reconcile};
  return kOperator;
}

}  // namespace athanor::lab
