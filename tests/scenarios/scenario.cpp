// SPDX-License-Identifier: Apache-2.0
// Reading a scenario, playing its phases, comparing.
#include "scenarios/scenario.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/step.hpp"
#include "scenarios/registry.hpp"
#include "support/fake_world.hpp"
#include "support/source_dir/source_dir.hpp"

namespace athanor::test {

namespace {

// A reference of a file as a Kind and a Key; the strings live in the scenario.
struct Named {
  explicit Named(const Value& ref) {
    const auto api_version = ref["apiVersion"].as_string();
    const auto slash = api_version.find('/');
    kind.group =
        slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
    kind.version = slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
    kind.name = ref["kind"].as_string();
    kind.plural = kind.name;
    key = {ref["namespace"].str(), ref["name"].str()};
  }
  Kind kind{};
  Key key{};
};

// Every leaf of `part` is in `whole`; lists item by item, as long as `part` has them.
bool contains(const Value& whole, const Value& part) {
  if (part.is_object()) {
    const auto members = part.members();
    return std::all_of(members.begin(), members.end(), [&](const Member& member) {
      return member.value.is_null() ? whole[member.key()].is_null()
                                    : contains(whole[member.key()], member.value);
    });
  }
  if (part.is_list()) {
    if (!whole.is_list() || whole.size() != part.size()) {
      return false;
    }
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (!contains(whole[i], part[i])) {
        return false;
      }
    }
    return true;
  }
  return whole == part;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << "cannot read " << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

Duration duration_of(const Value& text) {
  const auto parsed = parse_go_duration(text.as_string());
  EXPECT_TRUE(parsed.ok()) << "not a duration: " << json::print(text);
  return parsed.ok() ? *parsed : Duration::zero();
}

class Player {
 public:
  explicit Player(Value scenario) : scenario_(std::move(scenario)) {}

  void play() {
    const Value names = scenario_["operator"].is_list() ? scenario_["operator"]
                                                        : Value::list({scenario_["operator"]});
    for (const Value& name : names.items()) {
      const Operator* op = find_operator(name.as_string());
      ASSERT_NE(op, nullptr) << "no operator " << name.as_string();
      operators_.push_back(op);
    }
    given();
    const Value phases =
        scenario_.contains("phases") ? scenario_["phases"] : Value::list({scenario_});
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const ::testing::ScopedTrace trace(__FILE__, __LINE__, "phase " + std::to_string(i + 1));
      phase(phases[i]);
    }
  }

 private:
  void given() {
    if (scenario_.contains("now")) {
      const auto now = parse_time(scenario_["now"].as_string());
      ASSERT_TRUE(now.has_value()) << "now is no time";
      world_.now = *now;
    }
    for (const Member& section : scenario_["config"].members()) {
      world_.configure(section.key(), section.value);
    }
    for (const Value& file : scenario_["files"].items()) {
      const auto objects =
          yaml::parse_all(read_text(std::string(athanor::test::source_dir()) + "/" + file.str()));
      ASSERT_TRUE(objects.ok()) << file.as_string();
      for (const Value& object : *objects) {
        world_.put(object);
      }
    }
    for (const Value& object : scenario_["given"].items()) {
      world_.put(object);
    }
    observe(scenario_["observations"]);
  }

  void observe(const Value& observations) {
    for (const Member& one : observations.members()) {
      const Value& error = one.value["error"];
      if (error.is_object()) {
        world_.fail_observation(one.key(), {.code = static_cast<int>(error["code"].as_int(500)),
                                            .reason = error["reason"].str(),
                                            .message = error["message"].str()});
      } else {
        world_.observe_as(one.key(), one.value);
      }
    }
  }

