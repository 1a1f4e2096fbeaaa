// SPDX-License-Identifier: Apache-2.0
// Reading and playing pairs of owners.
#include "sim/scenes/owners.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <ranges>
#include <set>
#include <span>

#include <fmt/format.h>

#include "api/builtin.hpp"
#include "base/check.hpp"
#include "embedded/lab/embedded_operators.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "product/hooked.hpp"
#include "product/list.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "sim/scenes/timed_pods.hpp"
#include "simulation/world.hpp"
#include "support/source_dir/source_dir.hpp"

namespace athanor::sim {
namespace {

constexpr const char* kNs = "default";
constexpr std::uint64_t kUsualMost = 120;
constexpr Duration kApart = std::chrono::seconds(2);

std::string folder() {
  return std::string(athanor::test::source_dir()) + "/tests/sim/owners";
}

Value document(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  auto value = yaml::parse(std::string{std::istreambuf_iterator<char>(stream), {}});
  ATHANOR_CHECK(stream.good() && value.ok(), "the pairs are YAML");
  return *std::move(value);
}

std::vector<Value> list_of(const Value& items) {
  return {items.items().begin(), items.items().end()};
}

Pair pair_of(const std::string& file, const Value& written) {
  Pair pair{.file = file,
            .name = written["name"].str(),
            .given = list_of(written["given"]),
            .just_before = list_of(written["just_before"]),
            .rivals = list_of(written["rivals"]),
            .most = static_cast<std::uint64_t>(written["most"].as_int(kUsualMost)),
            .holds = list_of(written["holds"]),
            .afterwards = list_of(written["afterwards"]),
            .silent = written["silent"].str()};
  for (const Value& name : written["operators"].items()) {
    pair.operators.push_back(name.str());
  }
  for (const Member& variable : written["variables"].members()) {
    pair.variables[std::string(variable.key())] = variable.value.str();
  }
  return pair;
}

std::vector<const Operator*> every_operator() {
  std::vector<const Operator*> all = lab::embedded_operators();
  for (const System* system : all_systems()) {
    all.insert(all.end(), system->operators.begin(), system->operators.end());
  }
  for (const Operator* hooked : hooked_operators()) {
    std::ranges::replace_if(
        all, [&](const Operator* op) { return op->name == hooked->name; }, hooked);
  }
  return all;
}

Value named(const Kind& kind, const std::string& name) {
  return Value::object({{"apiVersion", kind.api_version()},
                        {"kind", kind.name},
                        {"metadata", Value::object({{"name", name}})}});
}

// Adds an object unless one of its kind and name is there.
void add_once(std::vector<Value>& objects, Value object) {
  const Object added(object);
  const bool there = std::ranges::any_of(objects, [&](const Value& one) {
    return Object(one).kind() == added.kind() && Object(one).key() == added.key();
  });
  if (!there) {
    objects.push_back(std::move(object));
  }
}

// The objects that a lab's systems bring.
std::vector<Value> system_objects(const SystemConfig& config) {
  std::vector<Value> objects;
  for (const api::CustomKind* kind : kinds_of(all_systems(), config)) {
    objects.push_back(definition_of(*kind));
  }
  for (const System* system : all_systems()) {
    for (const std::string& ns : system->lab_namespaces == nullptr
                                     ? std::vector<std::string>()
                                     : system->lab_namespaces(config)) {
      objects.push_back(named(api::kNamespace, ns));
    }
  }
  for (const System* system : all_systems()) {
    if (system->lab_objects != nullptr) {
      for (Value& object : system->lab_objects({.config = config, .equipped = true})) {
        add_once(objects, std::move(object));
      }
    }
  }
  return objects;
}

// Every target cluster has one GPU.
Result<Value> answer_probe(World& /*world*/, std::string_view /*query*/) {
  return from_yaml(
      "{serverVersion: v1.30.0, nodeCount: 1, nodes: [{names: [n1], count: 1, labels: "
      "{nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}, allocatable: {nvidia.com/gpu: '1'}, ready: "
      "true, schedulable: true}]}");
}

Scene lab_of(const Pair& pair) {
  Scene scene;
  auto variables = pair.variables;
  // So seldom that the world comes to rest between two probes.
  variables.emplace("HEARTH_GPU_DISCOVERY_DEFAULT_INTERVAL_SEC", "2000000");
  const auto config =
      read_settings(all_systems(), {.variables = variables, .jobs_namespace = kNs, .in_lab = true});
  ATHANOR_CHECK(config.ok(), "the settings of the pairs are right");
  scene.config = *config;
  scene.operators = those_that_run(all_systems(), every_operator(), *config);
  scene.objects = system_objects(*config);
  // Where the systems' own pods run.
  scene.objects.push_back(
      from_yaml("{apiVersion: v1, kind: Node, metadata: {name: lab, labels: {athanor.dev/emulated: "
                "'true'}}}"));
  for (const Value& object : pair.given) {
    add_once(scene.objects, object);
  }
  scene.admission = system_webhooks;
  scene.limit = std::chrono::hours(3);
  scene.record = true;
  scene.probes["cluster"] = answer_probe;
  TimedPods::install(scene, std::chrono::hours(24 * 365));
  for (const char* verb : {"node-file.write", "node-file.remove"}) {
    scene.executors[verb] = [](World& /*world*/, const std::string& /*id*/, const Value& /*args*/) {
      return Result<Value>(Value::object());
    };
  }
  return scene;
}

const Kind* kind_of(const Value& object) {
  for (const Operator* op : every_operator()) {
    for (const auto kinds : {op->reads, op->writes}) {
      for (const Kind* kind : kinds) {
        if (kind->name == object["kind"].as_string() &&
            kind->api_version() == object["apiVersion"].as_string()) {
          return kind;
        }
      }
    }
  }
  return nullptr;
}

// Whether all of `part` is in `whole`; of a list, each item in some item. Null means absent.
bool is_in(const Value& whole, const Value& part) {
  if (part.is_object()) {
    return std::ranges::all_of(part.members(), [&](const Member& member) {
      return is_in(whole[member.key()], member.value);
    });
  }
  if (part.is_list()) {
    return std::ranges::all_of(part.items(), [&](const Value& item) {
      return std::ranges::any_of(whole.items(), [&](const Value& one) { return is_in(one, item); });
    });
  }
  return whole == part;
}

// The Events of a run: the server forgets them after an hour.
using Heard = std::vector<Value>;

// Whether an Event with this reason is about an object of this name.
bool has_event(const Heard& heard, const Value& wanted) {
  return std::ranges::any_of(heard, [&](const Value& event) {
    return event["reason"] == wanted["reason"] && event["involvedObject"]["name"] == wanted["of"];
  });
}

// Returns the reasons of all Events about objects of this name.
std::string reasons_about(const Heard& heard, const Value& name) {
  std::set<std::string> reasons;
  for (const Value& event : heard) {
    if (event["involvedObject"]["name"] == name) {
      reasons.insert(event["involvedObject"]["kind"].str() + " " + event["reason"].str());
    }
  }
  return fmt::format("; there are {}", fmt::join(reasons, ", "));
}

std::optional<std::string> missing(const World& world, const Heard& heard,
                                   const std::vector<Value>& expected) {
  for (const Value& part : expected) {
    if (const Value& event = part["event"]; event.is_object()) {
      if (!has_event(heard, event)) {
        return "expected an Event " + json::print(event) + reasons_about(heard, event["of"]);
      }
      continue;
    }
    const Kind* const kind = kind_of(part);
    const Key key = Object(part).key();
    if (kind == nullptr) {
      return "no controller knows the kind " + part["kind"].str();
    }
    const auto found = world.get(*kind, key);
    if (part["absent"].as_bool() ? found.has_value() : !found || !is_in(found->body(), part)) {
      return fmt::format("expected {}\nfound {}", json::print(part),
                         found ? json::print(found->body()) : "nothing");
    }
  }
  return std::nullopt;
}

std::string last_writes(const World& world) {
  constexpr std::size_t kShown = 24;
  const std::vector<std::string>& trace = world.trace();
  std::string text;
  for (const std::string& line :
       trace | std::views::drop(trace.size() - std::min(trace.size(), kShown))) {
    text += "\n  " + line;
  }
  return text;
}

}  // namespace

const std::vector<Pair>& pairs() {
  static const std::vector<Pair> kPairs = [] {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      if (entry.path().filename() != "alone.yaml") {
        files.push_back(entry.path());
      }
    }
    std::ranges::sort(files);
    std::vector<Pair> all;
    for (const std::filesystem::path& file : files) {
      const Value written = document(file);
      for (const Value& one : written["pairs"].items()) {
        all.push_back(pair_of(file.stem().string(), one));
      }
    }
    return all;
  }();
  return kPairs;
}

