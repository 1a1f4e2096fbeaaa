// SPDX-License-Identifier: Apache-2.0
// What tests of the API server's rooms share: a store in memory, entropy from a seed, tokens that
// are the claims themselves.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/apiserver/request/token_signer.hpp"
#include "embedded/store/store.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver::test {

inline Value parse(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? *value : Value();
}

// "Signs" by printing; verifies by the prefix.
class PlainSigner final : public TokenSigner {
 public:
  Result<std::string> sign(const Value& claims) override { return "signed:" + json::print(claims); }
  Result<Value> verify(std::string_view token) override {
    if (!token.starts_with("signed:")) {
      return Error{.code = 401, .reason = "Unauthorized", .message = "bad signature"};
    }
    return json::parse(token.substr(7));
  }
  [[nodiscard]] std::string issuer() const override { return "https://lab"; }
  [[nodiscard]] Value jwks() const override { return Value::object(); }
};

inline constexpr Instant kNow{std::chrono::seconds(1'767'571'200)};  // 2026-01-05T00:00:00Z

class FixedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return kNow; }
};

struct World {
  std::unique_ptr<store::Store> store = open();
  std::unique_ptr<Entropy> entropy = seeded_entropy(7);
  FixedClock clock{};
  PlainSigner signer{};
  Options options{};

  static std::unique_ptr<store::Store> open() {
    auto opened = store::Store::open(store::memory_journal(), {});
    EXPECT_TRUE(opened.ok());
    return *std::move(opened);
  }

  [[nodiscard]] Dependencies dependencies() {
    Dependencies result;
    result.store = store.get();
    result.clock = &clock;
    result.entropy = entropy.get();
    result.tokens = &signer;
    return result;
  }

  // Stores an object as it is; metadata.namespace and .name say where.
  void put_value(std::string_view resource, const Value& object) {
    const Value& metadata = object["metadata"];
    const store::Write write{.resource = std::string(resource),
                             .key = {metadata["namespace"].str(), metadata["name"].str()},
                             .body = object,
                             .expected = std::nullopt};
    const auto done = store->commit({&write, 1}, kNow);
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
  }
  void put(std::string_view resource, std::string_view object) {
    put_value(resource, parse(object));
  }
  void remove(std::string_view resource, const Key& key) {
    const store::Write write{.resource = std::string(resource),
                             .key = key,
                             .body = std::nullopt,
                             .expected = std::nullopt};
    EXPECT_TRUE(store->commit({&write, 1}, kNow).ok());
  }
};

}  // namespace athanor::apiserver::test