  void phase(const Value& phase) {
    const std::size_t written = world_.writes.size();
    for (const Value& event : phase["when"].items()) {
      happen(event);
    }
    const Value& then = phase["then"];
    if (then.contains("plan")) {
      plan_is(then["plan"]);
    }
    world_.settle(operators_);
    if (then["nothing_written"].as_bool()) {
      for (std::size_t i = written; i < world_.writes.size(); ++i) {
        const Write& write = world_.writes[i];
        ADD_FAILURE() << "written: " << write.verb << " " << write.kind << " " << write.key << " "
                      << json::print(write.body);
      }
    }
    for (const Value& expected : then["objects"].items()) {
      object_is(expected);
    }
    for (const Value& expected : then["conditions"].items()) {
      condition_is_there(expected);
    }
    for (const Value& expected : then["events"].items()) {
      EXPECT_GT(world_.event_count(expected["reason"].as_string(), expected["about"].as_string()),
                0)
          << "no event " << json::print(expected);
    }
    for (const Value& expected : then["errors"].items()) {
      error_is_there(expected);
    }
  }

  void happen(const Value& event) {
    if (event.contains("put")) {
      world_.put(event["put"]);
    } else if (event.contains("merge")) {
      const Named named(event["merge"]["ref"]);
      world_.update(named.kind, named.key, [&](Value& object) {
        object = apply_merge_patch(object, event["merge"]["patch"]);
      });
    } else if (event.contains("delete")) {
      const Named named(event["delete"]);
      world_.remove(named.kind, named.key);
    } else if (event.contains("advance")) {
      world_.settle_for(operators_, duration_of(event["advance"]));
    } else if (event.contains("observe")) {
      observe(event["observe"]);
    } else if (event.contains("settle")) {
      world_.settle(operators_);
    } else {
      ADD_FAILURE() << "unknown event " << json::print(event);
    }
  }

  // One run of the first operator for `key`, before anything settles.
  void plan_is(const Value& expected) {
    const Value& key = scenario_["key"];
    const Plan plan =
        world_.reconcile(*operators_.front(), {key["namespace"].str(), key["name"].str()});
    const Value actual = plan.to_value();
    EXPECT_TRUE(contains(actual, expected)) << "the plan is\n"
                                            << yaml::print(actual) << "and not\n"
                                            << yaml::print(expected);
  }

  void object_is(const Value& expected) {
    const Named named(expected["ref"]);
    const auto object = world_.get(named.kind, named.key);
    if (expected["absent"].as_bool()) {
      EXPECT_FALSE(object.has_value()) << json::print(expected["ref"]) << " is there";
      return;
    }
    ASSERT_TRUE(object.has_value()) << json::print(expected["ref"]) << " is not there";
    EXPECT_TRUE(contains(object->body(), expected["contains"]))
        << "the object is\n"
        << yaml::print(object->body()) << "and has not\n"
        << yaml::print(expected["contains"]);
  }

  void condition_is_there(const Value& expected) {
    const Named named(expected["ref"]);
    const Value condition = world_.condition(named.kind, named.key, expected["type"].as_string());
    Value wanted = expected;
    wanted.erase("ref");
    EXPECT_TRUE(contains(condition, wanted))
        << json::print(expected["ref"]) << " has " << json::print(condition) << ", not "
        << json::print(wanted);
  }

  void error_is_there(const Value& expected) {
    const bool found =
        std::any_of(world_.errors.begin(), world_.errors.end(), [&](const auto& error) {
          return error.second.message.find(expected.as_string()) != std::string::npos;
        });
    EXPECT_TRUE(found) << "no error says " << expected.as_string();
  }

  Value scenario_;
  FakeWorld world_{};
  FakeWorld::Operators operators_{};
};

}  // namespace

void play_scenario(const std::string& path) {
  auto scenario = yaml::parse(read_text(path), {.strict = true});
  ASSERT_TRUE(scenario.ok()) << path << ": " << scenario.error().message;
  ASSERT_TRUE(scenario->contains("then") || scenario->contains("phases"))
      << path << " expects nothing";
  Player(*std::move(scenario)).play();
}

}  // namespace athanor::test
