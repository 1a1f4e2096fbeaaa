// SPDX-License-Identifier: Apache-2.0
// Work on a large body grows with its size, not with the square of it.
#include <fmt/format.h>

#include <chrono>
#include <functional>

#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kSmall = 4'000;
constexpr std::size_t kFactor = 4;

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

// Four times the size takes four times as long, sixteen times if each part looks at all others.
void expect_linear(const Body& body) {
  double best = 1e9;
  for (int attempt = 0; attempt < 3 && best > 10; ++attempt) {
    const double small = time_of(body(kSmall)).count() + 0.005;
    best = std::min(best, time_of(body(kSmall * kFactor)).count() / small);
  }
  EXPECT_LT(best, 10);
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

}  // namespace
}  // namespace athanor::apiserver
