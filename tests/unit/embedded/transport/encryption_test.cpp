// SPDX-License-Identifier: Apache-2.0
// What the disk sees of Secrets, and who can read it again (docs/spec/apiserver.md 19.10).
#include "embedded/transport/encryption.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/digest.hpp"
#include "embedded/transport/encrypting_journal.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::transport::encryption_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string key(char c) {
  return base64_encode(std::string(32, c));
}

Result<Encryption> configuration(const std::string& providers) {
  return Encryption::parse(*yaml::parse(
      "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"
      "- {resources: [secrets, '*.apps'], providers: [" +
      providers + "]}\n"));
}

std::string provider(const std::string& cipher, const std::string& name, char c) {
  return cipher + ": {keys: [{name: " + name + ", secret: '" + key(c) + "'}]}";
}

class Ciphers : public testing::TestWithParam<const char*> {};

TEST_P(Ciphers, TextsComeBackAsTheyWere) {
  const auto encryption = configuration("{" + provider(GetParam(), "one", 'a') + "}");
  ASSERT_TRUE(encryption.ok()) << encryption.error().message;
  for (const std::string& plain : {std::string(), std::string("x"), std::string(5000, 'y')}) {
    const auto text = encryption->encrypt("secrets", "secrets/a/b", plain);
    ASSERT_TRUE(text.ok() && text->has_value());
    EXPECT_THAT(**text, StartsWith(std::string("k8s:enc:") + GetParam() + ":v1:one:"));
    EXPECT_EQ(*encryption->decrypt("secrets", "secrets/a/b", **text), plain);
    EXPECT_NE(**encryption->encrypt("secrets", "secrets/a/b", plain), **text);
  }
  EXPECT_EQ(*encryption->encrypt("configmaps", "w", "p"), std::nullopt);
  EXPECT_NE(*encryption->encrypt("deployments.apps", "w", "p"), std::nullopt);
}

TEST_P(Ciphers, OldKeysStayReadable) {
  const std::string old = provider(GetParam(), "old", 'a');
  const auto before = configuration("{" + old + "}");
  const auto after = configuration("{" + provider("aesgcm", "new", 'b') + "}, {" + old + "}");
  const auto lost = configuration("{" + provider("aesgcm", "new", 'b') + "}");
  const std::string text = **before->encrypt("secrets", "w", "plain");
  EXPECT_EQ(*after->decrypt("secrets", "w", text), "plain");
  EXPECT_THAT(**after->encrypt("secrets", "w", "plain"), HasSubstr(":new:"));
  EXPECT_THAT(lost->decrypt("secrets", "w", text).error().message, HasSubstr(":v1:old"));
}

INSTANTIATE_TEST_SUITE_P(All, Ciphers, testing::Values("aescbc", "aesgcm", "secretbox"));

// The known answer of NaCl's own tests (tests/secretbox.c): what kube-apiserver's secretbox wrote.
TEST(Encryption, SecretboxReadsForeignCiphertext) {
  const auto decoded = [](std::string_view hex) {
    std::string text;
    for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
      text += static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16));
    }
    return text;
  };
  const auto encryption = configuration(
      "{secretbox: {keys: [{name: one, secret: '" +
      base64_encode(decoded("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389")) +
      "'}]}}");
  ASSERT_TRUE(encryption.ok()) << encryption.error().message;
  const std::string sealed = decoded(
      "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37"
      "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4"
      "476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738"
      "b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de"
      "56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5");
  EXPECT_EQ(
      *encryption->decrypt("secrets", "w", "k8s:enc:secretbox:v1:one:" + base64_encode(sealed)),
      decoded("be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a"
              "1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057"
              "e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040"
              "e082f937763848645e0705"));
}