const std::map<std::string, std::string>& alone() {
  static const std::map<std::string, std::string> kAloneOnes = [] {
    std::map<std::string, std::string> all;
    const Value written = document(folder() + "/alone.yaml");
    for (const Member& one : written.members()) {
      all.emplace(one.key(), one.value.str());
    }
    return all;
  }();
  return kAloneOnes;
}

std::vector<std::string> lab_controllers() {
  std::vector<std::string> names;
  for (const Operator* op : every_operator()) {
    names.emplace_back(op->name);
  }
  std::ranges::sort(names);
  return names;
}

std::optional<std::string> check_pair(const Pair& pair, std::uint64_t seed) {
  Scene scene = lab_of(pair);
  const auto heard = std::make_shared<Heard>();
  scene.watch = [heard](const World& /*world*/, std::span<const store::EventPtr> news) {
    for (const store::EventPtr& one : news) {
      if (one->object->resource == "events") {
        heard->push_back(one->object->body);
      }
    }
  };
  World world(std::move(scene), seed);
  const Outcome empty = world.run();
  if (empty.failure) {
    return "without the two: " + *empty.failure + last_writes(world);
  }
  std::optional<std::string> refused;
  world.after(std::chrono::seconds(1), [&refused, &pair](World& later) {
    for (const Value& object : pair.just_before) {
      if (const auto made = later.create(object); !made.ok()) {
        refused = "the API server refuses an object: " + made.error().message;
      }
    }
  });
  for (std::size_t i = 0; i < pair.rivals.size(); ++i) {
    world.after(kApart * (i + 1), [&refused, &rival = pair.rivals[i]](World& later) {
      if (const auto made = later.create(rival); !made.ok()) {
        refused = "the API server refuses a rival: " + made.error().message;
      }
    });
  }
  const Outcome both = world.run();
  if (refused || both.failure) {
    return refused.value_or(both.failure.value_or("")) + last_writes(world);
  }
  if (both.writes - empty.writes > pair.most) {
    return fmt::format("{} writes until all rests, not at most {}", both.writes - empty.writes,
                       pair.most) +
           last_writes(world);
  }
  if (auto wrong = missing(world, *heard, pair.holds)) {
    return "with both: " + *wrong;
  }
  if (pair.afterwards.empty()) {
    return std::nullopt;
  }
  const Value& first = pair.rivals.front();
  const Kind* const kind = kind_of(first);
  if (kind == nullptr || !world.remove(*kind, Object(first).key()).ok()) {
    return "the first rival cannot be deleted";
  }
  const Outcome one = world.run();
  if (one.failure) {
    return "without the first: " + *one.failure + last_writes(world);
  }
  if (auto wrong = missing(world, *heard, pair.afterwards)) {
    return "without the first: " + *wrong;
  }
  return std::nullopt;
}

}  // namespace athanor::sim
