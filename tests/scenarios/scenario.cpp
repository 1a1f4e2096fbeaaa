// SPDX-License-Identifier: Apache-2.0
// Reading a scenario, playing its phases, comparing.
#include "scenarios/scenario.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "base/digest.hpp"
#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/admission.hpp"
#include "runtime/view/live.hpp"
#include "runtime/view/step.hpp"
#include "runtime/view/view.hpp"
#include "scenarios/answers.hpp"
#include "scenarios/match.hpp"
#include "scenarios/registry.hpp"
#include "scenarios/review.hpp"
#include "support/fake_world.hpp"
#include "support/played_node.hpp"
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

Duration duration_of(const Value& text) {
  const auto parsed = parse_go_duration(text.as_string());
  EXPECT_TRUE(parsed.ok()) << "not a duration: " << json::print(text);
  return parsed.ok() ? *parsed : Duration::zero();
}

class Player {
 public:
  explicit Player(const Value& scenario) : scenario_(scenario) {}

  // `part`: the scenario itself, or one of its rows.
  void play(const Value& part) {
    const Value names = scenario_["operator"].is_list() ? scenario_["operator"]
                                                        : Value::list({scenario_["operator"]});
    for (const Value& name : names.items()) {
      const Operator* op = find_operator(name.as_string());
      ASSERT_NE(op, nullptr) << "no operator " << name.as_string();
      operators_.push_back(op);
    }
    given();
    const Value phases = part.contains("phases") ? part["phases"] : Value::list({part});
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
    world_.on_create = [this](FakeWorld&, Value& object) { object = reviewed(std::move(object)); };
    for (const Member& section : scenario_["config"].members()) {
      world_.configure(section.key(), section.value);
    }
    for (const Value& file : scenario_["files"].items()) {
      const auto objects =
          yaml::parse_all(read_text(std::string(athanor::test::source_dir()) + "/" + file.str()));
      ASSERT_TRUE(objects.ok()) << file.as_string();
      for (const Value& object : *objects) {
        put(object);
      }
    }
    for (const Value& object : scenario_["given"].items()) {
      put(object);
    }
    observe(scenario_["observations"]);
    answers_.add(scenario_["answers"]);
    refuse();
  }

  // Steps and live reads ("get") fail as the last event `refuse` says.
  void refuse() {
    world_.fault = [this](const Step& step) {
      const Ref* target = target_of(step);
      return target == nullptr ? std::nullopt : refusal(name_of(step), target->kind->name);
    };
    world_.probes["live"] = [this, answer = world_.probes["live"]](
                                FakeWorld& world, std::string_view query) -> Result<Value> {
      const auto live = LiveQuery::parse(query);
      const auto error = live ? refusal("get", live->kind) : std::nullopt;
      return error ? Result<Value>(*error) : answer(world, query);
    };
  }

  [[nodiscard]] std::optional<Error> refusal(std::string_view verb, std::string_view kind) const {
    for (const Value& rule : refusals_.items()) {
      if (rule["verb"].as_string() == verb && rule["kind"].as_string() == kind) {
        return error_of(rule["error"]);
      }
    }
    return std::nullopt;
  }

  void put(Value object) {
    encode_data(object);
    world_.put(reviewed(std::move(object)));
  }

  // As the API server: stringData of a Secret becomes data.
  static void encode_data(Value& object) {
    if (object["kind"].as_string() != "Secret") {
      return;
    }
    for (const Member& text : object["stringData"].members()) {
      object.set_path({"data", text.key()}, base64_encode(text.value.str()));
    }
    object.erase("stringData");
  }

  // Returns an object as the webhooks of the scenario leave it.
  Value reviewed(Value object) {
    for (const Value& name : scenario_["webhooks"].items()) {
      const Webhook* webhook = find_webhook(name.as_string());
      if (webhook == nullptr || !webhook->mutating) {
        ADD_FAILURE() << "no mutating webhook " << name.as_string();
      } else if (concerns(*webhook, object)) {
        object = defaulted(*webhook, object);
      }
    }
    return object;
  }

  static bool concerns(const Webhook& webhook, const Value& object) {
    return std::ranges::any_of(webhook.rules, [&](const WebhookRule& rule) {
      return rule.kind->name == object["kind"].as_string();
    });
  }

  Value defaulted(const Webhook& webhook, const Value& object) {
    AdmissionRequest request;
    request.object = object;
    request.kind = object["kind"].str();
    request.key = {object["metadata"]["namespace"].str(), object["metadata"]["name"].str()};
    Reads reads;
    const Verdict verdict = webhook.admit(View(world_, reads), request, world_.now);
    const auto changed =
        verdict.patch.is_null() ? Result<Value>(object) : apply_json_patch(object, verdict.patch);
    EXPECT_TRUE(changed.ok());
    return changed.value_or(object);
  }

