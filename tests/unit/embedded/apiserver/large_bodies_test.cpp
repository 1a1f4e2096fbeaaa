// SPDX-License-Identifier: Apache-2.0
// Work on a large body grows with its size, not with the square of it.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <tuple>

#include "support/growth.hpp"
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::large_bodies_test {
namespace {

constexpr std::size_t kSmall = 4'000;

using Body = std::function<Value(std::size_t)>;

std::chrono::duration<double> time_of(const Value& body) {
  TestServer server;
  const std::string text = json::print(body);
  const auto start = std::chrono::steady_clock::now();
  const Answer answer =
      server.call("POST /api/v1/namespaces/tst/" +
                      std::string(body["kind"].as_string() == "Pod" ? "pods" : "configmaps"),
                  text);
  EXPECT_LT(answer.status, 500) << answer.text.substr(0, 300);
  return std::chrono::steady_clock::now() - start;
}

void expect_linear(const Body& body) {
  EXPECT_LT(growth([&](std::size_t count) { return time_of(body(count)).count(); }, kSmall),
            kLinear);
}

Value named(std::string_view name) {
  return config_map(name);
}

TEST(LargeBodies, KeysInReverseOrder) {
  expect_linear([](std::size_t count) {
    Value object = named("a");
    std::vector<Member> data;
    for (std::size_t i = count; i > 0; --i) {
      data.emplace_back(fmt::format("k{:06}", i), "v");
    }
    object.set("data", Value::object(std::move(data)));
    return object;
  });
}

TEST(LargeBodies, FinalizersAndOwners) {
  expect_linear([](std::size_t count) {
    Value object = named("a");
    Value finalizers = Value::list();
    Value owners = Value::list();
    for (std::size_t i = count; i > 0; --i) {
      finalizers.push_back(fmt::format("a.b/f{:06}", i));
      owners.push_back(Value::object({{"apiVersion", "v1"},
                                      {"kind", "Node"},
                                      {"name", "n"},
                                      {"uid", fmt::format("u{:06}", i)},
                                      {"controller", true}}));
    }
    object.set_path({"metadata", "finalizers"}, std::move(finalizers));
    object.set_path({"metadata", "ownerReferences"}, std::move(owners));
    return object;
  });
}

TEST(LargeBodies, UnknownFieldsThatWarn) {
  expect_linear([](std::size_t count) {
    std::vector<Member> members;
    const Value object = named("a");
    for (const Member& member : object.members()) {
      members.push_back(member);
    }
    for (std::size_t i = 0; i < count; ++i) {
      members.emplace_back(fmt::format("unknown-{:06}", i), 1);
    }
    return Value::object(std::move(members));
  });
}

// A pod with one container; `change` gets the pod's spec.
Value pod_with(const std::function<void(Value& spec)>& change) {
  Value pod = Value::object({{"apiVersion", "v1"},
                             {"kind", "Pod"},
                             {"metadata", Value::object({{"name", "p"}})},
                             {"spec", Value::object({{"containers", Value::list()}})}});
  pod.member("spec").member("containers").push_back(Value::object({{"name", "c"}, {"image", "i"}}));
  change(pod.member("spec"));
  return pod;
}

Value& container_of(Value& spec) {
  return spec.member("containers").item(0);
}

// The warnings name each pair.
TEST(LargeBodies, EqualPorts) {
  expect_linear([](std::size_t count) {
    return pod_with([&](Value& spec) {
      Value ports = Value::list();
      for (std::size_t i = 0; i < count; ++i) {
        ports.push_back(Value::object({{"containerPort", 1}}));
      }
      container_of(spec).set("ports", std::move(ports));
    });
  });
}

TEST(LargeBodies, EqualNamesOfEnvironmentVariables) {
  expect_linear([](std::size_t count) {
    return pod_with([&](Value& spec) {
      Value env = Value::list();
      for (std::size_t i = 0; i < count; ++i) {
        env.push_back(Value::object({{"name", "A"}, {"value", "b"}}));
      }
      container_of(spec).set("env", std::move(env));
    });
  });
}

TEST(LargeBodies, EqualPathsInAVolume) {
  expect_linear([](std::size_t count) {
    return pod_with([&](Value& spec) {
      Value items = Value::list();
      for (std::size_t i = 0; i < count; ++i) {
        items.push_back(Value::object({{"key", fmt::format("k{}", i)}, {"path", "a/b"}}));
      }
      Value volumes = Value::list();
      volumes.push_back(Value::object(
          {{"name", "v"},
           {"configMap", Value::object({{"name", "c"}, {"items", std::move(items)}})}}));
      spec.set("volumes", std::move(volumes));
    });
  });
}

TEST(LargeBodies, MountsBesideDevices) {
  expect_linear([](std::size_t count) {
    return pod_with([&](Value& spec) {
      Value mounts = Value::list();
      Value devices = Value::list();
      for (std::size_t i = 0; i < count; ++i) {
        mounts.push_back(Value::object({{"name", "v"}, {"mountPath", fmt::format("/m{}", i)}}));
        devices.push_back(Value::object(
            {{"name", fmt::format("d{}", i)}, {"devicePath", fmt::format("/d{}", i)}}));
      }
      container_of(spec).set("volumeMounts", std::move(mounts));
      container_of(spec).set("volumeDevices", std::move(devices));
    });
  });
}

TEST(LargeBodies, SpreadConstraints) {
  expect_linear([](std::size_t count) {
    return pod_with([&](Value& spec) {
      Value constraints = Value::list();
      for (std::size_t i = 0; i < count; ++i) {
        constraints.push_back(Value::object({{"maxSkew", 1},
                                             {"topologyKey", fmt::format("k{}", i)},
                                             {"whenUnsatisfiable", "DoNotSchedule"},
                                             {"labelSelector", Value::object()}}));
      }
      spec.set("topologySpreadConstraints", std::move(constraints));
    });
  });
}

// A text of `count` bytes as a key, below it as many repeated keys, above 100 at each level.
TEST(LargeBodies, RepeatedKeysBelowALongOne) {
  const auto time_of_text = [](std::size_t count) {
    TestServer server;
    std::string repeated;
    for (std::size_t i = 0; i < count; ++i) {
      repeated += fmt::format("{}\"a\":1,\"b{}\":1,\"b{}\":1", i == 0 ? "" : ",", i, i);
    }
    const std::string text = fmt::format(
        R"({{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"a"}},"{}":{{{}}}}})",
        std::string(count * 40, 'k'), repeated);
    const auto start = std::chrono::steady_clock::now();
    for (const std::string_view validation : {"Warn", "Strict", "Ignore"}) {
      const Answer answer = server.call(
          fmt::format("POST /api/v1/namespaces/tst/configmaps?dryRun=All&fieldValidation={}",
                      validation),
          text);
      EXPECT_EQ(answer.status, validation == "Strict" ? 400 : 201) << answer.text.substr(0, 300);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  EXPECT_LT(growth(time_of_text, kSmall), kLinear);
}

// Two managers, whose fields are half the other's, apply in turns.
TEST(LargeBodies, AppliedFields) {
  const auto applied = [](std::size_t from, std::size_t count, std::string_view value) {
    Value object = named("a");
    std::vector<Member> data;
    for (std::size_t i = from; i < from + count; ++i) {
      data.emplace_back(fmt::format("k{:06}", i), Value(value));
    }
    object.set("data", Value::object(std::move(data)));
    return json::print(object);
  };
  const auto time_of_applies = [&](std::size_t count) {
    TestServer server;
    const std::string path = "/api/v1/namespaces/tst/configmaps/a?force=true&fieldManager=";
    const auto start = std::chrono::steady_clock::now();
    for (const auto& [manager, from, value] :
         {std::tuple("one", std::size_t{0}, "1"), std::tuple("two", count / 2, "2"),
          std::tuple("one", count / 4, "3")}) {
      const Answer answer = server.patch(path + manager, "apply", applied(from, count, value));
      EXPECT_LT(answer.status, 300) << answer.text.substr(0, 300);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  EXPECT_LT(growth(time_of_applies, kSmall), kLinear);
}

}  // namespace
}  // namespace athanor::apiserver::large_bodies_test