TEST(Encryption, SecretboxNoticesChanges) {
  const auto encryption = configuration("{" + provider("secretbox", "one", 'a') + "}");
  std::string text = **encryption->encrypt("secrets", "secrets/a/b", "plain");
  text[text.size() - 6] = text[text.size() - 6] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(encryption->decrypt("secrets", "secrets/a/b", text).ok());
  EXPECT_FALSE(encryption->decrypt("secrets", "w", "k8s:enc:secretbox:v1:one:eA==").ok());
}

TEST(Encryption, GcmNoticesChanges) {
  const auto encryption = configuration("{" + provider("aesgcm", "one", 'a') + "}");
  std::string text = **encryption->encrypt("secrets", "secrets/a/b", "plain");
  EXPECT_FALSE(encryption->decrypt("secrets", "secrets/a/other", text).ok());
  text[text.size() - 6] = text[text.size() - 6] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(encryption->decrypt("secrets", "secrets/a/b", text).ok());
}

TEST(Encryption, BadConfigurationsAreRefused) {
  EXPECT_THAT(configuration("{kms: {name: x}}").error().message,
              HasSubstr("provider kms is not supported here: use aescbc, aesgcm or secretbox"));
  EXPECT_THAT(configuration("{secretbox: {keys: [{name: a, secret: 'c2hvcnQ='}]}}").error().message,
              HasSubstr("got 5, expected one of [32]"));
  EXPECT_THAT(configuration("{aescbc: {keys: [{name: a, secret: 'c2hvcnQ='}]}}").error().message,
              HasSubstr("secret of key \"a\" is not of the expected length, got 5"));
  EXPECT_FALSE(configuration("{aescbc: {keys: []}}").ok());
  EXPECT_FALSE(configuration("").ok());
  EXPECT_FALSE(Encryption::parse(Value::object()).ok());
}

// Keeps what it is given.
class Tape final : public store::Journal {
 public:
  explicit Tape(std::vector<store::EventPtr>& events) : events_(events) {}
  Result<Recovered> recover() override {
    Recovered recovered;
    for (const store::EventPtr& event : events_) {
      recovered.objects = {event->object};
      recovered.revision = event->revision;
    }
    return recovered;
  }
  void append(store::Revision /*revision*/, std::span<const store::EventPtr> events,
              std::function<void(Result<void>)> done) override {
    events_.insert(events_.end(), events.begin(), events.end());
    done({});
  }
  Result<void> writable() override { return {}; }
  void close() override {}

 private:
  std::vector<store::EventPtr>& events_;
};

TEST(EncryptingJournal, KeepsSecretsFromTheDisk) {
  std::vector<store::EventPtr> tape;
  const auto open = [&](const std::string& providers) {
    return store::Store::open(
        encrypting_journal(std::make_unique<Tape>(tape), *configuration(providers)), {});
  };
  const std::string keys = "{" + provider("aescbc", "one", 'a') + "}";
  {
    const auto store = open(keys);
    ASSERT_TRUE(store.ok());
    Value secret = Value::object({{"metadata", Value::object({{"name", "s"}})},
                                  {"data", Value::object({{"password", "hunter2"}})}});
    const store::Write write{.resource = "secrets", .key = {"a", "s"}, .body = secret};
    ASSERT_TRUE((*store)->commit({&write, 1}, {}).ok());
    EXPECT_EQ((*store)->get("secrets", {"a", "s"})->body["data"]["password"].str(), "hunter2");
  }
  ASSERT_EQ(tape.size(), 1U);
  EXPECT_THAT(json::print(tape[0]->object->body), Not(HasSubstr("hunter2")));
  EXPECT_FALSE(tape[0]->object->body["metadata"]["resourceVersion"].is_null());
  const auto again = open(keys);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ((*again)->get("secrets", {"a", "s"})->body["data"]["password"].str(), "hunter2");
  const auto without = open("{identity: {}}");
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.error().message, HasSubstr("secrets/a/s is encrypted"));
}

}  // namespace
}  // namespace athanor::transport::encryption_test