  void observe(const Value& observations) {
    for (const Member& one : observations.members()) {
      const Value& error = one.value["error"];
      if (error.is_object()) {
        world_.fail_observation(one.key(), error_of(error));
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
      event_is_there(expected);
    }
    for (const Value& expected : then["counts"].items()) {
      const Named named(expected);
      EXPECT_EQ(static_cast<std::int64_t>(world_.count(named.kind)), expected["is"].as_int(-1))
          << json::print(expected);
    }
    for (const Value& expected : then["written"].items()) {
      EXPECT_TRUE(std::any_of(world_.writes.begin(), world_.writes.end(),
                              [&](const Write& write) { return contains(write.body, expected); }))
          << "nothing written has " << json::print(expected);
    }
    for (const Value& expected : then["errors"].items()) {
      error_is_there(expected);
    }
    for (const Value& expected : then["acts"].items()) {
      act_is_there(expected);
    }
    for (const Value& expected : then["asked"].items()) {
      answers_.check_asked(expected);
    }
  }

  void happen(const Value& event) {
    if (event.contains("put")) {
      put(event["put"]);
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
    } else if (event.contains("answers")) {
      answers_.add(event["answers"]);
    } else if (event.contains("refuse")) {
      refusals_ = event["refuse"];
    } else if (event.contains("start")) {
      start_pod(world_, pod_of(event["start"]));
    } else if (event.contains("end")) {
      end_pod(world_, pod_of(event["end"]), ends_of(Value::list({event["end"]})));
    } else if (event.contains("play")) {
      play_pods(world_, operators_, ends_of(event["play"]));
    } else if (event.contains("restart")) {
      world_.restart();
    } else if (event.contains("settle")) {
      world_.settle(operators_);
    } else {
      ADD_FAILURE() << "unknown event " << json::print(event);
    }
  }

  static Key pod_of(const Value& ref) { return {ref["namespace"].str(), ref["name"].str()}; }

  // Returns how containers end by a list of {namespace, name, exitCode, message}; pods that it does
  // not name end with 0.
  static ContainerEnds ends_of(const Value& pods) {
    return [pods](const Value& pod, std::string_view) {
      for (const Value& one : pods.items()) {
        if (pod_of(one) == pod_of(pod["metadata"])) {
          return ContainerEnd{.exit_code = static_cast<int>(one["exitCode"].as_int(0)),
                              .message = one["message"].str()};
        }
      }
      return ContainerEnd{};
    };
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
    if (expected["absent"].as_bool()) {
      EXPECT_TRUE(condition.is_null())
          << json::print(expected["ref"]) << " has " << json::print(condition);
      return;
    }
    Value wanted = expected;
    wanted.erase("ref");
    EXPECT_TRUE(contains(condition, wanted))
        << json::print(expected["ref"]) << " has " << json::print(condition) << ", not "
        << json::print(wanted);
  }

  void event_is_there(const Value& expected) {
    const std::string_view reason = expected["reason"].as_string();
    const int count = world_.event_count(reason, expected["about"].as_string());
    EXPECT_EQ(count, expected["count"].as_int(std::max(count, 1))) << json::print(expected);
    if (expected.contains("note")) {
      EXPECT_TRUE(std::ranges::any_of(world_.events, [&](const RecordedEvent& event) {
        return event.reason == reason && event.note == expected["note"].as_string();
      })) << json::print(expected);
    }
  }

  // An act {verb, args, count}; without a count one or more.
  void act_is_there(const Value& expected) {
    const auto count = std::ranges::count_if(world_.acts, [&](const Act& act) {
      return act.verb == expected["verb"].as_string() &&
             (!expected.contains("args") || contains(act.args, expected["args"]));
    });
    EXPECT_EQ(count, expected["count"].as_int(std::max<std::int64_t>(count, 1)))
        << json::print(expected);
  }

  void error_is_there(const Value& expected) {
    const bool found =
        std::any_of(world_.errors.begin(), world_.errors.end(), [&](const auto& error) {
          return error.second.message.find(expected.as_string()) != std::string::npos;
        });
    EXPECT_TRUE(found) << "no error says " << expected.as_string();
  }

  const Value& scenario_;
  Value refusals_{};
  FakeWorld world_{};
  Answers answers_{world_};
  FakeWorld::Operators operators_{};
};

}  // namespace

void play_scenario(const std::string& path) {
  auto scenario = yaml::parse(read_text(path), {.strict = true});
  ASSERT_TRUE(scenario.ok()) << path << ": " << scenario.error().message;
  if (scenario->contains("webhook")) {
    play_reviews(*scenario);
    return;
  }
  ASSERT_TRUE(scenario->contains("then") || scenario->contains("phases") ||
              scenario->contains("rows"))
      << path << " expects nothing";
  if (!scenario->contains("rows")) {
    Player(*scenario).play(*scenario);
    return;
  }
  for (const Value& row : (*scenario)["rows"].items()) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, row["name"].str());
    Player(*scenario).play(row);
  }
}

}  // namespace athanor::test
